#!/bin/sh
# One run in several processes that is disturbed ROUNDS times (50): at random instants a random rank is killed, or
# stopped, or rank 0's disk becomes full. Each time all processes end within 30 seconds, several ranks with the reason
# and the rank, the checkpoint stays valid, and the run is resumed with 1, 2 or 4 ranks, which share memory in every
# other round and send messages in the others. When it is complete it has the bits of an undisturbed run, and another one
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
none_left() { [ -z "$(ranks_of)" ] && no_zombies; }
stored() { [ -s "$folder/checkpoint.safetensors" ]; }
is_done() { grep -qs '"done"' "$folder/summary.json"; }

begin() { # begin N: starts or resumes the run with N ranks, in the background
    if [ -e "$folder/config.json" ]; then set -- "$1" resume "$folder"; else
        # shellcheck disable=SC2086
        set -- "$1" train $job --run-dir "$folder"
    fi
    n=$1
    shift
    TINCA_SHARED_MEMORY=$((round % 2)) mpirun -n "$n" "$TINCA" "$@" -q >out 2>err </dev/null &
    launcher=$!
}
there_or_gone() { [ -n "$(ranks_of)" ] || gone $launcher; }
disturb() { # disturb KIND: after a while, which may be while MPI begins
    sleep "$instant"
    wait_until there_or_gone
    victim=$(ranks_of | awk -v n="$round" '{ p[NR] = $1 } END { if (NR) print p[n % NR + 1] }')
    victim_rank=$(tr '\0' '\n' 2>/dev/null <"/proc/$victim/environ" | sed -n 's/^OMPI_COMM_WORLD_RANK=//p')
    case $1 in
    kill) [ -z "$victim" ] || kill -9 "$victim" 2>/dev/null ;;
    stop) [ -z "$victim" ] || kill -STOP "$victim" 2>/dev/null ;;
    full) dd if=/dev/zero of=disk/filling bs=64k 2>/dev/null ;;
    esac
}
# reason KIND: what the messages say when this has happened to rank $victim_rank of several. One that was stopped while
# MPI began or ended has said nothing of itself.
reason() {
    case $1 in
    kill) echo "process rank $victim_rank .*signal 9|rank $victim_rank on .*not answered" ;;
    stop) echo "rank $victim_rank on .*has not answered|waits for all processes|MPI: it does not end" ;;
    full) echo "rank 0 on [^:]*: [^:]*: .*No space left on device" ;;
    esac
}
complain() { # complain TEXT: the round has failed
    bad=$((bad + 1))
    echo "# round $round, $chosen, $n ranks: $1"
}
same_bits() { # same_bits NAME: the run is complete and has the bits of the undisturbed one
    if is_done && cmp -s whole/weights.safetensors "$folder/weights.safetensors"; then
        ok "$1"
    else
        not_ok "$1" "exit $status: $(told)"
    fi
}
bad=0 round=0 runs=0 longest=0 reasons=0
while [ $round -lt "$ROUNDS" ]; do
    round=$((round + 1))
    choose 1 2 4
    begin "$chosen"
    wait_until stored
    # shellcheck disable=SC2086
    choose $disturbances
    [ "$n" = 1 ] && [ "$chosen" = stop ] && chosen=kill # nobody notices that a process alone is stopped
    disturb "$chosen"
    began=$(date +%s)
    if [ "$chosen $n" = "full 1" ]; then
        # one process whose checkpoint cannot be written goes on and says so
        sleep 1
        rm -f disk/filling
        pkill -INT -f "^$TINCA (train|resume).*$folder"
    fi
    wait_until none_left
    seconds=$(($(date +%s) - began))
    rm -f disk/filling
    if ! none_left; then
        complain "still there: $(ps -eo pid,ppid,stat,etime,args | grep '[t]inca')"
        end_processes
    fi
    status=0
    wait $launcher || status=$?
    [ $seconds -gt $longest ] && longest=$seconds
    [ $seconds -le 30 ] || [ -z "$victim" ] || complain "$seconds seconds until no process was left"
    # a run that was complete before has no reason to give
    if [ $status != 0 ] && [ -n "$victim" ] && [ "$n" != 1 ] && ! is_done; then
        grep -Eq "$(reason "$chosen")" err || complain "no reason: $(told)"
        reasons=$((reasons + 1))
    fi
    echo "# round $round: $chosen, $n ranks, rank $victim_rank, $seconds s, exit $status"
    run runs --check "$folder"
    [ "$status" = 0 ] || complain "runs --check: $(told)"
    if is_done && [ $round -lt "$ROUNDS" ]; then
        runs=$((runs + 1))
        same_bits "run $runs, complete after round $round, has the bits of the undisturbed one"
        rm -rf "$folder"
    fi
done
echo "# $reasons reasons were checked; no process was left after at most $longest seconds"
[ $bad = 0 ] && ok "$round disturbances leave a valid run" || not_ok "$round disturbances leave a valid run" "$bad did not"
is_done || mpi 2 resume "$folder" -q
same_bits "and the last run has the bits of an undisturbed one"
done_testing
