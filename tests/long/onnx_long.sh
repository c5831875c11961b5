#!/bin/sh
# Every network in every technique that tinca info accepts, exported as ONNX: onnx.checker, the outputs of ONNX Runtime
# and OpenVINO beside tinca's, and the bytes after a round trip. `make check-long`; needs Python's packages onnx,
# onnxruntime, openvino and numpy (PYTHON: the interpreter that has them).
#
# Without make: TINCA=./tinca PYTHON=/path/python3 sh tests/long/onnx_long.sh [NETWORK-TECHNIQUE...]
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
PYTHON=${PYTHON:-python3}
if ! "$PYTHON" -c 'import onnx, onnxruntime, openvino, numpy' 2>/dev/null; then
    skip "ONNX Runtime and OpenVINO" "$PYTHON lacks onnx, onnxruntime, openvino or numpy"
    done_testing
fi
run networks --json
names=$("$PYTHON" -c 'import json, sys; print(*[n["name"] for n in json.load(sys.stdin)["networks"]])' <"$T/out")
if [ $# = 0 ]; then
    for network in $names; do
        for technique in "" -dsc -shift -shuffle; do
            run info "$network$technique" --json && [ "$status" = 0 ] && set -- "$@" "$network$technique"
        done
    done
fi
for network; do
    case $network in
    lenet* | mlp* | perceptron*) data=digits,limit=4 ;;
    pix2pix*) data=maps,limit=2 ;;
    alexnet* | googlenet* | vgg19* | mobilenet*) data=tench,limit=4 ;;
    *) data=shapes,limit=4 ;;
    esac
    run train "$network" --data "$data" --batch 1 --iterations 1 --save "$T/$network.safetensors" --run-dir "$T/run" -q
    rm -rf "$T/run"
    if [ "$status" != 0 ]; then
        not_ok "$network: a model" "$(told)"
        continue
    fi
    "$PYTHON" "$srcdir/tests/long/onnx_check.py" "$TINCA" "$T" "$network" >"$T/line" 2>"$T/err"
    case $(cat "$T/line") in
    "ok "*) ok "$(sed 's/^ok //' "$T/line")" ;;
    *) not_ok "$network" "$(cat "$T/line" "$T/err")" ;;
    esac
    rm -f "$T/$network"*
done
done_testing
