#!/bin/sh
# tinca attach without a terminal: it shows a run of another process in lines, and ends with its status.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/faults/hold.sh"

# attached STATUS PATTERN NAME ARGUMENT...: attach ends with STATUS, and one of its outputs has a line that
# matches PATTERN
attached() {
    expected=$1 pattern=$2 name=$3
    shift 3
    run attach "$@"
    cat "$T/out" "$T/err" >"$T/both"
    if [ "$status" = "$expected" ] && grep -Eq -- "$pattern" "$T/both"; then
        ok "$name"
    else
        not_ok "$name" "exit $status: $(head -c 600 "$T/both")"
    fi
}

# newest_has PATTERN: whether the journal of a run other than $id (which is over) has a line that matches
id=
newest_has() {
    for journal in "$XDG_STATE_HOME"/tinca/runs/*/journal; do
        case $journal in */"${id:-none}"/*) continue ;; esac
        has_line "$1" "$journal" && return 0
    done
    return 1
}

# watched SIGNAL STATUS PATTERN NAME ARGUMENT...: the same for the run of process $child, which is halted until
# attach shows it and then gets SIGNAL
watched() {
    signal=$1 expected=$2 pattern=$3 name=$4
    shift 4
    kill -STOP $child
    "$TINCA" attach "$@" >"$T/both" 2>&1 </dev/null &
    watcher=$!
    wait_until test -s "$T/both"
    kill -"$signal" $child
    kill -CONT $child
    wait $watcher
    status=$?
    wait $child 2>/dev/null
    if [ "$status" = "$expected" ] && grep -Eq -- "$pattern" "$T/both"; then
        ok "$name"
    else
        not_ok "$name" "exit $status: $(head -c 600 "$T/both")"
    fi
}

refuses 2 "tinca runs" "attach reports that no run is in progress" attach

# --- a run that ends ---
hold 3 train lenet --data digits,limit=640 --batch 16 --iterations 200 --threads 1 -q --checkpoint 1000 \
    --checkpoint-share 100 # at the end of its second epoch
watched CONT 0 'done after 200 iterations' "the newest run in progress is followed to its end"
id=$(ls "$XDG_STATE_HOME/tinca/runs")
attached 0 'done after 200 iterations' "the result of a finished run is printed" "$id"
"$TINCA" attach -q "$id" >"$T/out" 2>&1
if [ $? = 0 ] && [ ! -s "$T/out" ]; then ok "-q prints nothing"; else not_ok "-q prints nothing" "$(cat "$T/out")"; fi
refuses 2 "tinca runs" "without a name finished runs are ignored" attach

# --- a run that is stopped ---
"$TINCA" train lenet --data digits --batch 20 --epochs 1000 --threads 1 --run-dir "$T/elsewhere" \
    -q 2>/dev/null &
child=$!
wait_until has_line '"iteration":2,' "$T/elsewhere/journal"
watched TERM 130 'stopped after [0-9]+ iterations' "status 130 for a run that is stopped" "$T/elsewhere"

# --- a run that is killed ---
"$TINCA" resume "$T/elsewhere" -q 2>/dev/null &
child=$!
wait_until has_line '"event":"resume"' "$T/elsewhere/journal"
watched KILL 1 'interrupted.*tinca resume' "status 1 and advice for a run that is killed" "$T/elsewhere"

# --- a run whose process is halted ---
rm -rf "$T/elsewhere"
hold 3 train lenet --data digits,limit=640 --batch 16 --iterations 200 --threads 1 -q --checkpoint 1000 \
    --checkpoint-share 100 --run-dir "$T/elsewhere" # halted, as Ctrl-Z does it
"$TINCA" attach "$T/elsewhere" >"$T/both" 2>&1 </dev/null &
watcher=$!
wait_until has_line "process $child is halted; kill -CONT $child lets it go on" "$T/both"
if grep -q ' left$' "$T/both"; then not_ok "a halted process has no remaining time" "$(cat "$T/both")"; else
    ok "a halted process has no remaining time"
fi

# --- a run whose folder is deleted ---
rm -rf "$T/elsewhere"
kill -CONT $child
wait $watcher
status=$?
if [ "$status" = 1 ] && grep -q 'its folder was deleted or moved' "$T/both" && ! grep -q 'tinca resume' "$T/both"; then
    ok "a deleted run is not said to be resumable"
else
    not_ok "a deleted run is not said to be resumable" "exit $status: $(cat "$T/both")"
fi
wait $child 2>/dev/null
if grep -q 'folder was removed' "$T/err" && ! grep -q 'tinca resume' "$T/err"; then
    ok "  nor by its own process"
else
    not_ok "  nor by its own process" "$(cat "$T/err")"
fi

# --- attach only reads ---
"$TINCA" train lenet --data digits --batch 20 --epochs 1000 --threads 1 -q 2>/dev/null &
child=$!
if command -v strace >/dev/null; then
    looks() { [ "$(grep -c '/journal"' "$T/calls" 2>/dev/null)" -ge 3 ] 2>/dev/null; }
    wait_until newest_has '"iteration":5,'
    strace -f -o "$T/calls" -e trace=openat,open "$TINCA" attach -q >/dev/null 2>&1 </dev/null &
    watcher=$!
    wait_until looks
    kill -KILL $child # this ends attach, too
    wait $watcher
    if grep -q '/journal"' "$T/calls" &&
        ! grep 'tinca/runs/' "$T/calls" | grep -v '/lock"' | grep -Eq 'O_WRONLY|O_RDWR|O_CREAT'; then
        ok "the run's files are only read"
    else
        not_ok "the run's files are only read" "$(grep 'tinca/runs/' "$T/calls" | tail -n 20)"
    fi
else
    skip "the run's files are only read" "strace is not installed"
fi
kill -KILL $child 2>/dev/null
wait $child 2>/dev/null
done_testing
