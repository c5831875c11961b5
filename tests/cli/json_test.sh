#!/bin/sh
# --json prints one document and nothing else, with the keys that scripts rely on.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"

document() { # document NAME ARGUMENT...
    succeeds "$@"
    has "  is one JSON document" ""
    if [ -s "$T/err" ]; then not_ok "  standard error is quiet" "$(told)"; else ok "  standard error is quiet"; fi
}

parameters() { # parameters NET COUNT [OPTION...]
    net=$1 count=$2
    shift 2
    document "info $net $*" info "$net" --json "$@"
    is "  has $count parameters" parameters "$count"
}

parameters lenet 431080
parameters alexnet 60965224
parameters resnet20 272762
parameters resnet56 856058
parameters resnet110 1731002
parameters resnet110 1736852 --classes 100
is "  with 100 classes" classes 100
parameters resnet20-dsc 40810
parameters resnet20 40810 --technique dsc
parameters mlp 535818
is "  its widths" widths.1 256
is "  its activation" activation relu
parameters mlp 104938 --widths 128,32 --activation sigmoid
is "  its widths" widths.0 128
is "  its first activation" layers.2.op sigmoid
parameters lenet 431080 --batch 3 --device reference
is "  technique" technique none
is "  input" input.1 28
is "  batch" batch 3
is "  device" device reference
is "  first layer" layers.0.name conv1
is "  its operator" layers.0.op conv
is "  its output" layers.0.output.0 20
is "  its parameters" layers.0.parameters 520
is "  its FLOPs: 24 x 24 x 20 x 25 x 2" layers.0.flops 576000
is "  its bytes: 4 x (784 + 11520 + 520 / 3)" layers.0.bytes 49909.3333
is "  FLOPs a byte" layers.0.intensity 11.5409275
is "  null if no byte is moved" layers.4.intensity null
is "  bytes in all: 4 x (39594 + 431080 / 3)" bytes 733149.333
is "  FLOPs a byte in all" intensity "$(awk -v f="$("$JSON_LOOK" "$T/out" flops)" \
    'BEGIN { printf "%.9g", f / (4 * (39594 + 431080 / 3)) }')"
has "  its kernel" layers.0.kernel
for kind in weights gradients solver activations workspace total; do
    has "  memory: $kind" memory.$kind
done
is "  of training" mode train
document "info of an inference" info resnet20 --mode infer --batch 1 --json
is "  mode" mode infer
is "  a batch norm is part of the convolution" layers.1.kernel "fused into stem.conv"
is "  and the ReLU" layers.2.kernel "fused into stem.conv"
is "  no gradients" memory.gradients 0
has "  packed weights" memory.packed_weights
succeeds "without --json" info resnet20 --mode infer
shows 'packed weights' "  shows them too"

document "bench, training" bench lenet --batch 4 --iterations 3 --threads 1 --json
is "  mode" mode train
is "  batch" batch 4
is "  threads" threads 1
is "  iterations" iterations 3
for key in median min mean sd ci95; do has "  ms_per_image.$key" ms_per_image.$key; done
for key in network technique device images_per_second peak_memory_bytes planned_memory_bytes; do
    has "  $key" $key
done
document "bench, inference with a profile" bench lenet --mode infer --iterations 2 --profile --json
is "  mode" mode infer
is "  batch" batch 1
has "  a layer's time" layers.0.forward_seconds
is "  one call for each iteration" layers.0.calls 2
has "  matrix products" gemm
has "  energy" joules_per_image
has "  and power" watts
succeeds "bench without --json" bench lenet --batch 2 --iterations 2
shows 'ms/image +median' "  shows ms/image"

# A generator and a discriminator: both are listed, and the memory is that of training both.
sum_of() { # sum_of PATH: prints the sum of the layers' parameters
    i=0 sum=0
    count=$("$JSON_LOOK" "$T/out" "$1.#")
    while [ "$i" -lt "$count" ]; do
        sum=$((sum + $("$JSON_LOOK" "$T/out" "$1.$i.parameters")))
        i=$((i + 1))
    done
    echo "$sum"
}
parameters pix2pix 54414531 --batch 1 --solver adam
if [ "$(sum_of layers)" = 54414531 ]; then ok "  the sum of its layers"; else not_ok "  the sum of its layers" "$(sum_of layers)"; fi
is "  its discriminator" discriminator.parameters 2768705
if [ "$(sum_of discriminator.layers)" = 2768705 ]; then ok "  the sum of its layers"; else not_ok "  the sum of its layers"; fi
is "  its FLOPs" discriminator.flops 6.39428198e+09
has "  its bytes" discriminator.layers.0.bytes
planned=$("$JSON_LOOK" "$T/out" memory.total)
document "bench, two networks" bench pix2pix --mode train --iterations 1 --json
is "  one image at a time" batch 1
is "  the planned memory is the forecast" planned_memory_bytes "$planned"
peak=$("$JSON_LOOK" "$T/out" peak_memory_bytes)
if awk -v peak="$peak" -v planned="$planned" \
    'BEGIN { exit !(peak > 0.97 * planned && peak < 1.06 * planned) }'; then
    ok "  and the measured peak differs by a few per cent only"
else
    not_ok "  and the measured peak differs by a few per cent only" "$peak, planned $planned"
fi

document "devices" devices --json
is "  reference" devices.0.name reference
is "  can be used" devices.0.available true
is "  cpu" devices.1.name cpu
has "  the processor's name" host.cpu
has "  its memory" host.memory_bytes
document "networks" networks --json
has "  a network's name" networks.0.name
document "datasets" datasets --json
has "  a set's name" datasets.0.name
document "runs, while there are none" runs --json
is "  none" "runs.#" 0
for command in devices networks datasets runs "info lenet"; do
    # shellcheck disable=SC2086 # a command and its argument
    succeeds "$command, as a table" $command
done
done_testing
