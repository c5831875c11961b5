#!/bin/sh
# tinca sweep --after: techniques after the training of each cell; and models in half precision.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"

sweep() { # sweep NAME ARGUMENT...: a sweep of two small networks
    name=$1
    shift
    succeeds "$name" sweep --networks mlp,lenet --batches 20 --devices cpu --threads 1 --iterations 10 \
        --data digits,limit=100 --validate digits,split=test,limit=40 --name small -q "$@"
}
lenet_folder() { echo "$T/state/tinca/sweeps/small"/lenet*/after/*; }

sweep "a sweep without techniques after training"
runs=$(ls "$T/state/tinca/runs")
succeeds "  has no rows of them" sweep --name small --report
if ! grep -q 'After training' "$T/out"; then ok '  nor their table'; else not_ok '  nor their table'; fi
sweep "techniques after it" --after half,half:bf16+half:float16
if [ "$(ls "$T/state/tinca/runs")" = "$runs" ]; then ok "  train nothing again"; else not_ok "  train nothing again"; fi
succeeds "the results" sweep --name small --report --json
is "  the trained model, and each chain" "cells.1.after.#" 3
is "  the trained one comes first" cells.1.after.0.chain ""
is "  its parameters" cells.1.after.0.model.parameters 431080
is "  its accuracy is that of its validation" cells.1.after.0.measured.top1 \
    "$("$JSON_LOOK" "$T/out" cells.1.result.top1)"
is "  its images" cells.1.after.0.measured.images 40
is "  a chain is done" cells.1.after.1.state done
is "  its name says so" cells.1.after.1.model.name lenet+half:float16
is "  its file is smaller" cells.1.after.1.model.bytes \
    "$(($(wc -c <"$(ls "$(lenet_folder)"/half-*.safetensors | grep -v bf16)")))"
is "  a chain of two steps" cells.1.after.2.model.name lenet+half:bf16+half:float16
has "  has a time" cells.1.after.2.measured.ms_high
is "  the grid has the chains" after.1 half:bf16+half:float16 "$T/state/tinca/sweeps/small/grid.json"
trained=$(($("$JSON_LOOK" "$T/out" cells.1.after.0.model.bytes)))
half=$(($("$JSON_LOOK" "$T/out" cells.1.after.1.model.bytes)))
if [ $((half * 2)) -lt $((trained + 8000)) ]; then
    ok "  half precision takes half the bytes"
else
    not_ok "  half precision takes half the bytes" "$half of $trained"
fi

before=$(find "$T/state/tinca/sweeps/small" -path '*after*' -type f -exec ls -l --full-time {} + | sort)
sweep "once more" --after half,half:bf16+half:float16
if [ "$(find "$T/state/tinca/sweeps/small" -path '*after*' -type f -exec ls -l --full-time {} + | sort)" = "$before" ]; then
    ok "  nothing is computed again"
else
    not_ok "  nothing is computed again"
fi
rm "$(lenet_folder)"/half-bf16+half-float16-*.json
first=$(ls -l --full-time "$(lenet_folder)"/half-bf16-*.safetensors)
succeeds "what is missing is due" sweep --name small --due
shows '^2$' "  of this cell alone"
succeeds "an earlier sweep by its name" sweep --name small -q
succeeds "its results" sweep --name small --report --json
is "  the chain is done again" cells.1.after.2.state done
if [ "$(ls -l --full-time "$(lenet_folder)"/half-bf16-*.safetensors)" = "$first" ]; then
    ok "  from its first step's model, which was there"
else
    not_ok "  from its first step's model, which was there"
fi

# What the fine-tuning and the control train with: all settings of the cell that have a meaning there. The rows of
# settings.inc say which these are.
settings() {
    tr '\n' ' ' <"$srcdir/src/runs/settings/settings.inc" | sed 's/SETTING(/\n&/g' | sed -n '/TASK_FINE_TUNE/d
        s/^SETTING( *\(DATA\|TRAINING\|MEASUREMENT\|MACHINE\|RECORD\), [a-z0-9_]*, "\([^"]*\)".*/\2/p' |
        grep -vx 'epochs\|iterations'
}
run_of() { echo "$T/same/tinca/runs/"*"-$1-"????/config.json; } # run_of NETWORK: the settings of its run
home=$XDG_STATE_HOME
teacher=$(ls "$T/state/tinca/runs"/*lenet*/best.safetensors)
export XDG_STATE_HOME="$T/same"
precision=float32 # a precision of its own, where the processor computes in one
grep -qw avx512_bf16 /proc/cpuinfo && precision=bf16
given="--sampling balanced --class-weights balanced --schedule onecycle --cycle-momentum 0.5 --momentum-form torch \
 --clip-norm 3 --clip-value 2 --ema 0.9 --warm-up 2 --label-smoothing 0.1 --precision $precision --lr 0.02 --solver nesterov \
 --momentum 0.8 --weight-decay 0.001 --blocks 2 --stop-patience 30 --stop-change 0.01 --seed 5 --freeze conv1* --rates ip*=2 \
 --temperature 3 --distill-weight 0.5 --augment crop=1 --average-loss 3 --save-precision bf16"
