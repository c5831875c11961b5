#!/bin/sh
# tinca watch without a terminal: files that grow, are torn, rotated and written anew; trainers that start
# again; standard input, folders and processes. A watched run is the run that an import makes.
srcdir=${srcdir:-.}
srcdir_full=$(cd "$srcdir" && pwd)
. "$srcdir/tests/cli/tap.sh"
logs=$(cd "$srcdir/tests/cli/logs" && pwd)
cd "$T" || exit 99

# watch_begin ARGUMENT...: starts a watch in the background
watch_begin() {
    "$TINCA" watch "$@" --json >"$T/watched" 2>"$T/err" </dev/null &
    watcher=$!
}

# watch_end SIGNAL STATUS NAME: ends it with a signal (none: it ends by itself)
watch_end() {
    [ "$1" = none ] || kill -"$1" $watcher
    wait $watcher
    status=$?
    cp "$T/watched" "$T/out"
    if [ $status = "$2" ]; then ok "$3"; else not_ok "$3" "exit $status: $(told)"; fi
}

newest() { ls -t "$XDG_STATE_HOME/tinca/runs" | head -n 1; }
# run_has N: whether the newest run has a point of iteration N
run_has() { [ -n "$(newest)" ] && journal_lines "$XDG_STATE_HOME/tinca/runs/$(newest)/journal" | grep -q "^{\"iteration\":$1,"; }
runs_are() { [ "$(ls "$XDG_STATE_HOME/tinca/runs" 2>/dev/null | wc -l)" = "$1" ]; }
# curves: exports the run that the watch has printed
curves() { run export "$("$JSON_LOOK" "$T/out" runs.0.id)" -o curves.json; }

# --- every log of an import, watched: the same curves ---
for log in caffe.txt keras.txt tensorflow.txt; do
    run import "$logs/$log" --json
    imported=$("$JSON_LOOK" "$T/out" runs.0.id)
    [ "$(cat "$XDG_STATE_HOME/tinca/runs/$imported/name.txt")" = $log ] && ok "$log: the run has its name" ||
        not_ok "$log: the run has its name" "$(cat "$XDG_STATE_HOME/tinca/runs/$imported/name.txt")"
    run export "$imported" -o imported.json
    succeeds "$log is watched" watch "$logs/$log" --idle 0.2s --json
    curves
    for series in iteration loss loss_caffe lr epoch; do
        grep "\"$series\":\[" imported.json >a
        grep "\"$series\":\[" curves.json >b
        cmp -s a b || not_ok "  $series as imported" "$(diff a b | head -n 4)"
    done
    grep -A3 '"validation"' imported.json >a
    grep -A3 '"validation"' curves.json >b
    if cmp -s a b; then ok "  with the curves of an import"; else not_ok "  with the curves of an import" "$(diff a b)"; fi
done

# --- a table that grows, with a torn row ---
rm -rf "$XDG_STATE_HOME/tinca/runs"
printf 'step,loss,lr\n1,4,0.1\n2,3,0.1\n3,2.' >grow.csv
watch_begin grow.csv --network mynet
wait_until run_has 2 || not_ok "a table that grows" "$(told)"
if run_has 3; then not_ok "a torn row waits"; else ok "a torn row waits"; fi
run runs --json
is "the run is in progress" runs.0.status running
is "  with the name of its file" runs.0.name grow.csv
is "  and of its network" runs.0.network mynet
printf '5,0.1\n4,1,0.05\n' >>grow.csv
wait_until run_has 4 || not_ok "  the rest of the row" "$(told)"
printf '3,9,0.1\n' >>grow.csv
went_back() { run_has 3 && ! run_has 4; }
wait_until went_back || not_ok "  the trainer starts again" "$(told)"
printf '4,8,0.1\n' >>grow.csv
wait_until run_has 4
# another file under the same name, then the same file cut and written anew
mv grow.csv grow.csv.1
printf 'step,loss,lr\n5,7,0.1\n' >grow.csv
wait_until run_has 5 || not_ok "  rotation" "$(told)"
printf 'step,loss\n6,6\n' >grow.csv
wait_until run_has 6 || not_ok "  a file that was written anew" "$(told)"
watch_end INT 130 "Ctrl-C ends a watch"
is "  its iterations" runs.0.iterations 6
is "  those that were repeated" runs.0.replaced 2
is "  it was stopped" runs.0.status stopped
curves
is "  the highest learning rate counts as the setting" runs.0.config.lr 0.1 curves.json
is "  the row that was torn, replaced later" runs.0.series.loss.2 9 curves.json
is "  the last value" runs.0.series.loss.5 6 curves.json
run runs --json
is "  the run is complete" runs.0.status stopped
run runs --check
[ "$status" = 0 ] && ok "  and sound" || not_ok "  and sound" "$(told)"

