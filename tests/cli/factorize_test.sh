#!/bin/sh
# tinca factorize: targets, methods and layers; the report as text and JSON; that the new model is
# evaluated, predicts, is timed, trained further, renamed and factorized again like any other; and what
# is refused. The arithmetic is compared with SciPy and PyTorch by factorization_test.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
case $srcdir in /*) ;; *) srcdir=$PWD/$srcdir ;; esac
cd "$T" || exit 99
set -f
data="--data digits,limit=300 --batch 20 --threads 2 -q"
held="--data digits,split=test,limit=100 --threads 2"

# shellcheck disable=SC2086 # lists of options
{
    "$TINCA" train lenet $data --epochs 1 --seed 3 --save lenet.safetensors >log 2>&1 || cat log

    # --- by energy ---
    succeeds "the usual energy" factorize lenet.safetensors -o usual.safetensors
    grep -q '^lenet+factorize:0.9: ' out && ok "  the chain names the step" || not_ok "  the chain" "$(cat out)"
    grep -q 'tinca train usual.safetensors --weights usual.safetensors' out && ok "  and says how to go on" ||
        not_ok "  and says how to go on" "$(cat out)"
    grep -q 'ip2: its singular values (4 of 4)' err && ok "  with its progress on standard error" ||
        not_ok "  with its progress" "$(cat err)"
    succeeds "half the energy" factorize lenet.safetensors -o half.safetensors --energy 0.5 --json -q
    [ -s err ] && not_ok "  quietly" "$(cat err)" || ok "  quietly"
    cp out half.json
    is "  the network" network lenet+factorize:0.5 half.json
    is "  its state" layers.2.state factorized half.json
    is "  its method" layers.1.method spatial half.json
    awk -v energy="$("$JSON_LOOK" half.json layers.2.energy)" -v error="$("$JSON_LOOK" half.json layers.2.error)" \
        -v tail="$("$JSON_LOOK" half.json layers.2.tail)" 'BEGIN {
            d = error - tail; e = 1 - energy - tail * tail
            exit !(energy >= 0.5 && energy < 0.52 && d < 1e-6 && d > -1e-6 && e < 1e-9 && e > -1e-9) }' &&
        ok "  the error is the tail of the singular values" || not_ok "  the error is the tail" "$(cat half.json)"
    run info half.safetensors --json
    is "  the parameters are those of the network" parameters "$("$JSON_LOOK" half.json parameters.after)" out
    is "  and so are the FLOPs" flops "$("$JSON_LOOK" half.json flops.after)" out
    [ "$(wc -c <half.safetensors)" = "$("$JSON_LOOK" half.json bytes.after)" ] && ok "  and the bytes" ||
        not_ok "  and the bytes" "$(wc -c half.safetensors)"
    run factorize lenet.safetensors -o again.safetensors --energy 0.5 -q --threads 1
    cmp -s half.safetensors again.safetensors && ok "  the same bits, whatever the threads" || not_ok "  the same bits"

    # --- methods and layers ---
    succeeds "tucker" factorize lenet.safetensors -o tucker.safetensors --energy 0.5 --convolutions tucker -q --json
    is "  has two ranks" layers.1.method tucker out
    "$JSON_LOOK" out layers.1.ranks.1 | grep -q . && ok "  both are told" || not_ok "  both are told" "$(cat out)"
    run info tucker.safetensors
    grep -q '^conv2.2 ' out && ok "  and three layers" || not_ok "  and three layers" "$(cat out)"
    succeeds "linear layers alone" factorize lenet.safetensors -o fc.safetensors --energy 0.5 --convolutions none -q --json
    is "  convolutions are not chosen" layers.0.state not-chosen out
    succeeds "convolutions alone, without one" factorize lenet.safetensors -o conv.safetensors --energy 0.5 \
        --linear none --keep conv1 -q --json
    is "  which is kept" layers.0.state kept out
    is "  the other is factorized" layers.1.state factorized out
    is "  linear layers are not" layers.2.state not-chosen out
    succeeds "a layer by its name" factorize lenet.safetensors -o ip1.safetensors --energy 0.5 --layers 'ip1,conv?' \
        --keep 'conv*' -q --json
    is "  is factorized" layers.2.state factorized out
    is "  the last is not" layers.3.state not-chosen out

    # --- by parameters and time ---
    succeeds "a third of the parameters" factorize lenet.safetensors -o third.safetensors --parameters 0.333 -q --json
    [ "$("$JSON_LOOK" out parameters.after)" -le 143549 ] && [ "$("$JSON_LOOK" out parameters.after)" -ge 140000 ] &&
        ok "  is left" || not_ok "  is left" "$(cat out)"
    refuses 2 'are left, more than' "too few" factorize lenet.safetensors -o no.safetensors --parameters 0.001 -q
    # the weights of such a layer do not fit into a cache: fewer of them take less time
    printf '{"name": "wide", "input": [1, 28, 28], "classes": 10, "layers": [{"op": "linear", "name": "a", "output": 900},
        {"op": "linear", "name": "b", "output": 900}, {"op": "linear", "name": "c", "output": 10}]}' >wide.json
    "$TINCA" train ./wide.json --data digits,limit=10 --batch 10 --iterations 0 --save wide.safetensors -q >log 2>&1
    run bench wide.safetensors --mode infer --threads 1 --json
    limit=$("$JSON_LOOK" out ms_per_image.median | awk '{ print $1 / 2 }')
    run factorize wide.safetensors -o fast.safetensors --latency "$limit" --threads 1 -q --json
    # where other programs disturb the measurement, it may be out of reach, or reached already
    if [ "$status" = 0 ]; then
        awk -v ms="$("$JSON_LOOK" out ms_per_image.after)" -v limit="$limit" 'BEGIN { exit !(ms <= limit) }' &&
            ok "a time is kept" || not_ok "a time is kept" "$limit: $(cat out)"
        # which layers are enough depends on how the model was timed the first time
        [ "$("$JSON_LOOK" out parameters.after)" -lt "$("$JSON_LOOK" out parameters.before)" ] &&
            grep -q '"factorized"' out && ok "  by factorized layers" || not_ok "  by factorized layers" "$(cat out)"
    elif [ "$status" = 2 ] && grep -q 'an image takes' err; then
        skip "a time is kept" "this machine is busy: $(told)"
        skip "  by factorized layers" "this machine is busy"
    else
        not_ok "a time is kept" "$status $(cat err)"
    fi
    refuses 2 'more than 1e-09' "no time" factorize lenet.safetensors -o no.safetensors --latency 0.000000001 -q
    refuses 2 'already' "a time that it has" factorize lenet.safetensors -o no.safetensors --latency 100000 -q

    # --- the new model is a model ---
    succeeds "it is evaluated" eval half.safetensors $held --json
    is "  under its name" network lenet+factorize:0.5 out
    succeeds "it predicts" predict half.safetensors "$srcdir/docs/pix2pix-shift.png"
    succeeds "it is timed" bench half.safetensors --mode infer --iterations 2 --threads 2
    succeeds "its weights are shown" weights half.safetensors
    grep -q '^ip1.1.bias ' out && ! grep -q '^ip1.0.bias ' out && ok "  the last part has the bias" ||
        not_ok "  the last part has the bias" "$(cat out)"
    succeeds "it is trained further" train half.safetensors --weights half.safetensors $data --epochs 1 --name tuned
    succeeds "  as a run" runs tuned --json
    is "  of that name" runs.0.network lenet+factorize:0.5 out
    succeeds "  which is exported" export tuned -o session.json
    is "  with the step" runs.0.network.compression factorize:0.5 session.json
    succeeds "  and evaluated" eval tuned $held
    succeeds "it is factorized again" factorize half.safetensors -o twice.safetensors --parameters 0.7 -q --json
    is "  and the chain has both steps" network lenet+factorize:0.5+factorize:p0.7 out
    succeeds "  and evaluated" eval twice.safetensors $held

    # --- fine-tuning ---
    succeeds "with fine-tuning" factorize lenet.safetensors -o trained.safetensors --energy 0.5 --epochs 1 $data \
        --validate digits,split=test,limit=50 --sampling balanced --schedule onecycle --ema 0.5 --seed 4 --json
    cp out trained.json
    is "  the network is the same" parameters.after "$("$JSON_LOOK" half.json parameters.after)" trained.json
    is "  as are its layers" layers.2.ranks.0 "$("$JSON_LOOK" half.json layers.2.ranks.0)" trained.json
    config=$XDG_STATE_HOME/tinca/runs/$("$JSON_LOOK" trained.json run)/config.json
    is "  its run has the settings" config.sampling balanced "$config"
    is "  all of them" config.schedule onecycle "$config"
    is "  and this" config.ema 0.5 "$config"
    cmp -s trained.safetensors half.safetensors && not_ok "  it has learned" || ok "  it has learned"
    ls | grep '^trained.safetensors.' && not_ok "  nothing else is left" || ok "  nothing else is left"
    succeeds "  it is evaluated" eval trained.safetensors $held --json
    is "  under its name" network lenet+factorize:0.5 out
    refuses 2 'fine-tuning needs a data set' "epochs without data" factorize lenet.safetensors -o no.safetensors --epochs 1
    refuses 2 '--lr: nothing is trained' "a rate without epochs" factorize lenet.safetensors -o no.safetensors --lr 0.1
    refuses 2 'no meaning in tinca factorize' "a setting without a meaning" factorize lenet.safetensors -o no.safetensors \
        --epochs 1 --l1-weight 3 $data
    tuning="factorize lenet.safetensors -o no.safetensors --epochs 1 $data"
    refuses 2 '^tinca: --epochs and --iterations: ' "two lengths" $tuning --iterations 3
    refuses 2 '^tinca: --stop-patience: ' "a stop without a validation" $tuning --stop-patience 3
    refuses 2 'nolayer' "a layer to freeze that is none" $tuning --freeze nolayer
    ls | grep '^no.safetensors' && not_ok "  nothing is left" || ok "  nothing is left"
    succeeds "a part to freeze" factorize lenet.safetensors -o frozen.safetensors --energy 0.5 --epochs 1 $data --freeze ip1.0 -q
    for option in --checkpoint=5 --tensorboard=board --max-time=1h --test=auto; do
        refuses 2 "^tinca: ${option%=*}: nothing is trained" "without training: $option" factorize lenet.safetensors \
            -o no.safetensors $option
    done
    long="lenet.safetensors -o long.safetensors --energy 0.5 --epochs 100000 --data digits,limit=100 --batch 20 --threads 1 -q"
    trains() {
        folder=$(head -n 1 long.safetensors.run 2>/dev/null) && has_line '"iteration"' "$folder/journal"
    }
    "$TINCA" factorize $long >log 2>&1 </dev/null &
    process=$!
    wait_until trains
    kill -TERM $process
    wait $process
    [ $? = 130 ] && [ ! -e long.safetensors ] && ok "a fine-tuning is interrupted" || not_ok "a fine-tuning is interrupted" "$(cat log)"
    refuses 2 'another fine-tuning' "  another request is refused" factorize $long --lr 0.5
    "$TINCA" factorize $long --max-time 9h --checkpoint 7 --save-precision bf16 >log 2>&1 </dev/null &
    process=$!
    wait_until has_line '"event":"resume","iteration":[1-9]' "$folder/journal" &&
        ok "  the same one goes on, also with settings on which no weight depends" ||
        not_ok "  the same one goes on, also with settings on which no weight depends" "$(cat log)"
    kill -TERM $process
    wait $process
    is "  of which the run has this" config.max-time 9h "$folder/config.json"
    is "  and this" config.checkpoint 7 "$folder/config.json"
    is "  and this" config.save-precision bf16 "$folder/config.json"
    rm -f long.safetensors.*

    # --- formats ---
    succeeds "weights of half the size" factorize lenet.safetensors -o bf16.safetensors --energy 0.5 --save-precision bf16 -q
    run weights bf16.safetensors
    grep -q '^ip1.0.weight .* BF16 ' out && ok "  are bf16" || not_ok "  are bf16" "$(cat out)"
    succeeds "from them" factorize bf16.safetensors -o more.safetensors --energy 0.7 -q
    run weights more.safetensors
    grep -q '^ip1.0.* BF16 ' out && ok "  bf16 again" || not_ok "  bf16 again" "$(cat out)"
    succeeds "a network with blocks and groups" train resnet20-shuffle --data shapes,limit=20 --batch 10 --iterations 0 \
        --save shuffle.safetensors -q
    succeeds "  is factorized" factorize shuffle.safetensors -o less.safetensors --energy 0.3 -q
    succeeds "  and evaluated" eval less.safetensors --data shapes,limit=20

    adversarial_network gan.json
    "$TINCA" train ./gan.json --data maps,limit=4 --batch 2 --iterations 0 --save gan.safetensors -q >log 2>&1
    succeeds "a network with a discriminator" factorize gan.safetensors -o less.safetensors --energy 0.4
    grep -q 'transposed' out && ! grep -q 'tinca train' out && ok "  whose training cannot begin with weights" ||
        not_ok "  whose training cannot begin with weights" "$(cat out)"
    succeeds "  is evaluated" eval less.safetensors --data maps,limit=4
    refuses 1 'cannot begin with weights' "  but not trained" factorize gan.safetensors -o no.safetensors --epochs 1 \
        --data maps,limit=4

    # --- refusals ---
    refuses 2 'no name' "no output" factorize lenet.safetensors
    refuses 2 'written to a file' "standard output" factorize lenet.safetensors -o -
    refuses 2 'the model itself' "the model as output" factorize lenet.safetensors -o ./lenet.safetensors
    refuses 2 'end its name in .safetensors' "another ending" factorize lenet.safetensors -o lenet.bin
    refuses 2 'exclude each other' "two targets" factorize lenet.safetensors -o no.safetensors --energy 0.5 --parameters 0.5
    refuses 2 'no number' "a word for a number" factorize lenet.safetensors -o no.safetensors --energy much
    refuses 2 'between 0 and 1' "too much energy" factorize lenet.safetensors -o no.safetensors --energy 1.5
    refuses 2 'between 0 and 1' "all parameters" factorize lenet.safetensors -o no.safetensors --parameters 1
    refuses 2 'not a time' "a negative time" factorize lenet.safetensors -o no.safetensors --latency -3
    refuses 2 'factors are smaller' "nothing that becomes smaller" factorize lenet.safetensors -o no.safetensors --energy 1 -q
    refuses 2 'name of no layer' "a layer that is not there" factorize lenet.safetensors -o no.safetensors --layers fc9
    refuses 2 'no layer is left' "nothing to factorize" factorize lenet.safetensors -o no.safetensors --keep '*'
    refuses 1 'nothing.safetensors' "a model that is not there" factorize nothing.safetensors -o no.safetensors
    head -c 2000 lenet.safetensors >torn.safetensors
    refuses 1 'torn.safetensors' "a torn model" factorize torn.safetensors -o no.safetensors
    "$TINCA" weights lenet.safetensors --save odd.safetensors --rename 'ip2.weight=other' >log 2>&1
    refuses 1 'ip2.weight' "a model without a layer's weights" factorize odd.safetensors -o no.safetensors
    "$TINCA" quantize lenet.safetensors --calibrate digits,limit=10 --images 5 -o small.safetensors -q >log 2>&1
    refuses 1 'before it is quantized' "a quantized model" factorize small.safetensors -o no.safetensors
    refuses 1 'no/where' "an output that cannot be written" factorize lenet.safetensors -o no/where.safetensors
    cp half.safetensors kept.safetensors
    refuses 1 'torn.safetensors' "a torn model, for a file that is there" factorize torn.safetensors -o kept.safetensors
    cmp -s half.safetensors kept.safetensors && ok "  leaves it as it is" || not_ok "  leaves it as it is"
    [ -e no.safetensors ] && not_ok "nothing refused was saved" || ok "nothing refused was saved"
}

# --- interrupted ---
# The factorization ends between two layers: those after the second take seconds, whatever the machine.
{
    printf '{"name": "deep", "input": [1, 28, 28], "classes": 10, "layers": ['
    for layer in a b c d e f g h i j k l m n o p; do
        printf '{"op": "linear", "name": "%s", "output": 700}, ' $layer
    done
    printf '{"op": "linear", "name": "last", "output": 10}]}'
} >deep.json
"$TINCA" train ./deep.json --data digits,limit=10 --batch 10 --iterations 0 --save deep.safetensors -q >log 2>&1
"$TINCA" factorize deep.safetensors -o no.safetensors --threads 1 >log 2>err &
process=$!
wait_until has_line 'b: its singular values' err
kill -INT $process 2>/dev/null
wait $process
status=$?
# what a shell runs in the background ignores SIGINT, until the program sets a handler of its own
[ "$status" = 130 ] && [ ! -e no.safetensors ] && ok "SIGINT ends it, with nothing saved" ||
    not_ok "SIGINT ends it" "$status $(cat err)"
done_testing