set -f
# shellcheck disable=SC2086 # a list of options
succeeds "techniques that train, of a cell with many settings" sweep --networks lenet --batches 20 --devices cpu --threads 1 \
    --iterations 6 --data digits,limit=60 --validate digits,split=test,limit=20 --test digits,split=test,limit=10 \
    --name same --after prune:0.5,factorize:0.5 --after-epochs 1 $given --teacher "$teacher" -q
set +f
cell=$(run_of lenet)
settings >"$T/settings"
has_all() { # has_all RUN: the run has the settings of the cell
    wrong=
    while read -r key; do
        of_cell=$("$JSON_LOOK" "$cell" "config.$key" 2>&1)
        of_run=$("$JSON_LOOK" "$(run_of "$1")" "config.$key" 2>&1)
        [ "$of_cell" = "$of_run" ] || wrong="$wrong $key: $of_run, not $of_cell"
    done <"$T/settings"
    if [ -z "$wrong" ]; then ok "  $1 has all of them"; else not_ok "  $1 has all of them" "$wrong"; fi
}
for run in lenet-step1_distill_lenet_prune_0.5 lenet-factorize lenet-tune; do
    has_all "$run"
done
is "  such as that which was given" config.sampling balanced "$(run_of lenet-tune)"
is "  and this" config.ema 0.9 "$(run_of lenet-step1_distill_lenet_prune_0.5)"
is "  for as many epochs as the techniques train" config.epochs 1 "$(run_of lenet-tune)"
if [ "$(wc -l <"$T/settings")" -ge 48 ]; then ok "  which are many"; else not_ok "  which are many" "$(cat "$T/settings")"; fi
refuses 2 "^tinca: --l1-weight: it has no meaning" "a setting without a meaning in them" sweep --networks lenet \
    --batches 20 --iterations 5 --data digits,limit=40 --name other --after prune:0.5 --after-epochs 1 --l1-weight=50 -q
for option in --reduce=fast --compress=bf16 --bucket=256K; do
    succeeds "one of several processes changes nothing in one: $option" sweep --networks lenet --batches 20 --iterations 5 \
        --data digits,limit=40 --name other --after prune:0.5 --after-epochs 1 $option --dry-run
done
succeeds "  which is one where nothing trains" sweep --networks mlp --batches 20 --iterations 5 --data digits,limit=40 \
    --name other --after half --l1-weight=50 --dry-run
succeeds "a trained sweep is complete" sweep --name same --due
if [ ! -s "$T/out" ]; then ok "  with all of its results"; else not_ok "  with all of its results" "$(told)"; fi
for file in "$T/same/tinca/sweeps/same"/*/after/*/*-v2.*; do
    mv "$file" "$(echo "$file" | sed 's/-v2\./\./')"
