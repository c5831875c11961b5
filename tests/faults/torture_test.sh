#!/bin/sh
# A run that is repeatedly killed at random instants, also in the middle of writing, and resumed each time ends
# with the same bits as an undisturbed run. KILLS: the number of kills (12); SEED: the seed of the instants.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/faults/same_run.sh"
KILLS=${KILLS:-12}
SEED=${SEED:-$$}
FAULTS=$(cd "$(dirname "$TINCA")" && pwd)/faults.so
job="lenet --data digits,limit=200 --validate digits,split=test,limit=40 --batch 10 --epochs 5
    --seed 3 --average-loss 7 --schedule step --checkpoint 0.02 --checkpoint-share 100 --threads 1"
echo "# seed $SEED"

draw() { # draw N: sets $drawn to a random number from 1 to N
    SEED=$(((SEED * 1103515245 + 12345) % 2147483648))
    drawn=$((SEED / 65536 % $1 + 1))
}

# shellcheck disable=SC2086 # a list of options
succeeds "an undisturbed run" train $job --run-dir "$T/whole" -q

begin_or_go_on() { # begin_or_go_on [FAULT]: starts or resumes the run in the background, as $child
    draw 3
    if [ -f "$T/run/config.json" ]; then
        set -- "$1" resume "$T/run" --threads "$drawn" -q
    else
        set -- "$1" train $job --run-dir "$T/run" -q
    fi
    fault=$1
    shift
    if [ -n "$fault" ]; then
        FAULT=$fault LD_PRELOAD=$FAULTS "$TINCA" "$@" >"$T/out" 2>"$T/err" </dev/null &
    else
        "$TINCA" "$@" >"$T/out" 2>"$T/err" </dev/null &
    fi
    child=$!
}

# Waits for $child and sets $status. A kill may come after the run has written its summary: then the run is over,
# and files that it would have deleted may remain.
wait_for_end() {
    wait $child 2>/dev/null
    status=$?
    if [ "$status" = 2 ] && grep -q 'this run is complete' "$T/err"; then
        status=0
        rm -f "$T"/run/checkpoint*
    fi
}

# Kills the run at a random instant, or at a random call that writes; sets $status.
kill_once() {
    draw 2
    how=$drawn
    if [ "$how" = 1 ] || [ ! -f "$FAULTS" ]; then
        begin_or_go_on ""
        draw 90
        sleep "0.$(printf '%02d' "$drawn")"
        kill -9 $child 2>/dev/null
    else
        draw 4
        call=$(echo write fsync rename open | cut -d ' ' -f "$drawn")
        draw 12
        begin_or_go_on "$call:$drawn:kill"
    fi
    wait_for_end
}

compare_ends() { # compare_ends NAME: compares the end of the run with that of the undisturbed run
    if [ "$status" != 0 ]; then
        not_ok "$1" "exit $status: $(told)"
        return
    fi
    wrong=$(differences "$T/whole" "$T/run")
    for left in "$T"/run/*.part "$T"/run/checkpoint*; do
        [ -e "$left" ] && wrong="$wrong $(basename "$left")"
    done
    if [ -z "$wrong" ]; then ok "$1"; else not_ok "$1" "not the same:$wrong"; fi
}

killed=0
runs=0
unset_limit=$((KILLS * 10))
while [ "$killed" -lt "$KILLS" ] && [ "$unset_limit" -gt 0 ]; do
    rm -rf "$T/run"
    here=0
    # one run is killed up to eight times
    draw 8
    for _ in $(seq "$drawn"); do
        unset_limit=$((unset_limit - 1))
        kill_once
        [ "$status" = 137 ] || break
        killed=$((killed + 1))
        here=$((here + 1))
    done
    if [ "$status" = 137 ]; then
        begin_or_go_on ""
        wait_for_end
    fi
    runs=$((runs + 1))
    compare_ends "run $runs, killed $here times, ends with the same bits"
done
echo "# $killed kills in $runs runs"
if [ "$killed" -ge "$KILLS" ]; then ok "$KILLS kills"; else not_ok "$KILLS kills" "$killed"; fi
done_testing
