#!/bin/sh
# GPUs of several processes, emulated: the same weights as with as many GPUs of one process, also on two hosts, stopped
# and resumed; what is refused; what happens when a GPU, a process or NCCL fails.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/cli/mpi.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
TINCA=$(dirname "$TINCA")/tinca_emulated
if [ ! -x "$TINCA" ]; then
    skip "GPUs of several processes" "this build has no emulated GPUs"
    done_testing
fi
need_mpi "GPUs of several processes"
cd "$T" || exit 99
export TINCA_EMULATED_GPUS=4

cat >odd.json <<'NETWORK'
{"name": "odd", "input": [1, 28, 28], "classes": 10, "normalise": "unit",
 "layers": [{"op": "conv", "output": 6, "kernel": 3, "stride": 3}, {"op": "batch_norm"}, {"op": "relu"},
            {"op": "flatten"}, {"op": "dropout", "rate": 0.4}, {"op": "linear", "output": "classes"}]}
NETWORK
job="./odd.json --data digits,limit=64 --batch 16 --threads 1 --seed 3 --validate digits,limit=220"

# like_group NAME RANKS GPUS OPTION...: processes with one GPU each compute what one process with all of them does
like_group() {
    name=$1 ranks=$2 gpus=$3
    shift 3
    # shellcheck disable=SC2086 # a list of options
    run train $job --device "$gpus" "$@" --run-dir "group-$name" -q
    [ "$status" = 0 ] || not_ok "$name in one process" "$(told)"
    # shellcheck disable=SC2086
    mpi "$ranks" train $job --device cuda "$@" --run-dir "mpi-$name" -q
    for run in group mpi; do
        journal_lines "$run-$name/journal" | grep '"event":"validation"' | sed 's/"seconds":[^,}]*//' >"$run-validations"
    done
    if [ "$status" = 0 ] && cmp -s "group-$name/weights.safetensors" "mpi-$name/weights.safetensors" &&
        [ -s mpi-validations ] && cmp -s group-validations mpi-validations; then
        ok "$ranks processes: $name"
    else
        not_ok "$ranks processes: $name" "exit $status: $(told)"
    fi
}
like_group sgd 2 cuda:0,1 --iterations 8
like_group adam 4 cuda:0,1,2,3 --iterations 6 --solver adam
like_group fp16 2 cuda:0,1 --iterations 6 --precision fp16
small=$job
job="lenet --data digits,limit=64 --batch 4 --threads 1 --seed 1 --validate digits,limit=20"
like_group lenet 2 cuda:0,1 --iterations 3
job=$small

# --- GPUs of equal numbers ---

# alike NAME WHAT: the weights of the run NAME are those of one process with two GPUs
alike() {
    if [ "$status" = 0 ] && cmp -s group-sgd/weights.safetensors "$1/weights.safetensors"; then ok "$2"; else
        not_ok "$2" "exit $status: $(told)"
    fi
}
# own NAME FIRST SECOND: two ranks of this host, which see one GPU each, of these numbers on the host
own() {
    status=0
    # shellcheck disable=SC2086
    TINCA_EMULATED_GPUS=1 mpirun -n 1 -x TINCA_EMULATED_FIRST="$2" "$TINCA" train $job --device cuda --iterations 8 --run-dir "$1" -q : \
        -n 1 -x TINCA_EMULATED_FIRST="$3" "$TINCA" train $job --device cuda --iterations 8 --run-dir "$1" -q \
        >"$T/out" 2>"$T/err" </dev/null || status=$?
}
own own 3 1
alike own "each rank sees a GPU of its own"
own shared 1 1
if [ "$status" != 0 ] && has_line 'they see 1' err; then ok "two ranks see the same GPU: refused"; else
    not_ok "two ranks see the same GPU: refused" "exit $status: $(told)"
fi

# Two hosts on this machine: names of their own, and daemons of Open MPI that an agent starts in the place of ssh.
if unshare -u hostname tinca-1 2>/dev/null; then
    cat >agent <<'AGENT'
#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=$1
shift
exec unshare -u sh -c 'hostname "$0"; exec sh -c "$*"' "$host" "$@"
AGENT
    chmod +x agent
    # hosts RANKS ARGUMENT...: so many ranks, in turns on two hosts with one GPU each
    hosts() {
        ranks=$1
        shift
        status=0
        TINCA_EMULATED_GPUS=1 timeout 120 unshare -u sh -c 'hostname tinca-1; exec "$@"' sh mpirun --mca plm_rsh_agent "$T/agent" \
            --mca plm_rsh_no_tree_spawn 1 --mca btl self,tcp --mca btl_tcp_if_include lo --mca oob_tcp_if_include lo \
            --host "tinca-1:$ranks,tinca-2:$ranks" --map-by node -x TINCA_EMULATED_GPUS -n "$ranks" "$TINCA" "$@" \
            >"$T/out" 2>"$T/err" </dev/null || status=$?
    }
    hosts 2 devices
    if grep -q '1  *tinca-2' out; then ok "two hosts"; else not_ok "two hosts" "exit $status: $(told)"; fi
    # shellcheck disable=SC2086
    hosts 2 train $job --device cuda --iterations 8 --run-dir "$T/hosts" -q
    alike hosts "two hosts with a GPU each"
    # shellcheck disable=SC2086
    hosts 3 train $job --batch 15 --device cuda --iterations 8 --run-dir "$T/hosts-3" -q
    if [ "$status" != 0 ] && has_line 'tinca-1.*2 ranks.*they see 1' err; then ok "a third rank is refused"; else
        not_ok "a third rank is refused" "exit $status: $(told)"
    fi
