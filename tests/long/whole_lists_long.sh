#!/bin/sh
# The whole lists of cases of which `make check` tries a spread sample: every test program with a source that includes
# tests/sample.h, and every script that asks whole_list of tests/cli/tap.sh, itself or in a script that it reads.
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

# programs: prints the test programs whose first source includes sample.h; one source may be that of several
programs() {
    sed -n 's,^\([a-z0-9_]*\)_SOURCES *= *%D%\(/[^ ]*\.c\).*,\1 tests\2,p' "$srcdir/tests/module.mk" |
        while read -r program source; do
            grep -q '^#include "sample.h"' "$srcdir/$source" && echo "$program"
        done
}
# scripts: prints the tests that ask whole_list
scripts() {
    asking=$(cd "$srcdir" && grep -rlw whole_list tests --include='*.sh' | grep -v 'tap\.sh$\|_long\.sh$')
    echo "$asking" | grep '_test\.sh$'
    for helper in $(echo "$asking" | grep -v '_test\.sh$'); do
        (cd "$srcdir" && grep -rlF "$helper" tests --include='*_test.sh')
    done
}

for program in $(programs); do
    echo "$program" | grep -q -- "${ONLY-}" || continue
    if make -s "$program" >whole_lists.out 2>&1; then
        try "$program" "./$program"
    elif grep -q 'No rule to make target' whole_lists.out; then
        echo "# $program is not in this build"
    else
        try "$program" false
    fi
done
for script in $(scripts | sort -u); do
    try "$script" sh "$srcdir/$script"
done
echo "1..$count"
exit $failed
