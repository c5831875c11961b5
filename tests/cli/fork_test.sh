#!/bin/sh
# tinca train --fork: a new run from a checkpoint or model of another one, with other settings.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/faults/hold.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
cd "$T" || exit 99
job="lenet --data digits,limit=100 --batch 20 --epochs 12 --seed 3 --threads 1"
often="--checkpoint 0.01 --checkpoint-share 100"
runs=$XDG_STATE_HOME/tinca/runs

# shellcheck disable=SC2086 # a list of options
{
    succeeds "an undisturbed run" train $job --run-dir "$T/whole" -q
    hold 5 train $job $often # it has two checkpoints
    let_go TERM
    id=$(ls "$runs")
    succeeds "a fork without changes" train --fork "$id" --run-dir "$T/same" --export same.json -q
    cmp -s same/weights.safetensors whole/weights.safetensors && ok "  has the bits of an undisturbed run" ||
        not_ok "  has the bits of an undisturbed run"
    is "  counts on" "runs.0.series.iteration.#" 60 same.json
    is "  names its ancestor" "runs.0.fork.ancestor" "$id" same.json
    is "  and the checkpoint" "runs.0.fork.checkpoint" last same.json
    succeeds "a fork of the checkpoint before" train --fork "$id@previous" --run-dir "$T/before" -q
    cmp -s before/weights.safetensors whole/weights.safetensors && ok "  has these bits, too" ||
        not_ok "  has these bits, too"

    succeeds "a fork with a smaller rate" train --fork "$id" --lr 0.001 --epochs 15 --run-dir "$T/rate" --export rate.json -q
    is "  is as long as it was given, in all" "runs.0.series.iteration.#" 75 rate.json
    journal_lines rate/journal | grep -o '"iteration":75,.*' | grep -q '"lr":0.00100000005,' && ok "  has its rate" ||
        not_ok "  has its rate" "$(journal_lines rate/journal | tail -n 5)"
    journal_lines rate/journal | grep -q '^{"iteration":1,.*"lr":0.00999999978,' && ok "  after the ancestor's" ||
        not_ok "  after the ancestor's" "$(journal_lines rate/journal | head -n 3)"
    is "  and keeps the solver's state" "runs.0.fork.weights_only" false rate.json
    succeeds "a fork with a cycle of the momentum" train --fork "$id" --schedule onecycle --cycle-momentum 0.5 --export cycle.json -q
    is "  keeps it, too" "runs.0.fork.weights_only" false cycle.json
    succeeds "a fork with the other form of momentum" train --fork "$id" --momentum-form torch --export form.json -q
    is "  does not: the velocity has another meaning" "runs.0.fork.weights_only" true form.json
    succeeds "a fork that is shorter than its ancestor" train --fork "$id" --epochs 11 --run-dir "$T/shorter" -q
    succeeds "  is sound" runs --check "$T/shorter"

    # a fork that is killed before it has a checkpoint of its own, and whose ancestor is deleted
    rm -f "$runs/$id/lock"
    "$TINCA" train --fork "$id" --lr 0.002 --run-dir "$T/reference" -q
    hold 2 train --fork "$id" --lr 0.002 --checkpoint 1000 --checkpoint-share 100 --epochs 12 --run-dir "$T/killed" -q
    let_go KILL
    mv "$runs/$id" "$T/hidden"
    succeeds "a killed fork is resumed without its ancestor" resume "$T/killed" -q
    cmp -s killed/weights.safetensors reference/weights.safetensors && ok "  with the same bits" ||
        not_ok "  with the same bits"
    mv "$T/hidden" "$runs/$id"

    # other data, batch or solver: the weights alone
    succeeds "a fork with another batch and solver" train --fork "$id" --batch 40 --solver adam --lr 0.001 --epochs 2 --export batch.json -q
    is "  takes the weights alone" "runs.0.fork.weights_only" true batch.json
    is "  and counts from zero" "runs.0.series.iteration.#" 4 batch.json
    run runs --json
    "$JSON_LOOK" out runs.1.ancestor >ancestor
    grep -q "$id" ancestor && ok "tinca runs --json names the ancestor" || not_ok "tinca runs --json names the ancestor" "$(cat ancestor)"
    run runs --check
    [ "$status" -eq 0 ] && ok "  and finds the forks sound" || not_ok "  and finds the forks sound" "$(cat out err)"

    # a complete run has models only
    succeeds "a fork of a complete run" train --fork "$T/whole" --epochs 1 --export final.json -q
    is "  begins with its final model" "runs.0.fork.checkpoint" final final.json
    is "  and knows its iteration" "runs.0.fork.iteration" 60 final.json
    first=$("$JSON_LOOK" final.json runs.0.series.loss.0)
    echo "$first" | awk '{ exit !($1 < 1) }' && ok "  and its first loss is a trained network's" ||
        not_ok "  and its first loss is a trained network's" "$first"

    mkdir a@b
    cp -a whole a@b/whole
    succeeds "a fork of a run in a folder with @" train --fork "$T/a@b/whole" --epochs 1 --run-dir "$T/at" -q
    succeeds "  also with its checkpoint" train --fork "$T/a@b/whole@final" --epochs 1 --run-dir "$T/at-final" -q

    # the network of a file that is gone
    cp whole/weights.safetensors model.safetensors
    succeeds "a run of a model's network" train ./model.safetensors --weights model.safetensors --data digits,limit=200 --batch 20 --epochs 2 \
        --max-time 0.000001s --threads 1 --run-dir "$T/model" -q
    rm model.safetensors
    refuses 1 'which is missing: bring it back, or train .*model/network.json' "  is not forked without the model" train --fork "$T/model"
    refuses 1 'which is missing: bring it back, or train .*model/network.json' "  nor resumed" resume "$T/model"
    succeeds "  but its network can be trained on" train "$T/model/network.json" --weights "$T/model/weights.safetensors" --data digits,limit=200 --batch 20 --iterations 1 -q

    # what cannot be forked
    for options in "--technique dsc" "--width-rate 2" "--epochs 0" "--iterations 1" "--data generated"; do
        run train --fork "$id" $options
        [ "$status" -ne 0 ] && ok "refused: $options" || not_ok "refused: $options"
    done
    run train --fork "$id" --technique dsc
    grep -q "weights of the ancestor belong to" err && ok "  with the reason" || not_ok "  with the reason" "$(cat err)"
    run train --fork "$T/whole@last"
    grep -q "@final" err && ok "a complete run has no checkpoint, and the error names what it has" ||
        not_ok "a complete run has no checkpoint, and the error names what it has" "$(cat err)"
    run train --fork "$id@newest"
    [ "$status" -eq 2 ] && ok "refused: an unknown checkpoint" || not_ok "refused: an unknown checkpoint"
    mv "$runs/$id/network.json" network.json
    mkfifo "$runs/$id/network.json"
    run train --fork "$id@last" --run-dir "$T/hindered" -q
    [ "$status" -ne 0 ] && grep -q 'network.json' err && ok "a FIFO in the ancestor's folder hinders nobody" ||
        not_ok "a FIFO in the ancestor's folder hinders nobody" "$status $(cat err)"
    [ ! -e hindered/checkpoint.safetensors ] && ok "  and leaves no copies" || not_ok "  and leaves no copies" "$(ls hindered)"
    rm "$runs/$id/network.json"
    mv network.json "$runs/$id"
    printf x >>"$runs/$id/checkpoint.safetensors"
    run train --fork "$id@last"
    [ "$status" -ne 0 ] && ok "refused: a damaged checkpoint" || not_ok "refused: a damaged checkpoint"
}
done_testing
