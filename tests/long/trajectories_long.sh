#!/bin/sh
# The large networks' trajectories against PyTorch: see tests/parity/trajectory_test.c.
exec ./trajectory_test --long
