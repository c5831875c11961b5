#!/bin/sh
# Solvers, schedules, label smoothing, clipping, early stopping and the maximum time, from the
# command line. What they compute is compared with PyTorch by trajectory_test and training_test.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/faults/hold.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
cd "$T" || exit 99
job="lenet --data digits,limit=100 --batch 20 --threads 2"

weights_of() { cksum <"$1"; }

# --- the same bits, interrupted or not ---
# The run that is stopped after its second epoch has the solver's states and early stopping's in its
# checkpoint.
settings="--validate digits,limit=40 --solver adamw --lr 0.002 --weight-decay 0.01 --label-smoothing 0.1 \
--clip-norm 1 --warm-up 5 --schedule onecycle --stop-patience 5 --stop-metric top1 --epochs 6"
# shellcheck disable=SC2086 # lists of options
run train $job $settings --save "$T/whole.safetensors"
[ "$status" -eq 0 ] && ok "all methods at once" || not_ok "all methods at once" "$(cat err)"
for solver in rmsprop adamw; do
    # shellcheck disable=SC2086
    run train $job $settings --solver $solver --save "$T/$solver.safetensors" -q
    # shellcheck disable=SC2086
    hold 3 train $job $settings --solver $solver --checkpoint 1000 --checkpoint-share 100 # at the end of that epoch
    let_go TERM
    cat out err >stopped
    id=$(sed -n 's/^\(2[^:]*\): stopped after .*/\1/p' stopped)
    run resume "$id" --save "$T/resumed.safetensors"
    [ "$status" -eq 0 ] && cmp -s "$T/$solver.safetensors" "$T/resumed.safetensors" &&
        ok "$solver: stopped and resumed, the same bits" ||
        not_ok "$solver: stopped and resumed, the same bits" "$(cat stopped err)"
done
[ "$(weights_of "$T/whole.safetensors")" = "$(weights_of "$T/adamw.safetensors")" ] &&
    ok "the same seed gives the same bits" || not_ok "the same seed gives the same bits"

# --- a schedule that does not depend on the run's length: the run can become longer ---
falling="--schedule inv --gamma 0.05 --power 0.75"
# shellcheck disable=SC2086
{
    run train $job $falling --epochs 4 --save "$T/inv.safetensors" -q
    "$TINCA" train $job $falling --epochs 3 --max-time 0.01s >stopped 2>&1
    id=$(sed -n 's/^\(2[^:]*\): stopped after .*/\1/p' stopped)
    run resume "$id" --max-time '' --epochs 4 --save "$T/resumed.safetensors"
    [ "$status" -eq 0 ] && cmp -s "$T/inv.safetensors" "$T/resumed.safetensors" &&
        ok "inv: stopped and resumed to be longer, the same bits" ||
        not_ok "inv: stopped and resumed to be longer, the same bits" "$(cat stopped err)"
    run train $job --epochs 4 --save "$T/fixed.safetensors" -q
    cmp -s inv.safetensors fixed.safetensors && not_ok "  which are not those of a fixed rate" ||
        ok "  which are not those of a fixed rate"
}

