#!/bin/sh
# tinca measure, eval of a run, compare and advise.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"

train() { # train NET: makes a short run; its ID is in $id
    succeeds "a short run of $1" train "$1" --data digits,limit=200 --batch 20 --threads 1 \
        --validate digits,split=test,limit=40 --epochs 1 -q
    run runs --json
    id=$("$JSON_LOOK" "$T/out" "runs.$2.id")
}

train mlp 0
mlp=$id
sleep 1 # IDs are sorted by the second
train lenet 1
lenet=$id

succeeds "measure" measure "$mlp" --threads 1 --json
is "  one image at a time, all of them" images 40
is "  on the run's device" device cpu
has "  mean" ms_per_image.mean
has "  95 % interval" ms_per_image.ci95
has "  energy, or null" joules_per_image
has "  power, or null" watts
has "  standard deviation" ms_per_image.sd
has "  E_P" e_p
is "  parameters" parameters 535818
is "  size of the saved model" model_bytes \
    "$(($(wc -c <"$T/state/tinca/runs/$mlp/best.safetensors")))"
top1=$("$JSON_LOOK" "$T/out" top1)
is "  the measurement is stored" devices.0.top1 "$top1" "$T/state/tinca/runs/$mlp/measurements.json"
succeeds "measure on another device" measure "$mlp" --device reference --images 5
is "  is stored in addition" "devices.#" 2 "$T/state/tinca/runs/$mlp/measurements.json"
succeeds "eval of a run" eval "$mlp" --batch 1 --json
is "  on its validation data, with its best weights" top1 "$top1"
is "  one image at a time" batch 1
refuses 2 "no such run" "measure of an unknown run" measure nosuchrun
refuses 2 "2 to" "measure of one image" measure "$mlp" --images 1
refuses 2 "device" "measure on an unknown device" measure "$mlp" --device abacus

succeeds "compare" compare "$mlp" "$lenet"
shows '^1 +mlp .* \+- ' "  the measured time, with its interval"
shows '^1 +mlp .* [KM]iB / .* [KM]iB ' "  the memory of training and of inference"
shows '^2 +lenet .*not measured' "  the time that was not measured"
shows "^not measured: 2, ms on cpu: tinca measure $lenet --device cpu --threads 1" \
    "  and the command that would measure it"
# shellcheck disable=SC2046 # the command as words
run $(sed -n 's/^not measured: 2, ms on cpu: tinca //p' "$T/out")
if [ "$status" = 0 ]; then ok "  this command measures it"; else not_ok "  this command measures it" "$(told)"; fi
succeeds "compare, sorted" compare "$mlp" "$lenet" --sort e_p --published --json
is "  rows of runs and published ones" "runs.#" 18
is "  what is missing" "not_measured.#" 1
is "  a published row is marked" runs.0.published true
for format in csv markdown; do
    succeeds "compare as $format, to a file" compare "$mlp" "$lenet" --format $format -o "$T/table"
    if [ ! -s "$T/out" ] && [ "$(grep -c 'mlp\|lenet' "$T/table")" -ge 2 ]; then
        ok "  contains both runs"
    else
        not_ok "  contains both runs" "$(cat "$T/table")"
    fi
done
# energy, from made counters that a process moves on
mkdir -p "$T/powercap/intel-rapl:0"
echo package-0 >"$T/powercap/intel-rapl:0/name"
echo 262143328850 >"$T/powercap/intel-rapl:0/max_energy_range_uj"
echo 0 >"$T/powercap/intel-rapl:0/energy_uj"
move_on() {
    cd "$T/powercap/intel-rapl:0" || return
    tenths=0
    while [ -f name ]; do
        tenths=$((tenths + 1))
        echo "${tenths}00000" >new
        mv new energy_uj
    done
}
move_on &
mover=$!
TINCA_POWERCAP=$T/powercap
export TINCA_POWERCAP
succeeds "measure with energy counters" measure "$mlp" --threads 1 \
    --data digits,split=test,limit=20000 --json
joules=$("$JSON_LOOK" "$T/out" joules_per_image)
if awk "BEGIN { exit !($joules > 0 && $joules < 1) }"; then
    ok "  the energy of an image is known"
else
    not_ok "  the energy of an image is known" "$joules"
fi
succeeds "train with energy counters" train lenet --data digits,limit=1000 --batch 20 --threads 1 \
    --epochs 1 --export "$T/energy.json"
