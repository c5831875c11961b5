#!/bin/sh
# tinca import: the runs have the values of the log, and nothing that the log does not contain.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/faults/hold.sh"
logs=$(cd "$srcdir/tests/cli/logs" && pwd)
cd "$T" || exit 99

succeeds "a log of Caffe" import "$logs/caffe.txt" --json
is "  its framework" runs.0.framework caffe
is "  its iterations" runs.0.iterations 4
is "  its tests" runs.0.validations 2
is "  a torn line is counted" runs.0.damaged_lines 1
caffe=$("$JSON_LOOK" "$T/out" runs.0.id)
run runs --json
is "the run is listed as imported" runs.0.imported caffe
is "  the network from the log" runs.0.network lenet
is "  the batch" runs.0.batch 16
is "  the device" runs.0.device cuda
is "  the machine" runs.0.host titan
is "  the start time" runs.0.created 2016-11-03T10:11:12Z
is "  its status: stopped" runs.0.status stopped
run runs
shows "lenet batch 16 on cuda, imported from caffe \(titan\)" "  the table shows the same"

succeeds "it is exported" export "$caffe" -o caffe.json
is "  iterations count from 1" runs.0.series.iteration.0 1 caffe.json
is "  the loss of the iteration" runs.0.series.loss.2 0 caffe.json
is "  Caffe's printed mean" runs.0.series.loss_caffe.2 -4.50473e-08 caffe.json
is "  the exact mean" runs.0.series.loss_mean.2 0 caffe.json
is "  the rate" runs.0.series.lr.3 0.001 caffe.json
is "  milliseconds per image" runs.0.series.ms_per_image.1 5 caffe.json
is "  epochs are unknown" runs.0.series.epoch.1 null caffe.json
is "  accuracy" runs.0.validation.top1.1 100 caffe.json
is "  the finding" runs.0.findings.0.kind negative-loss caffe.json
is "  its first iteration" runs.0.findings.0.iteration 3 caffe.json
is "  the weight decay from the log" runs.0.config.weight-decay 0.0005 caffe.json
if grep -q '"threads":.*"seed"' caffe.json; then not_ok "  unknown settings have no default values"
else ok "  unknown settings have no default values"; fi

succeeds "the arithmetic of its negative value" explain "$caffe" --json
is "  at the first negative iteration" iteration 3
is "  the bits are not those of the log's six digits" bit_for_bit false
is "  the printed value" loss_caffe -4.50473e-08
succeeds "  in words" explain "$caffe"
shows 'below zero, although no loss was' "  with a conclusion"
shows 'as the record has it' "  and the printed value"
succeeds "explain of another iteration" explain "$caffe" --iteration 1
shows 'while the window fills' "  the first"
refuses 2 "1 to 4" "explain of an iteration that does not exist" explain "$caffe" --iteration 5

gzip -c "$logs/tensorflow.txt" >flow.log.gz
succeeds "a compressed log of TensorFlow" import flow.log.gz --batch 128 --images 1280 \
    --network alexnet --host gamma --json
is "  its framework" runs.0.framework tensorflow
is "  its iterations" runs.0.iterations 3
flow=$("$JSON_LOOK" "$T/out" runs.0.id)
succeeds "  exported" export "$flow" -o flow.json
is "  steps count from 1" runs.0.series.iteration.1 11 flow.json
is "  epochs from --images" runs.0.series.epoch.1 1.1 flow.json
is "  milliseconds per image" runs.0.series.ms_per_image.1 0.78125 flow.json
is "  no mean, since losses are missing" runs.0.series.loss_caffe.1 null flow.json
refuses 1 "every iteration" "no arithmetic, since losses are missing" explain "$flow"
succeeds "both runs are compared" compare "$caffe" "$flow"

grep -v 'Train net output' "$logs/caffe.txt" >mean.log
succeeds "a log of means only" import mean.log --json
refuses 1 "Caffe's mean only" "explain refuses a log of means only" explain "$("$JSON_LOOK" "$T/out" runs.0.id)"
succeeds "importing the same log once more makes another run" import "$logs/caffe.txt"
run runs --json
is "nothing was overwritten" "runs.#" 4

