#!/bin/sh
# tinca attach without a terminal: a run of another process in lines, and how it ended.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"

# attached STATUS PATTERN NAME ARGUMENT...: ends so, with a line on either output that matches
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

# wait_for FILE PATTERN
wait_for() {
    tries=0
    # shellcheck disable=SC2086 # a pattern of files
    until grep -q -- "$2" $1 2>/dev/null || [ $tries = 300 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
}
journals="$XDG_STATE_HOME/tinca/runs/*/journal.jsonl"

refuses 2 "tinca runs" "where no run is on it says so" attach

# --- to its end ---
"$TINCA" train lenet --data digits,limit=640 --batch 16 --iterations 60 --threads 1 -q 2>/dev/null &
child=$!
wait_for "$journals" '"event":"start"'
attached 0 'done after 60 iterations' "the newest run that is on is followed to its end"
wait $child
id=$(ls "$XDG_STATE_HOME/tinca/runs")
attached 0 'done after 60 iterations' "one that is over is told of" "$id"
"$TINCA" attach -q "$id" >"$T/out" 2>&1
if [ $? = 0 ] && [ ! -s "$T/out" ]; then ok "-q says nothing"; else not_ok "-q says nothing" "$(cat "$T/out")"; fi
refuses 2 "tinca runs" "without a name only runs that are on count" attach

# --- stopped ---
"$TINCA" train lenet --data digits --batch 20 --epochs 1000 --threads 1 --run-dir "$T/elsewhere" \
    -q 2>/dev/null &
child=$!
wait_for "$T/elsewhere/journal.jsonl" '"iteration":2,'
(sleep 2; kill -TERM $child) &
attached 130 'stopped after [0-9]+ iterations' "a run that is stopped ends it with 130" "$T/elsewhere"
wait $child

# --- killed ---
"$TINCA" resume "$T/elsewhere" -q 2>/dev/null &
child=$!
wait_for "$T/elsewhere/journal.jsonl" '"event":"resume"'
(sleep 1; kill -KILL $child) &
attached 1 'interrupted.*tinca resume' "one that is killed with 1, and what to do" "$T/elsewhere"
wait $child 2>/dev/null

# --- what was written while nobody looked is not asked for again ---
"$TINCA" train lenet --data digits --batch 20 --epochs 1000 --threads 1 -q 2>/dev/null &
child=$!
sleep 1
if command -v strace >/dev/null; then
    wait_for "$XDG_STATE_HOME/tinca/runs/*-lenet-*/journal.jsonl" '"iteration":5,'
    timeout 4 strace -f -o "$T/calls" -e trace=openat,open "$TINCA" attach -q >/dev/null 2>&1
    if grep -q journal.jsonl "$T/calls" &&
        ! grep 'tinca/runs/' "$T/calls" | grep -v '/lock"' | grep -Eq 'O_WRONLY|O_RDWR|O_CREAT'; then
        ok "the run's files are only read"
    else
        not_ok "the run's files are only read" "$(grep 'tinca/runs/' "$T/calls" | tail -n 20)"
    fi
else
    skip "the run's files are only read" "strace is not installed"
fi
kill -KILL $child
wait $child 2>/dev/null
done_testing
