#!/bin/sh
# Distillation from the command line: tinca train --teacher. What it computes is compared with PyTorch by
# distillation_trajectory_test.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
cd "$T" || exit 99
job="mlp --data digits,limit=300 --batch 20 --threads 2 --lr 0.02"
look() { "$JSON_LOOK" "$@" 2>&1; }

succeeds "a teacher" train lenet --data digits,limit=300 --batch 20 --epochs 2 --lr 0.02 --threads 2 \
    --save "$T/teacher.safetensors" -q
teacher="--teacher teacher.safetensors"

# shellcheck disable=SC2086 # lists of options
{
    # --- training ---
    succeeds "a student" train $job $teacher --temperature 3 --distill-weight 0.7 --epochs 4 \
        --validate digits,split=test,limit=100 --save "$T/whole.safetensors" --export "$T/whole.json" -q
    [ "$(look whole.json runs.0.config.temperature)" = 3 ] &&
        [ "$(look whole.json runs.0.config.distill-weight)" = 0.7 ] &&
        look whole.json runs.0.config.teacher | grep -q '/teacher.safetensors$' &&
        ok "  its settings are in the session" || not_ok "  its settings are in the session" "$(head -c 900 whole.json)"
    [ "$(look whole.json runs.0.data.teacher.name)" = lenet ] &&
        [ "$(look whole.json runs.0.data.teacher.bytes)" = "$(wc -c <teacher.safetensors)" ] &&
        ok "  and the teacher" || not_ok "  and the teacher" "$(look whole.json runs.0.data.teacher)"
    total=$(look whole.json runs.0.memory_forecast.total) of=$(look whole.json runs.0.memory_forecast.teacher)
    kinds=0
    for kind in weights gradients solver activations workspace teacher; do
        kinds=$((kinds + $(look whole.json runs.0.memory_forecast.$kind)))
    done
    [ "$of" -gt 1700000 ] && [ "$total" = "$kinds" ] && ok "  the forecast has the teacher's memory" ||
        not_ok "  the forecast has the teacher's memory" "$of of $total, $kinds in all kinds"
    run info whole.safetensors
    grep -q 'distill:lenet' out && ok "  the model says what taught it" || not_ok "  the model says what taught it" "$(head -n 3 out)"
    run runs --json
    grep -q '"mlp+distill:lenet"' out && ok "  and so does the list of runs" ||
        not_ok "  and so does the list of runs" "$(grep network out)"
    succeeds "  it is an ordinary model" eval whole.safetensors --data digits,split=test,limit=100 --json
    [ "$(look out top1)" = "$(look whole.json runs.0.validation.top1.3)" ] &&
        ok "  the same as at the last validation" || not_ok "  the same as at the last validation" "$(cat out)"

    # --- the same bits ---
    run train $job $teacher --temperature 3 --distill-weight 0.7 --epochs 4 --threads 1 \
        --validate digits,split=test,limit=100 --save "$T/one.safetensors" -q
    cmp -s whole.safetensors one.safetensors && ok "the same bits with one thread" || not_ok "the same bits with one thread"
    run train $job --epochs 4 --save "$T/alone.safetensors" -q
    cmp -s whole.safetensors alone.safetensors && not_ok "which are not those without a teacher" ||
        ok "which are not those without a teacher"
    run train $job $teacher --temperature 6 --distill-weight 0.7 --epochs 4 --save "$T/warm.safetensors" -q
    cmp -s whole.safetensors warm.safetensors && not_ok "nor those of another temperature" ||
        ok "nor those of another temperature"
    "$TINCA" train $job $teacher --temperature 3 --distill-weight 0.7 --epochs 4 --max-time 0.01s \
        --validate digits,split=test,limit=100 >stopped 2>&1
    id=$(sed -n 's/^\(2[^:]*\): stopped after .*/\1/p' stopped)
    cp -R "$XDG_STATE_HOME/tinca/runs/$id" kept
    run resume "$id" --max-time '' --save "$T/resumed.safetensors"
    [ "$status" -eq 0 ] && cmp -s whole.safetensors resumed.safetensors && ok "stopped and resumed, the same bits" ||
        not_ok "stopped and resumed, the same bits" "$(cat stopped err)"
    run runs --check
    [ "$status" -eq 0 ] && ok "the folders are sound" || not_ok "the folders are sound" "$(cat out err)"

    # --- another teacher ---
    rm -rf "${XDG_STATE_HOME:?}/tinca/runs/$id"
    cp -R kept "$XDG_STATE_HOME/tinca/runs/$id"
    mv teacher.safetensors good.safetensors
    run train lenet --data digits,limit=300 --batch 20 --epochs 1 --threads 2 --seed 9 --save "$T/teacher.safetensors" -q
    refuses 1 'not the teacher.*checksum' "a run is not resumed with another teacher" resume "$id" --max-time '' -q
    rm teacher.safetensors
    refuses 1 'teacher.safetensors' "nor without it" resume "$id" --max-time '' -q
    mv good.safetensors teacher.safetensors
    succeeds "  but with its own" resume "$id" --max-time '' -q

    # --- together with other methods ---
    succeeds "with mixed images, class weights, smoothing, averages and blocks" train $job $teacher --epochs 2 \
        --augment mixup=0.3 --class-weights balanced --label-smoothing 0.1 --ema 0.9 --blocks 2 -q
    succeeds "on the device reference" train $job $teacher --iterations 2 --device reference -q
    succeeds "in bf16" train $job $teacher --iterations 2 --device reference --precision bf16 -q
    succeeds "from the labels not at all" train $job $teacher --epochs 2 --distill-weight 1 --save "$T/all.safetensors" -q
    succeeds "a fork" train $job $teacher --temperature 2 --epochs 1 --fork "$id@final" -q
    succeeds "a sweep" sweep --networks mlp --data digits,limit=100 --batches 20 --iterations 2 --threads 1 \
        --vary "teacher=$T/teacher.safetensors" --vary temperature=2,8 --vary distill-weight=0.5,1 -q --json
    [ "$(look out cells.#)" = 4 ] && ok "  with a cell for each temperature and weight" ||
        not_ok "  with a cell for each temperature and weight" "$(head -c 600 out)"

    # --- forecasts and limits ---
    run info mlp --json --batch 20
    alone=$(look out memory.total)
    run info mlp $teacher --json --batch 20
    [ "$status" = 0 ] && [ "$(look out memory.teacher)" -gt 1700000 ] &&
        [ "$(look out memory.total)" -gt $((alone + 1700000)) ] && ok "info shows the teacher's memory" ||
        not_ok "info shows the teacher's memory" "$alone $(look out memory)"
    refuses 1 'memory limit.*needs' "a limit that the teacher's memory exceeds is refused" \
        train $job $teacher --memory-limit 2MiB --iterations 1 -q
    refuses 2 'no teacher' "inference has no teacher" info mlp $teacher --mode infer

    # --- refusals ---
    refuses 2 'teacher a saved model' "a temperature without teacher" train $job --temperature 2
    refuses 2 'temperature' "a temperature of 0" train $job $teacher --temperature 0
    refuses 2 'distill-weight' "a weight above 1" train $job $teacher --distill-weight 1.1
    refuses 1 'missing.safetensors' "a teacher that is not there" train $job --teacher missing.safetensors
    refuses 1 'teacher.*10 classes, and the student 20' "other classes" \
        train mlp --data digits,limit=300,classes=20 $teacher --iterations 1
    refuses 1 'teacher.*1 x 28 x 28, and the student 3 x 32 x 32' "other images" \
        train resnet20 --data shapes,limit=64 $teacher --iterations 1
    refuses 2 'other numbers' "another normalisation" train $job $teacher --normalise signed --iterations 1
    refuses 2 'loss perceptron' "a loss without probabilities" train perceptron --data digits,limit=100 $teacher --iterations 1
    refuses 2 'no loss over classes' "a network that makes pictures" \
        train pix2pix --data maps,limit=4 $teacher --iterations 1
    head -c 5000 teacher.safetensors >cut.safetensors
    refuses 1 'cut.safetensors' "a damaged teacher" train $job --teacher cut.safetensors --iterations 1
}
done_testing
