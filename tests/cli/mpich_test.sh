#!/bin/sh
# The same bits with MPICH as with Open MPI: builds the module with mpicc.mpich (Debian: mpich, libmpich-dev) beside
# a copy of the program, trains with 1, 2 and 4 processes of mpiexec.mpich, ends them when one is killed or stopped, and
# lets the launchers of both libraries start processes of the other, which must be refused.
srcdir=$(cd "${srcdir:-.}" && pwd)
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/cli/mpi.sh"
need_mpi "runs with MPICH"
for program in mpicc.mpich mpiexec.mpich mpirun.openmpi; do
    command -v $program >/dev/null && continue
    skip "runs with MPICH" "there is no $program"
    done_testing
done
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
build=$(dirname "$TINCA")
mkdir "$T/mpich"
cp "$TINCA" "$T/mpich/tinca"
mpicc.mpich -DHAVE_CONFIG_H -I"$build" -I"$srcdir/src" -D_GNU_SOURCE -std=c11 -O2 -Wall -Wextra -Werror -fPIC \
    -fvisibility=hidden -shared -o "$T/mpich/tinca-mpi.so" "$srcdir/src/engine/cluster/cluster_mpi.c" 2>"$T/err" &&
    ok "the module compiles with MPICH" || not_ok "the module compiles with MPICH" "$(cat "$T/err")"
cd "$T" || exit 99
regular_network regular.json
openmpi=$TINCA
mpich=$T/mpich/tinca

for job in "lenet --data digits,limit=64 --batch 16" "./regular.json --data digits,limit=64 --batch 16" "resnet20 --data shapes,limit=8 --batch 4" \
    "squeezenet --technique shift --data shapes,limit=8 --batch 4"; do
    network=$(basename "${job%% *}" .json)
    # shellcheck disable=SC2086 # a list of options
    "$openmpi" train $job --iterations 3 --blocks 4 --threads 1 --seed 3 -q --run-dir "$network-1" 2>err ||
        not_ok "$network, one process" "$(cat err)"
    # the processes of this host send messages, unless they share memory; each number of them has a small network, and
    # all networks with the whole list
    case $network in regular) several="1 2 4 shared" ;; lenet) several=2 ;; resnet20) several=4 ;; *) several=shared ;; esac
    if whole_list; then several="1 2 4 shared"; fi
    for ranks in $several; do
        case $ranks in shared) processes=2 shares=1 ;; *) processes=$ranks shares=0 ;; esac
        # shellcheck disable=SC2086
        TINCA_SHARED_MEMORY=$shares mpiexec.mpich -n $processes "$mpich" train $job --iterations 3 --blocks 4 --threads 1 --seed 3 -q \
            --run-dir "$network-mpich-$ranks" >out 2>err </dev/null
        status=$?
        if [ $status = 0 ] && cmp -s "$network-1/weights.safetensors" "$network-mpich-$ranks/weights.safetensors"; then
            ok "$network, processes of MPICH ($ranks): the same bits"
        else
            not_ok "$network, processes of MPICH ($ranks): the same bits" "exit $status: $(told)"
        fi
    done
done
mpiexec.mpich -n 2 "$mpich" devices --json >out 2>err </dev/null
grep -q '"mpi".*MPICH' out && ok "tinca devices names MPICH" || not_ok "tinca devices names MPICH" "$(cat out err)"
mpiexec.mpich -n 2 "$mpich" bench perceptron --cluster --batch 16 --threads 1 --iterations 1 >out 2>err </dev/null
[ $? = 0 ] && grep -q 'the model is off by' out && ok "bench --cluster" || not_ok "bench --cluster" "$(cat out err)"
mpiexec.mpich -n 2 "$mpich" train lenet --data folder:nowhere --iterations 1 -q >out 2>err </dev/null
[ $? != 0 ] && grep -q nowhere err && ok "an error ends all processes" || not_ok "an error ends all" "$(cat err)"

# --- a rank that is killed or stopped ---
rank_process() { # rank_process RANK: prints the process of a rank of the run in progress
    for process in $(pgrep -f "^$mpich train"); do
        grep -qz "^PMI_RANK=$1$" "/proc/$process/environ" 2>/dev/null && echo "$process"
    done
}
none_left() { [ -z "$(pgrep -f "^$mpich train")" ]; }
has_checkpoint() { [ -s "$1/checkpoint.safetensors" ]; }
for signal in KILL STOP; do
    case $signal in KILL) shares=0 ;; *) shares=1 ;; esac
    TINCA_SHARED_MEMORY=$shares mpiexec.mpich -n 2 "$mpich" train lenet --data digits,limit=400 --batch 20 --iterations 1000000 --threads 1 \
        --checkpoint 0.05 -q --run-dir "$signal" >out 2>err </dev/null &
    launcher=$!
    wait_until has_checkpoint "$signal"
    kill -$signal "$(rank_process 1)"
    wait_until gone $launcher || kill -KILL $launcher
    status=0
    wait $launcher || status=$?
    [ $status != 0 ] && ok "SIG$signal on a rank ends all" || not_ok "SIG$signal on a rank ends all" "$(told)"
    if [ $signal = STOP ]; then
        grep -q 'rank 1 on .*has not answered' err && ok "  with the reason" || not_ok "  with the reason" "$(cat err)"
    fi
    wait_until none_left && ok "  and leaves no process" || not_ok "  and leaves no process" "$(ps -eo pid,stat,args)"
    succeeds "  and a valid run" runs --check "$T/$signal"
done

# --- the launcher of one library, the module of the other ---
mpiexec.mpich -n 2 "$openmpi" train lenet --data digits,limit=32 --iterations 1 -q --run-dir crossed >out 2>err </dev/null
[ $? != 0 ] && [ ! -e crossed/summary.json ] && grep -q 'started 2' err && ok "mpiexec of MPICH, module of Open MPI" ||
    not_ok "mpiexec of MPICH, module of Open MPI" "$(cat err)"
mpirun.openmpi -n 2 "$mpich" train lenet --data digits,limit=32 --iterations 1 -q --run-dir crossed >out 2>err </dev/null
[ $? != 0 ] && [ ! -e crossed/summary.json ] && grep -q 'started 2' err && ok "mpirun of Open MPI, module of MPICH" ||
    not_ok "mpirun of Open MPI, module of MPICH" "$(cat err)"
done_testing
