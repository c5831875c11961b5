#!/bin/sh
# tests/check.sh reports failed tests, skipped tests with the reason, and processes left behind.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"

# checked RECIPE [PATIENCE]: runs check.sh on a build tree whose check target has this recipe
checked() {
    mkdir -p "$T/tree"
    printf 'check:\n\t@%s\n' "$1" >"$T/tree/Makefile"
    touch -t 200001010000 "$T/tree/Makefile" # configured long ago
    status=0
    PATIENCE=${2:-5} sh "$srcdir/tests/check.sh" "$T/tree" >"$T/out" 2>&1 </dev/null || status=$?
}
says() { # says STATUS PATTERN NAME
    if [ "$status" = "$1" ] && grep -Eq -- "$2" "$T/out"; then ok "$3"; else
        not_ok "$3" "status $status: $(cat "$T/out")"
    fi
}

checked 'echo "PASS: a.sh 1"; echo finished'
says 0 '^finished$' "passing tests end with status 0"
if grep -q PASS "$T/out"; then not_ok "  and are not listed" "$(cat "$T/out")"; else ok "  and are not listed"; fi
checked 'echo "SKIP: a.sh 1 - x \# SKIP no card"; echo "SKIP: a.sh 2 \# SKIP no card"'
says 0 '^ *2   a.sh: no card$' "skipped tests are counted, with the reason"
checked "exit 3"
says 2 'Error 3' "failing tests end with a failure"
echo ':test-result: FAIL' >"$T/tree/old.trs"
echo 'not ok 1 - before' >"$T/tree/old.log"
checked 'sleep 0.1; echo ":test-result: FAIL" >new.trs; echo "not ok 1 - now" >new.log; exit 3'
says 2 '^not ok 1 - now$' "the log of a failed test is shown"
if grep -q before "$T/out"; then not_ok "  without logs of earlier calls" "$(cat "$T/out")"; else
    ok "  without logs of earlier calls"
fi
checked 'sleep 1000 & echo $$! >process'
says 1 'left behind: process [0-9]+: sleep 1000' "a process left behind is a failure"
read -r process <"$T/tree/process"
if wait_until gone "$process"; then ok "  and the process is killed"; else not_ok "  and the process is killed"; fi
checked 'sleep 0.2 & echo begun' 50
says 0 begun "a process that ends by itself is no failure"
done_testing