# --- averaged weights ---
# shellcheck disable=SC2086
{
    run train $job $settings --ema 0.9 --save "$T/average.safetensors" --export "$T/average.json" -q
    "$TINCA" train $job $settings --ema 0.9 --max-time 0.01s >stopped 2>&1
    id=$(sed -n 's/^\(2[^:]*\): stopped after .*/\1/p' stopped)
    run runs --check
    [ "$status" -eq 0 ] && ok "the checkpoint with averaged weights is sound" || not_ok "the check" "$(cat out err)"
    grep -aq '"average.ip2.bias"' "$XDG_STATE_HOME/tinca/runs/$id/checkpoint.safetensors" &&
        ok "  and has them" || not_ok "  and has them" "$(cat stopped)"
    run resume "$id" --max-time '' --save "$T/resumed.safetensors" --export "$T/resumed.json"
    [ "$status" -eq 0 ] && cmp -s "$T/average.safetensors" "$T/resumed.safetensors" &&
        ok "averaged weights: stopped and resumed, the same bits" ||
        not_ok "averaged weights: stopped and resumed, the same bits" "$(cat stopped err)"
    cmp -s "$T/average.safetensors" "$T/whole.safetensors" && not_ok "  which are not those of the run without" ||
        ok "  which are not those of the run without"
    [ "$("$JSON_LOOK" average.json runs.0.validation.loss.3)" = "$("$JSON_LOOK" resumed.json runs.0.validation.loss.3)" ] &&
        ok "  and the same validation" || not_ok "  and the same validation"
    run eval average.safetensors --data digits,limit=40 --json
    [ "$("$JSON_LOOK" out top1)" = "$("$JSON_LOOK" average.json runs.0.validation.top1.5)" ] &&
        ok "  the saved model is the validated one" || not_ok "  the saved model is the validated one" "$(cat out)"
    run train $job --epochs 2 --ema 0 --save "$T/none.safetensors" -q
    run train $job --epochs 2 --save "$T/plain.safetensors" -q
    cmp -s none.safetensors plain.safetensors && ok "a decay of 0 is no average" || not_ok "a decay of 0 is no average"
    refuses 2 'ema' "a decay of 1 is refused" train $job --ema 1
    adversarial_network gan.json
    refuses 1 'discriminator' "a generator is not averaged" \
        train ./gan.json --data maps,limit=4 --iterations 1 --ema 0.9
}

# --- the maximum time ---
# shellcheck disable=SC2086
run train $job --epochs 100000 --max-time 1 --export "$T/time.json"
[ "$status" -eq 0 ] && grep -q 'stopped after' out && grep -q 'tinca resume' out &&
    ok "a run ends at its maximum time, and can be resumed" || not_ok "the maximum time" "$status $(cat out err)"
is "  it is stopped" runs.0.status stopped "$T/time.json"
is "  with a finding" runs.0.findings.0.kind time "$T/time.json"
is "  and the setting is recorded" runs.0.config.max-time 1 "$T/time.json"
for wrong in soon -1 0 1x 1m1h; do
    # shellcheck disable=SC2086
    run train $job --max-time $wrong
    [ "$status" -eq 2 ] && grep -q '8h' err && ok "\"$wrong\" is no time" || not_ok "\"$wrong\" is no time" "$status"
done

# --- two signals at once ---
# shellcheck disable=SC2086
"$TINCA" train $job --epochs 100000 --run-dir "$T/two" >signalled 2>&1 </dev/null &
process=$!
wait_until has_line '"loss"' two/journal # the program handles signals by then
kill -INT $process; kill -INT $process
wait $process
[ $? -eq 130 ] && grep -q 'stopped after' signalled && ok "two signals at once let the run save" ||
    not_ok "two signals at once" "$(cat signalled)"

# --- events ---
# shellcheck disable=SC2086
{
    succeeds "events as JSON" train $job --epochs 2 --json --note "a test of events"
    head -n 1 out >first && is "  first the run" event run first
    id=$("$JSON_LOOK" first id)
    sed -n 2p out >second && is "  then its start" event start second
    [ "$(grep -c '^{"iteration"' out)" -eq 10 ] && ok "  a line for each iteration" ||
        not_ok "  a line for each iteration" "$(head -c 500 out)"
    tail -n 1 out >last && is "  at last the result" event result last
    is "  it is done" status "done" last
    is "  without an error" error null last
    succeeds "the note" runs --json
    grep -q 'a test of events' out && ok "  is listed" || not_ok "  is listed" "$(cat out)"
    run train $job --lr 1e6 --epochs 50 --json
    tail -n 1 out >last
    [ "$status" -eq 1 ] && is "a run that diverges says so" status failed last || not_ok "divergence" "$status"
    refuses 2 'standard output' "events and a session on one output" train $job --json --export -
    refuses 2 'line' "a note of two lines" train $job --note "one
two"
}

# --- early stopping ---
# shellcheck disable=SC2086
run train $job --validate digits,limit=40 --lr 0 --epochs 50 --stop-patience 2 --export "$T/early.json"
[ "$status" -eq 0 ] && grep -q 'done after 15 iterations' out && ok "a run that learns nothing ends after three epochs" ||
    not_ok "early stopping" "$status $(cat out err)"