echo "nothing of the kind" >other.log
refuses 1 "Iteration N, loss = X" "a file without losses: the message names the expected lines" import other.log
: >empty.log
refuses 1 "is empty" "an empty file" import empty.log
refuses 1 "missing.log" "a missing file" import missing.log
refuses 2 "caffe" "an unknown framework" import other.log --framework torch
head -c 20000 /dev/urandom >noise.log
refuses 1 "looked for" "noise" import noise.log
run runs --json
is "refused logs leave no run" "runs.#" 4

# --- standard input ---
# piped FILE ARGUMENT...: imports what comes through a pipe
piped() {
    file=$1
    shift
    status=$(
        cat "$file" | "$TINCA" import - "$@" >"$T/out" 2>"$T/err"
        echo $?
    )
}
piped "$logs/caffe.txt" --name piped --json
is "a log from a pipe" runs.0.framework caffe
is "  its iterations" runs.0.iterations 4
is "  its source" runs.0.file "standard input"
succeeds "  it has the name that was given" export piped -o piped.json
piped flow.log.gz --json
is "a compressed log from a pipe" runs.0.framework tensorflow
flow=$("$JSON_LOOK" "$T/out" runs.0.id)
succeeds "  without a name it is found by its ID" export "$flow" -o unnamed.json
succeeds "a name for a file" import "$logs/keras.txt" --name named
succeeds "  is that of its run" export named -o named.json
is "  of that framework" runs.0.imported.framework keras named.json
piped other.log
if [ "$status" = 1 ] && grep -q 'standard input: no line' err; then ok "a pipe without losses"
else not_ok "a pipe without losses" "exit $status: $(told)"; fi
piped "$logs/caffe.txt" - && [ "$status" = 2 ] && ok "standard input twice" || not_ok "standard input twice" "$(told)"
refuses 2 "names one run" "one name for two files" import "$logs/caffe.txt" "$logs/keras.txt" --name two
refuses 2 "names one run" "one name for a folder" import "$logs" --name two
refuses 2 "trainings" "one name for a table of several trainings" import "$logs/loss_titan_caffe.csv" --name two
refuses 2 "a name has" "a text that is no name" import "$logs/caffe.txt" --name a/b
run runs --json
is "what was refused left no run" "runs.#" 7

# --- no export has a figure that the log does not give ---

printf 'step,loss\n1,2\n2,1.5\n3,1\n' >bare.csv
printf 'step,loss,lr\n1,2,0.5\n2,1.5,0.5\n3,1,0.5\n' >rate.csv
succeeds "a table of losses" import bare.csv --name bare
succeeds "one with a learning rate" import rate.csv --name rate
run runs --json
set -- "$("$JSON_LOOK" out runs.0.name)" "$("$JSON_LOOK" out runs.1.name)"
last=1
[ "$2" = rate ] || last=0
is "its seed is unknown" runs.$last.seed null
run runs
shows '  imported from csv$' "the list says no more than that it was imported"
succeeds "its report" export bare --format md -o bare.md
if grep -Eiq 'nan|not a number|\?|unknown,|tinca measure|waited for data|forecast' bare.md; then
    not_ok "  has no figure that is none" "$(grep -Ein 'nan|not a number|\?|unknown,|tinca measure|waited|forecast' bare.md)"
else ok "  has no figure that is none"; fi
succeeds "both as the studies' tables" export bare rate --format csv -o tables
grep -q '^#network,mode,batch,step,loss,time,.*lr' tables/loss_unknown_csv.csv &&
    grep -q '^unknown,unknown,000,1,2,nan,.*unknown' tables/loss_unknown_csv.csv &&
    ! grep -q '0\.01$' tables/loss_unknown_csv.csv && ok "  without the learning rate of tinca" ||
    not_ok "  without the learning rate of tinca" "$(cat tables/loss_unknown_csv.csv)"
