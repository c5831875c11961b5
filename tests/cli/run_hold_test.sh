#!/bin/sh
# One process for each run: deleting the lock file does not admit a second process, and a run that loses its
# folder or its lock reports it and ends. Folders of runs that were killed early are listed and deleted.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
job="train lenet --data digits --batch 20 --iterations 500000 --threads 1 --checkpoint 3600"

start() { # start ARGUMENT...: starts a run in $T/r in the background and waits for its first iteration
    rm -rf "$T/r"
    # shellcheck disable=SC2086 # a list of options
    "$TINCA" ${long-$job} --run-dir "$T/r" -q "$@" >"$T/out" 2>"$T/err" </dev/null &
    child=$!
    tries=0
    until journal_lines "$T/r/journal" | grep -q '"loss"' || [ $tries = 600 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
}

# Waits at most a minute for its end; $status is its status, or 99 if it did not end.
wait_for_end() {
    tries=0
    while kill -0 $child 2>/dev/null && [ $tries -lt 600 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    kill -9 $child 2>/dev/null && late=1
    status=0
    wait $child || status=$?
    [ -z "${late-}" ] || status=99
    late=
}

ends() { # ends NAME PATTERN
    wait_for_end
    if [ "$status" = 1 ] && grep -q "^tinca: .*$2" "$T/err"; then ok "$1"; else
        not_ok "$1" "exit $status: $(told)"
    fi
}

# rm deletes the files one after the other; the run checks when all are deleted
start --save "$T/saved.safetensors"
kill -STOP $child
rm -rf "$T/r"
kill -CONT $child
ends "a run whose folder is deleted ends with a message" "folder was removed"
if "$TINCA" info "$T/saved.safetensors" >/dev/null 2>&1 || [ -s "$T/saved.safetensors" ]; then
    ok "  and has saved its weights to the file of --save"
else
    not_ok "  and has saved its weights to the file of --save" "$(ls "$T")"
fi
if [ ! -e "$T/r" ]; then ok "  and has made no new folder"; else not_ok "  a new folder" "$(ls "$T/r")"; fi

start
kill -STOP $child
mv "$T/r" "$T/elsewhere"
mkdir "$T/r"
kill -CONT $child
ends "a run whose folder is moved ends, too" "folder was moved to $T/elsewhere .*: tinca resume $T/elsewhere goes on"
if [ -z "$(ls "$T/r")" ]; then ok "  and has written nothing to the new folder"; else
    not_ok "  and has written nothing to the new folder" "$(ls "$T/r")"
fi
rm -rf "$T/elsewhere"

# what is said of a moved folder is true
. "$srcdir/tests/faults/hold.sh"
hold 3 train lenet --data digits,limit=200 --batch 20 --epochs 6 --threads 1 --run-dir "$T/r" -q --checkpoint 0.01 \
    --checkpoint-share 100
mv "$T/r" "$T/a moved one"
let_go CONT
if [ "$status" = 1 ] && grep -q "tinca resume '$T/a moved one' goes on" "$T/err"; then ok "a run is moved"; else
    not_ok "a run is moved" "exit $status: $(told)"
fi
succeeds "  and resumed as the message says" resume "$T/a moved one"
shows 'done after 60 iterations' "    to its end"
rm -rf "$T/r" "$T/a moved one"

# The best model is written after a validation, which may take long.
long="train lenet --data digits,limit=20 --validate digits,split=test --batch 20 --iterations 500000
    --threads 1 --checkpoint 3600"
start
mv "$T/r" "$T/elsewhere"
mkdir "$T/r"
ends "a run whose folder is moved during validation ends, too" "folder was moved to $T/elsewhere "
if [ -z "$(ls "$T/r")" ]; then ok "  and has written no model to the new folder"; else
    not_ok "  and has written no model to the new folder" "$(ls "$T/r")"
fi
rm -rf "$T/elsewhere"
unset long

start
kill -STOP $child
rm "$T/r/lock"
refuses 2 "has a run there" "without the lock file no second process starts" resume "$T/r"
kill -CONT $child
ends "a run whose lock file is deleted ends with a message" "lock file was removed"
if [ ! -e "$T/r/summary.json" ]; then ok "  and writes nothing more there"; else
    not_ok "  and writes nothing more there" "$(ls "$T/r")"
fi

# a run that ended before the check
cat >"$T/tiny.json" <<'FILE'
{"name": "tiny", "input": [1, 28, 28], "classes": 10, "normalise": "unit", "layers": [
  {"op": "flatten"}, {"op": "linear", "name": "fc", "output": "classes"}]}
FILE

# --- killed before config.json ---
home=$XDG_STATE_HOME/tinca/runs
old=$home/20250101-000000-lenet-0001
new=$home/20250101-000000-lenet-0002
foreign=$home/20250101-000000-lenet-0003
mkdir -p "$old" "$new" "$foreign" "$home/mine"
touch "$old/lock" "$old/config.json.77.part" "$new/lock" "$foreign/lock" "$foreign/notes.txt"
touch -d '2 hours ago' "$old"
run runs
if grep -q "lenet-0001 .*incomplete" "$T/out" && grep -q "lenet-0002 .*incomplete" "$T/out" &&
    ! grep -q "mine\|0003" "$T/out"; then
    ok "a folder in which no run began is listed as incomplete"
else
    not_ok "a folder in which no run began is listed as incomplete" "$(cat "$T/out")"
fi
succeeds "a new run" train "$T/tiny.json" --data digits,limit=8 --batch 4 --iterations 2 --threads 1 -q
if [ ! -e "$old" ] && [ -e "$new" ] && [ -e "$foreign/notes.txt" ] && [ -e "$home/mine" ]; then
    ok "  deletes the old incomplete folders, and nothing else"
else
    not_ok "  deletes the old incomplete folders, and nothing else" "$(ls "$home")"
fi
done_testing