is "  it is done" runs.0.status done "$T/early.json"
is "  and says why" runs.0.findings.0.kind early-stop "$T/early.json"
run runs --check
[ "$status" -eq 0 ] && ok "  which the check of runs understands" || not_ok "the check" "$(cat out err)"
# shellcheck disable=SC2086
run train $job --stop-patience 2
[ "$status" -eq 2 ] && grep -q 'validat' err && ok "without validation it is refused" || not_ok "refusal" "$(cat err)"

# --- weights to begin with ---
# shellcheck disable=SC2086
{
    run train $job --iterations 0 --save "$T/initial.safetensors" --export "$T/initial.json"
    [ "$status" -eq 0 ] && ! grep -qi nan out && ok "no iteration saves the initial weights, and shows no loss" ||
        not_ok "no iteration" "$status $(cat out err)"
    is "  the run has none" "runs.0.series.loss.#" 0 "$T/initial.json"
    run runs --check
    [ "$status" -eq 0 ] && ok "  and its folder is sound" || not_ok "  and its folder is sound" "$(cat out err)"
    succeeds "from a file" train $job --epochs 2 --seed 7 --weights initial.safetensors --save "$T/from.safetensors"
    grep -q '8 arrays of initial.safetensors' err && ok "  says what it took" || not_ok "  says what it took" "$(cat err)"
    succeeds "from the seed" train $job --epochs 2 --seed 1 --save "$T/seed.safetensors" -q
    run train $job --epochs 2 --seed 1 --weights initial.safetensors --save "$T/same.safetensors" -q
    cmp -s "$T/seed.safetensors" "$T/same.safetensors" && ok "  is the same as from its initial weights" ||
        not_ok "  is the same as from its initial weights"
    succeeds "other classes get a new last layer" \
        train lenet --data digits,limit=100,classes=20 --weights initial.safetensors --epochs 1
    grep -q 'the output layers (ip2) are made anew: 20 outputs' err && ok "  which is said" ||
        not_ok "  which is said" "$(cat err)"
    fine="--data digits,limit=100,classes=20 --batch 20 --threads 2 --weights initial.safetensors --reset ip2
          --freeze conv* --unfreeze-at 2 --rates ip1=0.1 --solver adam --lr 0.001"
    set -f
    succeeds "fine-tuning" train lenet $fine --epochs 4 --save "$T/fine.safetensors" -q
    "$TINCA" train lenet $fine --epochs 4 --max-time 0.01s >stopped 2>&1
    id=$(sed -n 's/^\(2[^:]*\): stopped after .*/\1/p' stopped)
    rm initial.safetensors
    run resume "$id" --max-time '' --save "$T/resumed.safetensors"
    set +f
    [ "$status" -eq 0 ] && cmp -s "$T/fine.safetensors" "$T/resumed.safetensors" &&
        ok "  stopped and resumed without the file, the same bits" || not_ok "  stopped and resumed" "$(cat stopped err)"
    refuses 2 'no layer' "a layer that is not there" train $job --freeze conv9 --epochs 1
    refuses 2 'weights a file' "a reset without weights" train $job --reset ip2 --epochs 1
    refuses 1 'missing.safetensors' "a file that is not there" train $job --weights "$T/missing.safetensors"
}

# --- refusals ---
run train pix2pix --data maps,limit=4 --validate maps,limit=2 --stop-patience 2 --stop-metric top1 --iterations 1
[ "$status" -eq 2 ] && grep -q 'no accuracy' err && ok "early stopping by accuracy needs classes" ||
    not_ok "early stopping by accuracy needs classes" "$status $(cat err)"
run train pix2pix --data maps,limit=4 --label-smoothing 0.1 --iterations 1
[ "$status" -eq 2 ] && grep -q 'loss over classes' err && ok "label smoothing needs classes" ||
    not_ok "label smoothing needs classes" "$status $(cat err)"

