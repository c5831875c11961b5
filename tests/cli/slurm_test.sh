#!/bin/sh
# A sweep as a job array: the submitted script, and what an element does and survives. If Slurm is installed,
# the test also starts its real daemons on this machine, and ends them.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/cli/mpi.sh"
array=$(cd "$srcdir" && pwd)/contrib/slurm/tinca-array
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
export TINCA
cd "$T" || exit 99

runs() { find "$XDG_STATE_HOME/tinca/runs" -name config.json 2>/dev/null | wc -l; }

quietly() { "$@" >/dev/null 2>&1; }
eventually() { wait_until quietly "$@"; }

check() { # check NAME COMMAND...
    name=$1
    shift
    if "$@" >"$T/said" 2>&1; then ok "$name"; else not_ok "$name" "$* $(tail -n 5 "$T/said")"; fi
}

# state NUMBER: prints the state of a cell of the sweep "endless"
state() { "$TINCA" sweep --name endless --dry-run --json 2>/dev/null >look && "$JSON_LOOK" look "cells.$(($1 - 1)).state"; }
is_state() { [ "$(state "$1")" = "$2" ]; }
run_of() { "$JSON_LOOK" look "cells.$(($1 - 1)).run"; }
# A process locks a cell a moment before it starts the cell's run.
is_on() { is_state "$1" running && [ "$(run_of "$1")" != null ]; }
# iterations RUN: counts the iterations in the journal
iterations() { journal_lines "$XDG_STATE_HOME/tinca/runs/$1/journal" | grep -c '"loss"'; }
has_more() { [ "$(iterations "$1")" -gt "$2" ]; }

cat >grid.json <<'EOG'
{"networks": ["mlp", "lenet"], "batches": "1..16", "data": "digits,limit=40", "iterations": 2}
EOG
endless="--networks lenet --batches 8,16 --data digits --iterations 100000000 --name endless"

# --- the submission ---

succeeds "the remaining cells of a new sweep" sweep grid.json --due
shows '^1-10$' "  are all cells"
"$TINCA" sweep grid.json --cell 2 -q && "$TINCA" sweep grid.json --cell 5 -q
succeeds "after two cells" sweep grid.json --due
shows '^1,3-4,6-10$' "  are the others"
succeeds "with a cell that no machine can compute" sweep grid.json --techniques none,shift \
    --networks mlp --due
shows '^1,3-4$' "  the cells that a machine can compute"
succeeds "for a device that this machine lacks" sweep grid.json --networks mlp --devices cuda:7,cpu --due
shows '^1-6,8-9$' "  are these, too"
refuses 2 "changes none" "a sweep that no machine can compute" sweep grid.json --networks mlp \
    --techniques shift --due

"$array" --dry-run -p 3 -w 60 grid.json --vary "seed=1;2" -- --time=10 "--comment=two words" >out 2>err
check "a dry run" test $? = 0
shows "^sbatch .*--array=1,3-4,6-20%3 .*--signal=B:USR1@60 --requeue .*--time=10 '--comment=two words'" \
    "  shows the command"
shows "sweep grid.json --vary 'seed=1;2'$" "  and the script, word by word"
sed '1d;$d' out >element.sh
check "  which is valid" sh -n element.sh
check "  and submits nothing" test "$(runs)" = 2
"$array" --dry-run >out 2>err
check "no sweep: status 2" test $? = 2
"$array" --dry-run -p x grid.json >out 2>err
check "an invalid number: status 2" test $? = 2
"$array" --dry-run nosuch.json >out 2>err
check "a missing file: the message of tinca" grep -q '^tinca: nosuch.json: ' err

# --- an element ---

# Stands for the parts of Slurm that an element needs.
mkdir bin
printf '#!/bin/sh\necho "$@" >>"%s/scontrol.log"\n' "$T" >bin/scontrol
chmod +x bin/scontrol
element() { # element SCRIPT NUMBER: replaces this process by the element
    exec env PATH="$T/bin:$PATH" SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID="$2" \
        SLURM_CPUS_PER_TASK=1 sh "$1" >"element-$2.log" 2>&1
}

"$array" --dry-run grid.json 2>err | sed '1d;$d' >element.sh
for n in 1 2 3 4 5 6 7 8 9 10 3 4; do
    element element.sh $n &
done
wait
check "twelve elements at once, two of them twice: one run for each cell" test "$(runs)" = 10
succeeds "  all cells" sweep grid.json --report --json
is "  are done" states.done 10
is "  with the cores of the element" cells.2.result.threads 1
succeeds "only the tables" sweep grid.json --report
shows '^lenet +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+$' "  are complete"
"$array" grid.json >out 2>err
check "all cells are computed: status 0" test $? = 0
check "  with a message" grep -q 'nothing to submit' err