succeeds "its session" export bare -o bare.json
for member in parameters flops images classes memory_forecast series.memory_bytes.0 series.lr.0; do
    is "  has no $member" runs.0.$member null bare.json
done
if grep -Eq 'pixel_accuracy|"(seed|batch)"' bare.json; then not_ok "  nor other settings" "$(head -c 900 bare.json)"; else
    ok "  nor other settings"; fi
run export bare --format tfevents -o events
if [ "$status" != 0 ] && grep -q 'built without' err; then skip "events for TensorBoard" "$(told)"; else
    if [ "$status" = 0 ] && grep -aq iterations events/*/* &&
        ! grep -Eaq 'seed|momentum|solver|parameters|batch' events/*/*; then
        ok "events for TensorBoard have the settings of the log alone"
    else not_ok "events for TensorBoard" "$(told) $(tr -cd '[:print:]' <events/*/* | head -c 600)"; fi
fi

# --- its chart ---

# thick FILE: prints how many thick blue lines a chart has: two for the smoothed loss, and two for the first accuracy
thick() { grep -o 'stroke-width:1.4;[^"]*stroke:rgb(0%,44.7' "$1" | wc -l; }

if ls "$(dirname "$TINCA")"/tinca-chart.so >/dev/null 2>&1; then
    printf 'step,loss,val_loss,val_acc\n1,2,1.9,0.4\n2,1.5,1.4,0.5\n3,1,1.2,0.6\n' >accurate.csv
    printf 'step,loss\n1,2\n2,1.5\n3,1\n' >plain.csv
    succeeds "a table with an accuracy" import accurate.csv --name accurate
    succeeds "  has a chart" export accurate --format svg -o accurate.svg
    [ "$(thick accurate.svg)" = 4 ] && ok "  with its accuracy" || not_ok "  with its accuracy" "$(thick accurate.svg)"
    if grep -qE '>[^<]*(batch|seed|learning rate|lr )[^<]*<' accurate.svg; then
        not_ok "  and no setting that the table does not have" "$(grep -o '>[^<]*<' accurate.svg)"
    else
        ok "  and no setting that the table does not have"
    fi
    grep -q '>accurate<' accurate.svg && ok "  its title is the run's name" ||
        not_ok "  its title is the run's name" "$(grep -o '<title>[^<]*<' accurate.svg)"
    succeeds "a chart of two" export accurate bare --format svg -o both.svg
    if grep -o '>[^<]*<' both.svg | grep -q unknown,; then not_ok "  calls none unknown" "$(grep -o '>[^<]*<' both.svg)"; else
        ok "  calls none unknown"; fi
    succeeds "a table without one" import plain.csv --name plain --batch 8
    succeeds "  has a chart" export plain --format svg -o plain.svg
    [ "$(thick plain.svg)" = 2 ] && ok "  without a panel for it" || not_ok "  without a panel for it" "$(thick plain.svg)"
    grep -q '>batch 8, [^<]*<' plain.svg && ok "  with the batch that was given" ||
        not_ok "  with the batch that was given" "$(grep -o '>[^<]*<' plain.svg)"
else
    skip "the chart of an imported run" "this build draws no charts"
fi

# --- killed, or without space, before it has settings ---
printf 'step,loss\n1,2\n2,1.5\n' >growing.csv
# disturbed FAULT VARIABLE: watches a table under a fault
disturbed() {
    env LD_PRELOAD="$HOLD_LIBRARY" FAULT="$1" "$2" ASAN_OPTIONS="verify_asan_link_order=0:${ASAN_OPTIONS-}" \
        "$TINCA" watch growing.csv --idle 1s -q >"$T/out" 2>"$T/err" </dev/null
}
before=$(ls "$XDG_STATE_HOME/tinca/runs")
disturbed rename:1:ENOSPC+ FAULT_ONLY=config.json && not_ok "  a watch without space fails" "$(told)"
[ "$(ls "$XDG_STATE_HOME/tinca/runs")" = "$before" ] && ok "a watch whose settings cannot be written leaves no folder" ||
    not_ok "a watch whose settings cannot be written leaves no folder" "$(ls "$XDG_STATE_HOME"/tinca/runs/*)"