done
succeeds "results of trained chains of an earlier version, which dropped settings" sweep --name same --due
shows '^1$' "  are computed again"
rm -rf "$T/same/tinca/runs"
succeeds "a cell with a preset" sweep --networks lenet --batches 20 --threads 1 --iterations 6 --preset digits \
    --data digits,limit=60 --validate digits,split=test,limit=20 --name preset --after factorize:0.5 --after-epochs 1 -q
cell=$(run_of lenet)
for run in lenet-factorize lenet-tune; do
    has_all "$run"
done
runs=$(ls "$T/same/tinca/runs")
succeeds "chains that could train, without epochs" sweep --networks lenet --batches 20 --threads 1 --iterations 6 --lr 0.02 \
    --checkpoint 30 --data digits,limit=60 --name untrained --after factorize,factorize:0.5,prune:0.5,quantize -q
succeeds "  their results" sweep --name untrained --report --json
for number in 1 2 3 4; do
    is "  are done: $number" cells.0.after.$number.state done
done
is "  and nothing was trained" "cells.0.after.#" 5
if [ $(($(ls "$T/same/tinca/runs" | wc -l) - $(echo "$runs" | wc -l))) = 1 ]; then
    ok "  but the cell itself"
else
    not_ok "  but the cell itself" "$(ls "$T/same/tinca/runs")"
fi
export XDG_STATE_HOME="$home"

echo "not a model" >"$T/teacher.safetensors"
for chain in "distill:$T/teacher.safetensors" "distill:$T/nothing.safetensors" distill:nothing; do
    refuses 1 '(teacher|nothing)' "a teacher that is no model: ${chain##*/}" sweep --name small --after "$chain" -q
    refuses 1 '(teacher|nothing)' "  before anything is computed" sweep --networks mlp --batches 20 --iterations 5 \
        --data digits,limit=40 --name early --after "$chain" --dry-run
done
for chain in quantize+prune:0.5 quantize:mse+half+factorize quantize+quantize; do
    refuses 2 'cannot follow quantize' "an order that cannot be: $chain" sweep --networks mlp --batches 20 \
        --iterations 5 --data digits,limit=40 --name early --after "half,$chain" -q
done
if [ ! -e "$T/state/tinca/sweeps/early" ]; then ok "  and trains nothing"; else not_ok "  and trains nothing"; fi
succeeds "chains are listed" sweep --networks mlp --batches 20 --epochs 1 --data digits,limit=100 --name early \
    --after "half,prune:0.5,distill:$(ls "$T/state/tinca/runs" | grep mlp | head -1)" \
    --after-epochs 2 --dry-run
shows '^prune:0.5 +2 ' "  with the epochs that they train"
shows '^half +0 +-' "  or none"
shows '^trained on, 2 epochs +2 ' "  and the control"
succeeds "in a sweep whose length is given in iterations" sweep --networks mlp --batches 20 --devices cpu --threads 1 \
    --iterations 5 --data digits,limit=100 --name early --after prune:0.5 --after-epochs 2 --dry-run
shows '^prune:0.5 +2 +[0-9<]' "  their epochs take time"
run sweep --name small --after prune:0.001 -q
if [ "$status" = 1 ]; then ok "a technique that fails: the exit status"; else not_ok "a technique that fails: the exit status" "$status"; fi
succeeds "the results" sweep --name small --report --json
is "  it is marked" cells.1.after.3.state failed
has "  with the reason" cells.1.after.3.reason
is "  the others are done" cells.1.after.1.state done
succeeds "as tables" sweep --name small --report
shows '^lenet +half:bf16\+half:float16 +431 k ' "  a row for each chain"
shows 'failed: prune:0.001' "  a failed one says why"
succeeds "as Markdown" sweep --name small --report --format markdown
shows '^\| lenet \| half ' "  a table of its own"
run sweep --name small -q
if [ "$status" = 1 ]; then ok "a failed one is not tried again"; else not_ok "a failed one is not tried again" "$status"; fi
if grep -q '^2 results after training failed: tinca sweep --name small --retry computes them once more$' "$T/err"; then
    ok "  and the command that tries it is named"