# shellcheck disable=SC2086
"$array" --dry-run $endless 2>err | sed '1d;$d' >endless.sh
element endless.sh 1 &
job=$!
eventually is_on 1
first=$(run_of 1)
eventually has_more "$first" 3
kill -USR1 $job
wait $job
check "warned before the time limit: saved, status 130" test $? = 130
check "  interrupted" is_state 1 interrupted
check "  requeued" grep -qx 'requeue 7_1' scontrol.log
had=$(iterations "$first")
rm -f scontrol.log
element endless.sh 1 &
job=$!
eventually has_more "$first" "$had"
check "restarted: the same run continues" has_more "$first" "$had"
state 1 >/dev/null
check "  and it is the same run" test "$(run_of 1)" = "$first"
has_checkpoint() { [ -s "$XDG_STATE_HOME/tinca/runs/$first/checkpoint.safetensors" ]; }
eventually has_checkpoint
kill -KILL "$(pgrep -P $job)"
wait $job
check "its program is killed: status 137" test $? = 137
check "  interrupted" is_state 1 interrupted
# shellcheck disable=SC2086
succeeds "  due" sweep $endless --due
shows '^1-2$' "  for the next array, like the other cell"
had=$(iterations "$first")
element endless.sh 1 &
job=$!
eventually has_more "$first" "$had"
check "  which continues the same run" has_more "$first" "$had"
kill -TERM $job
wait $job
check "cancelled: saved, status 130" test $? = 130
check "  and not requeued" test ! -e scontrol.log
check "  the other cell is unchanged" is_state 2 waiting

# --- with Slurm's daemons ---

for program in munged slurmctld slurmd sbatch; do
    PATH=$PATH:/usr/sbin:/sbin command -v $program >/dev/null || missing="${missing:+$missing, }$program"
done
if [ "${missing-}" ]; then
    skip "the same with Slurm's daemons" "there is no $missing here"
    done_testing
fi
PATH=$PATH:/usr/sbin:/sbin
export SLURM_CONF="$T/slurm.conf"
host=$(hostname -s) user=$(id -un) port=$((20000 + $$ % 20000)) daemons=''
# A requeued element waits until its old credential has expired.
cat >slurm.conf <<EOC
ClusterName=tinca
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$user
SlurmdUser=$user
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/munge
AuthInfo=socket=$T/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation=$T/slurm
SlurmdSpoolDir=$T/spool
SlurmctldPidFile=$T/slurmctld.pid
SlurmdPidFile=$T/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
SwitchType=switch/none
KillWait=5
NodeName=$host NodeAddr=127.0.0.1 CPUs=4 RealMemory=512 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
EOC
: >cgroup.conf
mkdir slurm spool
dd if=/dev/urandom of=munge.key bs=1024 count=1 2>/dev/null
chmod 600 munge.key

daemon() { # daemon NAME ARGUMENT...: runs a daemon until the end of the test
    log=$T/$1.log
    "$@" >"$log" 2>&1 </dev/null &
    daemons="$! $daemons"
}

end_daemons() {
    scancel --user="$user" 2>/dev/null && eventually queue_is_empty
    for process in $daemons; do kill "$process" 2>/dev/null; done
    wait
    rm -rf "$T"
}

node_is_up() { sinfo --noheader --format=%t | grep -qE '^(idle|mix|alloc)'; }
queue_is_empty() { [ -z "$(squeue --noheader --array)" ]; }
# job_has PATTERN: whether Slurm's record of the first element of the sweep "endless" matches
job_has() { scontrol show job "${id}_1" | grep -qE "$1"; }

daemon munged --foreground --force --key-file="$T/munge.key" --socket="$T/munge.socket" \
    --pid-file="$T/munge.pid" --log-file="$T/munge.txt" --seed-file="$T/munge.seed"
trap end_daemons EXIT
eventually test -S munge.socket
daemon slurmctld -D -c -f "$SLURM_CONF"
daemon slurmd -D -c -f "$SLURM_CONF"
if ! eventually node_is_up; then
    tap_in_vain= # this is no failure of the program
    skip "the same with Slurm's daemons" "they do not start here: $(cat slurmd.log slurmctld.log | grep -m 1 -E 'error|fatal')"
    done_testing
fi

export XDG_STATE_HOME="$T/cluster"
check "Slurm accepts the array" "$array" grid.json
eventually queue_is_empty
check "  and computes it" queue_is_empty
check "  one run for each cell" test "$(runs)" = 10
succeeds "  all cells" sweep grid.json --report --json
is "  are done" states.done 10
"$array" grid.json >out 2>err
check "nothing remains for another array" grep -q 'nothing to submit' err

