#!/bin/sh
# Training in several processes over MPI: the same bits for 1, 2 and 4 processes, what is refused, and what
# happens when a process dies or is stopped. mpi_failures_test.sh has what a rank cannot read or write.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/cli/mpi.sh"
. "$srcdir/tests/faults/hold.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
cd "$T" || exit 99

# says PATTERN NAME: the last command failed with a message that matches
says() {
    if [ "$status" != 0 ] && grep -Eq -- "$1" "$T/err"; then ok "$2"; else
        not_ok "$2" "exit $status: $(told)"
    fi
}

job="lenet --data digits,limit=64 --batch 16 --iterations 4 --threads 1 --seed 3 -q"

if lone_program "a launcher without the module"; then
    # shellcheck disable=SC2086 # a list of options
    launched_program "$lone" "OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0" train $job
    says "$missing" "a launcher without the module"
    # shellcheck disable=SC2086
    launched_program "$lone" "A=1" train $job --ranks 2
    says "$missing" "  or --ranks"
fi
need_mpi "training in several processes"

# --- begun now, looked at last: they wait for seconds in which they do nothing ---

# shellcheck disable=SC2086 # a list of options
{
    TINCA_MPI_START=2 background unborn -n 1 "$TINCA" train $job --run-dir "$T/unborn" : -n 1 sleep 1000
    unborn=$launcher
    faults=$(dirname "$TINCA")/faults.so
    if [ -e "$faults" ]; then
        STOP_AT=MPI_Finalize background undying -n 1 "$TINCA" train $job --run-dir "$T/undying" : \
            -n 1 -x LD_PRELOAD="$faults" "$TINCA" train $job --run-dir "$T/undying"
        undying=$launcher
    fi
}

# alike NAME RANKS OPTION...: one process and so many (with the whole list: 2 and 4) train the network to the same bits,
# with any threads
alike() {
    name=$1 several=$2
    shift 2
    if whole_list; then several="2 4"; fi
    run train "$@" --blocks 4 --threads 1 --run-dir "$T/$name-1" -q
    [ "$status" = 0 ] || not_ok "$name trains in one process" "$(told)"
    case $several in
    2*)
        mpi 2 train "$@" --blocks 4 --threads 2 --run-dir "$T/$name-2" -q
        same "$name: two processes of two threads" "$name-1" "$name-2"
        ;;
    esac
    case $several in
    *4)
        mpi 4 train "$@" --threads 1 --run-dir "$T/$name-4" -q
        same "$name: four processes, which choose the blocks" "$name-1" "$name-4"
        ;;
    esac
}

# --- the same bits ---

regular_network regular.json
short="--batch 16 --iterations 4 --seed 3"
# shellcheck disable=SC2086 # lists of options
{
    alike lenet "2 4" lenet --data digits,limit=64 $short
    alike resnet20 4 resnet20 --data shapes,limit=32 --batch 8 --iterations 2 --augment yes
    alike squeezenet 2 squeezenet-shift --data shapes,limit=16 --batch 4 --iterations 3
    alike regular 4 ./regular.json --data digits,limit=64 $short --validate digits,limit=20 --clip-norm 1
    alike adam 2 ./regular.json --data digits,limit=64 $short --solver adam --sampling balanced --freeze conv1 \
        --device reference
    "$JSON_LOOK" lenet-4/config.json config.blocks >found 2>&1
    if grep -q '^4$' found; then ok "the run records its blocks"; else not_ok "the run records its blocks" "$(cat found)"; fi

    TINCA_SHARED_MEMORY=0 mpi 2 train $job --blocks 2 --run-dir "$T/messages"
    run train $job --blocks 2 --run-dir "$T/single"
    same "ranks of one host that send messages" single messages
    mpirun -n 1 "$TINCA" train $job --blocks 2 --run-dir "$T/mixed" --threads 1 : \
        -n 1 "$TINCA" train $job --blocks 2 --threads 2 >"$T/out" 2>"$T/err" </dev/null
    same "processes with other numbers of threads" single mixed
}

# --- a launcher that is not recognised ---
# Open MPI's without its own variables leaves only that of PMIx, the number of the process.

# unrecognised ARGUMENT...: trains in two processes of it, to the folder unrecognised
unrecognised() {
    rm -rf unrecognised
    status=0
    # shellcheck disable=SC2086 # a list of options
    mpirun -n 2 env -u OMPI_COMM_WORLD_SIZE -u OMPI_COMM_WORLD_RANK "$TINCA" train $job --run-dir "$T/unrecognised" "$@" \
        >"$T/out" 2>"$T/err" </dev/null || status=$?
}
unrecognised --ranks 2
same "a launcher that is not recognised, with --ranks: the bits of one process" single unrecognised
unrecognised
same "  without --ranks MPI says how many there are" single unrecognised
unrecognised --ranks 3
says "--ranks: it says 3, but MPI .* knows 2 processes: give the number" "  a wrong number is refused"
if [ ! -e unrecognised ]; then ok "  and no run began"; else not_ok "  and no run began" "$(ls unrecognised)"; fi