else
    not_ok "  and the command that tries it is named" "$(told)"
fi

# The process of a cell is killed while it fine-tunes, after its run.
"$TINCA" sweep --networks mlp,lenet --batches 20 --threads 1 --iterations 10 --data digits,limit=100 --name cut \
    --after prune:0.5 --after-epochs 100000 -q >"$T/out" 2>"$T/err" </dev/null &
sweep=$!
tunes() { [ -n "$(find "$T/state/tinca/sweeps/cut/$1"*/after -name state.json 2>/dev/null)" ]; }
for network in mlp lenet; do
    wait_until tunes "$network"
    read -r cell host <"$(echo "$T/state/tinca/sweeps/cut/$network"*/lock)"
    kill -KILL "$cell"
done
wait $sweep
status=$?
cuts=$(grep -cE '^(mlp|lenet)-b020-cpu-[0-9a-f]+: signal 9 .Killed. ended its process$' "$T/err")
if [ "$status $cuts" = "1 2" ] &&
    grep -qE '^[1-4] results after training are due: tinca sweep --name cut computes them$' "$T/err"; then
    ok "cells that are killed after their training: it is said why, and which command goes on"
else
    not_ok "cells that are killed after their training: it is said why, and which command goes on" "$status: $(told)"
fi

# What another version, whose request was another one, has left of a pruning is replaced.
left=$(find "$T/state/tinca/sweeps/cut"/lenet*/after -name '*.prune')
begun="--networks lenet --batches 20 --threads 1 --iterations 5 --data digits,limit=40 --name replaced"
# shellcheck disable=SC2086 # a list of options
home=$XDG_STATE_HOME
export XDG_STATE_HOME="$T/replaced"
succeeds "a sweep" sweep $begun --after half -q
left_here="$(echo "$T/replaced/tinca/sweeps/replaced"/lenet*/after/*)/$(basename "$left" | sed 's/-e100000-v2/-e0/')"
cp -R "$left" "$left_here"
succeeds "  in which another pruning was interrupted" sweep --name replaced --after prune:0.5 -q
if [ ! -e "$left_here" ] && [ -e "${left_here%.prune}" ]; then ok "  prunes anew"; else not_ok "  prunes anew" "$(ls "$(dirname "$left_here")")"; fi
export XDG_STATE_HOME="$home"

