#!/bin/sh
# What tinca devices and bench say about an emulated GPU whose cuDNN cannot start, or whose driver refuses
# CUDA graphs.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
TINCA=$(dirname "$TINCA")/tinca_emulated
if [ ! -x "$TINCA" ]; then
    skip "reports about a GPU" "this build has no emulated GPUs"
    done_testing
fi
cd "$T" || exit 99
export XDG_CACHE_HOME=/dev/null

# says PATTERN NAME: the output of the last command has a line like this
says() {
    if grep -q -- "$1" out; then
        ok "$2"
    else
        not_ok "$2" "$(told)"
    fi
}

run devices
says 'cuDNN 9\.1\.0' "devices names the version of cuDNN"
TINCA_EMULATED_CUDNN=broken run devices
says 'no cuDNN (9\.1\.0 cannot start: CUDNN_STATUS_4003: an emulated cuDNN refused' \
    "if cuDNN cannot start, devices says why, in its words"
TINCA_EMULATED_CUDNN=broken run devices --json
says '"no_cudnn":[[:space:]]*"9\.1\.0 cannot start: CUDNN_STATUS_4003' "  and in JSON"

cat >tiny.json <<'NETWORK'
{"name": "tiny", "input": [1, 8, 8], "classes": 4, "normalise": "unit",
 "layers": [{"op": "conv", "output": 4, "kernel": 3}, {"op": "relu"}, {"op": "flatten"},
            {"op": "linear", "output": "classes"}]}
NETWORK
bench="./tiny.json --mode train --batch 4 --device cuda --iterations 3"
# shellcheck disable=SC2086 # a list of options
TINCA_EMULATED_GRAPHS=refused run bench $bench --profile
says 'graph  *refused by the driver (cudaGraphInstantiate.*graphs refused: 1, passes without one: [1-9]' \
    "bench says how many CUDA graphs were refused, and how many passes ran without one"
says '^Outside the profile, CUDA graphs refused by the driver: 1, passes without one: [1-9]' \
    "  also below the layers of its profile"
# shellcheck disable=SC2086 # a list of options
TINCA_EMULATED_GRAPHS=refused run bench $bench --json
says '"graphs_refused":[[:space:]]*1' "  and in JSON"
says '"passes_without_graph":[[:space:]]*[1-9]' "  with the passes"
# shellcheck disable=SC2086 # a list of options
run bench $bench --json
if grep -q 'graph' out; then
    not_ok "a driver that refuses nothing is not mentioned" "$(told)"
else
    ok "a driver that refuses nothing is not mentioned"
fi

# the tests for a real GPU end when their time is over, and say what they left out
TINCA=$(dirname "$TINCA")/cuda_test
BUDGET=0 run cuda_device_test 'kernels-edges' kernels-tf32
says '^# [1-9][0-9]* cases in all are left out, because 0 s were over' \
    "cuda_device_test says how many cases it left out"
[ "$status" = 0 ] && ok "  which is no failure" || not_ok "  which is no failure" "$(cat out)"
BUDGET=0 run cuda_training_test graphs-divergence
says 'SKIP graphs-divergence: left out, because 0 s are over' "so does cuda_training_test, with each test"
done_testing
