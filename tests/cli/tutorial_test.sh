#!/bin/sh
# The week of experiments of docs/tutorial.md: each of its commands works as it stands there, from an empty folder; with
# WHOLE=1 with its numbers of images and epochs, in make check with smaller ones.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
tutorial=$(cd "$srcdir" && pwd)/docs/tutorial.md
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
mkdir -p "$T/bin" "$T/week"
ln -s "$TINCA" "$T/bin/tinca"
PATH=$T/bin:$PATH
cd "$T/week" || exit 99

sed -n '/^## A week of experiments/,/^## A grid/s/^    //p' "$tutorial" >../commands
[ "$(grep -c '^tinca' ../commands)" -ge 15 ] && ok "the week has its commands" ||
    not_ok "the week has its commands" "$(cat ../commands)"
whole_list || # the numbers alone change
    sed -i -e 's/limit=4000/limit=1500/g' -e 's/limit=1000/limit=200/g' -e 's/--epochs [0-9]*/--epochs 2/' \
        -e 's/split=test /split=test,limit=300 /' -e 's/split=test$/split=test,limit=300/' ../commands
while IFS= read -r command; do
    if sh -c "$command" >"$T/out" 2>"$T/err" </dev/null; then
        ok "$command"
    else
        not_ok "$command" "$(cat "$T/out" "$T/err")"
    fi
    case $command in
    *compare*) grep -q "Welch's t-test: n = 5 and 5 seeds" "$T/out" && ok "  with the test" ||
        not_ok "  with the test" "$(cat "$T/out")" ;;
    *"eval "*) cp "$T/out" ../errors ;;
    esac
done <../commands

# --- the figures agree with each other ---
wrong=$(ls wrong | wc -l)
"$JSON_LOOK" study.json groups.fine.top1.n | grep -qx 5 && ok "the session file has the groups" ||
    not_ok "the session file has the groups" "$(head -c 600 study.json)"
[ "$(grep -c , hard.csv)" = "$wrong" ] && [ "$(grep -c , guesses.csv)" = $((wrong + 1)) ] &&
    ok "each wrong picture is in the list, and has a prediction" ||
    not_ok "each wrong picture is in the list" "$wrong $(wc -l hard.csv guesses.csv)"
awk -F, 'NR > 1 { n++; right += $3 == $5 } END { printf "top-1 %.2f %%\n", 100 * right / n }' \
    predictions.csv >../top1
grep -qF "$(cat ../top1)" ../errors && ok "the predictions give the accuracy" ||
    not_ok "the predictions give the accuracy" "$(cat ../top1 ../errors; head -n 2 predictions.csv)"
done_testing
