#!/bin/sh
# Groups of seeds from the command line: training, interrupting and resuming them, and the one entry that
# they are in runs, compare, export, advise and sweep; and the tests that compare names.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
cd "$T" || exit 99
job="lenet --data digits,limit=200 --validate digits,limit=100 --batch 20 --iterations 8 --threads 1"

# says PATTERN NAME: a test that the last command's output matches
says() { grep -Eq -- "$1" out && ok "$2" || not_ok "$2" "$(cat out err)"; }

# --- a group ---
# shellcheck disable=SC2086 # lists of options
{
    run train $job --seeds 3 --seed 4 --name base --export base.json
    says 'best top-1 [0-9.]+ \+- [0-9.]+ .*sd [0-9.]+, n 3' "--seeds 3 trains three runs and prints their means"
    run train $job --seed 5 -q --export single.json
}
is "the export has all runs" "runs.#" 3 base.json
is "  with their seeds" runs.1.config.seed 5 base.json
is "  and their group" runs.1.config.seed-group base base.json
is "  and its statistics" groups.base.top1.n 3 base.json
group=$(dirname "$(grep -l '^base-seed5' "$XDG_STATE_HOME"/tinca/runs/*/name.txt)")
single=$XDG_STATE_HOME/tinca/runs/$("$JSON_LOOK" single.json runs.0.id)
cmp -s "$group/weights.safetensors" "$single/weights.safetensors" &&
    ok "a run of the group computes what a single run of its seed computes" ||
    not_ok "a run of the group computes what a single run of its seed computes"
run runs
says '^base@seeds .*3 of 3 done .*\+-' "runs shows the group as one row"
[ "$(grep -c done out)" -eq 2 ] && ok "  instead of its runs" || not_ok "  instead of its runs" "$(cat out)"
run runs --members
[ "$(grep -c done out)" -eq 5 ] && ok "--members shows them, too" || not_ok "--members" "$(cat out)"
run runs --json
is "JSON has every run" "runs.#" 4
is "  and the groups" groups.0.group base
is "  with n" groups.0.loss.n 3
run runs base-seed6 --json
is "the runs are called after the group" "runs.#" 1

# --- comparing ---
# shellcheck disable=SC2086
run train $job --lr 0.0001 --seeds 2 --name slow -q
run compare base@seeds slow@seeds base-seed4 base-seed5
says '^1 +lenet \(3 seeds\) +[0-9.]+ \+- [0-9.]+' "a group is a row of means with intervals"
says "best top-1 of 1 and 2: .*Welch's t-test: n = 3 and 2 seeds" "Welch's test of two groups is named"
says "best top-1 of 3 and 4: .*McNemar's test.* of 100 images" "McNemar's of two runs, too"
says 'best top-1 of 1 and 3: not tested: ' "what is not tested is called so"
says '^3: best top-1 .*Wilson, 100 images' "a single run has the interval over its images"
run compare base@seeds slow@seeds base-seed4 base-seed5 base-seed5 --json
is "JSON has the pairs of more than four rows only if they are asked for" "tests.#" "there is no tests.#"
run compare base@seeds slow@seeds base-seed4 base-seed5 --json
is "JSON names the group" runs.0.seeds.group base
is "  and its runs" "runs.0.seeds.runs.#" 3
is "  every pair" "tests.#" 6
is "  with its test" tests.0.test welch
is "  and n" tests.0.n.1 2
is "  McNemar's has the images" tests.5.n.0 100
is "  and the interval is Wilson's" runs.2.best_top1_interval.method wilson
run compare base@seeds --format csv
says '^row,.*,seeds,loss_sd,.*best_top1_low' "CSV has columns of the spread"
rm "$XDG_STATE_HOME"/tinca/runs/*/correct.json
run compare base-seed4 base-seed5
says 'not tested: .*not stored' "a run of an earlier version is not tested"
run export --format md -o report.md base@seeds
grep -q 'lenet (3 seeds)' report.md && ok "the report has the group as one row" || not_ok "the report" "$(cat err)"
run advise base@seeds --need smaller
says 'base@seeds' "the advisor reads the group"

# --- interrupted ---
# shellcheck disable=SC2086
{
    "$TINCA" train $job --iterations 100000 --seeds 2 --name long --max-time 0.3s -q >long.out 2>&1
    "$TINCA" train $job --seeds 3 --name cut >cut.out 2>&1
}
run runs 'long'
says '^long@seeds .*0 of 2 done' "runs that were stopped are not done"
last=$(dirname "$(grep -l '^cut-seed3' "$XDG_STATE_HOME"/tinca/runs/*/name.txt)")
cp "$last/weights.safetensors" before
rm -r "$last"
run resume cut@seeds -q
run runs cut
says '^cut@seeds .*3 of 3 done' "resume trains the missing seeds"
last=$(dirname "$(grep -l '^cut-seed3' "$XDG_STATE_HOME"/tinca/runs/*/name.txt)")
cmp -s "$last/weights.safetensors" before && ok "  with the same bits" || not_ok "  with the same bits"
refuses 2 'group of seeds of this name' "a group's name is taken once" train lenet --data digits --seeds 2 --name cut
refuses 2 'several seeds' "--save takes one model" train lenet --data digits --seeds 2 --save x.safetensors
refuses 2 'no group of seeds' "a run without a group" resume "$(basename "$(dirname "$(ls -d "$XDG_STATE_HOME"/tinca/runs/*/journal | head -1)")")-no@seeds"
run runs --check
[ "$status" -eq 0 ] && ok "all files of all runs are sound" || not_ok "all files of all runs are sound" "$(cat out)"

# --- sweeps ---
run sweep --networks lenet --data digits,limit=100 --batches 20 --devices cpu --threads 1 --iterations 3 \
    --vary lr=0.01,0.001 --seeds 2 --name seeds --json
is "a sweep with --seeds has a cell for each seed" "cells.#" 4
is "  and a group for each setting" "groups.#" 2
is "  with n" groups.1.loss.n 2
run sweep --name seeds
says 'lr 0.001: loss [0-9.]+ \+- [0-9.]+ \(sd' "and its tables end with the means"
refuses 2 'varies the seed' "two lists of seeds contradict each other" sweep --networks lenet --data digits \
    --vary seed=1,2,3 --seeds 2 -n
done_testing
