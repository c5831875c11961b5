#!/bin/sh
# tinca train --test: the best model is evaluated once, at the end of the run, on a set that chooses nothing; and the
# option validate= of the training data, which holds out a share of it.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/faults/hold.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
cd "$T" || exit 99

# value FILE PATH: prints a value of a JSON document
value() { "$JSON_LOOK" "$1" "$2"; }

# rounded FILE PATH: prints a number with the digits that a float keeps through any file
rounded() { value "$1" "$2" | awk '{ printf "%.6g", $1 }'; }

# same_test NAME FILE FILE: two sessions have the same result of the test
same_test() {
    for key in loss top1 top5 epoch images data; do
        [ "$(value "$2" runs.0.test.$key)" = "$(value "$3" runs.0.test.$key)" ] || {
            not_ok "$1" "test.$key: $(value "$2" runs.0.test.$key) and $(value "$3" runs.0.test.$key)"
            return
        }
    done
    ok "$1"
}

job="mlp --data digits,limit=400,validate=0.2 --test digits,split=test,limit=300 --batch 20 --lr 0.3 --threads 1"

# --- the result ---

# With this rate the accuracy falls after the best epoch, so the last model is another one than the best.
# shellcheck disable=SC2086 # a list of options
{
    succeeds "a run with a test set" train $job --epochs 6 --seed 1 --run-dir "$T/whole" --export whole.json
    shows 'test of epoch [0-9.]+: loss .*, top-1 [0-9.]+ % of 300 images' "  says what its best model reaches"
}
is "  in the session" runs.0.test.images 300 whole.json
is "  with the set" runs.0.test.data digits,split=test,limit=300 whole.json
is "  which is described" runs.0.data.test.images 300 whole.json
is "  a fifth is validated" runs.0.data.validation.images 80 whole.json
is "  and not trained on" runs.0.data.training.images 320 whole.json
is "  the share is a setting" runs.0.config.validate auto,share=0.2 whole.json
is "  the data is named without it" runs.0.config.data digits,limit=400 whole.json
run eval whole/best.safetensors --data digits,split=test,limit=300 --threads 1 --json
[ "$(rounded out loss)" = "$(rounded whole.json runs.0.test.loss)" ] &&
    [ "$(rounded out top1)" = "$(rounded whole.json runs.0.test.top1)" ] &&
    [ "$(rounded out top5)" = "$(rounded whole.json runs.0.test.top5)" ] && ok "  it is that of the best model" ||
    not_ok "  it is that of the best model" "$(cat out)"
run eval whole/weights.safetensors --data digits,split=test,limit=300 --threads 1 --json
[ "$(rounded out loss)" != "$(rounded whole.json runs.0.test.loss)" ] && ok "  not of the last one" ||
    not_ok "  not of the last one" "the last model is the best: choose another seed"
best=$(for i in 0 1 2 3 4 5; do echo "$((i + 1)) $(value whole.json runs.0.validation.top1.$i)"; done |
    awk 'NR == 1 || $2 > most { most = $2; at = $1 } END { print at }')
is "  after the epoch that the validation has chosen" runs.0.test.epoch "$best" whole.json
run runs --check "$T/whole"
shows '0 damaged, 0 with warnings' "  the folder is sound"
journal_lines whole/journal | grep -q '"event":"test"' && ok "  the journal has the test" || not_ok "  the journal has the test"
cp -a whole broken
awk '/"test"/ { inside = 1 } inside && /"loss"/ { sub(/:[ \t]*[0-9.]+/, ": 0.5"); inside = 0 } /crc32"/ && !/journal/ { next } { print }' \
    whole/summary.json >broken/summary.json
run runs --check "$T/broken"
grep -q 'its test loss is 0.5, but the journal' out && ok "  another figure in the summary is found" ||
    not_ok "  another figure in the summary is found" "$(cat out)"

# --- where runs are listed ---

