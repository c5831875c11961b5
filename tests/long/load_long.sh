#!/bin/sh
# No test depends on the speed of the machine: the whole suite passes ten times out of ten beside eight busy
# processes. TIMES=N: N times. What failed is in load_long.N.log.
srcdir=$(cd "${srcdir:-.}" && pwd)
. "$srcdir/tests/cli/tap.sh"

busy=
for process in 1 2 3 4 5 6 7 8; do
    sh -c 'while :; do :; done' </dev/null >/dev/null 2>&1 &
    busy="$busy $!"
done
# shellcheck disable=SC2064,SC2086 # the processes of now, a list
trap "kill $busy 2>/dev/null; end_processes; rm -rf '$T'" EXIT

turn=0
while [ $turn -lt "${TIMES:-10}" ]; do
    turn=$((turn + 1))
    if sh "$srcdir/tests/check.sh" . check >"$T/log" 2>&1 </dev/null; then ok "the suite beside eight busy processes, $turn"; else
        cp "$T/log" "load_long.$turn.log"
        not_ok "the suite beside eight busy processes, $turn" "$(tail -n 300 "$T/log")"
    fi
done
done_testing
