#!/bin/sh
# One run in several processes that is disturbed ROUNDS times (50): at random instants a random rank is killed, or
# stopped, or rank 0's disk becomes full. Each time all processes end with a reason, the checkpoint stays valid, and
# the run is resumed with 1, 2 or 4 ranks. When it is complete it has the bits of an undisturbed run, and another one
# begins, until there were ROUNDS disturbances; the last run is resumed to its end. SEED repeats a sequence.
srcdir=$(cd "${srcdir:-.}" && pwd)
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/cli/mpi.sh"
need_mpi "disturbed ranks"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
cd "$T" || exit 99
export TINCA_MPI_START=15 # a process may be stopped while MPI is initialised
ROUNDS=${ROUNDS:-50} SEED=${SEED:-$(date +%s)}
echo "# SEED=$SEED"

# A disk of its own that can become full; without the right to mount one, that disturbance is left out.
mkdir disk
disturbances="kill stop"
if mount -t tmpfs -o size=64m tmpfs disk 2>/dev/null; then
    disturbances="kill stop full"
    trap 'end_processes; umount "$T/disk"; rm -rf "$T"' EXIT
fi
folder=$T/disk/run
job="lenet --data digits --batch 32 --iterations 4000 --blocks 4 --threads 1 --seed 5 --checkpoint 0.3"
# shellcheck disable=SC2086 # a list of options
run train $job -q --run-dir whole
[ "$status" = 0 ] && ok "the undisturbed run" || not_ok "the undisturbed run" "$(told)"

# choose WORD...: one of the words, and a number of seconds up to 2 in $instant; both follow from SEED and the round
choose() {
    draw=$(awk -v seed="$SEED" -v round="$round" -v words="$#" -v salt="$1" \
        'BEGIN { srand(seed * 1000 + round * 7 + length(salt)); rand(); print int(rand() * words) + 1, rand() * 2 }')
    instant=${draw#* }
    eval "chosen=\${${draw% *}}"
}
ranks_of() { pgrep -f "^$TINCA (train|resume).*$folder"; }
none_left() { [ -z "$(ranks_of)" ]; }
stored() { [ -s "$folder/checkpoint.safetensors" ]; }
is_done() { grep -qs '"done"' "$folder/summary.json"; }

begin() { # begin N: starts or resumes the run with N ranks, in the background
    if [ -e "$folder/config.json" ]; then set -- "$1" resume "$folder"; else
        # shellcheck disable=SC2086
        set -- "$1" train $job --run-dir "$folder"
    fi
    n=$1
    shift
    mpirun -n "$n" "$TINCA" "$@" -q >out 2>err </dev/null &
    launcher=$!
}
disturb() { # disturb KIND: after a while
    sleep "$instant"
    victim=$(ranks_of | awk -v n="$round" '{ p[NR] = $1 } END { if (NR) print p[n % NR + 1] }')
    case $1 in
    kill) [ -z "$victim" ] || kill -9 "$victim" 2>/dev/null ;;
    stop) [ -z "$victim" ] || kill -STOP "$victim" 2>/dev/null ;;
    full) dd if=/dev/zero of=disk/filling bs=64k 2>/dev/null ;;
    esac
}
same_bits() { # same_bits NAME: the run is complete and has the bits of the undisturbed one
    if is_done && cmp -s whole/weights.safetensors "$folder/weights.safetensors"; then
        ok "$1"
    else
        not_ok "$1" "exit $status: $(told)"
    fi
}
bad=0 round=0 runs=0
while [ $round -lt "$ROUNDS" ]; do
    round=$((round + 1))
    choose 1 2 4
    begin "$chosen"
    wait_until stored
    # shellcheck disable=SC2086
    choose $disturbances
    [ "$n" = 1 ] && [ "$chosen" = stop ] && chosen=kill # nobody notices that a process alone is stopped
    disturb "$chosen"
    [ "$chosen" = full ] || wait_until none_left
    if [ "$chosen" = full ]; then
        # a run whose checkpoint cannot be written goes on and says so, or ends with the reason
        sleep 1
        rm -f disk/filling
        pkill -INT -f "^$TINCA (train|resume).*$folder"
        wait_until none_left
    fi
    none_left || { echo "# round $round, $chosen: still there: $(ranks_of | xargs ps -o pid,stat,etime,args)"; bad=$((bad + 1)); end_processes; }
    wait $launcher
    run runs --check "$folder"
    if [ "$status" != 0 ]; then
        bad=$((bad + 1))
        echo "# round $round, $chosen: runs --check: $(told)"
    fi
    if is_done && [ $round -lt "$ROUNDS" ]; then
        runs=$((runs + 1))
        same_bits "run $runs, complete after round $round, has the bits of the undisturbed one"
        rm -rf "$folder"
    fi
done
[ $bad = 0 ] && ok "$round disturbances leave a valid run" || not_ok "$round disturbances leave a valid run" "$bad did not"
is_done || mpi 2 resume "$folder" -q
same_bits "and the last run has the bits of an undisturbed one"
done_testing
