#!/bin/sh
# The outputs of a network and the classes of a data set: the graph alone says how many outputs there are, and a set
# with other classes is refused, or the output layers are made anew.
srcdir=$(cd "${srcdir:-.}" && pwd)
. "$srcdir/tests/cli/tap.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
cd "$T" || exit 99

# a folder of three classes, cat, dog and owl: the pictures of three digits that an untrained network gets wrong
run train lenet --data digits,limit=10 --batch 10 --iterations 0 --save untrained.safetensors --threads 1 -q
run eval untrained.safetensors --data digits,limit=300 --wrong pictures --threads 1
set -- cat dog owl
for digit in 0 1 2 3 4; do
    [ $# -gt 0 ] && [ "$(ls pictures | grep -c "^[0-9]*_${digit}_as")" -ge 4 ] || continue
    mkdir -p "three/$1"
    for picture in $(ls pictures | grep "^[0-9]*_${digit}_as" | head -n 4); do cp "pictures/$picture" "three/$1/"; done
    shift
done
is_three() { [ "$(find three -name '*.png' | wc -l)" -eq 12 ]; }
is_three && ok "twelve pictures of three classes" || not_ok "twelve pictures" "$(find three)"

mkdir four && cp -r three/* four && cp -r three/owl four/yak

network() { # network FILE CLASSES LAYERS: a network file whose layers have fixed numbers of outputs
    printf '{"name": "%s", "input": [1, 28, 28], "classes": %s, "normalise": "unit", "layers": [
 {"op": "conv", "name": "c", "output": 4, "kernel": 5, "stride": 3}, {"op": "relu"}, %s]}\n' "${1%.json}" "$2" "$3" >"$1"
}
network ten.json 10 '{"op": "flatten"}, {"op": "linear", "name": "fc", "output": 10}'
network says3.json 3 '{"op": "flatten"}, {"op": "linear", "name": "fc", "output": 10}'
small="--threads 1 --batch 4 --epochs 1"

# --- the number of outputs is that of the graph ---
for file in ten says3; do
    succeeds "$file.json is read" info $file.json --json
    is "  it has the outputs of its last layer" classes 10
done
network two.json 10 '{"op": "flatten", "name": "flat"}, {"op": "linear", "name": "other", "output": 7},
 {"op": "softmax_cross_entropy", "name": "side", "weight": 0.3}, {"op": "linear", "name": "fc", "from": "flat", "output": 10}'
refuses 1 'reads 10 classes, but an auxiliary one 7' "losses that read different numbers" info two.json

# --- refused ---
# shellcheck disable=SC2086
{
    refuses 1 'three: it has 3 classes, but ten has 10 outputs: .*--reset-classes.*classes=10' \
        "three classes for ten outputs" train ./ten.json --data folder:three $small
    refuses 1 'it has 12 classes, but ten has 10 outputs: .*--reset-classes' "twelve classes" \
        train ./ten.json --data digits,limit=40,classes=12 $small
    succeeds "three classes of ten" train ./ten.json --data folder:three,classes=10 --validate folder:three $small \
        --save wide.safetensors --export wide.json --lr 0
    run eval wide.safetensors --data folder:three --threads 1 --json
    is "  the validation has read the outputs where they are" top1 "$("$JSON_LOOK" wide.json runs.0.validation.top1.0)"
    refuses 1 'but the training set has 10' "a validation set of more classes" train ./ten.json \
        --data digits,limit=40 --validate digits,limit=40,classes=12 $small
}

# --- made anew ---
# says PATTERN NAME: the last command has said so on its standard error
says() { grep -q "$1" err && ok "$2" || not_ok "$2" "$(told)"; }
# same_everywhere MODEL: eval gives the same with every batch
same_everywhere() {
    seen=
    for batch in 1 5 12; do
        run eval "$1" --data folder:three --batch $batch --threads 1 --json
        seen="$seen $("$JSON_LOOK" out top1)"
    done
    # shellcheck disable=SC2086
    set -- $seen
    [ $# = 3 ] && [ "$1" = "$2" ] && [ "$2" = "$3" ] && ok "  eval is the same with batches of 1, 5 and 12" ||
        not_ok "  eval is the same with every batch" "$seen"
}
# mean FILE ARRAY: the mean of an array's values
mean() {
    "$TINCA" weights "$1" --json >list.json
    i=0
    while name=$("$JSON_LOOK" list.json "arrays.$i.name") && [ -n "$name" ]; do
        [ "$name" = "$2" ] && "$JSON_LOOK" list.json "arrays.$i.mean" && return
        i=$((i + 1))
    done
}
# shellcheck disable=SC2086
{
    succeeds "the output layers are made anew" train ./ten.json --data folder:three --validate folder:three \
        --reset-classes $small --run-dir new --save new.safetensors
    says 'output layers (fc) are made anew: 3 outputs.* instead of 10' "  which is said"
    run info new.safetensors --json
    is "  the saved model has three outputs" classes 3
    same_everywhere new.safetensors
    succeeds "such a run is whole" runs --check ./new

    succeeds "fine-tuning makes them anew, too" train ./ten.json --weights wide.safetensors --data folder:three \
        --validate folder:three $small --lr 0 --run-dir tuned --save tuned.safetensors
    says 'output layers (fc) are made anew: 3 outputs.* instead of 10' "  which is said"
    [ -n "$(mean wide.safetensors c.weight)" ] &&
        [ "$(mean wide.safetensors c.weight)" = "$(mean tuned.safetensors c.weight)" ] &&
        ok "  the other layers have the file's weights" || not_ok "  the other layers have the file's weights"
    same_everywhere tuned.safetensors
    succeeds "  a fork of it" train --fork ./tuned --epochs 2 --run-dir forked
    succeeds "  one that takes the weights alone" train --fork ./new --batch 6 --lr 0 --run-dir alone --save alone.safetensors
    if grep -q 'anew' err; then not_ok "  has the output layers of its ancestor, and says nothing else" "$(told)"; else
        ok "  has the output layers of its ancestor, and says nothing else"; fi
    [ -n "$(mean new.safetensors fc.weight)" ] &&
        [ "$(mean new.safetensors fc.weight)" = "$(mean alone.safetensors fc.weight)" ] &&
        ok "  with their values" || not_ok "  with their values"
    succeeds "  one for other classes" train --fork ./tuned --data folder:four --lr 0 --run-dir more --save more.safetensors
    says 'output layers (fc) are made anew: 4 outputs.* instead of 3' "  has new output layers, and says so"
    [ "$(mean tuned.safetensors c.weight)" = "$(mean more.safetensors c.weight)" ] &&
        ok "  the others are its ancestor's" || not_ok "  the others are its ancestor's"
    succeeds "  such a fork is whole" runs --check ./more
    succeeds "a file with as many outputs as there are classes" train ./ten.json --weights new.safetensors --data folder:three \
        --lr 0 $small
    if grep -q 'anew:' err; then not_ok "  gives the output layers its values, and nothing else is said" "$(told)"; else
        ok "  gives the output layers its values, and nothing else is said"; fi

    succeeds "--reset-classes with as many classes" train ./ten.json --weights wide.safetensors --reset-classes \
        --data folder:three,classes=10 $small --lr 0 --seed 5 --save again.safetensors
    says 'output layers (fc) begin anew, with 10 outputs as before' "  says so"
    [ "$(mean wide.safetensors c.weight)" = "$(mean again.safetensors c.weight)" ] &&
        [ "$(mean wide.safetensors fc.weight)" != "$(mean again.safetensors fc.weight)" ] &&
        ok "  gives the output layers new values" || not_ok "  gives the output layers new values"
    run train ./ten.json --weights wide.safetensors --data folder:three,classes=10 $small --lr 0 --save kept.safetensors
    [ "$(mean wide.safetensors fc.weight)" = "$(mean kept.safetensors fc.weight)" ] &&
        ok "  without it they keep the file's" || not_ok "  without it they keep the file's" "$(told)"

    network repeated.json 10 '{"op": "conv", "name": "r", "repeat": 2, "output": 10, "kernel": 3, "stride": 2}, {"op": "average_pool", "global": true}'
    refuses 1 'its 10 outputs cannot be made 3: a block or a repetition computes them' "outputs of a repeated layer" \
        train ./repeated.json --reset-classes --data folder:three $small
}

# --- resumed ---
# shellcheck disable=SC2086
"$TINCA" train ./ten.json --weights wide.safetensors --data folder:three $small --epochs 4 --seed 3 \
    --save whole.safetensors -q --run-dir whole >log 2>&1
# shellcheck disable=SC2086
"$TINCA" train ./ten.json --weights wide.safetensors --data folder:three $small --epochs 4 --seed 3 --max-time 0.000001 \
    -q --run-dir half >>log 2>&1
run resume ./half --max-time 1h --save resumed.safetensors
[ "$status" = 0 ] && cmp -s whole.safetensors resumed.safetensors && ok "a resumed run has the same output layers" ||
    not_ok "a resumed run has the same output layers" "$(cat log err)"

# --- of an earlier version, which trained ten outputs on three classes ---
# The run is one of today's with ten classes, whose files are changed to say what such a run said.
# shellcheck disable=SC2086
run train ./ten.json --weights wide.safetensors --data folder:three,classes=10 $small --epochs 4 --seed 3 \
    --max-time 0.000001 -q --run-dir early
# shellcheck disable=SC2086
run train ./ten.json --data folder:three --reset-classes $small --seed 3 -q --run-dir today
edit() { sed "$2" "$1" >edited && cat edited >"$1"; }
edit early/config.json '/"crc32"/d; /"reset-classes"/d; s/,classes=10//'
cp today/data.json early/data.json
succeeds "an earlier run of three classes and ten outputs is forked" train --fork ./early@last --max-time 1h \
    --run-dir grown --save grown.safetensors -q
succeeds "  and resumed" resume ./early --max-time 0.000001 -q
succeeds "  and once more" resume ./early --max-time 1h --save early.safetensors -q
for model in grown early; do
    run info $model.safetensors --json
    is "  $model: with its ten outputs" classes 10
done

# --- names ---
# a model whose classes have only numbers
{
    i=0
    for class in cat dog owl; do
        for picture in three/$class/*; do echo "$PWD/$picture,$i"; done
        i=$((i + 1))
    done
} >numbers.csv
network three.json 3 '{"op": "flatten"}, {"op": "linear", "name": "fc", "output": "classes"}'
# shellcheck disable=SC2086
succeeds "a model whose classes have numbers" train ./three.json --data list:numbers.csv $small --save numbers.safetensors
succeeds "  takes the names of a folder" eval numbers.safetensors --data folder:three --per-class --threads 1 --json
is "  in its table" per_class.1.name dog
# how many classes a list has is known once it is read
# shellcheck disable=SC2086
for data in folder:three list:numbers.csv; do
    succeeds "a student of its three classes: $data" train lenet --data $data --teacher numbers.safetensors $small -q
done
# shellcheck disable=SC2086
refuses 1 'it knows 3 classes, and the student 4' "one of four" train lenet --data folder:four --teacher numbers.safetensors $small
# shellcheck disable=SC2086
run train ./ten.json --data list:numbers.csv,classes=10 $small --save many.safetensors -q
refuses 1 'three: it has 3 classes, but ten predicts 10: add classes=10' "one of more outputs, and other names" \
    eval many.safetensors --data folder:three --threads 1
succeeds "  with classes=10 they are the first ones" eval many.safetensors --data folder:three,classes=10 --threads 1
refuses 1 'four: it has 4 classes, but three only predicts 3' "a set of more classes" \
    eval numbers.safetensors --data folder:four --threads 1
run quantize numbers.safetensors --calibrate folder:four -o q.safetensors
[ "$status" = 1 ] && [ ! -e q.safetensors ] && ok "the same for a calibration" || not_ok "a calibration" "$(told)"
says 'four: it has 4 classes, but three only predicts 3' "  which is said"

# --- names that are numbers: a folder sorts "10" before "2" ---
{
    i=0
    for picture in $(ls pictures | head -n 12); do
        mkdir -p "twelve/$i"
        cp "pictures/$picture" "twelve/$i/"
        echo "$PWD/twelve/$i/$picture,$i"
        i=$((i + 1))
    done
} >twelve.csv
network twelve.json 12 '{"op": "flatten"}, {"op": "linear", "name": "fc", "output": "classes"}'
few="--threads 1 --batch 12 --epochs 1"
# shellcheck disable=SC2086
run train ./twelve.json --data list:twelve.csv --threads 1 --batch 12 --epochs 200 --lr 0.1 --save by-number.safetensors -q
run eval by-number.safetensors --data list:twelve.csv --threads 1 --json
cp out by-list.json
is "a model of twelve classes knows its pictures" top1 100
# as_by_list NAME: the last command's loss and accuracy are those of the list
as_by_list() {
    is "$1" top1 100
    is "  and its loss" loss "$("$JSON_LOOK" by-list.json loss)"
}
succeeds "it is evaluated on folders 0 to 11" eval by-number.safetensors --data folder:twelve --per-class --threads 1 --json
as_by_list "  whose classes are found by their names"
says 'twelve: its classes have the model.s numbers, by their names' "  which is said"
is "  class 2 is 2" per_class.2.name 2
run eval by-number.safetensors --data folder:twelve --predictions rows.csv --threads 1
if awk -F, 'NR > 1 { split($2, at, "/"); bad += at[length(at) - 1] != $3 || $3 != $4 } END { exit bad || NR != 13 }' rows.csv; then
    ok "  in the predictions, too"; else not_ok "  in the predictions, too" "$(cut -c 1-200 rows.csv)"; fi
mkdir shifted && for i in 0 1 2 3 4 5 6 7 8 9 10 11; do cp -r "twelve/$i" "shifted/$((i + 1))"; done
succeeds "folders with other numbers take the classes in their order" eval by-number.safetensors --data folder:shifted \
    --per-class --threads 1 --json
is "  whose names they give" per_class.1.name 10
says "shifted: its classes have other numbers as names than the model's: the model's class 0 is taken for 1" \
    "  which is said"
run eval numbers.safetensors --data folder:three --threads 1
if [ -s err ]; then not_ok "  names that are none need no note" "$(told)"; else ok "  names that are none need no note"; fi
# shellcheck disable=SC2086
{
    succeeds "a run validates on the folders" train ./twelve.json --weights by-number.safetensors --data list:twelve.csv \
        --validate folder:twelve $few --lr 0 --export validated.json
    is "  with their accuracy" runs.0.validation.top1.0 100 validated.json
    succeeds "it is trained further on the folders" train ./twelve.json --weights by-number.safetensors --data folder:twelve \
        $few --epochs 4 --lr 0 --run-dir renumbered --save text-order.safetensors
    says 'the outputs were put into the order of the data.s classes, by their names' "  which is said"
    run eval text-order.safetensors --data folder:twelve --per-class --threads 1 --json
    as_by_list "  from the same accuracy"
    is "  in the order of the folders" per_class.2.name 10
    run eval text-order.safetensors --data list:twelve.csv --threads 1 --json
    as_by_list "  and the list's"
    succeeds "  a fork of it by numbers" train --fork ./renumbered --data list:twelve.csv $few --lr 0 --save back.safetensors
    run eval back.safetensors --data list:twelve.csv --per-class --threads 1 --json
    as_by_list "  is as accurate"
    is "  and has the list's order" per_class.2.name 2
    run train ./twelve.json --weights by-number.safetensors --data folder:twelve $few --epochs 4 --lr 0 --max-time 0.000001 \
        -q --run-dir cut
    rm -f by-number.gone && mv by-number.safetensors by-number.gone
    succeeds "  it is resumed without the file" resume ./cut --max-time 1h --save cut.safetensors
    mv by-number.gone by-number.safetensors
    run eval cut.safetensors --data folder:twelve --threads 1 --json
    as_by_list "  and is as accurate"
    succeeds "a teacher with the list's order" train ./twelve.json --teacher by-number.safetensors --data folder:twelve \
        --weights by-number.safetensors $few --lr 0 --distill-weight 1 --export taught.json
    succeeds "  is one" runs
}
run quantize by-number.safetensors --calibrate folder:twelve --threads 1 -o twelve8.safetensors
if [ "$status" = 0 ] || ! grep -q 'its class' err; then ok "a calibration takes them by name"; else not_ok "a calibration" "$(told)"; fi
# real names in another order
sed 's/,0$/,zebra/; s/,1$/,ant/; s/,2$/,cow/' numbers.csv >names.csv
mkdir animals && cp -r three/cat animals/zebra && cp -r three/dog animals/ant && cp -r three/owl animals/cow
mkdir others && cp -r three/cat others/zebra && cp -r three/dog others/ant && cp -r three/owl others/pig
# shellcheck disable=SC2086
run train ./three.json --data list:names.csv $small --save animals.safetensors -q
succeeds "names in one order" eval animals.safetensors --data folder:animals --threads 1
refuses 1 'others: its class 1 is pig, but the model.s is cow' "another name" eval animals.safetensors --data folder:others --threads 1

# --- NaN: no class, neither in top-1 nor in top-5 ---
network lost.json 3 '{"op": "relu"}, {"op": "linear", "name": "a", "output": 8, "init": {"constant": 3e38}},
 {"op": "linear", "name": "fc", "output": "classes", "init": {"gaussian": 1}}'
run train ./lost.json --data folder:three --batch 4 --iterations 0 --seed 1 --save lost.safetensors -q --threads 1
succeeds "a network whose output is NaN" eval lost.safetensors --data folder:three --per-class --confusion --threads 1 --json
is "  counts not in top-1" top1 0
is "  nor in top-5" top5 0
is "  nor as a class" per_class.0.predicted 0
succeeds "  in a table" eval lost.safetensors --data folder:three --per-class --threads 1
if grep -q 'calibration error - %' out && ! grep -Eiq '(^| )-?nan %|-nan' out; then ok "  without a figure that is none"; else
    not_ok "  without a figure that is none" "$(cat out)"; fi
picture=$(find three -name '*.png' | sort | head -n 1)
succeeds "a prediction" predict lost.safetensors "$picture" --threads 1
shows "no class: the network's output is NaN" "  says so"
run predict lost.safetensors "$picture" --threads 1 --json
is "  and has no classes" 'predictions.0.classes.#' 0
# what is no number is NaN in every text, without a sign, and is no percentage
sed 's/"lost"/"broken"/' lost.json >broken.json
run train ./broken.json --data folder:three --validate folder:three --batch 4 --iterations 0 --seed 1 --threads 1 \
    --save broken.safetensors --name begun
run train ./broken.json --data folder:three --batch 4 --iterations 3 --seed 1 --threads 1 --name diverged
[ "$status" = 1 ] && ok "a loss that is NaN ends a run" || not_ok "a loss that is NaN ends a run" "$status: $(told)"
while read -r command; do
    # shellcheck disable=SC2086 # the words of a command
    run $command --threads 1
    # shellcheck disable=SC2086
    [ "$status" != 2 ] || run $command
    if [ "$status" = 0 ] && ! grep -Eq '(^|[^A-Za-z.])[-+]?nan([^A-Za-z.]|$)|R = NaN|NaN %' out err; then
        ok "  $command"
    else
        not_ok "  $command" "$status: $(grep -Ehi '[-+]?nan' out err) $(told)"
    fi
done <<'END'
runs
compare begun diverged
compare begun diverged --format markdown
eval broken.safetensors --data folder:three
eval broken.safetensors --data folder:three --per-class --confusion
measure begun --images 3
models broken.safetensors --measure
prune broken.safetensors -o p.safetensors --flops 0.8 --validate folder:three
quantize broken.safetensors --calibrate folder:three -o q.safetensors
weights broken.safetensors
info broken.safetensors
bench ./broken.json --batch 2 --iterations 2 --profile
explain diverged
export diverged --format md -o diverged.md
END
run runs
shows '3 +NaN|/3 +NaN' "the list of runs says NaN"
printf '{"name": "none", "input": [1, 1, 10], "classes": 10, "layers": [{"op": "flatten"}]}' >none.json
succeeds "a network that moves no bytes" info ./none.json
if grep -q 'R = ' out; then not_ok "  has no intensity" "$(cat out)"; else ok "  has no intensity"; fi
done_testing
