#!/bin/sh
# tinca models: the table of all models, and what is stored of them.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"

train() { # train NET LEARNING_RATE FILE: makes a short run and saves its model
    succeeds "a short run of $1" train "$1" --data digits,limit=200 --batch 20 --threads 1 --lr "$2" \
        --validate digits,split=test,limit=40 --epochs 1 -q --save "$3"
}

succeeds "without any model" models
shows 'no models yet' "  says so"
train lenet 0.01 "$T/lenet.safetensors"
train lenet-shift 0.01 "$T/shift.safetensors"
figures="$T/state/tinca/model-figures"

succeeds "before measuring" models --threads 1 --sort name --json
is "  each run is a row" "models.#" 2
is "  by its network's name" models.0.name lenet
is "  its parameters" models.0.parameters 431080
is "  the size of its file" models.0.bytes "$(($(wc -c <"$T/lenet.safetensors")))"
is "  its FLOPs" models.0.flops 4586000
is "  the accuracy of its validation" models.0.accuracy_from validation
is "  on that many images" models.0.images 40
is "  its data set" models.0.data digits,split=test,limit=40
is "  no time was measured" models.0.ms null
is "  and no energy" models.0.joules_per_image null
is "  a network with a technique comes from the plain one" models.1.origin lenet
is "  which is in the table" models.1.origin_row 1
has "  and has a gain in points" models.1.gain.points
is "  but none in time, which is not measured" models.1.gain.ms null
succeeds "as text" models --threads 1
shows 'lenet-shift +[0-9.]+ \([0-9.]+ - [0-9.]+\) v .* not measured ' "  what is not measured is shown so"
shows '^2 models are not measured' "  with the command that measures it"

succeeds "measuring" models --threads 1 --sort name --measure --images 20 --json
is "  the accuracy is measured" models.0.accuracy_from measured
is "  on all images" models.0.images 40
is "  the time on some" models.0.timed_images 20
has "  an interval of the accuracy" models.0.top1_interval.1
has "  an interval of the median" models.0.ms_interval.1
has "  the ratio of the times" models.1.gain.ms
has "  the most accurate one is on a front" models.0.front
top1=$("$JSON_LOOK" "$T/out" models.0.top1)
ms=$("$JSON_LOOK" "$T/out" models.0.ms)
succeeds "the accuracy is that of eval" eval "$T/lenet.safetensors" --threads 1 \
    --data digits,split=test,limit=40 --json
is "  the same" top1 "$top1"

succeeds "once more" models --threads 1 --sort name --measure --json
is "  what is stored is not measured again" models.0.ms "$ms"
succeeds "a copy of a model" models "$T/lenet.safetensors" --only --threads 1 --json
is "  is one row" "models.#" 1
is "  has the figures of its contents" models.0.ms "$ms"
succeeds "on another data set" models "$T/lenet.safetensors" --only --threads 1 --json \
    --data digits,split=test,limit=30
is "  it is not measured" models.0.accuracy_from null
succeeds "with other threads" models "$T/lenet.safetensors" --only --threads 2 --json
is "  its time is not known" models.0.ms null
succeeds "all anew" models "$T/lenet.safetensors" --only --threads 1 --again --images 20 --json
is "  with times" models.0.timed_images 20
is "  one entry for each data set, device and machine" "measured.#" 1 "$(ls "$figures"/*.json | head -n 1)"

mkdir "$T/folder"
cp "$T/shift.safetensors" "$T/folder/b.safetensors"
cp "$T/lenet.safetensors" "$T/folder/a.safetensors"
echo nonsense >"$T/folder/c.safetensors"
succeeds "a folder" models "$T/folder" --only --threads 1 --json
is "  its models are rows" "models.#" 2
is "  in the order of their names" models.0.name lenet
is "  what is no model is counted" skipped 1
if grep -q '1 model could not be read: .*c.safetensors' "$T/err"; then
    ok "  and named"
else
    not_ok "  and named" "$(told)"
fi
mkdir "$T/unknown"
succeeds "a file whose data are not known" train mlp --data digits,limit=60 --batch 20 --threads 1 \
    --epochs 1 -q --save "$T/unknown/m.safetensors"
run models "$T/unknown" --only --threads 1 --measure
if [ "$status" = 1 ] && grep -q 'm.safetensors: it is not known which data set .*--data SPEC' "$T/err"; then
    ok "  cannot be measured, which is an error"
else
    not_ok "  cannot be measured, which is an error" "exit $status: $(told)"
fi
run models "$T/unknown" --only --threads 1 --measure --data idx:"$T/absent"
if [ "$status" = 1 ] && grep -q 'm.safetensors: .*absent' "$T/err"; then
    ok "  an error of the data names the model"
else
    not_ok "  an error of the data names the model" "exit $status: $(told)"
fi
succeeds "half precision" weights "$T/lenet.safetensors" --save-precision float16 --save "$T/half.safetensors"
if whole_list; then measure="--measure --images 20"; else measure=; fi # advise_other_test times such a model
# shellcheck disable=SC2086 # words
succeeds "a file that was made from a model in the table" models "$T/lenet.safetensors" "$T/half.safetensors" \
    --only --threads 1 $measure --json
