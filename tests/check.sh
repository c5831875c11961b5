#!/bin/sh
# check.sh DIRECTORY [TARGET [TEST...]]: runs a build tree's tests (make check, another of the Makefile's
# check targets, or the tests that are named), and says what matters: what failed, with its
# log, what was skipped and why, and the totals. A test that leaves a process behind is a failure, too.
# JOBS is the number of tests that run at once; the output of each comes as a whole.
# ./bootstrap check and .ci/run use it.
set -u
unset MAKEFLAGS MFLAGS MAKELEVEL # of a make that runs this
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
: >"$directory/check.begun" # results that are older are of another time

# Whatever the tests start has this in its environment. The time is there because numbers of processes
# are used again.
suite="TINCA_TEST_SUITE=$$-$(date +%s)"
processes() {
    for environment in $(grep -las -- "$suite" /proc/[0-9]*/environ 2>/dev/null); do
        process=${environment#/proc/}
        echo "${process%/environ}"
    done
}

# left_behind: fails, names the processes that the tests left behind, and ends them. What has been told
# to end may take its time on a busy machine.
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

# one more than there are cores, unless JOBS says otherwise: many tests wait, for a screen or a process
jobs=${JOBS:-$(($(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1) + 1))}
{
    env "$suite" make -C "$directory" -s -k -j"$jobs" -Otarget "$target" "$@" </dev/null
    echo $? >"$directory/check.status"
    left_behind >&2 || echo 1 >"$directory/check.status" # here: they may keep the pipe open
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
