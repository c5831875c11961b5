#!/bin/sh
# The large networks' trajectories against PyTorch: see tests/parity/trajectory_test.c.
exec ./parity_test trajectory_test --long
