#!/bin/sh
# tinca import of Caffe's networks, weights and solver files, and tinca export --format prototxt and caffe. What the
# golden network computes is compared with plain loops (caffe_golden.c); AlexNet, GoogLeNet, SqueezeNet and LeNet are
# compared with NumPy in tests/long/caffe_long.sh.
srcdir=$(cd "${srcdir:-.}" && pwd)
. "$srcdir/tests/cli/tap.sh"
for name in TINCA JSON_LOOK; do
    eval "path=\$$name"
    case $path in /*) ;; *) eval "$name=\$PWD/$path" ;; esac
done
GOLDEN=$(dirname "$TINCA")/caffe_golden
MAKE_PICTURE=$(dirname "$TINCA")/make_picture
cd "$T" || exit 99
files=$srcdir/tests/cli/caffe
"$MAKE_PICTURE" interlaced 7 7 picture.png || exit 99
"$GOLDEN" new net.caffemodel && "$GOLDEN" old old.caffemodel && "$GOLDEN" mismatch short.caffemodel || exit 99

# same NAME MODEL ORDER: the outputs of a model are those of the plain loops
same() {
    run predict "$2" picture.png --raw raw.npy --threads 1
    if [ "$status" = 0 ] && found=$("$GOLDEN" compare raw.npy "$3"); then
        ok "$1"
    else
        not_ok "$1" "exit $status: $(told) $found"
    fi
}

# --- networks as text ---
succeeds "a network without weights becomes a network file" import "$files/net.prototxt" -o text.json
run info text.json --json
is "  with the input of the crop" input.1 7
is "  and its classes" classes 5
sed 's/num_output: 5/num_output: 10/' "$files/net.prototxt" >wide.prototxt
succeeds "another size of images can be asked for" import wide.prototxt --input 3x32x32 -o wide.json
succeeds "  and the network trains" train wide.json --data shapes,limit=20 --batch 10 --iterations 2 --threads 1 \
    --run-dir trained --save trained.safetensors -q
refuses 2 'ending .json' "without weights there is no saved model" import "$files/net.prototxt" -o x.safetensors
cp "$files/net.prototxt" net.prototxt
: >net.json
refuses 1 'exists' "a file that was not named is not replaced" import net.prototxt
rm net.json
refuses 2 'no such shape' "an input that is none" import net.prototxt --input 3x9 -o nine.json

# --- weights ---
run import net.prototxt net.caffemodel -o bgr.safetensors
if [ "$status" = 1 ] && grep -q 'without protobuf-c' err; then
    skip "weights" "this tinca is built without protobuf-c"
    binary=no
else
    binary=yes
    if [ "$status" = 0 ]; then ok "a network with weights"; else not_ok "a network with weights" "$(told)"; fi
    if grep -q 'BGR' err && grep -q '(123, 117, 104)' out && grep -q 'lr_mult' err; then
        ok "  the order of channels, the means and the multipliers are told"
    else
        not_ok "  the order of channels, the means and the multipliers are told" "$(told)"
    fi
    same "  computes the same of images whose channels are blue, green, red" bgr.safetensors bgr
    succeeds "a network that was trained on RGB" import net.prototxt --weights net.caffemodel --channel-order rgb \
        --normalise caffe -o rgb.safetensors
    same "  computes the same of those" rgb.safetensors rgb
    succeeds "old layers, from the binary file alone" import old.caffemodel -o old.safetensors --json
    is "  have their parameters" parameters 10
    is "  and their name" network old_net
    refuses 1 'ip: an array of its weights has another size' "weights of another network" \
        import net.prototxt short.caffemodel -o x.safetensors
    refuses 1 'no weights for this layer' "weights without a layer" import net.prototxt old.caffemodel -o x.safetensors
    head -c 700 net.caffemodel >torn.caffemodel
    refuses 1 'ends too early' "a torn file" import net.prototxt torn.caffemodel -o x.safetensors
    : >empty.caffemodel
    refuses 1 'no Caffe model|not a Caffe model' "an empty file" import net.prototxt empty.caffemodel -o x.safetensors

    # --- export, and back ---
    succeeds "a model is exported" export bgr.safetensors --format caffe -o again.prototxt
    succeeds "  and imported" import again.prototxt again.caffemodel --channel-order rgb --normalise caffe \
        -o again.safetensors
    same "  and computes the same" again.safetensors bgr
    succeeds "  and so is the binary file alone" import again.caffemodel --channel-order rgb --normalise caffe \
        -o alone.safetensors
    same "  which computes the same" alone.safetensors bgr
    cmp -s again.json alone.json && ok "  and is the same network" || not_ok "  and is the same network" "$(diff again.json alone.json)"
    refuses 2 'FILE.prototxt' "the text's name decides the binary's" export bgr.safetensors --format caffe -o x.txt
fi
if [ $binary = no ]; then
    refuses 1 'without protobuf-c' "no weights are written" export trained.safetensors --format caffe -o x.prototxt
fi
for network in alexnet googlenet squeezenet lenet resnet20; do
    succeeds "$network is written as prototxt" export $network --format prototxt -o $network.prototxt
    succeeds "  and read" import $network.prototxt -o $network.json
    run info $network.json --json && cp out after.json
    run info $network --json
    [ $network = googlenet ] || # its auxiliary heads are left out
        is "  with as many parameters" parameters "$("$JSON_LOOK" after.json parameters)"
    is "  and operations" flops "$("$JSON_LOOK" after.json flops)"
done
succeeds "a run is written" export ./trained --format prototxt -o run.prototxt
refuses 1 'Caffe has no layer for channel_shift' "layers that Caffe lacks are named" \
    export resnet20-shift --format prototxt -o x.prototxt
refuses 1 'no layer for channel_shuffle' "  also these" export resnet20-shuffle --format prototxt -o x.prototxt
if [ -e x.prototxt ] || [ -e x.safetensors ]; then not_ok "and no file is written"; else ok "and no file is written"; fi

# --- layers that tinca lacks ---
cat >lacks.prototxt <<'END2'
input: "data" input_shape { dim: 1 dim: 4 dim: 8 dim: 8 }
layer { name: "r" type: "ReLU" bottom: "data" top: "r" }
layer { name: "the_lstm" type: "LSTM" bottom: "r" top: "l" }
layer { name: "after" type: "ReLU" bottom: "l" top: "l" }
layer { name: "the_lrn" type: "LRN" bottom: "r" top: "n" lrn_param { norm_region: WITHIN_CHANNEL } }
layer { name: "most" type: "Eltwise" bottom: "r" bottom: "r" top: "m" eltwise_param { operation: MAX } }
END2
run import lacks.prototxt -o lacks.json
if [ "$status" = 1 ] && grep -q 'LSTM the_lstm' err && grep -q 'LRN the_lrn: norm_region WITHIN_CHANNEL' err &&
    grep -q 'Eltwise most' err && ! grep -q after err && ! [ -e lacks.json ]; then
    ok "layers that tinca lacks are listed, and no others, and no file is written"
else
    not_ok "layers that tinca lacks are listed" "exit $status: $(told)"
fi
run import lacks.prototxt -o lacks.json --json
is "the list as JSON" missing.0.type LSTM

# --- solver files ---
run import "$files/solver.prototxt"
if [ "$status" = 0 ] && grep -q -- '--solver sgd --lr 0.01 --schedule step --step-size 20 --gamma 0.1 --momentum 0.9' out &&
    grep -q -- '--weight-decay 0.0005 --iterations 45 --average-loss 40' out && grep -q 'snapshot_prefix' err; then
    ok "a solver file is printed as options"
else
    not_ok "a solver file is printed as options" "exit $status: $(told)"
fi
run import "$files/solver.prototxt" --json
is "  and as JSON" settings.step-size 20
succeeds "and used by tinca train, under its options" train lenet --data digits,limit=20 --batch 10 --threads 1 \
    --solver-file "$files/solver.prototxt" --iterations 3 --run-dir solved -q
for pair in gamma=0.1 step-size=20 lr=0.01 momentum=0.9 average-loss=40 iterations=3; do
    is "  ${pair%=*}" "config.${pair%=*}" "${pair#*=}" solved/config.json
done

cat >mnist.prototxt <<'END2'
net: "lenet.prototxt" test_iter: 100 test_interval: 500
base_lr: 0.01 momentum: 0.9 weight_decay: 0.0005
lr_policy: "inv" gamma: 0.0001 power: 0.75
display: 100 max_iter: 10000 snapshot: 5000 snapshot_prefix: "lenet" solver_mode: CPU
END2
run import mnist.prototxt
if [ "$status" = 0 ] && grep -q -- '--lr 0.01 --schedule inv --gamma 0.0001 --power 0.75 --momentum 0.9' out &&
    grep -q -- '--iterations 10000' out; then
    ok "the solver of Caffe's example MNIST, with the policy inv"
else
    not_ok "the solver of Caffe's example MNIST, with the policy inv" "exit $status: $(told)"
fi
# rates_of FOLDER GAMMA: the journal has 30 iterations, each with the rate of the formula, of which the first is 0
rates_of() {
    journal_lines "$1/journal" | sed -n 's/^{"iteration":\([0-9]*\),.*"lr":\([0-9.e-]*\),.*/\1 \2/p' >rates
    awk -v gamma="$2" '{ part = $2 / (0.01 * exp(-0.75 * log(1 + gamma * ($1 - 1)))) - 1
                         if ($1 == NR && part < 2e-7 && part > -2e-7) good++ }
                       END { exit !(NR == 30 && good == 30) }' rates
}
succeeds "  and it trains" train lenet --data digits,limit=100 --batch 10 --threads 1 --solver-file mnist.prototxt \
    --iterations 30 --run-dir mnist -q