else
    skip "two hosts" "no other host name can be given"
fi

# --- stopped and resumed ---
# shellcheck disable=SC2086
{
    mpi 2 train $job --device cuda --iterations 24 --run-dir whole -q
    mpi 2 train $job --device cuda --iterations 24 --max-time 0.001s --run-dir resumed -q
}
if [ -e resumed/checkpoint.safetensors ]; then # it was stopped before its end
    mpi 2 resume "$T/resumed" --max-time 1h -q
    if [ "$status" = 0 ] && cmp -s whole/weights.safetensors resumed/weights.safetensors; then
        ok "a stopped run, resumed"
    else
        not_ok "a stopped run, resumed" "exit $status: $(told)"
    fi
else
    not_ok "a run that is stopped after a moment" "exit $status: $(told)"
fi

# --- what is told and refused ---
# shellcheck disable=SC2086
mpi 2 train $job --device cuda --iterations 2 --run-dir told
[ "$status" = 0 ] && has_line 'NCCL adds the gradients' err && ok "NCCL's order is told" || not_ok "NCCL's order is told" "$status: $(cat err)"

# refused STATUS PATTERN NAME RANKS OPTION...: no run begins, and a message says why, once
refused() {
    wanted=$1 pattern=$2 name=$3 ranks=$4
    shift 4
    # shellcheck disable=SC2086
    mpi "$ranks" train $job --iterations 2 --run-dir refused -q "$@"
    if [ "$status" = "$wanted" ] && has_line "$pattern" err && [ "$(grep -c tinca: err)" = 1 ] && [ ! -e refused ]; then
        ok "$name"
    else
        not_ok "$name" "exit $status: $(cat err)"
    fi
}
refused 2 'GPU of its number on its host: choose --device cuda' "a GPU by its number" 2 --device cuda:1
refused 2 'GPU of its number on its host' "several GPUs" 2 --device cuda:0,1
refused 1 'blocks 1' "blocks" 2 --device cuda --blocks 4
refused 1 'a student with a teacher trains on one GPU' "a teacher" 2 --device cuda --teacher "$T/group-sgd/weights.safetensors"
TINCA_EMULATED_NCCL=no refused 1 'NCCL' "no NCCL" 2 --device cuda
TINCA_EMULATED_GPUS=1 refused 1 "$(uname -n).*2 ranks.*they see 1.*at most 1" "more ranks than GPUs" 2 --device cuda

# --- failures ---
# They happen side by side, since their ends take seconds in which nothing is computed.

long="$job --device cuda --iterations 1000000 -q"
# fails NAME FIRST SECOND: runs two processes, each with variables of its own, and sets $launcher
fails() {
    # shellcheck disable=SC2086
    background "$1" -n 1 $2 "$TINCA" train $long --run-dir "$T/$1" : -n 1 $3 "$TINCA" train $long --run-dir "$T/$1"
}
trained() { [ "$(journal_lines "$1/journal" | grep -s '"loss"' | wc -l)" -gt 3 ]; }
# disturb NAME SIGNAL: sends a signal to rank 1 while it trains
disturb() {
    fails "$1" "" ""
    wait_until trained "$1"
    for process in $(pgrep -f "^$TINCA train.*$T/$1"); do
        tr '\0' '\n' <"/proc/$process/environ" | grep -qx 'OMPI_COMM_WORLD_RANK=1' && kill "-$2" "$process"
    done
}
none_left() { ! pgrep -f "^$TINCA train.*$T/$1" >/dev/null; }
# ended NAME LAUNCHER PATTERN WHAT: the processes end with a message
ended() {
    finish "$1" "$2"
    # the launcher does not wait for a process that it has killed
    if [ "$status" != 0 ] && has_line "$3" err && wait_until none_left "$1"; then ok "$4"; else
        not_ok "$4" "exit $status: $(cat err)"
    fi
}
disturb stopped STOP
stopped=$launcher
disturb killed KILL
killed=$launcher
fails one "" "-x TINCA_EMULATED_FAILURE=300"
one=$launcher
fails zero "-x TINCA_EMULATED_FAILURE=300" ""
ended zero $launcher 'cuda: the GPU failed' "the GPU of rank 0 fails"
ended one $one 'rank 1 on .*cuda:1: the GPU failed' "that of rank 1"
ended killed $killed 'signal 9' "rank 1 is killed"
ended stopped $stopped 'rank 1 on .* has not answered' "rank 1 is stopped"
run runs --check "$T/stopped"
[ "$status" = 0 ] && ok "  which leaves a valid run" || not_ok "  which leaves a valid run" "$(told)"
done_testing
