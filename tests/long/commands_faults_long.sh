#!/bin/sh
# Sixty trials of each kind for each command: see tests/faults/commands_faults_test.sh.
TRIALS=60 exec sh "${srcdir:-.}/tests/faults/commands_faults_test.sh"