# --- no room in /dev/shm ---

# without_room NAME REASON ARGUMENT...: the run in the folder NAME, whose second rank has these arguments of mpirun, has
# no shared memory
without_room() {
    name=$1 reason=$2
    shift 2
    # shellcheck disable=SC2086 # a list of options
    mpirun -n 1 "$TINCA" train $job --blocks 2 --run-dir "$T/$name" : -n 1 "$@" \
        "$TINCA" train $job --blocks 2 --run-dir "$T/$name" >"$T/out" 2>"$T/err" </dev/null
    same "no shared memory ($reason): messages have the gradients" single "$name"
    has_line '"kind":"scaling".*'"$reason" "$name/journal" && ok "  which is a finding" ||
        not_ok "  which is a finding" "$(journal_lines "$name/journal")"
}
if [ -e "$faults" ]; then
    without_room room "No space left on device" -x LD_PRELOAD="$faults" -x FAULT="allocate:1:ENOSPC"
else
    skip "no room in /dev/shm" "this build has no faults.so"
fi
OMPI_MCA_osc=pt2pt without_room refused "MPI_ERR"

# --- what is refused ---

# shellcheck disable=SC2086 # lists of options
{
    launched "OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0" train $job --run-dir "$T/alone"
    if [ "$status" = 0 ]; then ok "one process needs no MPI"; else not_ok "one process needs no MPI" "$(told)"; fi
    launched "PMI_SIZE=4 PMI_RANK=0" train $job
    says "mpiexec: it started 4 processes, but MPI \(Open MPI.*\) knows 1" "a launcher of another MPI"
    launched "SLURM_STEP_NUM_TASKS=3 SLURM_PROCID=0" train $job
    says "srun: it started 3 processes" "srun without MPI"
    launched "PMIX_RANK=1" train $job
    says "rank 1 on .*PMIx\): it started several processes, of which this is number 1, but MPI .* knows 1" \
        "a launcher that does not say how many it has started"
    launched "A=1" train $job --ranks 2
    says "it started 2 processes, but MPI" "--ranks of a launcher that is none"
    launched "PMI_SIZE=4 PMI_RANK=0" train $job --ranks 2
    says "says 2, but mpiexec started 4" "--ranks that contradicts the launcher"
    launched "OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0" ui
    says "mpirun: it started 2 processes, but MPI" "a workbench that MPI does not know"
    for command in "find-rate lenet --data digits" "bench lenet" runs; do
        launched "OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0" $command
        says "mpirun: it started several processes, each of which would do all the work of tinca ${command%% *}: start" \
            "a command that does not share its work: ${command%% *}"
    done
    mpi 2 eval lenet --data digits
    if [ "$status" != 0 ] && [ "$(grep -c 'would do all the work' err)" = 1 ]; then ok "  said once"; else
        not_ok "  said once" "$(told)"
    fi
    launched "OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0" find-rate --help
    if [ "$status" = 0 ] && [ -s out ]; then ok "  but its help is shown"; else not_ok "  but its help is shown" "$(told)"; fi
    launched "OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0" runs
    if [ "$status" = 0 ]; then ok "  and one process may do it"; else not_ok "  and one process may do it" "$(told)"; fi
    mpi 2 train $job --blocks 3
    says "2 processes cannot have equally many of 3 blocks" "blocks that the processes cannot share"
    mpi 2 train lenet --data digits --batch 15 --epochs 1 -q
    says "batch 15: 2 processes share each batch" "a batch that they cannot share"
    mpirun -n 1 "$TINCA" train $job : -n 1 "$TINCA" train $job --seed 4 >"$T/out" 2>"$T/err" </dev/null
    status=$?
    says "rank 1 on .*: --seed is 4, but 3 on rank 0" "ranks with other settings"
    if ! grep -qw avx2 /proc/cpuinfo; then
        skip "ranks with other instructions" "this processor has no AVX2"
    else
        mpirun -n 1 -x TINCA_CPU=avx2 "$TINCA" train $job : -n 1 -x TINCA_CPU=generic "$TINCA" train $job \
            >"$T/out" 2>"$T/err" </dev/null
        status=$?
        says "rank 1 on .*: kernels for: generic, but avx2 on rank 0" "ranks with other instructions"
    fi
    if [ -z "$(ls "$XDG_STATE_HOME/tinca/runs" 2>/dev/null)" ]; then ok "refused runs leave nothing"; else
        not_ok "refused runs leave nothing" "$(ls "$XDG_STATE_HOME/tinca/runs")"
    fi
}

# --- failures, and resuming ---
# Four runs are disturbed when they have two checkpoints; those with a stopped rank end ten seconds later, and
# meanwhile the undisturbed run is computed.