run runs 'test-top1>=0' --json
is "it is a field of the list" runs.# 0
# shellcheck disable=SC2086 # a list of options
succeeds "another run with a test set" train $job --epochs 1 --seed 5 -q
id=$(ls "$XDG_STATE_HOME/tinca/runs")
run runs 'test-top1>=0' --json
is "  which the list finds by its figure" runs.0.id "$id"
has "  and shows" runs.0.test_top1
succeeds "a comparison" compare "$T/whole" "$id" --sort test_top1
shows 'TEST TOP-1 %.*BEST TOP-1 %' "  has a column for it, apart from the validation's"
run compare "$T/whole" "$id" --json
has "  in JSON" runs.0.test_loss
run compare "$T/whole" "$id" --format csv
head -n 1 out | grep -q ',test_top1,test_top5,test_loss' && ok "  in CSV" || not_ok "  in CSV" "$(head -n 1 out)"
succeeds "a run without a test set" train mlp --data digits,limit=100 --epochs 1 --run-dir "$T/without" --export without.json -q
if value without.json runs.0.test >/dev/null 2>&1; then not_ok "  has no result"; else ok "  has no result"; fi
run compare "$T/without"
if grep -q 'TEST' out; then not_ok "  and a comparison no column" "$(cat out)"; else ok "  and a comparison no column"; fi

# --- where runs are exported ---

succeeds "a table of all values" export ./whole -o long.csv
grep -q ',test/loss,' long.csv && ok "  has its loss" || not_ok "  has its loss" "$(tail -n 5 long.csv)"
found=$(awk -F, '$2 == "test/top1" { print $6 }' long.csv)
[ "$(rounded whole.json runs.0.test.top1)" = "$(echo "$found" | awk '{ printf "%.6g", $1 }')" ] && ok "  and its accuracy" ||
    not_ok "  and its accuracy" "$found"
succeeds "arrays of NumPy" export ./whole -o whole.npz
grep -aq 'test/top1.npy' whole.npz && ok "  have it" || not_ok "  have it"
run export ./without -o without.csv
grep -q ',test/' without.csv && not_ok "a run without a test set has no such rows" "$(tail -n 3 without.csv)" ||
    ok "a run without a test set has no such rows"
run export ./whole --format tfevents -o events
if grep -q 'protobuf-c' err; then
    skip "event files and ONNX" "this tinca is built without protobuf-c"
else
    grep -aq 'test/loss' events/*/events.* && ok "an event file has it" || not_ok "an event file has it" "$(told)"
    run export ./whole -o whole.onnx
    grep -aq '"test":{"data":"digits,split=test,limit=300"' whole.onnx && ok "and the record in an ONNX file" ||
        not_ok "and the record in an ONNX file" "$(told)"
    # shellcheck disable=SC2086 # a list of options
    succeeds "a run that writes event files" train $job --epochs 1 --tensorboard board -q
    grep -aq 'test/top1' board/*/events.* && ok "  writes it" || not_ok "  writes it"
fi

# --- a test set that is not apart ---

succeeds "a test on the validation data" train mlp --data digits,limit=100 --validate digits --test auto --batch 10 --iterations 1
grep -q 'images of the validation, which choose' err && ok "  is a finding" || not_ok "  is a finding" "$(told)"
succeeds "a test on the training data" train mlp --data digits,limit=100 --test digits,split=train,limit=50 --batch 10 --iterations 1
grep -q 'images that are trained on' err && ok "  is a finding" || not_ok "  is a finding" "$(told)"
succeeds "a test apart from both" train mlp --data digits,limit=100,validate=0.1 --test auto --batch 10 --iterations 1
grep -q 'the test set' err && not_ok "  is none" "$(told)" || ok "  is none"
succeeds "a test on the rest of a set" train mlp --data digits,limit=100,share=0.5 --test digits,limit=100,rest=0.5 --batch 10 --iterations 1
grep -q 'the test set' err && not_ok "  is none" "$(told)" || ok "  is none"

# --- a run that does not reach its end at once ---

# shellcheck disable=SC2086 # a list of options
{
    # the time is up after the last iteration: the test ends after its first batch, as by a signal
    "$TINCA" train $job --iterations 1 --seed 4 --run-dir "$T/reference" --export reference.json -q
    succeeds "a run can be stopped within the test" train $job --iterations 1 --seed 4 --max-time 0.000001s --run-dir "$T/stopped"
    shows 'tinca resume .* continues it' "  and says how it goes on"
    run export "$T/stopped" -o stopped.json
    is "  and is stopped" runs.0.status stopped stopped.json
    if value stopped.json runs.0.test >/dev/null 2>&1; then not_ok "  without a result"; else ok "  without a result"; fi
    succeeds "  resumed, it is tested" resume "$T/stopped" --export resumed.json -q
    same_test "  with the same result" reference.json resumed.json
    is "  and not validated twice" runs.0.validation.epoch.# 1 resumed.json
    run runs --check "$T/stopped"
    shows '0 damaged, 0 with warnings' "  and sound"

    # killed between the test and the summary
    env $(holding 1 | sed 's/FAULT_ONLY=checkpoint/FAULT_ONLY=summary/') "$TINCA" train $job --iterations 1 --seed 4 \
        --run-dir "$T/killed" -q >out 2>err </dev/null &
    child=$!
    wait_until stopped_or_gone $child
    let_go KILL
    succeeds "a run that is killed after the test is resumed" resume "$T/killed" --export killed.json -q
    same_test "  with the same result" reference.json killed.json
    run runs --check "$T/killed"
    shows '0 damaged, 0 with warnings' "  and sound"

}

