#!/bin/sh
# Type confusion in every JSON file that tinca reads: all changes for the code behind the commands that open
# runs, and with a program under AddressSanitizer and UndefinedBehaviorSanitizer changes for every command that
# reads the file (tests/cli/confusion_test.sh, which knows KINDS). Of the latter every SAMPLE-th is tried, from OFFSET on, which
# differs each time; SAMPLE=1 takes half a day.
. "${srcdir:-.}/tests/cli/tap.sh"
source=$(cd "${srcdir:-.}" && pwd)
here=$(pwd)
SAMPLE=${SAMPLE:-23}
OFFSET=${OFFSET:-$(($$ % SAMPLE))}

if make -s runs_test >"$T/log" 2>&1 && WHOLE=1 ./runs_test run_confusion_test >"$T/log" 2>&1; then
    ok "the code behind the commands: all changes"
else
    not_ok "the code behind the commands: all changes" "$(tail -n 20 "$T/log")"
fi
mkdir "$T/build"
cd "$T/build" || exit 99
if ! "$source/configure" -q --without-cuda --enable-asan --enable-ubsan CFLAGS='-O1 -g1' >log 2>&1 ||
    ! make -s -j"$(getconf _NPROCESSORS_ONLN)" tinca confuse_json make_picture faults.so \
        runs_test >>log 2>&1; then
    skip "the sanitized program" "it cannot be built: $(tail -n 1 log)"
    done_testing
fi
make -s tinca-chart.so >>log 2>&1 || echo "# no charts: $(tail -n 1 log)"
if ASAN_OPTIONS=detect_leaks=0 ./runs_test run_confusion_test >log 2>&1; then
    ok "the code behind the commands, under sanitizers"
else
    not_ok "the code behind the commands, under sanitizers" "$(tail -n 30 log)"
fi
status=0
SAMPLE=$SAMPLE OFFSET=$OFFSET TINCA=$T/build/tinca CONFUSE_JSON=$T/build/confuse_json srcdir=$source \
    sh "$source/tests/cli/confusion_test.sh" >log 2>&1 || status=$?
echo "# every $SAMPLE-th from $OFFSET on"
grep '^# [0-9]' log
if [ "$status" = 0 ]; then
    ok "every command, under sanitizers"
else
    cp log "$here/confusion_long.log"
    not_ok "every command, under sanitizers" "$(grep -A4 '^not' log | head -n 40)"
fi
done_testing
