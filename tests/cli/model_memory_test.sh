#!/bin/sh
# Commands that take a model in a group with little memory: each refuses with what it needs, and runs in a group
# of 1.3 times that. Groups need root and a hierarchy of control groups, of version 1 or 2.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/cli/control_group.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
MAKE_PICTURE=${MAKE_PICTURE:-$(dirname "$TINCA")/make_picture}

# --- a group ---

# within BYTES ARGUMENT...: runs the program in the group, as `run` does
within() {
    echo "$1" >"$limit"
    shift
    status=0
    # shellcheck disable=SC2016 # the inner shell expands them
    sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$TINCA" "$@" >"$T/out" 2>"$T/err" </dev/null || status=$?
}

# needed: prints the bytes that the last message says, rounded up
needed() {
    sed -n 's/.*it needs \([0-9.]*\) \([KMG]iB\) of memory, and .* are free.*/\1 \2/p' "$T/err" |
        awk '{ print int($1 * ($2 == "KiB" ? 1024 : $2 == "MiB" ? 1048576 : 1073741824)) }'
}

# bounded NAME ARGUMENT...: the command refuses 24 MiB with its forecast, and runs in 1.3 times that
bounded() {
    name=$1
    shift
    within 25165824 "$@"
    forecast=$(needed)
    if [ "$status" != 1 ] || [ -z "$forecast" ] || [ -s "$T/out" ]; then
        not_ok "$name is refused with its forecast" "exit $status: $(told)"
        return
    fi
    ok "$name is refused with its forecast"
    within $((forecast * 13 / 10)) "$@"
    if [ "$status" = 0 ]; then
        ok "  and runs in 1.3 times that"
    else
        not_ok "  and runs in 1.3 times that" "forecast $forecast, exit $status: $(told)"
    fi
}

# once BYTES NAME ARGUMENT...: as bounded; and the forecast says that no value of BYTES bytes is in memory twice
once() {
    bytes=$1
    shift
    bounded "$@"
    if [ "$forecast" -lt $((bytes * 3 / 2)) ]; then ok "  which holds each value once"; else
        not_ok "  which holds each value once" "forecast $forecast, values $bytes"; fi
}

# --- models ---

cd "$T" || exit 99
cat >wide.json <<'NETWORK'
{"name": "wide", "input": [3, 32, 32], "classes": 10, "normalise": "unit", "layers": [
    {"op": "conv", "name": "conv", "output": 32, "kernel": 3, "pad": 1}, {"op": "batch_norm", "name": "norm"},
    {"op": "relu", "name": "relu"}, {"op": "max_pool", "kernel": 4, "stride": 4}, {"op": "flatten", "name": "flat"},
    {"op": "linear", "name": "wide", "output": 4608}, {"op": "relu", "name": "relu2"},
    {"op": "linear", "name": "out", "output": "classes"}]}
NETWORK
data="shapes,limit=40"
succeeds "a model of 38 MB" train wide.json --data $data --batch 10 --iterations 1 --threads 1 --save wide.safetensors -q
"$MAKE_PICTURE" interlaced 32 32 picture.png >/dev/null 2>&1
refused='it needs [0-9.]* [KMG]iB of memory, and [0-9.]* [KMG]iB are free for it'

# --- everywhere: a limit on addresses ---

for command in predict eval; do
    case $command in
    predict) arguments="wide.safetensors picture.png" ;;
    eval) arguments="wide.safetensors --data $data" ;;
    esac
    status=0
    # shellcheck disable=SC2086 # words
    (ulimit -v 200000 && exec "$TINCA" $command $arguments --threads 1) >out 2>err </dev/null || status=$?
    if [ "$status" = 1 ] && [ ! -s out ] && grep -q "$refused.*ulimit" err; then
        ok "$command under a limit on addresses is refused"
    else
        not_ok "$command under a limit on addresses is refused" "exit $status: $(told)"
    fi
done

# Models that take turns are loaded one after the other; that all fit is asked before the first is.
for name in first second third; do
    run train wide.json --data $data --batch 10 --iterations 1 --threads 1 --run-dir $name -q
done
status=0
(ulimit -v 300000 && exec "$TINCA" compare ./first ./second ./third --measure --threads 1) >out 2>err </dev/null || status=$?
if [ "$status" = 1 ] && [ ! -s out ] && grep -q "first/.*$refused.*ulimit" err; then
    ok "turns of models that do not fit together are refused at the first one"
else
    not_ok "turns of models that do not fit together are refused at the first one" "exit $status: $(told)"
fi

# turns MODELS...: prints the bytes that turns of these models need, in a limit that is too small for them
turns() {
    (ulimit -v 250000 && exec "$TINCA" compare "$@" --measure --threads 1) >out 2>err </dev/null
    needed
}
two=$(turns ./first ./second) three=$(turns ./first ./second ./third)
if [ "$three" -gt "$two" ] && [ $((three - two)) -lt 134217728 ]; then
    ok "OpenBLAS's 128 MiB count once, not for each model"
else
    not_ok "OpenBLAS's 128 MiB count once, not for each model" "two models $two, three $three: $(told)"
fi

# --- in groups ---

if ! find_group; then
    skip "commands in a control group" "no control group with a limit on memory can be made here"
    done_testing
fi
trap 'end_processes; rmdir "$group"; rm -rf "$T"' EXIT
bounded predict predict wide.safetensors picture.png
mkdir -p set/a set/b && cp picture.png set/a/1.png && cp picture.png set/b/2.png
if whole_list; then # a model of 230 MB
    run train alexnet --data folder:set --batch 2 --iterations 0 --threads 1 --save alexnet.safetensors -q
    if [ "$status" = 0 ]; then
        bounded "predict with AlexNet" predict alexnet.safetensors picture.png
    else
        skip "predict with AlexNet" "$(told)"
    fi
fi
bounded eval eval wide.safetensors --data $data
bounded quantize quantize wide.safetensors --calibrate $data --images 20 --max-loss 100 -o quantized.safetensors
bounded "eval of integers" eval quantized.safetensors --data $data
bounded prune prune wide.safetensors --flops 0.5 -o pruned.safetensors
bounded "prune of single weights" prune wide.safetensors --unstructured 0.5 -o sparse.safetensors
bounded factorize factorize wide.safetensors --energy 0.9 --keep 'wide.*' -o factors.safetensors
bounded "half precision" weights wide.safetensors --save-precision bf16 --save half.safetensors
bounded "export as a state dict" export wide.safetensors --format torch -o state.safetensors
bounded "import of a state dict" import state.safetensors --network wide.json -o imported.safetensors
bounded "export for Caffe" export wide.safetensors --format caffe -o wide.prototxt
once 38000000 "import from Caffe" import wide.prototxt --weights wide.caffemodel --normalise unit -o caffe.safetensors
bounded "export as ONNX" export wide.safetensors --format onnx -o wide.onnx
bounded "export as ONNX without batch norms" export wide.safetensors --format onnx --fold-batch-norm -o folded.onnx
once 38000000 "import from ONNX" import wide.onnx -o onnx.safetensors
run export half.safetensors --format onnx -o half.onnx
once 38000000 "import from ONNX in 16 bits" import half.onnx -o onnx.safetensors
run export quantized.safetensors --format onnx -o int8.onnx
once 38000000 "import of integers from ONNX" import int8.onnx -o onnx.safetensors
bounded bench bench wide.json --mode infer --batch 1 --iterations 2 --threads 1
done_testing
