#!/bin/sh
# The fuzzers, a minute each.
FUZZ_SECONDS=60 exec sh "${srcdir:-.}/tests/fuzz/fuzz_test.sh"
