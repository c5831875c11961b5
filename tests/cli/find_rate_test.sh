#!/bin/sh
# tinca find-rate: the ramp of the rate, the smoothed loss and the suggestion, recomputed with awk from
# what it prints; that it stops when the loss diverges, and that it saves nothing.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
cd "$T" || exit 99
job="lenet --batch 20 --momentum 0.9 --data digits,limit=400"

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
# suggest FILE: the suggestion and its range by the definition: lines through windows of 21 losses (else 31, 41, 51),
# whose slope counts from 5 standard errors on (of the window, or of the mean up to it), up to the window of the least
# mean; the range has the windows that fall at least half as steeply, and at least the inner quarter of the steepest
suggest() {
    awk 'function fit(m,  i, x, y, n, mx, my, xx, xy, yy) {
            n = 2 * half + 1
            for (i = m - half; i <= m + half; i++) { mx += log(rate[i]) / n; my += loss[i] / n }
            for (i = m - half; i <= m + half; i++) {
                x = log(rate[i]) - mx; y = loss[i] - my; xx += x * x; xy += x * y; yy += y * y }
            mean = my; slope = xy / xx; rest = yy - slope * xy; if (rest < 0) rest = 0
            deviation = sqrt(rest / (n - 2) / xx) }
        { rate[NR] = $1; loss[NR] = $2 }
        END { for (half = 10; half <= 25 && 2 * half < NR && !best; half += 5) {
            for (i = half + 1; i + half <= NR; i++) { fit(i); if (i == half + 1 || mean < least) { least = mean; last = i } }
            squares = 0
            for (i = half + 1; i <= last; i++) {
                fit(i)
                squares += deviation * deviation; so_far = sqrt(squares / (i - half))
                if (-slope > 5 * (deviation > so_far ? deviation : so_far) && slope < steepest) {
                    steepest = slope; best = i } }
            if (!best) continue
            for (low = best; low > half + 1; low--) { fit(low - 1); if (slope > steepest / 2) break }
            for (high = best; high + half < NR; high++) { fit(high + 1); if (slope > steepest / 2) break }
            quarter = int(half / 4)
            if (low > best - quarter) low = best - quarter
            if (high < best + quarter) high = best + quarter }
            if (best) printf "%.6g %.6g %.6g", rate[best], rate[low], rate[high]; else printf "none" }' "$1"
}
# suggested FILE: what the search says
suggested() {
    printf '%.6g %.6g %.6g' "$("$JSON_LOOK" "$1" suggestion)" "$("$JSON_LOOK" "$1" range.0)" "$("$JSON_LOOK" "$1" range.1)"
}
range=$(suggested one)
[ "$range" = "$(suggest points)" ] && echo "$range" | awk '{ exit !($2 < $1 && $1 < $3) }' && ok "  the suggestion and its range are those of the definition" ||
    not_ok "  the suggestion and its range are those of the definition" "$(suggested one) is not $(suggest points)"

# Batches of 8 scatter: a moving average of few losses fell the steepest at 1.2e-6, where nothing is learned.
succeeds "a search whose first losses happen to fall" find-rate mlp --data digits --batch 8 --seed 1 --threads 1 --json
cp out small
tr -d ' \t\n' <small | tr '{' '\n' |
    sed -n 's/.*"rate":\([^,]*\),"loss":\([^,]*\),"smoothed":\([^}]*\)}.*/\1 \2 \3/p' >points
if [ "$(suggest points)" = none ]; then
    is "  suggests nothing" suggestion null small
    "$JSON_LOOK" small reason | grep -q 'scatter' && ok "  and says why" || not_ok "  and says why" "$(head -c 300 small)"
else
    [ "$(suggested small)" = "$(suggest points)" ] && ok "  suggests by the definition" ||
        not_ok "  suggests by the definition" "$(suggested small) is not $(suggest points)"
    awk "BEGIN { exit !($("$JSON_LOOK" small suggestion) > 3e-4 && $("$JSON_LOOK" small suggestion) < 0.1) }" &&
        ok "  a rate that trains" || not_ok "  a rate that trains" "$("$JSON_LOOK" small suggestion)"
fi
succeeds "losses of one class" find-rate mlp --data digits,only=3 --low 1e-12 --high 1e-9 --threads 1 --json
is "  fall nowhere: no suggestion" suggestion null out
is "  no range" range null out
"$JSON_LOOK" out reason | grep -q 'neither falls nor rises.*scatter: give a higher --high' && ok "  and the reason" ||
    not_ok "  and the reason" "$(head -c 400 out)"