if rates_of mnist 0.0001; then ok "  at the rates of the formula"; else not_ok "  at the rates" "$(cat rates)"; fi
succeeds "  and with a gamma that falls faster" train lenet --data digits,limit=100 --batch 10 --threads 1 \
    --solver-file mnist.prototxt --gamma 0.5 --iterations 30 --run-dir faster -q
if rates_of faster 0.5; then ok "  at the rates of the formula"; else not_ok "  at the rates" "$(cat rates)"; fi
if rates_of mnist 0.0002; then not_ok "  which another gamma does not have"; else ok "  which another gamma does not have"; fi

# wrong NAME PATTERN LINE: a solver file with this line more is refused
wrong() {
    { cat "$files/solver.prototxt" && echo "$3"; } >wrong.prototxt
    refuses 1 "$2" "$1" import wrong.prototxt
}
wrong "a solver that tinca lacks" 'tinca has SGD' 'type: "AdaDelta"'
wrong "a solver with an unknown field" 'no such field' 'momentun: 1'
wrong "an L1 penalty" 'L2' 'regularization_type: "L1"'
printf 'base_lr: 1 lr_policy: "sigmoid" gamma: -0.5 stepsize: 10' >wrong.prototxt
refuses 1 'exp, inv and poly' "a policy that tinca lacks" import wrong.prototxt
printf 'base_lr: 1 lr_policy: "inv" gamma: -0.5 power: 1' >wrong.prototxt
refuses 2 'gamma' "a negative gamma" train lenet --data digits --solver-file wrong.prototxt
printf 'base_lr: 1 lr_policy: "inv" gamma: "much" power: 1' >wrong.prototxt
refuses 1 'a number was expected' "a gamma that is none" import wrong.prototxt
printf 'base_lr: 1 lr_policy: "multistep" gamma: 0.5 stepvalue: [10, 30] max_iter: 90' >wrong.prototxt
refuses 1 'equal distances' "steps of different length" import wrong.prototxt
printf 'base_lr: 1 lr_policy: "multistep" gamma: 0.5 stepvalue: 10 stepvalue: 20 max_iter: 25' >right.prototxt
succeeds "steps of equal length" import right.prototxt
printf 'base_lr: 1 lr_policy: "fixed" iter_size: 4' >size.prototxt
refuses 2 'iter_size' "gradients of several batches need their batch" \
    train lenet --data digits --solver-file size.prototxt