# --- several sources, of other forms ---
printf '{"step": 1, "train/loss": 2.5}\n{"step": 2, "train/loss": 1.5, "val/acc": 0.5}\n' >lines.jsonl
printf '{"step": 1, "loss": 2, "note": "NaN \\" Infinity"}\n{"step": 2, "loss": NaN, "lr": 0.1}\n{"step": 3, "loss": -Infinity}\n{"step": 4, "loss": Nan}\n' >diverged.jsonl
succeeds "Python's NaN and Infinity" watch diverged.jsonl --idle 0.2s --json
is "  are losses" runs.0.iterations 3
is "  and other words are not" runs.0.damaged_lines 1
curves
is "  that are not finite" runs.0.series.loss.2 null curves.json
is "  as a finding says" runs.0.findings.0.kind divergence curves.json
printf 'iteration;objective\n10;3\n20;2\n' >other.csv
succeeds "several sources" watch lines.jsonl "$logs/keras.txt" --idle 0.2s --json
is "  JSON lines" runs.0.framework jsonl
is "  their iterations" runs.0.iterations 2
is "  their validations" runs.0.validations 1
is "  the log of Keras" runs.1.framework keras
succeeds "a column that the user names" watch other.csv --columns loss=objective --idle 0.2s --json
curves
is "  its iterations" runs.0.series.iteration.1 20 curves.json
refuses 1 "no line contains a loss" "a source without a loss" watch other.csv --idle 0.2s
refuses 2 "is no quantity" "a quantity that does not exist" watch other.csv --columns cost=objective

# --- standard input ---
"$TINCA" watch - --json <"$logs/caffe.txt" >out 2>err
is "standard input" runs.0.iterations 4
mkfifo pipe
(printf '{"step": 1, "loss": 2}\n'; sleep 0.3; printf '{"step": 2, "loss": 1}\n') >pipe &
succeeds "a named pipe" watch pipe --json --idle 100s
is "  both lines" runs.0.iterations 2
refuses 2 "only one source" "standard input twice" watch - -

# --- a process ---
sleep 600 &
trainer=$!
printf 'step,loss\n1,2\n' >pid.csv
rm -rf "$XDG_STATE_HOME/tinca/runs"
watch_begin pid.csv --pid $trainer
wait_until run_has 1
printf '2,1\n' >>pid.csv
kill $trainer
wait $trainer 2>/dev/null
watch_end none 0 "the watch ends with the process"
is "  after its last line" runs.0.iterations 2
is "  it is done" runs.0.status done
if [ -r /proc/self/statm ]; then
    curves
    memory=$("$JSON_LOOK" curves.json runs.0.series.memory_bytes.0)
    [ "${memory:-0}" -gt 10000 ] && ok "  its memory is recorded" || not_ok "  its memory is recorded" "$memory"
    [ -n "$(ls /dev/nvidia* 2>/dev/null)" ] || is "  that on GPUs is null without one" gpu_memory_bytes null "$T/watched"
fi
# on GPUs: what a stand-in for NVIDIA's library says (tests/models/fake_nvml.c)
build=$(dirname "$TINCA")
if [ -f "$build/fake_nvml.so" ]; then
    mkdir nvml
    ln -s "$(cd "$build" && pwd)/fake_nvml.so" nvml/libnvidia-ml.so.1
    sleep 600 &
    trainer=$!
    rm -rf "$XDG_STATE_HOME/tinca/runs"
    echo "$trainer 123456789" >on_gpus
    printf 'step,loss\n1,2\n' >pid.csv
    path=$LD_LIBRARY_PATH
    export FAKE_NVML_PROCESS=$T/on_gpus LD_LIBRARY_PATH=$T/nvml${path:+:$path}
    watch_begin pid.csv --pid $trainer
    wait_until run_has 1
    echo "$trainer 198765432" >on_gpus
    step=1
    # last_row PATTERN: adds a row, until the last one in the journal matches
    last_row() {
        journal_lines "$XDG_STATE_HOME/tinca/runs/$(newest)/journal" | grep '^{"iteration":' | tail -n 1 | grep -q -- "$1" && return
        step=$((step + 1))
        echo $step,1 >>pid.csv
        return 1
    }
    wait_until last_row '"gpu_memory_bytes":198765432}$'
    rm on_gpus
    wait_until last_row '"memory_bytes":[0-9]*}$'
    kill $trainer
    wait $trainer 2>/dev/null
    watch_end none 0 "a process with memory on a GPU"
    LD_LIBRARY_PATH=$path
    [ -n "$path" ] || unset LD_LIBRARY_PATH
    curves
    is "  it is in the curves" runs.0.series.gpu_memory_bytes.0 123456789 curves.json
    tr -d '\n' <curves.json | grep -q '"gpu_memory_bytes":\[123456789,[^]]*198765432[^]]*,null\]' &&
        ok "  as it changes, and null where it is not known" ||
        not_ok "  as it changes, and null where it is not known" "$(grep gpu_memory curves.json)"
    is "  the most that it had" gpu_memory_bytes 198765432 "$T/watched"
    run export "$(newest)" --format csv-long -o long.csv
    grep -q ',gpu_memory_bytes,1,[^,]*,[^,]*,123456789$' long.csv && ok "  and in the table" ||
        not_ok "  and in the table" "$(grep gpu long.csv)"
    run runs --check
    [ "$status" = 0 ] && ok "  the run is sound" || not_ok "  the run is sound" "$(told)"
