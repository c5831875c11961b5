#!/bin/sh
# Learning rates that tinca find-rate suggests: searches over six networks, three batch sizes, two solvers and six
# seeds (216), each of which is trained with its suggestion and with both ends of its range. A suggestion is wrong if
# the mean loss of the last fifth of 150 iterations is not finite, or above 0.9 of that of the network before training
# (the first 20 losses of the search, at rates up to 2e-5), or if it is an end of its range. Where nothing is suggested
# because the losses scatter, the number of iterations that the reason names must give a suggestion in nine of ten
# searches. SEEDS=N, NETWORKS, BATCHES and SOLVERS restrict the trial; docs/results.md has its figures.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
cd "$T" || exit 99
: "${SEEDS:=6}" "${NETWORKS:=mlp tanh lenet squeezenet resnet20 vgg}" "${BATCHES:=8 32 128}" "${SOLVERS:=sgd adam}"
ITERATIONS=150

# job NAME: the options of a network
job() {
    case $1 in
    tanh) echo "mlp --widths 64,32 --activation tanh --data digits" ;;
    mlp | lenet) echo "$1 --data digits" ;;
    vgg) echo "vgg19-16 --data shapes,limit=4000" ;;
    *) echo "$1-4 --data shapes,limit=4000" ;;
    esac
}

# trains RATE OPTION...: whether a training with this rate learns; its losses are in $losses
trains() {
    rate=$1
    shift
    rm -rf run
    "$TINCA" train "$@" --lr "$rate" --iterations $ITERATIONS --threads 1 -q --run-dir "$T/run" >train.log 2>&1 || return 1
    losses=$(journal_lines run/journal | sed -n 's/^{"iteration":[0-9]*,.*"loss":\([^,}]*\).*/\1/p' |
        awk -v most=$ITERATIONS '{ if ($1 !~ /^[0-9.e+-]+$/) bad = 1 }
            NR > most * 0.8 { last += $1 / (most * 0.2) } END { printf "%.4g %d", last, bad || NR < most }')
    echo "$untrained $losses" | awk '{ exit !($3 == 0 && $2 < 0.9 * $1) }'
}

searches=0
none=0
advised=0 # searches that the reason asks to repeat with more iterations, since the losses scatter
followed=0 # those that suggest something then
for network in $NETWORKS; do
    for batch in $BATCHES; do
        for solver in $SOLVERS; do
            wrong='' silent=0 ends=0
            for seed in $(seq "$SEEDS"); do
                options="$(job "$network") --batch $batch --solver $solver --seed $seed"
                # shellcheck disable=SC2086 # a list of options
                "$TINCA" find-rate $options --threads 1 --json >found.json 2>error || { wrong="$wrong $seed:$(cat error)"; continue; }
                searches=$((searches + 1))
                untrained=$(tr -d ' \t\n' <found.json | tr '{' '\n' | sed -n 's/.*"loss":\([^,]*\),"smoothed".*/\1/p' |
                    awk 'NR <= 20 { sum += $1 / 20 } END { printf "%.4g", sum }')
                rate=$("$JSON_LOOK" found.json suggestion)
                if [ "$rate" = null ]; then
                    silent=$((silent + 1))
                    reason=$("$JSON_LOOK" found.json reason)
                    case $reason in
                    '') wrong="$wrong $seed:no reason" ;;
                    *'scatter too much'*)
                        advised=$((advised + 1))
                        # shellcheck disable=SC2086
                        "$TINCA" find-rate $options --iterations "$(echo "$reason" | sed 's/.*--iterations \([0-9]*\).*/\1/')" \
                            --threads 1 --json >again.json && [ "$("$JSON_LOOK" again.json suggestion)" != null ] &&
                            followed=$((followed + 1))
                        ;;
                    esac
                    continue
                fi
                low=$("$JSON_LOOK" found.json range.0) high=$("$JSON_LOOK" found.json range.1)
                awk "BEGIN { exit !($low < $rate && $rate < $high) }" || wrong="$wrong $seed:$rate:an end of its range"
                # shellcheck disable=SC2086
                trains "$rate" $options || wrong="$wrong $seed:$rate:$untrained:$losses"
                for end in $low $high; do
                    # shellcheck disable=SC2086
                    trains "$end" $options && ends=$((ends + 1))
                done
            done
            none=$((none + silent))
            name="$network, batch $batch, $solver: $SEEDS searches, $silent without a suggestion,"
            name="$name $ends of $((2 * (SEEDS - silent))) ends of ranges train"
            [ -z "$wrong" ] && ok "$name" || not_ok "$name" "wrong:$wrong"
        done
    done
done
[ $((3 * none)) -le "$searches" ] && ok "$none of $searches searches suggest nothing" ||
    not_ok "$none of $searches searches suggest nothing" "more than a third"
[ $((10 * followed)) -ge $((9 * advised)) ] && ok "$followed of $advised searches suggest a rate with the iterations that the reason names" ||
    not_ok "$followed of $advised searches suggest a rate with the iterations that the reason names" "fewer than nine of ten"
done_testing