# rank_of_srun NUMBER FOLDER: prints the process of a rank that trains the run in this folder
rank_of_srun() {
    for environment in $(grep -lasz "^SLURM_PROCID=$1$" /proc/[0-9]*/environ 2>/dev/null); do
        grep -qszxF "$T/$2" "${environment%environ}cmdline" && echo "$environment" | tr -dc 0-9
    done
}
# killed_rank: rank 1 of a run is killed; what is checked is that all ends, by Slurm or by the other ranks
killed_rank() {
    SLURM_MPI_TYPE=pmix srun -n 4 "$TINCA" train lenet --data digits --batch 32 --iterations 100000000 --blocks 4 --threads 1 \
        --seed 3 --checkpoint 0.5 --run-dir "$T/killed" -q >out 2>err </dev/null &
    launcher=$!
    eventually test -s killed/checkpoint.safetensors
    watch_zombies
    kill -KILL "$(rank_of_srun 1 killed)"
    began=$(date +%s)
    status=0
    wait $launcher || status=$?
    took=$(($(date +%s) - began))
    check "SIGKILL of one of four ranks: srun fails" test "$status" != 0
    check "  within 30 seconds" test "$took" -le 30
    if grep -Eq 'task 1: Killed|rank 1 on .* not answered' err; then ok "  with the rank"; else
        not_ok "  with the rank" "$(cat err)"
    fi
    check "  and leaves no process" wait_until none_left killed
    check "  and a valid run" "$TINCA" runs --check "$T/killed"
}

# Processes that srun starts and that do not know of each other are refused.
small="lenet --data digits,limit=64 --batch 16 --iterations 4 --threads 1 --seed 3 -q"
# shellcheck disable=SC2086 # a list of options
srun --mpi=none -n 2 "$TINCA" train $small --run-dir "$T/strangers" >out 2>err </dev/null
check "srun --mpi=none -n 2 trains nothing" test $? != 0
grep -Eq "^tinca: (rank 1 on .*: )?srun: it started (2|several) processes" err && ok "  the message says why" ||
    not_ok "  the message says why" "$(cat err)"
check "  and no run began" test ! -e strangers
# The ranks that srun starts train together and share a sweep, if Slurm and the module know PMIx.
if [ -e "$(dirname "$TINCA")/tinca-mpi.so" ] && srun --mpi=list 2>&1 | grep -q pmix; then
    # shellcheck disable=SC2086
    "$TINCA" train $small --blocks 2 --run-dir "$T/alone" >out 2>err &&
        srun --mpi=pmix -n 2 "$TINCA" train $small --blocks 2 --run-dir "$T/together" >out 2>err </dev/null
    check "srun starts two ranks of a run" test $? = 0
    check "  which have the bits of one process" cmp alone/weights.safetensors together/weights.safetensors
    srun --mpi=pmix -n 2 "$TINCA" sweep --networks mlp,lenet --batches 2,4 --data digits,limit=40 --iterations 2 \
        --name ranks --over mpi >out 2>err </dev/null
    check "srun starts two ranks of a sweep" test $? = 0
    check "  which compute its cells" test "$(grep -c 'done, .* (rank [01] on ' err),$(runs)" = 4,14
    srun --mpi=none -n 2 "$TINCA" sweep --name ranks >out 2>err </dev/null
    check "without --over it is refused" grep -q '^tinca: srun: it started 2 processes, each of which' err

    # shellcheck disable=SC2086
    "$TINCA" train $small --blocks 4 --run-dir "$T/alone-4" >out 2>err &&
        SLURM_MPI_TYPE=pmix srun -n 4 "$TINCA" train $small --blocks 4 --run-dir "$T/four" >out 2>err </dev/null
    check "four ranks, by SLURM_MPI_TYPE=pmix" test $? = 0
    check "  have the bits of one process, too" cmp alone-4/weights.safetensors four/weights.safetensors
    killed_rank
else
    skip "srun starts the ranks of a run and of a sweep" "Slurm has no PMIx here, or this build no MPI"
fi

# shellcheck disable=SC2086
before=$(runs)
check "two endless cells" "$array" $endless
id=$(squeue --noheader --format=%F | head -n 1) # the array's number
eventually is_on 1
eventually is_on 2
check "  run at the same time" is_state 1 running
first=$(run_of 1)
eventually has_more "$first" 3
scancel --batch --signal=USR1 "${id}_1"
eventually is_state 1 interrupted
check "warned before the time limit: saved" is_state 1 interrupted
had=$(iterations "$first")
eventually job_has 'Restarts=1 '
check "  requeued" job_has 'Restarts=1 '
eventually has_more "$first" "$had"
check "  and the same run continues" has_more "$first" "$had"
check "  beside the other cell" is_state 2 running
scancel --user="$user"
eventually queue_is_empty
check "cancelled: removed from the queue" queue_is_empty
check "  the first cell is saved" is_state 1 interrupted
is "  it ended by itself and was not killed" status stopped "$XDG_STATE_HOME/tinca/runs/$first/summary.json"
check "  and so is the second" is_state 2 interrupted
check "  two more runs in all" test "$(runs)" = $((before + 2))
done_testing
