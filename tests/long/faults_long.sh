#!/bin/sh
# Each allocation of a small run fails once: see tests/faults/faults_test.sh.
STEP=1 exec sh "${srcdir:-.}/tests/faults/faults_test.sh"
