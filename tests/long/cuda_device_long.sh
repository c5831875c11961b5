#!/bin/sh
# The layers of the studied networks on a real GPU: see tests/cuda/cuda_device_test.c.
exec ./cuda_device_test 'kernels*' layers
