#!/bin/sh
# No test depends on the speed of the machine: the whole suite passes beside eight busy loops, and the tests
# that wait for something pass three times more.
srcdir=$(cd "${srcdir:-.}" && pwd)
. "$srcdir/tests/cli/tap.sh"
if ! command -v stress-ng >/dev/null; then
    skip "the suite under load" "stress-ng is not here (Debian: stress-ng)"
    done_testing
fi
# with threads, timers or other processes, like the scripts below
WAITING="run_test inspection_test setup_test probe_test follow_test measurement_test resume_test
    data_loader_test series_test sample_view_test storm_test"
scripts=$(cd "$srcdir" && grep -lE 'screen_wait|screen_shows|wait_until|eventually|wait ' \
    tests/ui/*_test.sh tests/cli/*_test.sh tests/faults/*_test.sh)

# Beside eight loops two parallel tests would have a tenth of the machine.
export JOBS=8

stress-ng --cpu 8 --quiet </dev/null >/dev/null 2>&1 &

passes() { # passes NAME [TEST...]: runs the tests, which must pass
    name=$1
    shift
    if sh "$srcdir/tests/check.sh" . check "$@" >"$T/log" 2>&1; then ok "$name"; else
        not_ok "$name" "$(tail -n 300 "$T/log")"
    fi
}

passes "the whole suite under eight busy loops"
for turn in first second third; do
    # shellcheck disable=SC2086 # lists of tests
    passes "the tests that wait for something, the $turn time" $WAITING $scripts
done
done_testing
