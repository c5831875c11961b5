#!/bin/sh
# The layers of the studied networks against the plain loops: see tests/kernels/cpu_kernels_test.c.
exec ./kernels_test cpu_kernels_test --long
