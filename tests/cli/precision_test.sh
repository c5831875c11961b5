#!/bin/sh
# --precision: training, evaluating and measuring in bf16, and what is refused.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"

# try DEVICE: a run in bf16, which has other losses than one in float32, and what reads its model
try() {
    device=$1
    set -- --data digits,limit=20 --validate digits,split=test,limit=20 --batch 10 --seed 3
    succeeds "$device: a run in bf16" train lenet "$@" --device "$device" --epochs 2 \
        --precision bf16 --save "$T/$device.safetensors" --export "$T/whole.json" -q
    is "  records the precision" runs.0.config.precision bf16 "$T/whole.json"
    succeeds "  and in float32" train lenet "$@" --device "$device" --epochs 2 --export "$T/exact.json" -q
    whole=$("$JSON_LOOK" "$T/whole.json" runs.0.series.loss.3)
    exact=$("$JSON_LOOK" "$T/exact.json" runs.0.series.loss.3)
    if [ "$whole" != "$exact" ]; then ok "  has other losses"; else
        not_ok "  has other losses" "$whole"
    fi
    succeeds "  is consistent" runs --check "$("$JSON_LOOK" "$T/whole.json" runs.0.id)"
    succeeds "  eval in bf16" eval "$T/$device.safetensors" --data digits,split=test,limit=20 \
        --device "$device" --precision bf16 --json
    is "  says so" precision bf16
    top1=$("$JSON_LOOK" "$T/out" top1)
    is "  measures the accuracy of the run" runs.0.validation.top1.1 "$top1" "$T/whole.json"
    succeeds "  compare with the run in float32" compare "$("$JSON_LOOK" "$T/whole.json" runs.0.id)" \
        "$("$JSON_LOOK" "$T/exact.json" runs.0.id)" --settings --format csv
    shows '(^|,)precision(,|$)' "  has a column for the precision"
    shows '(^|,)bf16(,|$)' "  with bf16"
    shows '(^|,)float32(,|$)' "  and float32"
    printf '{"networks": ["lenet"], "batches": "10", "devices": ["%s"], "data": "digits,limit=10",
        "epochs": 1, "precision": "bf16"}' "$device" >"$T/grid-$device.json"
    succeeds "  a sweep in bf16" sweep "$T/grid-$device.json" --json
    is "  is done" states.done 1
    succeeds "  its run" runs --json
    shows '"precision":[[:space:]]*"bf16"' "  has this precision"
    succeeds "  measure" measure "$("$JSON_LOOK" "$T/whole.json" runs.0.id)" --json
    is "  computes in the run's precision" precision bf16
    succeeds "  measure in float32" measure "$("$JSON_LOOK" "$T/whole.json" runs.0.id)" \
        --precision float32 --json
    is "  computes in that" precision float32
    succeeds "  bench in bf16" bench lenet --device "$device" --precision bf16 --batch 4 --iterations 1 --json
    is "  says so" precision bf16
    succeeds "  info of it" info lenet --device "$device" --precision bf16 --json
}

try reference
if "$TINCA" info lenet --precision bf16 >"$T/out" 2>"$T/err"; then
    try cpu
else
    skip "cpu: a run in bf16" "$(cat "$T/err")"
fi
export TINCA_CPU=generic
refuses 1 "it needs a processor with AVX512-BF16.*reference" "bf16 without such a processor" \
    train lenet --data digits,limit=20 --precision bf16
unset TINCA_CPU
refuses 2 "cpu does not compute in tf32: choose float32 or bf16" "tf32 on the cpu" \
    train lenet --data digits,limit=20 --precision tf32
refuses 1 "fp16.*reference does not compute in it" "fp16 on the reference" \
    eval "$T/reference.safetensors" --data digits,split=test,limit=20 --device reference --precision fp16
done_testing
