#!/bin/sh
# case.sh FILE: runs the case of a test program that FILE contains: tests/engine/plan_test.c is
# `./engine_test plan_test`.
case=${1##*/}
folder=${1%/*}
exec "./${folder##*/}_test" "${case%.c}"
