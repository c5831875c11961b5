#!/bin/sh
# tinca find-rate: the ramp of the rate, the smoothed loss and the suggestion, recomputed with awk from
# what it prints; that it stops when the loss diverges, and that it saves nothing.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
cd "$T" || exit 99
job="lenet --data digits,limit=400 --batch 20 --momentum 0.9"

# shellcheck disable=SC2086 # a list of options
succeeds "as JSON" find-rate $job --iterations 60 --low 1e-5 --high 100 --threads 1 --json
cp out one
is "it diverges" diverged true one
[ "$("$JSON_LOOK" one iterations)" -lt 60 ] && ok "  and stops then" || not_ok "  and stops then" "$(cat one)"
tr -d ' \t\n' <one | tr '{' '\n' |
    sed -n 's/.*"rate":\([^,]*\),"loss":\([^,]*\),"smoothed":\([^}]*\)}.*/\1 \2 \3/p' >points
[ "$(grep -c '' points)" = "$("$JSON_LOOK" one iterations)" ] && ok "  every iteration is a point" ||
    not_ok "  every iteration is a point" "$(head -c 600 one)"
awk 'function abs(x) { return x < 0 ? -x : x }
    { rate = 1e-5 * exp(log(1e7) * (NR - 1) / 59); average = 0.98 * average + 0.02 * $2
      smoothed = average / (1 - 0.98 ^ NR)
      if (abs($1 / rate - 1) > 1e-6 || abs($3 / smoothed - 1) > 1e-6) wrong = wrong " " NR }
    END { print NR, wrong; exit wrong != "" }' points >checked && ok "  rates grow in equal factors, losses are smoothed" ||
    not_ok "  rates grow in equal factors, losses are smoothed" "$(cat checked points)"
suggestion=$(awk '{ rate[NR] = $1; loss[NR] = $3 }
    END { least = 1
        for (i = 2; i <= NR; i++) if (loss[i] < loss[least]) least = i
        for (i = 2; i < NR && i <= least; i++) {
            slope = (loss[i + 1] - loss[i - 1]) / log(rate[i + 1] / rate[i - 1])
            if (slope < steepest) { steepest = slope; best = rate[i] } }
        printf "%.6g", best }' points)
[ "$(printf '%.6g' "$("$JSON_LOOK" one suggestion)")" = "$suggestion" ] && ok "  the suggestion is the steepest point" ||
    not_ok "  the suggestion is the steepest point" "$("$JSON_LOOK" one suggestion) is not $suggestion"

# shellcheck disable=SC2086
{
    succeeds "with more threads" find-rate $job --iterations 60 --low 1e-5 --high 100 --threads 2 --json
    cmp -s out one && ok "  the same numbers" || not_ok "  the same numbers"
    succeeds "as a table" find-rate $job --iterations 60 --low 1e-5 --high 100
    grep -q '^Suggestion: --lr' out && grep -q 'steepest$' out && ok "  with the suggestion" ||
        not_ok "  with the suggestion" "$(cat out)"
    [ ! -e "$XDG_STATE_HOME/tinca/runs" ] && ok "no run is saved" || not_ok "no run is saved"
    # a rate at which nothing is learned: the losses of the batches are all there is, and they may fall
    succeeds "rates that are too small" find-rate $job --iterations 10 --low 1e-12 --high 1e-11 --json
    is "  do not diverge" diverged false out
    refuses 2 'above 0 and grow' "rates that do not grow" find-rate $job --low 1 --high 0.1
    refuses 2 'above 0 and grow' "a rate of 0" find-rate $job --low 0
    refuses 2 'no number' "a rate that is none" find-rate $job --high much
    refuses 2 'iterations' "too few rates" find-rate $job --iterations 2
    refuses 1 'no loss that falls' "a network with a discriminator" find-rate pix2pix --data maps,limit=2 --batch 1
}
done_testing
