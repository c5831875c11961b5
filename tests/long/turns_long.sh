#!/bin/sh
# What tinca compare --measure calls different, beside each number of busy loops in LOADS ("0 1"; a number above the
# cores minus THREADS leaves no core to the measurement): of PAIRS pairs (60) of one model with itself the share that
# differs must be within the level that is printed, 5 %; of POWER pairs (10) of a model and one with twice its
# second convolution, each pair that has a verdict must differ. Without loops (load 0) more than half of the pairs must
# have a verdict. NETWORK chooses the model (lenet), THREADS the threads (1).
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
networks=$(cd "$srcdir/networks" && pwd)
cd "$T" || exit 99
: "${PAIRS:=60}" "${POWER:=10}" "${LOADS:=0 1}" "${NETWORK:=lenet}" "${THREADS:=1}"

loops=''
trap 'kill $loops 2>/dev/null' EXIT

# Trains the network $1 into the folder $2.
make_model() {
    "$TINCA" train "$1" --data digits,limit=100 --batch 20 --iterations 5 --threads "$THREADS" -q --run-dir "$T/$2" ||
        not_ok "the model $2"
}

# Measures $2 pairs of ./run and $1; sets `differ` and `silent` to how many differ and have no verdict.
measure_pairs() {
    differ=0 silent=0
    : >differ.json
    for pair in $(seq "$2"); do
        "$TINCA" compare ./run "$1" --measure --threads "$THREADS" --json >pair.json 2>error ||
            not_ok "pair $pair" "$(cat error)"
        case $("$JSON_LOOK" pair.json tests.1.test) in
        null)
            silent=$((silent + 1))
            "$JSON_LOOK" pair.json tests.1.reason | grep -q disturbed ||
                not_ok "pair $pair: no reason" "$(cat pair.json)"
            ;;
        *) [ "$("$JSON_LOOK" pair.json tests.1.differs)" = true ] && differ=$((differ + 1)) && cat pair.json >>differ.json ;;
        esac
    done
}

# Of $1 pairs enough have a verdict: on a busy machine none need have one.
has_verdicts() {
    [ "$load" != 0 ] || [ $((2 * silent)) -lt "$1" ]
}

make_model "$NETWORK" run
sed 's/"output": 50,/"output": 100,/; s/"name": "lenet"/"name": "wide"/' "$networks/lenet.json" >wide.json
make_model ./wide.json wide
for load in $LOADS; do
    for _ in $(seq "$load"); do
        (while :; do :; done) &
        loops="$loops $!"
    done
    measure_pairs ./run "$PAIRS"
    [ $((20 * differ)) -le "$PAIRS" ] && has_verdicts "$PAIRS" &&
        ok "load $load: $differ of $PAIRS pairs of equal models differ, $silent have no verdict" ||
        not_ok "load $load: $differ of $PAIRS pairs of equal models differ, $silent have no verdict" "$(cat differ.json)"
    if [ "$NETWORK" = lenet ]; then
        measure_pairs ./wide "$POWER"
        [ "$differ" -eq $((POWER - silent)) ] && has_verdicts "$POWER" &&
            ok "load $load: $differ of $POWER pairs of different models differ, $silent have no verdict" ||
            not_ok "load $load: $differ of $POWER pairs of different models differ, $silent have no verdict"
    fi
    kill $loops 2>/dev/null
    loops=''
done
done_testing
