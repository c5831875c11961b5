#!/bin/sh
# check.sh DIRECTORY [TARGET [TEST...]]: runs the tests of a build tree (make check, another check target
# of the Makefile, or the tests that are named: tests/cli/train_test.sh, or plan_test for
# tests/engine/plan_test.c) and prints the logs of failed tests, the skipped tests with the reason, and
# the totals. A test that leaves a process behind is a failure, too. JOBS is the number of tests that run
# at the same time; the output of each test is not mixed with that of others. ./bootstrap check and .ci/run
# use it.
set -u
unset MAKEFLAGS MFLAGS MAKELEVEL # a make that runs this script sets them
directory=$1
target=${2:-check}
if [ $# -gt 2 ]; then
    shift 2
    target=check-named
    set -- NAMED="$*"
else
    set --
fi
rm -f "$directory/test-suite.log"
: >"$directory/check.begun" # older results belong to an earlier call

# Every process that the tests start has this variable in its environment. It includes the time because
# process IDs are reused.
suite="TINCA_TEST_SUITE=$$-$(date +%s)"
processes() {
    for environment in $(grep -las -- "$suite" /proc/[0-9]*/environ 2>/dev/null); do
        process=${environment#/proc/}
        echo "${process%/environ}"
    done
}

# left_behind: fails if the tests left processes behind, prints them, and kills them. A process that is
# about to end may need some time on a busy machine.
left_behind() {
    tries=0
    while [ -n "$(processes)" ] && [ $tries -lt "${PATIENCE:-300}" ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    [ -z "$(processes)" ] && return 0
    for process in $(processes); do
        printf 'left behind: process %s: %s\n' "$process" "$(tr '\0' ' ' <"/proc/$process/cmdline")"
        kill -9 "$process"
    done
    return 1
}

# by default three more than the cores: tests of the workbench, which begin first, wait most of the time
jobs=${JOBS:-$(($(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1) + 3))}
{
    env "$suite" make -C "$directory" -s -k -j"$jobs" -Otarget "$target" "$@" </dev/null
    echo $? >"$directory/check.status"
    left_behind >&2 || echo 1 >"$directory/check.status" # inside the braces: such a process may hold the pipe open
} 2>&1 | sed -u -e '/^PASS: /d; /^  \(CC\|CXX\|CCLD\|CXXLD\|AR\|GEN\) /d' | tee "$directory/check.output" |
    sed -u "/^SKIP: /d"
status=$(cat "$directory/check.status")

if grep -q '^SKIP: ' "$directory/check.output"; then
    echo "skipped, with the reason:"
    grep '^SKIP: ' "$directory/check.output" | sed 's/^SKIP: \([^ ]*\) .*# SKIP */  \1: /; s/^SKIP: */  /' |
        sort | uniq -c
fi
[ "$status" = 0 ] && exit 0

find "$directory" -name '*.trs' -newer "$directory/check.begun" -exec \
    grep -lE '^:(global-)?test-result: (FAIL|ERROR|XPASS)' {} + |
    while read -r results; do
        printf '\n--- %s\n' "${results%.trs}.log"
        grep -Ev '^(ok |PASS: )' "${results%.trs}.log" | tail -n 60
    done
exit "$status"