# --- text that is wrong ---
# text PATTERN NAME TEXT: a network of this text is refused
text() {
    printf '%b' "$3" >text.prototxt
    refuses 1 "$1" "$2" import text.prototxt -o text.json
}
head='input: "data" input_dim: 1 input_dim: 3 input_dim: 8 input_dim: 8\n'
rm -f text.json
text 'no layers' "an empty file" ''
text 'line 2: a string has no closing' "a string without end" "$head"'layer { name: "x'
text 'before a brace is closed' "a message without end" "$head"'layer { name: "x"'
text 'escape' "an escape without meaning" "$head"'layer { name: "\\q" }'
text 'a value was expected' "a field without value" "$head"'layer { name: }'
text 'a colon or a brace' "a name alone" "$head"'layer'
text 'name of a field' "a stray brace" "$head"'}'
text 'it is no text' "a binary file" 'input: "\0"'
text 'nested too deeply' "a deep file" "$(printf 'a{%.0s' $(seq 100))"
text 'it has no type' "a layer without type" "$head"'layer { name: "x" bottom: "data" top: "x" }'
text 'no layer before' "an input that nothing computes" "$head"'layer { name: "x" type: "ReLU" bottom: "y" top: "x" }'
text 'bottom. is missing' "a layer without input" "$head"'layer { name: "x" type: "ReLU" top: "x" }'
text 'no such field' "a misspelt field" \
    "$head"'layer { name: "x" type: "Convolution" bottom: "data" top: "x" convolution_param { num_outputs: 4 kernel_size: 1 } }'