shows 'energy [0-9.e-]+ J/image, [0-9.]+ W' "  shows the energy and the power"
has "  as the session file does" runs.0.timing.joules_per_image "$T/energy.json"
joules_of_run=$("$JSON_LOOK" "$T/energy.json" runs.0.timing.joules_per_image)
run runs --json
last=$(($("$JSON_LOOK" "$T/out" runs.#) - 1))
is "  and the list of runs" runs.$last.joules_per_image "$joules_of_run"
succeeds "bench with energy counters" bench lenet --mode infer --batch 50 --iterations 100 --threads 1 --json
of_bench=$("$JSON_LOOK" "$T/out" joules_per_image)
if awk "BEGIN { exit !($of_bench > 0 && $of_bench < 10) }"; then
    ok "  the energy of an image is known"
else
    not_ok "  the energy of an image is known" "$of_bench"
fi
rm "$T/powercap/intel-rapl:0/name"
wait "$mover"
TINCA_POWERCAP=$T/nothing
succeeds "bench without energy counters" bench lenet --mode infer --iterations 2 --threads 1 --json
is "  says why there is no energy" energy_unknown \
    "$T/nothing: this machine has no energy counters, as most virtual machines"
succeeds "measure without energy counters" measure "$lenet" --threads 1 --json
is "  says why there is no energy" energy_unknown \
    "$T/nothing: this machine has no energy counters, as most virtual machines"
succeeds "compare of energies" compare "$lenet" "$mlp" --sort energy
shows '^#.* J/image cpu$' "  has a column for them"
shows '^1 +mlp .* [0-9.e-]+$' "  the known one comes first"
shows '^2 +lenet .* not known$' "  the other is not known"
shows '^J/image cpu: not known: .* no energy counters' "  and why"
succeeds "compare of energies, as JSON" compare "$mlp" "$lenet" --json
is "  the measured energy" runs.0.ms_per_image.0.joules_per_image "$joules"
has "  the reason" runs.1.ms_per_image.0.energy_unknown
succeeds "compare of energies, as CSV" compare "$mlp" "$lenet" --format csv
shows ',joules_per_image cpu,watts cpu' "  has columns for them"
unset TINCA_POWERCAP

# times: of different moments no verdict; in turns one, unless the machine is busy
succeeds "compare of times that were measured one after the other" compare "$mlp" "$lenet"
shows '^ms cpu of 1 and 2: ratio [0-9.]+, not comparable: measured at different times' "  has a ratio, no verdict"
succeeds "  as JSON" compare "$mlp" "$lenet" --json
is "  no test" tests.1.test null
is "  the reason" tests.1.reason "not comparable: measured at different times"
has "  the ratio" tests.1.ratio
succeeds "a front of such times" compare "$mlp" "$lenet" --pareto ms,top1 --json
is "  has both rows, of which none dominates the other" "pareto.front.#" 2
is "  and counts the pair" pareto.not_comparable 1
for name in first second; do
    run train lenet --data digits,limit=100 --batch 20 --threads 1 --validate digits,split=test,limit=20 \
        --iterations 2 --run-dir "$T/$name" -q
done
succeeds "runs without a measurement take turns" compare "$T/first" "$T/second" --measure --threads 1 --json
cp "$T/out" "$T/turns"
is "  the models are stored with the first run" turns.0.other "$("$JSON_LOOK" "$T/second/config.json" id)" \
    "$T/first/measurements.json"
has "  blocks" tests.1.turns.blocks
unmarked=$(($("$JSON_LOOK" "$T/out" tests.1.turns.blocks) - $("$JSON_LOOK" "$T/out" tests.1.turns.blocks_marked)))
if [ "$unmarked" -ge 10 ]; then
    is "  undisturbed blocks give a verdict" tests.1.test turns "$T/turns"
    is "  at a level" tests.1.level 0.05 "$T/turns"
    has "  with an interval of the ratio" tests.1.ratio_interval.0 "$T/turns"
else
    is "  without undisturbed blocks there is no verdict" tests.1.test null "$T/turns"
    if "$JSON_LOOK" "$T/turns" tests.1.reason | grep -q 'disturbed'; then ok "  and why"; else not_ok "  and why"; fi
    has "  but a ratio" tests.1.ratio "$T/turns"
fi
succeeds "the turns are kept" compare "$T/second" "$T/first" --json
has "  for both orders" tests.1.turns.blocks
refuses 2 "1 runs are named, and 2 to 8 models" "turns of a single run" compare "$mlp" --measure

succeeds "compare, sorted by a setting, backwards" compare "$mlp" "$lenet" --sort seed --reverse
succeeds "compare with the settings that differ" compare "$mlp" "$lenet" --settings --format csv
shows ',network' "  has a column for each"
succeeds "compare with a Pareto front" compare "$mlp" "$lenet" --pareto parameters,top1
shows '^Pareto front of parameters and top1: [12]' "  names its members"
succeeds "compare with a Pareto front, as JSON" compare "$mlp" "$lenet" --pareto ms,top1 --json
is "  has its figures" pareto.y top1
refuses 2 "two figures" "a Pareto front of one figure" compare "$mlp" --pareto top1
refuses 2 "more or less of it is better" "a Pareto front of a setting" compare "$mlp" --pareto lr,top1
refuses 2 "network, loss, .* ms, cpu, reference" "an unknown column" compare "$mlp" --sort beauty
refuses 2 "more arguments" "compare without a run" compare

succeeds "advise" advise --network mlp --limit-ms 1000 --json
is "  a network that meets the limit is left alone" verdict keep
is "  the answer names the run that was used" rows_read.0.run "$mlp"
is "  the limits decide what to improve" need faster
succeeds "advise to make it smaller" advise --network mlp --need smaller --json
is "  shift comes first" technique shift
is "  it is to be tried, since it was not trained" verdict try
is "  the command that trains it" not_known.0.command \
    "tinca train mlp-shift --data digits,limit=200 --validate digits,split=test,limit=40 --batch 20 --threads 1 --epochs 1"
succeeds "advise in words" advise --network mlp --need both "$mlp"
shows '^mlp on cpu: try shift' "  the advice"
shows "^ *mlp: best top-1 .*ms on cpu.*$mlp" "  the run that was used"
shows '^ *tinca train mlp-shift ' "  the command that would measure it"
run train mlp --widths 40,30,20 --activation tanh --data digits,limit=100 --batch 20 --threads 1 \
    --validate digits,split=test,limit=40 --iterations 2 --run-dir "$T/narrow" -q
succeeds "a run with custom widths and activation is measured" measure "$T/narrow" --json
is "  by its name" network mlp-w40x30x20-tanh
is "  with its parameters" parameters 33460
succeeds "  and its saved model loads" eval "$T/narrow/best.safetensors" --data digits,limit=40 --json
is "  and all its weights" images 40
refuses 2 "makes no pictures" "a classifier refuses -o" \
    predict "$T/narrow/best.safetensors" photo.png -o made.png

succeeds "advise with runs of two networks gives two answers" advise --need faster --json
is "  in a list" "networks.#" 2
is "  the first" networks.0.network mlp
is "  the other" networks.1.network lenet
has "  with a verdict" networks.1.verdict
succeeds "the same as text" advise --need faster
shows '^mlp on cpu: ' "  of the first"
shows '^lenet on cpu: ' "  of the other"
refuses 2 "faster, smaller or both" "advise without a need" advise --network mlp
refuses 2 "number from 0" "an invalid limit" advise --network mlp --limit-ms soon
refuses 2 "faster, smaller, both" "an unknown --need" advise --need cheaper
refuses 2 "without a technique" "a network with its technique" advise --need both --network mlp-dsc

# A model that changed after it was measured: the stored measurement does not apply to it.
touch -d 2001-01-01 "$T/state/tinca/runs/$mlp/best.safetensors"
succeeds "compare with a model that has changed" compare "$mlp" "$lenet"
shows '^1 +mlp .*stale, run tinca measure again' "  says so"
shows "^stale, .*: 1, ms on cpu: tinca measure $mlp --device cpu" "  and what to do"
succeeds "  as JSON" compare "$mlp" --json
is "  no time" runs.0.ms_per_image.# 0
is "  and a missing measurement" not_measured.0.stale true
succeeds "advise ignores it" advise --network mlp --limit-ms 1000 --json
is "  and asks for a measurement" not_known.0.what "ms of mlp on cpu"
succeeds "measured again" measure "$mlp" --threads 1
succeeds "  it is used" compare "$mlp"
shows '^1 +mlp .* \+- ' "  and is shown"

succeeds "advise on them" advise --network lenet --need smaller --device cpu "$T/first" "$T/second"
shows '^ *lenet: .* MB, [0-9.e-]+ ms on cpu ' "  the time of turns stands without an interval"

# a copy of a run has another name than its ID: finding it must not read all runs
i=1000
copies=
while [ $i -lt 2000 ]; do
    copies="$copies 20200101-000000-copy-$i"
    i=$((i + 1))
    [ $i != 1500 ] || half=$copies
done
# shellcheck disable=SC2046,SC2086 # words; a process may have 1024 files open
for those in "$half" "${copies#"$half"}"; do
    (cd "$T/state/tinca/runs" && mkdir $those && for file in config.json summary.json journal; do
        tee $(printf "%s/$file " $those) <"$T/first/$file" >/dev/null || exit
    done) || not_ok "a thousand copies are made"
done
status=0
# shellcheck disable=SC2086 # words
(ulimit -t 6 && exec "$TINCA" compare --json $copies) >"$T/out" 2>"$T/err" </dev/null || status=$?
if [ "$status" = 0 ] && [ "$("$JSON_LOOK" "$T/out" 'runs.#')" = 1000 ]; then ok "a thousand copies are compared in seconds"; else
    not_ok "a thousand copies are compared in seconds" "exit $status: $(told)"; fi
done_testing
