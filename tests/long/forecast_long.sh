#!/bin/sh
# Every network with every batch of the studies: see tests/cli/forecast_test.sh.
WHOLE=1 exec sh "${srcdir:-.}/tests/cli/forecast_test.sh"
