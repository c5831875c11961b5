#!/bin/sh
# A hundred thousand events for the workbench: see tests/ui/storm_test.c.
exec ./storm_test 100000 7
