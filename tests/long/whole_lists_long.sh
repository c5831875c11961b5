#!/bin/sh
# The whole lists of cases of which `make check` tries a spread sample: every test program that includes tests/sample.h
# and every script that asks whole_list of tests/cli/tap.sh. ONLY=PATTERN: those whose names match.
srcdir=${srcdir:-.}
export WHOLE=1 srcdir
count=0 failed=0
try() { # try NAME COMMAND...
    name=$1
    shift
    echo "$name" | grep -q -- "${ONLY-}" || return
    count=$((count + 1))
    begun=$(date +%s)
    if "$@" >whole_lists.out 2>&1 </dev/null; then
        echo "ok $count - $name ($(grep -c '^ok' whole_lists.out) results, $(($(date +%s) - begun)) s)"
    else
        failed=1
        echo "not ok $count - $name"
        grep -Ev '^ok ' whole_lists.out | tail -n 40 | sed 's/^/# /'
    fi
    rm -f whole_lists.out
}
for source in $(grep -rl '^#include "sample.h"' "$srcdir/tests" --include='*.c'); do
    program=$(basename "$source" .c)
    if make -s "$program" >whole_lists.out 2>&1; then
        try "$program" "./$program"
    elif grep -q 'No rule to make target' whole_lists.out; then
        echo "# $program is not in this build"
    else
        try "$program" false
    fi
done
for script in $(cd "$srcdir" && grep -rlw whole_list tests --include='*_test.sh'); do
    try "$script" sh "$srcdir/$script"
done
echo "1..$count"
exit $failed
