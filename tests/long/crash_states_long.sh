#!/bin/sh
# Ten thousand states: see tests/faults/crash_states_test.sh.
STATES=10000 exec sh "${srcdir:-.}/tests/faults/crash_states_test.sh"
