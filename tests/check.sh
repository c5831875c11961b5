#!/bin/sh
# check.sh DIRECTORY [TARGET]: runs a build tree's tests (make check, or another of the Makefile's
# check targets) and says what matters: what was skipped and what failed, the logs of tests that
# failed, and the totals. ./bootstrap check and .ci/run use it.
set -u
directory=$1
target=${2:-check}
rm -f "$directory/test-suite.log"

# one more than there are cores: many tests wait, for a screen or a process
jobs=$(($(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1) + 1))
{
    make -C "$directory" -s -k -j"$jobs" "$target" </dev/null
    echo $? >"$directory/check.status"
} 2>&1 | sed -e '/^PASS: /d; /^  \(CC\|CCLD\|AR\|GEN\) /d'
status=$(cat "$directory/check.status")
[ "$status" = 0 ] && exit 0

find "$directory" -name '*.trs' -newer "$directory/Makefile" -exec \
    grep -lE '^:(global-)?test-result: (FAIL|ERROR|XPASS)' {} + |
    while read -r results; do
        printf '\n--- %s\n' "${results%.trs}.log"
        grep -Ev '^(ok |PASS: )' "${results%.trs}.log" | tail -n 60
    done
exit "$status"
