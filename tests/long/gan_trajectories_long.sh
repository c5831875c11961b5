#!/bin/sh
# The real pix2pix against PyTorch: see tests/parity/gan_trajectory_test.c.
exec ./parity_test gan_trajectory_test --long
