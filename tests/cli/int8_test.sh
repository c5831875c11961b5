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
    --data digits,limit=200 --validate digits,split=test,limit=20 --epochs 2 --seed 3 \
    --save "$T/model.safetensors" --export "$T/run.json" -q
run=$("$JSON_LOOK" "$T/run.json" runs.0.id)
for device in cpu reference; do
    succeeds "$device: eval" eval "$T/model.safetensors" --data digits,split=test,limit=20 \
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
    TINCA_CPU=$set "$TINCA" eval "$T/model.safetensors" --data digits,split=test,limit=20 \
        --threads 2 --predictions "$T/rows.$set" >"$T/out" 2>"$T/err"
    if cmp -s "$T/rows.cpu" "$T/rows.$set"; then ok "TINCA_CPU=$set gives them, too"; else
        not_ok "TINCA_CPU=$set gives them, too" "$(cat "$T/err")"
    fi
done
succeeds "eval in float32" eval "$T/model.safetensors" --data digits,split=test,limit=20 \
    --precision float32 --predictions "$T/rows.float32" --json
is "  is in float32" precision float32
if cmp -s "$T/rows.cpu" "$T/rows.float32"; then not_ok "  gives others"; else
    ok "  gives others"
fi

succeeds "info" info "$T/small.json" --precision int8
shows "conv depthwise int8" "  names kernels of int8"
shows "sigmoid" "  and those that stay in float32"
shows "For inference in int8" "  says in what it would compute"
shows "weights as integers +[0-9.]+ (B|KiB)" "  and how large the integers are"
succeeds "info without a precision" info "$T/small.json" --json
is "  shows a quantized network in int8" precision int8
is "  in inference" mode infer
is "  with kernels of int8" layers.0.kernel "conv depthwise int8"
bytes=$("$JSON_LOOK" "$T/out" bytes)
integers=$("$JSON_LOOK" "$T/out" memory.integer_weights)
succeeds "  in float32" info "$T/small.json" --precision float32 --mode infer --json
is "    it is float32" precision float32
is "    without integers" memory.integer_weights 0
if awk "BEGIN { exit !($bytes * 2 < $("$JSON_LOOK" "$T/out" bytes) && $integers > 0) }"; then
    ok "    and moves more bytes"
else
    not_ok "    and moves more bytes" "$bytes in int8, $integers of weights: $(cat "$T/out")"
fi
succeeds "  in training" info "$T/small.json" --mode train --json
is "    it is float32" precision float32
refuses 2 "int8 is for inference" "info of training in int8" info "$T/small.json" --mode train --precision int8
succeeds "info as JSON" info "$T/small.json" --precision int8 --json
shows "int8 refused: the operator has no kernel of int8" "  says why"

succeeds "bench of a network that is not quantized" bench lenet --mode infer --precision int8 --iterations 1
shows "ranges are assumed" "  says that its ranges are assumed"
succeeds "  as JSON" bench lenet --mode infer --precision int8 --iterations 1 --json
is "  too" assumed_ranges true
succeeds "  without --mode" bench lenet --precision int8 --iterations 1 --json
is "  is inference" mode infer
succeeds "bench of a quantized network" bench "$T/whole.json" --iterations 1 --profile
shows "inference, batch 1 " "  is inference"
shows "^  int8 +[0-9]+ of [0-9]+ kernels compute with integers" "  and says what computes in int8"
shows "GOP/s; the limits are of float32" "  which is not rated against the peak of float32"
shows "^c2 +fwd .* -\$" "  not in the table of passes"
succeeds "  as JSON" bench "$T/whole.json" --iterations 1 --profile --json
is "  neither" layers.0.forward.limit null
is "  nor its share of the peak" layers.0.forward.percent_of_attainable null
is "  nor the whole" roofline.percent_of_sgemm null
succeeds "  in float32 it is" bench "$T/whole.json" --mode infer --precision float32 --iterations 1 --profile --json
has "  rated" layers.0.forward.limit
refuses 1 "not quantized.*tinca quantize" "the layers of a network that is not quantized" \
    info lenet --precision int8
refuses 1 "trained in float32" "training a quantized network in int8" \
    bench "$T/whole.json" --mode train --precision int8
refuses 2 "only trained networks.*tinca quantize" "a run in int8" \
    train "$T/whole.json" --data digits,limit=20 --precision int8
done_testing
