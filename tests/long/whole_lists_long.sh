#!/bin/sh
# The whole lists of cases of which `make check` tries a spread sample: every case of a test program that
# includes tests/sample.h, and every script that asks whole_list of tests/cli/tap.sh, itself or in a script that it reads.
# ONLY=PATTERN: those whose names match.
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

# cases: prints the files of the cases that include sample.h
cases() {
    (cd "$srcdir" && grep -rl '^#include "sample.h"' tests --include='*_test.c')
}
# scripts: prints the tests that ask whole_list
scripts() {
    asking=$(cd "$srcdir" && grep -rlw whole_list tests --include='*.sh' | grep -v 'tap\.sh$\|_long\.sh$')
    echo "$asking" | grep '_test\.sh$'
    for helper in $(echo "$asking" | grep -v '_test\.sh$'); do
        (cd "$srcdir" && grep -rlF "$helper" tests --include='*_test.sh')
    done
}

for case in $(cases | sort); do
    echo "$case" | grep -q -- "${ONLY-}" || continue
    folder=${case%/*}
    program=${folder##*/}_test
    if make -s "$program" >whole_lists.out 2>&1; then
        try "$case" sh "$srcdir/tests/case.sh" "$case"
    elif grep -q 'No rule to make target' whole_lists.out; then
        echo "# $program is not in this build"
    else
        try "$case" false
    fi
done
for script in $(scripts | sort -u); do
    try "$script" sh "$srcdir/$script"
done
echo "1..$count"
exit $failed
