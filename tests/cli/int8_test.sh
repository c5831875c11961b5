#!/bin/sh
# --precision int8: a quantized network in eval, measure, bench and info, on the devices cpu
# and reference, which compute the same, and what is refused.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"

cat >"$T/small.json" <<'JSON'
{
  "name": "small", "input": [1, 28, 28], "classes": 10, "input_quantized": [0.03, 60],
  "layers": [
    {"op": "conv", "name": "c1", "output": 16, "kernel": 3, "pad": 1, "weights": "int8",
     "quantized": [0.05, 0]},
    {"op": "relu", "name": "r1", "quantized": [0.05, 0]},
    {"op": "sigmoid", "name": "s1", "quantized": [0.004, 0]},
    {"op": "conv", "name": "c2", "output": 20, "kernel": 3, "pad": 1, "weights": "int8",
     "quantized": [0.05, 0]},
    {"op": "relu", "name": "r2", "quantized": [0.05, 0]},
    {"op": "max_pool", "name": "p1", "kernel": 2, "stride": 2, "quantized": [0.05, 0]},
    {"op": "flatten", "name": "f1", "quantized": [0.05, 0]},
    {"op": "linear", "name": "l1", "output": 10, "weights": "int8"}
  ]
}
JSON
sed 's/.*"sigmoid".*//' "$T/small.json" >"$T/whole.json"

succeeds "a quantized network is trained in float32" train "$T/whole.json" \
    --data digits,limit=200 --validate digits,split=test,limit=50 --epochs 2 --seed 3 \
    --save "$T/model.safetensors" --export "$T/run.json" -q
run=$("$JSON_LOOK" "$T/run.json" runs.0.id)
for device in cpu reference; do
    succeeds "$device: eval" eval "$T/model.safetensors" --data digits,split=test,limit=50 \
        --device $device --predictions "$T/rows.$device" --json
    is "  is in int8 without being asked" precision int8
    succeeds "  measure" measure "$run" --device $device --json
    is "  too" precision int8
    succeeds "  bench" bench "$T/whole.json" --mode infer --device $device --iterations 1 --json
    is "  too" precision int8
done
# the losses are float32; what each image is taken for is of the integers alone
if [ -s "$T/rows.cpu" ] && cmp -s "$T/rows.cpu" "$T/rows.reference"; then
    ok "both devices compute the same predictions"
else
    not_ok "both devices compute the same predictions" "$(diff "$T/rows.cpu" "$T/rows.reference")"
fi
for set in generic avx2; do
    TINCA_CPU=$set "$TINCA" eval "$T/model.safetensors" --data digits,split=test,limit=50 \
        --threads 2 --predictions "$T/rows.$set" >"$T/out" 2>"$T/err"
    if cmp -s "$T/rows.cpu" "$T/rows.$set"; then ok "TINCA_CPU=$set gives them, too"; else
        not_ok "TINCA_CPU=$set gives them, too" "$(cat "$T/err")"
    fi
done
succeeds "eval in float32" eval "$T/model.safetensors" --data digits,split=test,limit=50 \
    --precision float32 --predictions "$T/rows.float32" --json
is "  is in float32" precision float32
if cmp -s "$T/rows.cpu" "$T/rows.float32"; then not_ok "  gives others"; else
    ok "  gives others"
fi

succeeds "info" info "$T/small.json" --precision int8
shows "conv depthwise int8" "  names kernels of int8"
shows "sigmoid" "  and those that stay in float32"
succeeds "info as JSON" info "$T/small.json" --precision int8 --json
shows "int8 refused: the operator has no kernel of int8" "  says why"

succeeds "bench of a network that is not quantized" bench lenet --mode infer --precision int8 --iterations 1
shows "ranges are assumed" "  says that its ranges are assumed"
succeeds "  as JSON" bench lenet --mode infer --precision int8 --iterations 1 --json
is "  too" assumed_ranges true
refuses 1 "not quantized.*tinca quantize" "the layers of a network that is not quantized" \
    info lenet --precision int8
refuses 1 "trained in float32" "training a quantized network in int8" \
    bench "$T/whole.json" --mode train --precision int8
refuses 2 "only trained networks.*tinca quantize" "a run in int8" \
    train "$T/whole.json" --data digits,limit=20 --precision int8
done_testing