is "  has its data" models.1.data digits,split=test,limit=40
is "  and is compared with it" models.1.origin_row 1
if whole_list; then has "  timed in turn, so that the ratio of the times is known" models.1.gain.ms; fi
cp "$T/half.safetensors" "$T/copy.safetensors"
succeeds "a copy" models "$T/half.safetensors" "$T/copy.safetensors" --only --threads 1 --json
is "  has no row of its own" "models.#" 1
is "  and is counted" models.0.copies 1
succeeds "as text" models "$T/half.safetensors" "$T/copy.safetensors" --only --threads 1
shows 'half.safetensors [(]and 1 equal[)]' "  it is mentioned"
succeeds "several data sets" models --threads 1
shows '^There are 2 data sets' "  are noted"
shows ' DATA ' "  and have a column"

refuses 1 'c.safetensors' "a file that is no model" models "$T/folder/c.safetensors" --only
refuses 1 'absent.safetensors' "a file that is missing" models "$T/absent.safetensors"
refuses 2 'no such run' "a run that is missing" models nosuchrun
refuses 2 'csv' "two documents" models --json --csv
refuses 2 'sort' "a key that is none" models --sort colour
refuses 2 'output' "text in a file" models -o "$T/table"
run models "$T/lenet.safetensors" --only --threads 1 --data idx:"$T/absent" --measure
if [ "$status" = 1 ] && grep -q absent "$T/err" && grep -q lenet "$T/out"; then
    ok "a data set that is missing: the table is shown all the same"
else
    not_ok "a data set that is missing: the table is shown all the same" "exit $status: $(told)"
fi

# --- several commands at the same time ---
. "$srcdir/tests/faults/hold.sh"
list=$XDG_STATE_HOME/tinca/model-files
waits() { grep -q -- "-> FLOCK .* $1 " /proc/locks; }
waits_or_gone() { waits "$1" || gone "$1"; }
# at_once FILE FIRST SECOND: starts FIRST, which has read FILE and is about to replace it when SECOND begins; each is a
# list of arguments
at_once() {
    # shellcheck disable=SC2086 # a list of arguments
    LD_PRELOAD=$HOLD_LIBRARY FAULT=rename:1:stop FAULT_ONLY=$1 ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS-} \
        "$TINCA" $2 >/dev/null 2>&1 </dev/null &
    child=$!
    wait_until stopped_or_gone $child
    is_stopped $child || not_ok "the first one is stopped before it replaces $1"
    # shellcheck disable=SC2086 # a list of arguments
    "$TINCA" $3 >/dev/null 2>&1 </dev/null &
    second=$!
    if [ -r /proc/locks ]; then wait_until waits_or_gone $second; fi
    kill -CONT $child
    wait $child
    wait $second
}
rm -f "$list"
at_once model-files "prune $T/lenet.safetensors -o $T/one.safetensors --flops 0.5 -q" \
    "prune $T/lenet.safetensors -o $T/two.safetensors --flops 0.6 -q"
if [ "$(grep -c 'one.safetensors\|two.safetensors' "$list")" = 2 ]; then
    ok "two commands that list their models at the same time list both"
else
    not_ok "two commands that list their models at the same time list both" "$(cat "$list")"
fi
rm -f "$T/one.safetensors" "$T/two.safetensors"
succeeds "a run to measure" train mlp --widths 8 --data digits,limit=40 --batch 20 --epochs 1 --threads 1 -q --run-dir "$T/measured"
at_once measurements.json "measure $T/measured --threads 1 --images 5" "measure $T/measured --images 5 --device reference"
if [ "$(grep -c '"device":' "$T/measured/measurements.json")" = 2 ]; then
    ok "two measurements of a run at the same time are both stored"
else
    not_ok "two measurements of a run at the same time are both stored" "$(cat "$T/measured/measurements.json")"
fi
run runs --check "$T/measured"
shows '0 damaged, 0 with warnings' "  and the folder is sound"
run models "$T/measured/weights.safetensors" --only
measure_file="models $T/measured/weights.safetensors --only --measure --threads 1 --images 5"
at_once model-figures "$measure_file --data digits,limit=20" "$measure_file --data digits,limit=30"
both=$(grep -l 'limit=30' "$figures"/*.json | xargs grep -l 'limit=20')
if [ -n "$both" ]; then
    ok "and two figures of a model"
    rm "$both"
else
    not_ok "and two figures of a model" "$(grep -h '"data"' "$figures"/*.json)"
fi

echo "{" >"$(ls "$figures"/*.json | head -n 1)"
succeeds "a damaged file of figures" models "$T/folder" --only --threads 1 --json
is "  counts as empty" "models.#" 2
succeeds "as CSV" models --threads 1 --csv
if [ "$(sed -n 1p "$T/out" | tr ',' '\n' | wc -l)" = 20 ] && [ "$(wc -l <"$T/out")" = 4 ]; then
    ok "  a heading, and a line for each model"
else
    not_ok "  a heading, and a line for each model" "$(cat "$T/out")"
fi
succeeds "as Markdown, to a file" models --threads 1 --format markdown -o "$T/table.md"
if [ "$(grep -c '^|' "$T/table.md")" = 5 ]; then ok "  a table"; else not_ok "  a table" "$(cat "$T/table.md")"; fi
done_testing
