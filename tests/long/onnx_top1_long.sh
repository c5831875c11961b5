#!/bin/sh
# Quantized models as ONNX files: ONNX Runtime's top-1 accuracy on all test images is tinca's within 0.1 point. LeNet on
# MNIST and ResNet-20-shift on CIFAR-10, trained and quantized here, or the models that are named. `make check-long`;
# needs the data sets and Python's packages onnx, onnxruntime and numpy (PYTHON: the interpreter that has them).
#
# Without make: TINCA=./tinca JSON_LOOK=./json_look TINCA_DATA=DATA PYTHON=/path/python3 sh tests/long/onnx_top1_long.sh
# [MODEL.safetensors...], models of CIFAR-10 that tinca quantize has written.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
PYTHON=${PYTHON:-python3}
folder=$(cd "${TINCA_DATA:-$srcdir/../shared/data}" 2>/dev/null && pwd)
if ! "$PYTHON" -c 'import onnx, onnxruntime, numpy' 2>/dev/null; then
    skip "ONNX Runtime" "$PYTHON lacks onnx, onnxruntime or numpy"
    done_testing
fi
if [ ! -d "$folder/mnist" ] || [ ! -d "$folder/cifar10" ]; then
    skip "quantized models" "no mnist and cifar10 below TINCA_DATA"
    done_testing
fi

# same NAME MODEL SPEC IMAGES: compares the accuracy of tinca and of ONNX Runtime on a test set
same() {
    run eval "$2" --data "$3" --json
    cp "$T/out" "$T/eval.json"
    run export "$2" --format onnx -o "$T/model.onnx"
    if "$PYTHON" "$srcdir/tests/long/onnx_top1.py" "$T/model.onnx" "$4" "$("$JSON_LOOK" "$T/eval.json" top1)" \
        >"$T/line" 2>"$T/err"; then
        ok "$1: $(cat "$T/line")"
    else
        not_ok "$1" "$(cat "$T/line" "$T/err" | tail -n 3)"
    fi
}

# quantized NAME NET SPEC IMAGES OPTION...: trains and quantizes a network on SPEC, then compares its accuracy
quantized() {
    name=$1 net=$2 spec=$3 images=$4
    shift 4
    run train "$net" --data "$spec,split=train" --seed 1 --save "$T/$net.safetensors" -q "$@"
    run quantize "$T/$net.safetensors" --calibrate "$spec,split=train" --images 500 --data "$spec,split=test,limit=100" \
        -o "$T/q-$net.safetensors"
    same "$name" "$T/q-$net.safetensors" "$spec,split=test" "$images"
}

cifar_images=$folder/cifar10/test_batch.bin.gz
if [ $# = 0 ]; then
    quantized "LeNet on MNIST" lenet "idx:$folder/mnist" "$folder/mnist/t10k-images-idx3-ubyte.gz" --epochs 1
    quantized "ResNet-20-shift on CIFAR-10" resnet20-shift "cifar10:$folder/cifar10" "$cifar_images" --epochs 1 \
        --batch 128 --lr 0.1 --momentum 0.9 --schedule cosine
fi
for model; do
    same "$model" "$model" "cifar10:$folder/cifar10,split=test" "$cifar_images"
done
done_testing
