#!/bin/sh
# How often tinca compare --measure calls a model different from itself on a busy machine: PAIRS pairs (60) of one
# model, beside LOAD busy loops (one for each core). The share must be within the level that is printed, 5 %.
# NETWORK chooses the model (lenet), THREADS the threads (1).
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
cd "$T" || exit 99
: "${PAIRS:=60}" "${LOAD:=$(getconf _NPROCESSORS_ONLN)}" "${NETWORK:=lenet}" "${THREADS:=1}"

loops=''
trap 'kill $loops 2>/dev/null' EXIT
for _ in $(seq "$LOAD"); do
    (while :; do :; done) &
    loops="$loops $!"
done
"$TINCA" train "$NETWORK" --data digits,limit=100 --batch 20 --iterations 5 --threads "$THREADS" -q --run-dir "$T/run" ||
    not_ok "a model"
differ=0 silent=0
for pair in $(seq "$PAIRS"); do
    "$TINCA" compare ./run ./run --measure --threads "$THREADS" --json >pair.json 2>error || not_ok "pair $pair" "$(cat error)"
    case $("$JSON_LOOK" pair.json tests.1.test) in
    null)
        silent=$((silent + 1))
        "$JSON_LOOK" pair.json tests.1.reason | grep -q disturbed || not_ok "pair $pair: no reason" "$(cat pair.json)"
        ;;
    *) [ "$("$JSON_LOOK" pair.json tests.1.differs)" = true ] && differ=$((differ + 1)) && cat pair.json >>differ.json ;;
    esac
done
[ $((20 * differ)) -le "$PAIRS" ] && ok "$differ of $PAIRS pairs of equal models differ, $silent have no verdict" ||
    not_ok "$differ of $PAIRS pairs of equal models differ" "$(cat differ.json)"
kill $loops 2>/dev/null
done_testing