text 'can be used here' "a kernel of 0" \
    "$head"'layer { name: "x" type: "Convolution" bottom: "data" top: "x" convolution_param { num_output: 4 kernel_size: 0 } }'
text 'can be used here' "a number that is none" \
    "$head"'layer { name: "x" type: "Convolution" bottom: "data" top: "x" convolution_param { num_output: -4 kernel_size: 1 } }'
text 'num_output' "no outputs" \
    "$head"'layer { name: "x" type: "InnerProduct" bottom: "data" top: "x" }'
text 'does not fit|window' "a window above the image" \
    "$head"'layer { name: "x" type: "Pooling" bottom: "data" top: "x" pooling_param { kernel_size: 99 } }'
text 'how large its images are' "a database without crop" \
    'layer { name: "x" type: "Data" top: "data" top: "label" } layer { name: "y" type: "ReLU" bottom: "data" top: "y" }'
text 'first format' "layers of the first format" "$head"'layers { layer { name: "x" type: "conv" } bottom: "data" top: "x" }'
text 'one input' "two images" "$head"'input: "more" input_dim: 1 input_dim: 3 input_dim: 8 input_dim: 8 layer { }'
text 'sizes of 1 to' "an input without size" 'input: "data" input_dim: 1 input_dim: 0 input_dim: 8 input_dim: 8 layer { }'
text 'fillers' "an unknown filler without weights" \
    "$head"'layer { name: "x" type: "InnerProduct" bottom: "data" top: "x" inner_product_param { num_output: 2 weight_filler { type: "bilinear" } } }'
printf '%b' "$head"'layer { name: "x" type: "InnerProduct" bottom: "data" top: "x" param { name: "w" } inner_product_param { num_output: 2 } }' >text.prototxt
run import text.prototxt -o text.json
if [ "$status" = 1 ] && grep -q 'several layers share' err; then ok "shared weights are refused"; else not_ok "shared weights" "$(told)"; fi
if [ -e text.json ]; then not_ok "and no file is written"; else ok "and no file is written"; fi

# --- statistics of the batch after training ---
norm='layer { name: "n" type: "BatchNorm" bottom: "data" top: "n" batch_norm_param { use_global_stats: VALUE } }
layer { name: "y" type: "InnerProduct" bottom: "n" top: "y" inner_product_param { num_output: 2 } }'
for value in false true; do
    printf '%b%s' "$head" "$norm" | sed "s/VALUE/$value/" >norm.prototxt
    succeeds "a batch norm with use_global_stats $value for one image" import norm.prototxt -o norm.json
    instance=no
    grep -Eq '"instance":[[:space:]]*true' norm.json && instance=yes
    if [ "$instance$value" = yesfalse ] || [ "$instance$value" = notrue ]; then ok "  has the right statistics"; else
        not_ok "  has the right statistics" "$(cat norm.json)"; fi
    rm norm.json
done
printf 'input: "data" input_dim: 4 input_dim: 3 input_dim: 8 input_dim: 8\n%s' "$norm" | sed "s/VALUE/false/" >norm.prototxt
run import norm.prototxt -o norm.json
if [ "$status" = 1 ] && grep -q 'use_global_stats is false' err; then ok "for more images it is refused"; else
    not_ok "for more images it is refused" "exit $status: $(told)"; fi
# --- the softmax at the end ---
printf '%b%s' "$head" 'layer { name: "y" type: "InnerProduct" bottom: "data" top: "y" inner_product_param { num_output: 2 } }
layer { name: "s" type: "Softmax" bottom: "y" top: "s" } layer { name: "f" type: "Flatten" bottom: "s" top: "f" }' >end.prototxt
succeeds "a softmax before a Flatten" import end.prototxt -o end.json
if grep -q 'softmax at the end was left out' err && ! grep -q '"softmax"' end.json; then ok "  is left out, too"; else
    not_ok "  is left out, too" "$(told) $(cat end.json)"; fi
refuses 1 'read|directory|No such' "a file that is not there" import nowhere.prototxt -o x.json
refuses 2 'one network at a time' "two networks" import net.prototxt "$files/net.prototxt"
refuses 2 'ends neither' "a network beside a log" import net.prototxt raw.npy
refuses 2 'networks of Caffe' "options of networks with a log" import raw.npy --channel-order rgb
done_testing
