#!/bin/sh
# A hundred thousand events for the workbench: see tests/screens/storm_test.c.
exec ./screens_test storm_test 100000 7
