#!/bin/sh
# tinca explain, for runs that were trained here, resumed or not, and for imported runs; also the other
# commands on imported runs.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/faults/hold.sh"
logs=$(cd "$srcdir/tests/cli/logs" && pwd)
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
cd "$T" || exit 99
job="--data digits,limit=64,only=0 --batch 16 --lr 0.1 --average-loss 40 --seed 3 --threads 1 -q"
length=100

# One run is killed when it has a checkpoint, and one is not disturbed.
# shellcheck disable=SC2086
{
    succeeds "a run of one class" train lenet $job --iterations $length --run-dir "$T/whole"
    hold 3 train lenet $job --iterations $length --checkpoint 0.01 --checkpoint-share 100 --run-dir "$T/parts"
}
let_go KILL
succeeds "another run that was killed and resumed" resume ./parts -q
for iteration in 1 39 40 41 70 $length; do
    run explain ./whole --iteration $iteration --json
    grep -v '"id"' out >whole.json
    run explain ./parts --iteration $iteration --json
    grep -v '"id"' out >parts.json
    if [ "$status" = 0 ] && cmp -s whole.json parts.json; then
        ok "iteration $iteration: the same arithmetic in both runs"
    else
        not_ok "iteration $iteration: the same arithmetic in both runs" "$(diff whole.json parts.json)"
    fi
done
run explain ./parts --iteration 40 --json
is "the same bits as the run recorded" bit_for_bit true
is "the window fills up to its length" step.filling true
run explain ./parts --iteration 41 --json
is "  and is full from then on" step.filling false
refuses 2 "1 to $length" "an iteration that the run does not have" explain ./parts --iteration $((length + 1))
mkdir begun && cp whole/config.json begun/ && journal_lines whole/journal | head -n 1 >lines && journal_lines -w begun/journal lines
refuses 1 "no iteration on record" "a run that has just begun" explain ./begun

# imported runs in other commands
run import "$logs/caffe.txt" --json
caffe=$("$JSON_LOOK" "$T/out" runs.0.id)
run import "$logs/keras.txt" --json
keras=$("$JSON_LOOK" "$T/out" runs.0.id)
run import "$logs/loss_titan_caffe.csv" "$logs/times_titan_tensorflow.csv" --json
is "tables of the studies give one run for each training" "runs.#" 5
table=$("$JSON_LOOK" "$T/out" runs.1.id)
times=$("$JSON_LOOK" "$T/out" runs.3.id)
run runs
shows "keras +- +stopped|$keras.*stopped" "a log that ends early gives a stopped run"
shows "$times.* - +- .*imported from tensorflow \(titan\)" "an unknown value is a dash"
for verb in "measure $caffe" "resume $caffe" "resume $keras" "eval $caffe --data digits" \
    "advise $caffe --need faster"; do
    # shellcheck disable=SC2086
    refuses 2 "imported from a log of" "${verb%% *}: refused, since there is no model" $verb
done
refuses 1 "mean" "explain of a log of epochs" explain "$keras"
succeeds "runs are compared" compare "$caffe" "$keras" "$table" "$times"
shows "$keras, imported from a log of keras" "  and marked as imported"
if grep -q 'tinca train' "$T/out"; then not_ok "  without a command that would train them" "$(cat out)"
else ok "  without a command that would train them"; fi
for format in json csv png md; do
    succeeds "export as $format" export "$caffe" "$keras" "$table" "$times" \
        --format $format -o "out-$format"
done
for name in loss_titan_caffe loss_unknown_keras times_titan_caffe times_titan_tensorflow; do
    if [ -s "out-csv/$name.csv" ]; then ok "CSV files have the names of their logs: $name"
    else not_ok "CSV files have the names of their logs: $name" "$(ls out-csv)"; fi
done
succeeds "exported files are imported" import out-csv/loss_titan_caffe.csv --json
again=$("$JSON_LOOK" "$T/out" runs.1.id)
"$TINCA" export "$table" -o one.json
"$TINCA" export "$again" -o two.json
for member in loss.3 loss_caffe.0 iteration.3 ms_per_image.2; do
    is "  with the same values: $member" "runs.0.series.$member" \
        "$("$JSON_LOOK" one.json "runs.0.series.$member")" two.json
done
printf 'Iteration 0, loss = 2\nIteration 1, loss = nan\n' >nan.log
run import nan.log --json
"$TINCA" export "$("$JSON_LOOK" "$T/out" runs.0.id)" -o nan.json
is "a loss that is NaN is null" runs.0.series.loss.1 null nan.json
is "  and a finding says where" runs.0.findings.0.kind divergence nan.json
is "  with the iteration" runs.0.findings.0.iteration 2 nan.json
{ cat "$logs/caffe.txt"; echo; cat "$logs/tensorflow.txt"; } >both.log
refuses 1 "--framework" "a file with lines of two frameworks is refused" import both.log
succeeds "  and accepted with --framework" import both.log --framework tensorflow
done_testing