else
    skip "a process with memory on a GPU" "there is no stand-in for NVIDIA's library"
fi
refuses 2 "no process" "a process that does not exist" watch pid.csv --pid 2147483000

# --- folders of event files ---
run train mlp --data digits,limit=64 --validate digits,limit=32 --batch 16 --epochs 3 --threads 1 -q --tensorboard board --name one
if [ "$status" = 0 ]; then
    run export one -o trained.json
    succeeds "a folder of event files" watch board --idle 0.2s --json
    is "  its framework" runs.0.framework tensorboard
    curves
    for place in series.iteration.11 series.loss.0 series.loss.11 validation.loss.2 validation.top1.2; do
        expected=$("$JSON_LOOK" trained.json runs.0.$place)
        is "  $place as it was trained" runs.0.$place "$expected" curves.json
    done
    is "  its learning rate is not that of a float" runs.0.config.lr 0.01 curves.json
    file=$(find board -name '*tfevents*' | head -n 1)
    head -c $(($(wc -c <"$file") - 20)) "$file" >torn.events
    succeeds "a torn event file" watch torn.events --idle 0.2s --json
    is "  what is whole counts" runs.0.iterations 12
    succeeds "  imported" import "$file" --json
    is "  it has all iterations" runs.0.iterations 12
else
    skip "a folder of event files" "this build writes none"
fi

# --- what Keras's callback for TensorBoard writes: scalars that are tensors, the validation in its own folder ---
if command -v python3 >/dev/null && [ -d board ]; then
    # keras_curves NAME POINTS PLACE=VALUE...
    keras_curves() {
        keras=$1
        is "$keras: one run" "runs.#" 1
        is "  its points" runs.0.iterations "$2"
        is "  its validations" runs.0.validations 4
        shift 2
        curves
        for pair; do
            is "  ${pair%=*}" "runs.0.${pair%=*}" "${pair#*=}" curves.json
        done
    }
    python3 "$srcdir_full/tests/cli/keras_events.py" keras/epochs
    python3 "$srcdir_full/tests/cli/keras_events.py" keras/batches batch
    for command in "watch --idle 0.2s" import; do
        succeeds "tinca ${command%% *}: Keras's event files" $command keras/epochs --json
        keras_curves "epoch_loss" 4 series.iteration.0=1 series.epoch.3=4 series.loss.0=2 series.loss.3=1.25 series.lr.1=0.25 \
            validation.iteration.0=1 validation.iteration.3=4 validation.epoch.3=4 validation.loss.0=2.5 validation.loss.3=1 \
            validation.top1.0=25 validation.top1.3=62.5
        succeeds "tinca ${command%% *}: with update_freq" $command keras/batches --json
        keras_curves "batch_loss" 20 series.iteration.0=1 series.iteration.19=20 series.loss.0=8.9 series.loss.19=5.5 \
            validation.iteration.0=5 validation.iteration.3=20 validation.loss.0=2.5 validation.loss.3=1 \
            validation.top1.0=25 validation.top1.3=62.5
    done
    succeeds "both, in a folder above them" import keras --json
    is "  are two runs" "runs.#" 2
    file=$(ls keras/epochs/validation/*)
    head -c 400 "$file" >cut
    mv cut "$file"
    succeeds "a validation that is cut off" import keras/epochs --json
    is "  has what is whole" runs.0.validations 1
    rm keras/epochs/train/* keras/batches/*/*
    mkdir keras/none
    refuses 1 "no file in it has a loss" "a folder without event files, imported" import keras/none
else
    skip "Keras's event files" "this build reads none, or there is no Python"
    # a build that reads none says so
    { printf '\030\0\0\0\0\0\0\0\243\177\113\042\011\0\0\300\236\026\124\331\101\032\015brain.Event:2'; head -c 40 /dev/zero; } >some.tfevents.1
    if [ ! -d board ]; then
        refuses 1 "built without TensorBoard's event files.*install protobuf-c" "an event file, watched" watch some.tfevents.1 --idle 0.2s
        refuses 1 "built without TensorBoard's event files.*install protobuf-c" "  and imported" import some.tfevents.1
        mkdir some && mv some.tfevents.1 some
        refuses 1 "built without TensorBoard's event files.*install protobuf-c" "  and in a folder" import some
    fi
fi
mkdir empty
refuses 1 "no file with a loss" "a folder without files" watch empty --idle 0.2s

# --- refusals ---
refuses 1 "missing.csv" "a file that does not exist" watch missing.csv
refuses 2 "duration" "a duration that is none" watch other.csv --idle soon
refuses 2 "caffe" "an unknown framework" watch other.csv --framework theano
head -c 100000 /dev/urandom >noise
refuses 1 "noise" "noise" watch noise --idle 0.2s
cat "$logs/caffe.txt" "$logs/keras.txt" >both.log
refuses 1 "lines of caffe" "lines of two frameworks" watch both.log --idle 0.2s
done_testing
