#!/bin/sh
# Logs of other frameworks become runs: what the log says, and nothing that it does not say.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
logs=$(cd "$srcdir/tests/cli/logs" && pwd)
cd "$T" || exit 99

succeeds "a log of Caffe" import "$logs/caffe.txt" --json
is "  its framework" runs.0.framework caffe
is "  its iterations" runs.0.iterations 4
is "  its tests" runs.0.validations 2
is "  a torn line is counted" runs.0.damaged_lines 1
caffe=$("$JSON_LOOK" "$T/out" runs.0.id)
run runs --json
is "it is kept, and marked" runs.0.imported caffe
is "  the network by the log" runs.0.network lenet
is "  the batch" runs.0.batch 16
is "  the device" runs.0.device cuda
is "  the machine" runs.0.host titan
is "  when it was begun" runs.0.created 2016-11-03T10:11:12Z
is "  stopped before its end" runs.0.status stopped
run runs
shows "lenet batch 16 on cuda, imported from caffe \(titan\)" "  the table says so too"

succeeds "it is exported" export "$caffe" -o caffe.json
is "  iterations count from 1" runs.0.series.iteration.0 1 caffe.json
is "  the loss of the iteration" runs.0.series.loss.2 0 caffe.json
is "  Caffe's mean as it was printed" runs.0.series.loss_caffe.2 -4.50473e-08 caffe.json
is "  the exact mean" runs.0.series.loss_mean.2 0 caffe.json
is "  the rate" runs.0.series.lr.3 0.001 caffe.json
is "  milliseconds an image" runs.0.series.ms_per_image.1 5 caffe.json
is "  epochs are not known" runs.0.series.epoch.1 null caffe.json
is "  accuracy" runs.0.validation.top1.1 100 caffe.json
is "  the finding" runs.0.findings.0.kind negative-loss caffe.json
is "  where it sets in" runs.0.findings.0.iteration 3 caffe.json
is "  the weight decay is the log's" runs.0.config.weight-decay 0.0005 caffe.json
if grep -q '"threads":.*"seed"' caffe.json; then not_ok "  no default stands for what is not known"
else ok "  no default stands for what is not known"; fi

succeeds "the arithmetic of its negative value" explain "$caffe" --json
is "  at the first of them" iteration 3
is "  the log's six digits are not the bits" bit_for_bit false
is "  as it was printed" loss_caffe -4.50473e-08
succeeds "  in words" explain "$caffe"
shows 'below zero, although no loss was' "  with a conclusion"
shows 'as the record has it' "  and what was printed"
succeeds "of another iteration" explain "$caffe" --iteration 1
shows 'while the window fills' "  the first"
refuses 2 "1 to 4" "one that is not there" explain "$caffe" --iteration 5

gzip -c "$logs/tensorflow.txt" >flow.log.gz
succeeds "a compressed log of TensorFlow" import flow.log.gz --batch 128 --images 1280 \
    --network alexnet --host gamma --json
is "  its framework" runs.0.framework tensorflow
is "  its iterations" runs.0.iterations 3
flow=$("$JSON_LOOK" "$T/out" runs.0.id)
succeeds "  exported" export "$flow" -o flow.json
is "  steps count from 1" runs.0.series.iteration.1 11 flow.json
is "  epochs by what was given" runs.0.series.epoch.1 1.1 flow.json
is "  milliseconds an image" runs.0.series.ms_per_image.1 0.78125 flow.json
is "  no mean without every loss" runs.0.series.loss_caffe.1 null flow.json
refuses 1 "every iteration" "no arithmetic either" explain "$flow"
succeeds "the two are compared" compare "$caffe" "$flow"

grep -v 'Train net output' "$logs/caffe.txt" >mean.log
succeeds "a log without losses of iterations" import mean.log --json
refuses 1 "Caffe's mean only" "has no arithmetic" explain "$("$JSON_LOOK" "$T/out" runs.0.id)"
succeeds "the same log again is another run" import "$logs/caffe.txt"
run runs --json
is "nothing was overwritten" "runs.#" 4

echo "nothing of the kind" >other.log
refuses 1 "Iteration N, loss = X" "a file without losses says what was looked for" import other.log
: >empty.log
refuses 1 "is empty" "an empty file" import empty.log
refuses 1 "missing.log" "a file that is not there" import missing.log
refuses 2 "caffe" "another framework" import other.log --framework torch
head -c 20000 /dev/urandom >noise.log
refuses 1 "looked for" "noise" import noise.log
run runs --json
is "refused logs leave no run" "runs.#" 4
done_testing