disturbed open:1:kill FAULT_AFTER=name.txt
run runs
shows 'incomplete' "a watch that is killed before it has settings leaves no run, and its folder is listed"
# an accuracy of the training, which is none of a validation
printf 'step,loss,accuracy\n1,2,0.25\n2,1,0.5\n' >"$T/training.csv"
succeeds "a log with an accuracy of the training" import "$T/training.csv" --name trained
if grep -q 'accuracy is an accuracy of the training, which runs do not have; --columns top1=accuracy' "$T/err"; then
    ok "  which is left out, and said"; else not_ok "  which is left out, and said" "$(told)"; fi
succeeds "  is taken on request" import "$T/training.csv" --columns top1=accuracy --name taken
if [ -s "$T/err" ]; then not_ok "  without a note" "$(told)"; else ok "  without a note"; fi
printf 'epoch,loss,accuracy,val_loss,val_accuracy\n1,2,0.25,2,0.3\n2,1,0.5,1,0.4\n' >"$T/both.csv"
succeeds "a log with both accuracies" import "$T/both.csv" --name both
if grep -q 'accuracy of the training' "$T/err"; then not_ok "  has no note" "$(told)"; else ok "  has no note"; fi

# values of other names are series of the session file
printf 'step,loss,grad "norm",time,GPU power\n1,2,0.1,10,\n2,1.5,1e300,12,250\n3,1,0.3,14,251.5\n' >"$T/others.csv"
succeeds "a table with columns of other names" import "$T/others.csv" --name others
succeeds "  is exported" export others -o "$T/others.json"
is "  as a session of the present version" version 3 "$T/others.json"
is "  with a series of each" 'runs.0.scalars.GPU power.step.#' 2 "$T/others.json"
is "  its steps" 'runs.0.scalars.GPU power.step.0' 2 "$T/others.json"
is "  times" 'runs.0.scalars.GPU power.time.1' 4 "$T/others.json"
is "  and values" 'runs.0.scalars.GPU power.value.1' 251.5 "$T/others.json"
grep -q '1e300\|1e+300' "$T/others.json" && ok "  which are not cut to single precision" ||
    not_ok "  which are not cut to single precision" "$(grep scalars "$T/others.json")"
succeeds "  the long table" export others --format csv-long -o "$T/others.csv-long"
if grep -q ',scalars/GPU power,3,NaN,4,251.5$' "$T/others.csv-long" &&
    grep -q ',"scalars/grad ""norm""",2,NaN,2,1e+300$' "$T/others.csv-long"; then ok "  has them, too"; else
    not_ok "  has them, too" "$(grep scalars "$T/others.csv-long")"; fi
succeeds "  and the run is sound" runs --check others
printf 'epoch,train_loss,val_loss,top1,top5\n1,2,2.5,0.5,0.9\n2,1,1.5,0.6,0.95\n' >"$T/top5.csv"
succeeds "a table whose last name ends in a digit" import "$T/top5.csv" --name top5
awk 'BEGIN { printf "step,loss"; for (i = 0; i < 1030; i++) printf ",name %d", i; print ""
             for (row = 1; row < 3; row++) { printf "%d,2", row; for (i = 0; i < 1030; i++) printf ",%d", i; print "" } }' >"$T/many.csv"
succeeds "a table with more names than a run keeps" import "$T/many.csv" --name many
grep -q ': 12 values of other names were left out: a run keeps 1024 names' "$T/err" && ok "  says what it leaves out" ||
    not_ok "  says what it leaves out" "$(told)"
succeeds "  and as JSON" import "$T/many.csv" --json
is "  the same number" runs.0.values_left_out 12
done_testing
