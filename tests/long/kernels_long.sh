#!/bin/sh
# The layers of the studied networks against the plain loops: see tests/unit/cpu_kernels_test.c.
exec ./cpu_kernels_test --long
