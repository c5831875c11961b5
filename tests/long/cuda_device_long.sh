#!/bin/sh
# The layers of the studied networks on a real GPU: see tests/cuda/cuda_device_test.c.
export BUDGET="${BUDGET:-1500}"
exec ./cuda_device_test 'kernels*' layers