# --- the perceptron rule ---
# Its arithmetic is tested by perceptron_test.
rule="perceptron --data digits,limit=300 --batch 1 --solver sgd --momentum 0 --lr 1 --epochs 3 --threads 2 -q"
# shellcheck disable=SC2086
{
    run train $rule --validate digits,split=test,limit=100 --save "$T/rule.safetensors" --export "$T/rule.json"
    [ "$status" -eq 0 ] && ok "the perceptron rule trains" || not_ok "the perceptron rule trains" "$(cat err)"
    top1=$("$JSON_LOOK" rule.json runs.0.validation.top1.2)
    [ "${top1%.*}" -ge 50 ] && ok "  and learns" || not_ok "  and learns" "$top1"
    run eval rule.safetensors --data digits,split=test,limit=100 --json
    [ "$("$JSON_LOOK" out top1)" = "$top1" ] && ok "  its model can be evaluated" || not_ok "  its model can be evaluated" "$(cat out err)"
    refuses 2 'loss perceptron.*no target probabilities' "labels cannot be smoothed" train $rule --label-smoothing 0.1
    refuses 2 'perceptron.*no target probabilities' "nor classes weighted" train $rule --class-weights balanced
    refuses 2 'perceptron.*no target probabilities' "nor images mixed" train $rule --batch 2 --augment mixup=0.2
    run train $rule --sampling balanced
    [ "$status" -eq 0 ] && ok "  but classes can be drawn evenly" || not_ok "  but classes can be drawn evenly" "$(cat err)"
    run info perceptron --json
    [ "$("$JSON_LOOK" out parameters)" = 7850 ] && ok "  10 weights for each of 784 pixels, and 10 biases" ||
        not_ok "  parameters" "$(head -c 300 out)"
    run networks
    grep -q '^perceptron .*7' out && ok "  it is listed" || not_ok "  it is listed" "$(cat out)"
}
# shellcheck disable=SC2086
run train $job --label-smoothing 1
[ "$status" -eq 2 ] && ok "a smoothing of 1 is refused" || not_ok "a smoothing of 1 is refused"
# shellcheck disable=SC2086
run train $job --device cuda --clip-norm 1
[ "$status" -ne 0 ] && grep -q 'clip-norm.*limit gradients' err && ok "a GPU refuses to clip, and says so" ||
    not_ok "a GPU refuses to clip, and says so" "$(cat err)"

# --- momentum ---

cycle="train mlp --data digits,limit=64 --batch 16 --epochs 2 --threads 1 --momentum 0.9 -q"
# shellcheck disable=SC2086 # a list of options
{
    succeeds "onecycle with a constant momentum" $cycle --schedule onecycle --run-dir "$T/constant"
    succeeds "  with one that it lowers" $cycle --schedule onecycle --cycle-momentum 0.5 --run-dir "$T/cycled"
    cmp -s "$T/constant/weights.safetensors" "$T/cycled/weights.safetensors" && not_ok "  gives other weights" ||
        ok "  gives other weights"
    succeeds "  in PyTorch's form" $cycle --schedule onecycle --momentum-form torch --run-dir "$T/torch"
    cmp -s "$T/constant/weights.safetensors" "$T/torch/weights.safetensors" && not_ok "  gives other weights" ||
        ok "  gives other weights"
    # a search raises the rate at every step, so the form counts there, too
    for form in caffe torch; do
        succeeds "a search of the rate in the form $form" find-rate mlp --widths 16 --data digits,limit=200 --batch 20 --iterations 30 \
            --threads 1 --momentum-form $form --json
        cp out "$form.json"
    done
    [ "$("$JSON_LOOK" caffe.json points.29.loss)" = "$("$JSON_LOOK" torch.json points.29.loss)" ] &&
        not_ok "  has other losses" "$(head -c 300 torch.json)" || ok "  has other losses"
    succeeds "pruning tunes in the form torch" prune "$T/torch/weights.safetensors" -o small.safetensors --flops 0.8 --data digits,limit=64 \
        --batch 16 --epochs 1 --schedule onecycle --momentum-form torch --cycle-momentum 0.5 --threads 1 -q
    succeeds "and so does quantization" quantize "$T/torch/weights.safetensors" -o int8.safetensors --calibrate digits,limit=16 \
        --data digits,limit=64 --batch 16 --epochs 1 --schedule onecycle --momentum-form torch --cycle-momentum 0.5 --threads 1 -q
    refuses 2 "has no cycle" "a cycle of the momentum without onecycle" $cycle --cycle-momentum 0.5
    refuses 2 "the lowest momentum" "a lowest momentum above the highest" $cycle --schedule onecycle --cycle-momentum 0.95
}
done_testing
