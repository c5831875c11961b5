#!/bin/sh
# A network of dilated convolutions, curved activations, gates and dropout of channels, from its file to
# trained weights; and what is said about mistakes in such a file.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
cd "$T" || exit 99
case $TINCA in /*) ;; *) TINCA=$OLDPWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$OLDPWD/$JSON_LOOK ;; esac

cat >gates.json <<'EON'
{"name": "gates", "input": [3, 32, 32], "classes": 10,
 "layers": [
   {"op": "conv", "name": "stem", "output": 16, "kernel": 3, "stride": 2, "pad": 1},
   {"op": "hardswish", "name": "stem_act"},
   {"op": "conv", "name": "wide", "output": 32, "kernel": 3, "pad": 2, "dilation": 2},
   {"op": "prelu", "name": "wide_act"},
   {"block": "squeeze_excitation", "name": "se", "gate": "hardsigmoid", "activation": "gelu"},
   {"op": "dropout", "name": "drop", "rate": 0.2, "channels": true},
   {"op": "conv", "name": "dw", "output": 32, "groups": 32, "kernel": 3, "pad": [4, 2],
    "dilation": [4, 2]},
   {"op": "silu", "name": "dw_act"},
   {"op": "max_pool", "name": "pool", "kernel": 4, "stride": 4},
   {"op": "flatten", "name": "flat"},
   {"op": "elu", "name": "elu", "alpha": 0.5},
   {"op": "linear", "name": "fc", "output": "classes"}
 ]}
EON

# --- the plan ---

run info ./gates.json --json
is "info names the operators" layers.1.op hardswish
is "  a squeeze-excitation block is six of them" layers.9.op channel_scale
is "  its first linear layer has a quarter of the channels" layers.5.output.0 8
is "  prelu has a slope for each channel" layers.3.parameters 32
is "  a dilated convolution has the FLOPs of its weights" layers.2.flops 2359296
is "  and fits the image with padding" layers.2.output.1 16
is "  no layer falls back to the reference kernel" layers.12.falls_back false
run info ./gates.json --mode infer --json
case $("$JSON_LOOK" "$T/out" layers.2.kernel_choice) in
*"a dilation"*) ok "the fastest kernel for 3x3 refuses the dilation, and the plan says so" ;;
*) not_ok "the fastest kernel for 3x3 refuses the dilation, and the plan says so" "$(cat "$T/out")" ;;
esac
sed 's/"pad": 2, "dilation": 2/"pad": 2, "stride": 2, "dilation": 2/' gates.json >strided.json
run info ./strided.json --json
is "a dilation with a stride trains by matrix products" layers.2.kernel "conv im2col+sgemm"
succeeds "  which --strict-device accepts" info ./gates.json --strict-device --json
succeeds "bf16 on the reference device" info ./gates.json --device reference --precision bf16 --json

# --- training ---

weights() { # weights NAME OPTION...: trains a few iterations; the weights are in NAME.safetensors
    name=$1
    shift
    succeeds "trains: $*" train --data shapes,limit=64 --batch 8 --iterations 4 --lr 0.01 \
        --seed 3 -q --save "$name.safetensors" "$@"
}
weights one ./gates.json --threads 1
weights three ./gates.json --threads 3
weights again ./gates.json --threads 2 --seed 4
if cmp -s one.safetensors three.safetensors; then
    ok "one thread and three give the same weights"
else
    not_ok "one thread and three give the same weights"
fi
if cmp -s one.safetensors again.safetensors; then
    not_ok "another seed drops other channels"
else
    ok "another seed drops other channels"
fi
weights strided ./strided.json --threads 1
weights strided3 ./strided.json --threads 3
if cmp -s strided.safetensors strided3.safetensors; then
    ok "with a stride, too"
else
    not_ok "with a stride, too"
fi
weights rounded ./gates.json --device reference --precision bf16
run eval one.safetensors --data shapes,limit=64 --json
is "the saved model is evaluated" images 64

# --- mistakes ---

# wrong NAME PATTERN LAYER: a network whose second layer is LAYER is refused, with its line
wrong() {
    printf '{"input": [3, 8, 8], "classes": 2, "layers": [\n%s,\n%s,\n%s]}\n' \
        '{"op": "conv", "name": "a", "output": 6, "kernel": 3, "pad": 1}' "$3" \
        '{"op": "linear", "output": "classes"}' >wrong.json
    refuses 1 "$2" "$1" info ./wrong.json
}
wrong "a dilation of 0" 'line 3: "dilation" must be an integer of 1 to' \
    '{"op": "conv", "output": 4, "kernel": 3, "dilation": 0}'
wrong "a dilation that the image does not hold" "a window of 9 x 9 does not fit an input of 8 x 8" \
    '{"op": "conv", "output": 4, "kernel": 3, "dilation": 4}'
wrong "a dilated transposed convolution" '"dilation" is a key of "conv" only' \
    '{"op": "conv_transpose", "output": 4, "kernel": 3, "dilation": 2}'
wrong "a pooling with a dilation" '"dilation" is not a key of this layer' \
    '{"op": "max_pool", "kernel": 2, "dilation": 2}'
wrong "a negative alpha" '"alpha" must be a number of 0 to 1000' '{"op": "elu", "alpha": -1}'
wrong "a slope that is text" '"slope" must be a number' '{"op": "prelu", "slope": "steep"}'
wrong "channels that are no flag" '"channels" must be true or false' '{"op": "dropout", "channels": 2}'
wrong "an unknown gate" 'line 3: "gate" must be one of: sigmoid, hardsigmoid' \
    '{"block": "squeeze_excitation", "gate": "relu"}'
wrong "a reduction that leaves nothing" '"reduction" of 7 leaves nothing of 6 channels' \
    '{"block": "squeeze_excitation", "reduction": 7}'
wrong "factors that are an image" "6 channels need 6 x 1 x 1 factors, not 6 x 8 x 8" \
    '{"op": "channel_scale", "from": ["a", "a"]}'
done_testing
