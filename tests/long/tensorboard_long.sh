#!/bin/sh
# What TensorBoard, NumPy and pandas read of tinca's event files, arrays and tables: classification, a resumed run,
# an adversarial network, distillation, a sweep. `make check-long`; needs Python's packages tensorboard, numpy and pandas
# (PYTHON: the interpreter that has them).
#
# Without make: TINCA=./tinca PYTHON=/path/python3 sh tests/long/tensorboard_long.sh
srcdir=$(cd "${srcdir:-.}" && pwd)
. "$srcdir/tests/cli/tap.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
PYTHON=${PYTHON:-python3}
if ! "$PYTHON" -c 'import tensorboard, numpy, pandas' 2>/dev/null; then
    skip "TensorBoard, NumPy and pandas" "$PYTHON lacks tensorboard, numpy or pandas"
    done_testing
fi
cd "$T" || exit 99
job="--data digits,limit=640 --validate digits,split=test,limit=100 --batch 32 --threads 1 -q --tensorboard board"
# shellcheck disable=SC2086 # lists of options
{
    run train lenet $job --epochs 3 --name plain --save teacher.safetensors
    run train lenet $job --epochs 2 --name taught --teacher teacher.safetensors
    run train lenet $job --epochs 20 --name again --max-time 0.5 --checkpoint 0.1 --checkpoint-share 100
    run resume again --max-time '' -q
    run train resnet20 --data shapes,limit=64 --batch 16 --epochs 1 --threads 1 -q --tensorboard board --name shapes
}
adversarial_network gan.json
run train gan.json --data maps,limit=4 --epochs 3 --batch 2 --threads 1 -q --name gan --tensorboard board
run sweep --networks mlp --batches 8,16 --vary lr=0.1,0.01 --data digits,limit=64 --epochs 1 --threads 1 --tensorboard board -q ||
    not_ok "a sweep" "$(told)"
run train mlp --data digits,limit=64 --batch 8 --epochs 1 --threads 1 --seeds 2 --tensorboard board -q
runs=$XDG_STATE_HOME/tinca/runs
run export --all --format csv-long -o long.csv
run export --all --format npz -o runs.npz
run export plain --format npz -o plain.npz
run export --all --format tfevents -o exported
run weights teacher.safetensors --save-precision bf16 --save bf16.safetensors
run weights teacher.safetensors --save-precision float16 --save float16.safetensors
run quantize teacher.safetensors --calibrate digits,limit=32 --threads 1 -o int8.safetensors
for model in teacher bf16 float16 int8; do
    run export $model.safetensors --format npz -o $model.npz
done
"$PYTHON" "$srcdir/tests/long/tensorboard_check.py" "$runs" >lines 2>err || echo "not ok the checks ended: $(tail -n 3 err)" >>lines
while read -r line; do
    case $line in
    "ok "*) ok "${line#ok }" ;;
    *) not_ok "${line#not ok }" "" ;;
    esac
done <lines
done_testing