# SqueezeNet learns nothing in a hundred batches of 8, at no rate.
succeeds "a network that learns nothing in so few batches" \
    find-rate squeezenet-4 --data shapes,limit=400 --batch 8 --threads 1 --json
is "  has no suggestion" suggestion null out
"$JSON_LOOK" out reason | grep -q 'falls at no rate, and rises from about .*: give --iterations 1000' &&
    ok "  but the rate from which the loss rises" || not_ok "  but the rate from which the loss rises" "$(head -c 500 out)"

# shellcheck disable=SC2086
{
    succeeds "with more threads" find-rate $job --iterations 60 --low 1e-5 --high 100 --threads 2 --json
    cmp -s out one && ok "  the same numbers" || not_ok "  the same numbers"
    succeeds "as a table" find-rate $job --iterations 60 --low 1e-5 --high 100
    grep -q '^Suggestion: --lr .*; range .* to .*, where it falls at least half as steeply' out &&
        grep -q 'steepest$' out && ok "  with the suggestion" ||
        not_ok "  with the suggestion" "$(cat out)"
    [ ! -e "$XDG_STATE_HOME/tinca/runs" ] && ok "no run is saved" || not_ok "no run is saved"
    # a search trains on the images of the run: without the share that it validates on
    share="--iterations 15 --low 1e-5 --high 1 --threads 1 --seed 3 --json"
    succeeds "of data of which a share is held out" find-rate $job,validate=0.2 $share
    cp out divided
    succeeds "  the rest" find-rate $job,rest=0.2,draw=3 $share
    cmp -s out divided && ok "  is searched with" || not_ok "  is searched with"
    succeeds "  the whole" find-rate $job $share
    cmp -s out divided && not_ok "  is another set" || ok "  is another set"
    refuses 2 'does not say which share' "a share that is none" find-rate lenet --data digits,validate=2
    # a set without a test split, on which the preset would test
    mkdir training
    { printf '\0\0\10\3\0\0\0\50\0\0\0\34\0\0\0\34' && head -c 31360 /dev/zero; } >training/train-images-idx3-ubyte
    { printf '\0\0\10\1\0\0\0\50' && head -c 40 /dev/zero; } >training/train-labels-idx1-ubyte
    succeeds "a preset that holds out and tests: no test set is opened" \
        find-rate lenet --preset digits --batch 8 --data idx:training $share
    # a rate at which nothing is learned: the losses of the batches are all there is, and they may fall
    succeeds "rates that are too small" find-rate $job --iterations 10 --low 1e-12 --high 1e-11 --json
    is "  do not diverge" diverged false out
    is "  ten losses have no slope" suggestion null out
    "$JSON_LOOK" out reason | grep -q 'too few for a slope, which needs 21: give more --iterations' && ok "  which is said" ||
        not_ok "  which is said" "$("$JSON_LOOK" out reason)"
    # rates that end where the loss falls, that begin there, and that begin where it grows without limit
    succeeds "rates that end in the fall" find-rate lenet --batch 64 --data digits --high 0.01 --threads 1 --json
    "$JSON_LOOK" out reason | grep -q 'up to the highest rates.*: give a higher --high' && ok "  ask for higher ones" ||
        not_ok "  ask for higher ones" "$(head -c 500 out)"
    succeeds "rates that begin in the fall" find-rate lenet --batch 64 --data digits --low 0.01 --threads 1 --json
    "$JSON_LOOK" out reason | grep -q 'falls from the lowest rates.*: give a lower --low' && ok "  ask for lower ones" ||
        not_ok "  ask for lower ones" "$(head -c 500 out)"
    succeeds "rates that begin too high" find-rate lenet --batch 64 --data digits --low 1 --threads 1 --json
    "$JSON_LOOK" out reason | grep -q 'grew without limit.*needs 21: give a lower --low' && ok "  ask for lower ones" ||
        not_ok "  ask for lower ones" "$(head -c 500 out)"
    refuses 2 'above 0 and grow' "rates that do not grow" find-rate $job --low 1 --high 0.1
    refuses 2 'above 0 and grow' "a rate of 0" find-rate $job --low 0
    refuses 2 'no number' "a rate that is none" find-rate $job --high much
    refuses 2 'iterations' "too few rates" find-rate $job --iterations 2
    refuses 2 'no meaning in tinca find-rate' "a setting that a search has no use for" find-rate $job --ema 0.9
    adversarial_network gan.json
    refuses 1 'no loss that falls' "a network with a discriminator" find-rate ./gan.json --data maps,limit=2 --batch 1
}
done_testing