# The process of a technique alone is killed: its result can go on, and so can those that follow. A cell that is
# killed leaves no process of a technique behind, which would keep the next call from going on.
home=$XDG_STATE_HOME
export XDG_STATE_HOME="$T/one"
job() { pgrep -P "$cell"; } # the process that applies a technique for the cell
applies() { read -r cell host 2>/dev/null <"$(echo "$T/one/tinca/sweeps/one/"*/lock)" && [ -n "$(job)" ]; }
begin_one() { # begin_one ARGUMENT...: starts the sweep; sets $cell when its process applies techniques
    "$TINCA" sweep --name one "$@" -q >"$T/out" 2>"$T/err" </dev/null &
    sweep=$!
    wait_until applies
}
# has_checkpoint COUNT: whether there are COUNT runs, of which the newest, $tuned, has a checkpoint; asks for one.
# They are listed once, since the next run may begin between two lists.
has_checkpoint() {
    set -- "$1" "$T/one/tinca/runs/"*
    [ $# = $(($1 + 1)) ] || return 1
    shift $(($# - 1))
    tuned=$1
    [ -s "$tuned/journal" ] && kill -USR1 "$(job)" 2>/dev/null # earlier, the signal would end it
    [ -s "$tuned/checkpoint.safetensors" ]
}
goes_on() { journal_lines "$1/journal" | grep -qs '"event":"resume","iteration":[1-9]'; }
begin_one --networks mlp --batches 20 --threads 1 --iterations 10 --data digits,limit=100 --after prune:0.5 --after-epochs 100000
wait_until has_checkpoint 2
pruning=$tuned
kill -KILL "$(job)"
wait_until has_checkpoint 3
control=$tuned
kill -KILL "$(job)"
wait $sweep
status=$?
cuts=$(grep -cE '^mlp-b020-cpu-[0-9a-f]+: (prune:0.5|tune): interrupted: signal 9 .Killed. ended its process$' "$T/err")
if [ "$status $cuts" = "1 2" ] &&
    grep -q '^2 results after training are due: tinca sweep --name one computes them$' "$T/err"; then
    ok "techniques whose processes are killed: it is said why, and which command goes on"
else
    not_ok "techniques whose processes are killed: it is said why, and which command goes on" "$status: $(told)"
fi
succeeds "  the sweep" sweep --name one --report --json
is "  has the state of the result" cells.0.after.1.state interrupted
has "  and its reason" cells.0.after.1.reason
succeeds "  its table" sweep --name one --report
shows 'prune:0.5 .* interrupted: prune:0.5: signal 9' "  says so"
begin_one
if wait_until goes_on "$pruning"; then ok "  repeated, it goes on from its checkpoint"; else not_ok "  repeated, it goes on from its checkpoint" "$(told)"; fi
job=$(job)
kill -KILL "$cell"
wait $sweep
if wait_until gone "$job"; then ok "a cell that is killed takes the process of a technique with it"; else not_ok "a cell that is killed takes the process of a technique with it"; fi
begin_one
kill -KILL "$(job)"
if wait_until goes_on "$control"; then ok "  and the control goes on from its checkpoint, too"; else not_ok "  and the control goes on from its checkpoint, too" "$(told)"; fi
kill -TERM $sweep
wait $sweep
status=$?
if [ $status = 130 ]; then ok "  until it is stopped"; else not_ok "  until it is stopped" "$status: $(told)"; fi
if ls "$T/one/tinca/sweeps/one/"*/after/*/tune-*.safetensors >/dev/null 2>&1; then
    not_ok "  what it has trained by then is no result"
else
    ok "  what it has trained by then is no result"
fi
succeeds "  the runs" runs --json
is "  are those that the first call began" runs.# 3
export XDG_STATE_HOME="$home"

succeeds "the models are rows of the table of models" models --threads 1 --json
is "  with their origin" "models.#" 8
refuses 2 'no such technique' "an unknown technique" sweep --name small --after melt
refuses 2 'value' "a share that is none" sweep --name small --after prune:2
refuses 2 'needs a value' "a value that is missing" sweep --name small --after prune
refuses 2 'not understood' "an unknown format" sweep --name small --after half:int3
cat >"$T/grid.json" <<'GRID'
{"networks": ["mlp"], "batches": [20], "data": "digits,limit=100", "iterations": 5, "after": "half"}
GRID
succeeds "a grid file with techniques" sweep "$T/grid.json" --dry-run
echo '{"networks": ["mlp"], "data": "digits", "after": ["melt"]}' >"$T/bad.json"
refuses 1 'after' "a grid file with an unknown one" sweep "$T/bad.json" --dry-run

model=$(ls "$T/state/tinca/runs"/*lenet*/best.safetensors)
succeeds "weights in half precision" weights "$model" --save "$T/half.safetensors" --save-precision bf16
succeeds "  are a model" info "$T/half.safetensors" --json
is "  with a name" network lenet+half:bf16
refuses 2 'save-precision' "without a file" weights "$model" --save-precision bf16
refuses 2 '16 bits' "in float32" weights "$model" --save "$T/x.safetensors" --save-precision float32
refuses 1 'teacher' "of what is no model" weights "$T/teacher.safetensors" --save "$T/x.safetensors" \
    --save-precision bf16
if [ ! -e "$T/x.safetensors" ]; then ok "  writes nothing"; else not_ok "  writes nothing"; fi
done_testing