# The run has 12 epochs, with a checkpoint at the end of each at least.
long="lenet --data digits,limit=100 --batch 20 --iterations 60 --seed 3 --blocks 4"
often="--checkpoint 0.05 --checkpoint-share 100"
writer_stops() { is_rank 0 $launcher && is_stopped "$process"; }
writer_stops_or_gone() { writer_stops || gone $launcher; }

# disturb SIGNAL RANK: starts a run, stops rank 0, which writes the checkpoints, when it has two, sends a signal to
# a rank, lets rank 0 go on unless it is the one that stays stopped, and sets $launcher. If all this takes ten seconds,
# rank 1 ends the run, because rank 0 has not answered.
disturb() {
    preload=
    for variable in $(holding 5); do preload="$preload -x $variable"; done
    # one kill and one stop happen while the ranks share memory, the others while they send messages
    case $1-$2 in KILL-0 | STOP-1) shared=1 ;; *) shared=0 ;; esac
    # shellcheck disable=SC2086 # lists of options
    TINCA_SHARED_MEMORY=$shared background "run-$1-$2" -n 1 $preload "$TINCA" train $long --threads 1 $often --run-dir "$T/run-$1-$2" -q : \
        -n 1 "$TINCA" train $long --threads 1 $often --run-dir "$T/run-$1-$2" -q
    wait_until writer_stops_or_gone
    writer_stops || not_ok "rank 0 is stopped at a checkpoint" "$(cat "$T/run-$1-$2.err")"
    writer=$process
    is_rank "$2" $launcher && kill "-$1" "$process"
    date +%s >"$T/run-$1-$2.began"
    [ "$1 $2" = "STOP 0" ] || kill -CONT "$writer" 2>/dev/null
}
# no_windows: no memory that ranks share has a name; those of other tests have one for a moment
no_windows() { ! ls /dev/shm/osc_sm.* >/dev/null 2>&1; }
# ended SIGNAL RANK LAUNCHER: the launcher and all ranks have ended
ended() {
    finish "run-$1-$2" "$3"
    if [ "$status" != 0 ]; then ok "SIG$1 on rank $2 ends all"; else not_ok "SIG$1 on rank $2 ends all" "$(told)"; fi
    case $1 in
    STOP) says "rank $2 on .*has not answered" "  with the reason" ;;
    KILL) says "process rank $2 .*signal 9|rank $2 .* not answered" "  with the reason" ;;
    esac
    # the launcher's last message comes when all processes have ended
    seconds=$(($(date -r "$T/run-$1-$2.err" +%s) - $(cat "$T/run-$1-$2.began")))
    if [ $seconds -le 60 ]; then ok "  within seconds"; else not_ok "  within seconds" "$seconds"; fi
    # the launcher does not wait for a process that it has killed
    if wait_until none_left "run-$1-$2"; then ok "  and leaves no process"; else
        not_ok "  and leaves no process" "$(ps -eo pid,ppid,stat,args | grep '[t]inca train')"
    fi
    if wait_until no_windows; then ok "  and no memory in /dev/shm"; else
        not_ok "  and no memory in /dev/shm" "$(ls /dev/shm)"
    fi
    run runs --check "$T/run-$1-$2"
    if [ "$status" = 0 ]; then ok "  and a valid run"; else not_ok "  and a valid run" "$(told)"; fi
}
# resumed SIGNAL RANK RANKS: the run goes on with this number of ranks
resumed() {
    if [ "$3" = 1 ]; then run resume "$T/run-$1-$2" -q --checkpoint 60; else
        mpi "$3" resume "$T/run-$1-$2" -q --checkpoint 60
    fi
    same "$3 ranks resume to the same bits after SIG$1 on rank $2" whole "run-$1-$2"
}

disturb STOP 0
stop_0=$launcher
disturb STOP 1
stop_1=$launcher
disturb KILL 0
kill_0=$launcher
disturb KILL 1
kill_1=$launcher
# shellcheck disable=SC2086 # a list of options
run train $long --threads 2 --run-dir "$T/whole" -q
ended KILL 0 $kill_0
ended KILL 1 $kill_1
resumed KILL 0 1
ended STOP 0 $stop_0
ended STOP 1 $stop_1
resumed STOP 1 4
if every; then
    resumed KILL 1 4
    resumed STOP 0 1
fi

# --- MPI that does not begin or end ---

finish unborn $unborn
says "waits for all processes, and 2 seconds were not enough" "a rank that never initialises MPI: the other gives up"
if wait_until none_left unborn; then ok "  and no process is left"; else not_ok "  and no process is left" "$(ps -ef)"; fi
if [ -e "$faults" ]; then
    finish undying $undying
    says "MPI: it does not end, though all ranks have finished" "a rank that is stopped in MPI_Finalize: the job ends"
    if wait_until none_left undying; then ok "  no process is left"; else not_ok "  no process is left" "$(ps -ef)"; fi
    run train $job --blocks 2 --run-dir "$T/ended"
    same "  and the run is complete" ended undying
else
    skip "a rank that is stopped in MPI_Finalize" "this build has no faults.so"
fi

done_testing