# --- forks, sweeps, seeds ---

succeeds "a fork takes the test set" train --fork "$T/whole" --epochs 1 --export fork.json -q
is "  and has a result" runs.0.test.images 300 fork.json
succeeds "  or another one" train --fork "$T/whole" --epochs 1 --test digits,split=test,limit=50 --export other.json -q
is "  and has that result" runs.0.test.images 50 other.json
succeeds "a sweep" sweep --networks mlp --data digits,limit=100,validate=0.1 --test auto --batches 10 --epochs 1 --json
has "  tests its cells" cells.0.result.test_top1
succeeds "a group of seeds" train mlp --data digits,limit=100 --test auto --epochs 1 --seeds 2 --export seeds.json -q
grep -q '"test_top1": *{ *"n": *2,' seeds.json && ok "  has the mean of its tests" || not_ok "  has the mean of its tests" "$(cut -c 1-600 seeds.json)"

# --- networks that make pictures ---

picture_network pictures.json 16 4 8 2
succeeds "a network that makes pictures" train ./pictures.json --data maps,limit=4 --validate maps,limit=3 --test maps,split=test,limit=3 --batch 2 --epochs 1 --export pictures-run.json -q
is "  has the pixel accuracy of its validation" runs.0.test.pixel_accuracy "$(value pictures-run.json runs.0.validation.pixel_accuracy.0)" pictures-run.json
is "  and its loss" runs.0.test.loss "$(value pictures-run.json runs.0.validation.loss.0)" pictures-run.json
adversarial_network gan.json
succeeds "one with a discriminator" train ./gan.json --data maps,limit=4 --test maps,split=test,limit=3 --batch 2 --epochs 1 --export gan-run.json -q
has "  has it, too" runs.0.test.pixel_accuracy gan-run.json

# --- settings ---

succeeds "the preset digits" train --preset digits --iterations 2 --export digits.json -q
is "  holds out a tenth" runs.0.data.training.images 9000 digits.json
is "  and tests on the test split" runs.0.test.data digits,split=test digits.json
succeeds "  on a part of a set" train --preset digits --data digits,share=0.1,draw=2 --iterations 2 --export part.json -q
is "  it holds out nothing" runs.0.config.validate "" part.json
succeeds "the preset cifar" train mlp --preset cifar --data digits,limit=200 --iterations 1 --export cifar.json -q
is "  leaves the choice, as the study's protocol differs" runs.0.config.test "" cifar.json
run train mlp --preset cifar --data digits,limit=200 --iterations 1
grep -q 'its study chose the models on the test images' err && ok "  and says so" || not_ok "  and says so" "$(told)"
run train mlp --preset cifar --data digits,limit=200,validate=0.1 --test auto --batch 20 --iterations 1
grep -q 'its study' err && not_ok "  unless images are held out" "$(told)" || ok "  unless images are held out"
succeeds "auto" train mlp --data digits,limit=100,classes=10 --test auto --iterations 1 --export auto.json -q
is "  is the whole test split of the training data" runs.0.test.data digits,classes=10,split=test auto.json
refuses 2 'auto is the test split' "auto, of the test split" train mlp --data digits,split=test --test auto --iterations 1
refuses 2 'holds out a share' "two validation sets" train mlp --data digits,validate=0.1 --validate digits --iterations 1
refuses 2 'contradicts --validate' "two validation sets in the other order" train mlp --validate digits --data digits,validate=0.1 --iterations 1
refuses 2 'does not say which share' "a share that is none" train mlp --data digits,validate=2 --iterations 1
refuses 2 'divides the training data' "validate= of another set" train mlp --data digits --validate digits,validate=0.1 --iterations 1
refuses 2 'divides the training data' "validate= of what is evaluated" eval "$T/whole" --data digits,validate=0.1
refuses 1 'no such folder' "a test set that is missing, before the training" train mlp --data digits --test folder:none --iterations 1
done_testing
