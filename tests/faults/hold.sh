# Sourced after tests/cli/tap.sh by tests that disturb a run at a certain point: faults.so stops the run there, and
# the test acts on the stopped process. So it does not matter how fast the machine is.
HOLD_LIBRARY=$(cd "$(dirname "$TINCA")" && pwd)/faults.so
[ -f "$HOLD_LIBRARY" ] || HOLD_LIBRARY=$(dirname "$HOLD_LIBRARY")/faults_without_memory.so

# holding N [+M]: prints the variables that stop a run before the N-th rename of a checkpoint, and before the next M. A
# checkpoint is two renames, of the last one to the previous one and of the new one: before the third the run has one
# checkpoint, before the fifth it has two. In a fork the first rename is that of the ancestor's checkpoint. HOLD_ONLY: another file.
holding() {
    echo "LD_PRELOAD=$HOLD_LIBRARY FAULT=rename:$1:stop${2-} FAULT_ONLY=${HOLD_ONLY:-checkpoint}" \
        "ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS-}"
}

is_stopped() { has_line '^State:.T' "/proc/$1/status"; }
stopped_or_gone() { is_stopped "$1" || gone "$1"; }

# hold N ARGUMENT...: starts the program in the background, with its output in $T/out and $T/err, sets $child, and
# waits until it is stopped before the N-th rename of a checkpoint. If it ends before, the test has failed.
hold() {
    variables=$(holding "$1")
    shift
    # shellcheck disable=SC2086 # a list of assignments
    env $variables "$TINCA" "$@" >"$T/out" 2>"$T/err" </dev/null &
    child=$!
    wait_until stopped_or_gone $child
    is_stopped $child || not_ok "the run is stopped at a checkpoint" "$(cat "$T/out" "$T/err")"
}

# let_go SIGNAL: sends a signal to the process that hold has started, lets it go on, and waits for its end; sets
# $status
let_go() {
    kill "-$1" "$child" 2>/dev/null
    kill -CONT "$child" 2>/dev/null
    status=0
    wait "$child" 2>/dev/null || status=$?
}
