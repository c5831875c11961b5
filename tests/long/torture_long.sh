#!/bin/sh
# Two hundred kills: see tests/faults/torture_test.sh.
KILLS=200 exec sh "${srcdir:-.}/tests/faults/torture_test.sh"
