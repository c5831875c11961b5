#!/bin/sh
# A network that begins with the weights of a saved model prepares pictures as that model says: in training, forks,
# find-rate, groups of seeds, sweeps and several processes. A run goes on as it began, whatever becomes of the file.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/cli/mpi.sh"
. "$srcdir/tests/faults/hold.sh"
MAKE_PICTURE=$(dirname "$TINCA")/make_picture
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
case $MAKE_PICTURE in /*) ;; *) MAKE_PICTURE=$PWD/$MAKE_PICTURE ;; esac
cd "$T" || exit 99

mkdir -p set/a set/b dark/a dark/b dark/c
"$MAKE_PICTURE" phone 60 40 set/a/phone.jpg || exit 99
"$MAKE_PICTURE" progressive 200 150 set/a/wide.jpg || exit 99
"$MAKE_PICTURE" interlaced 17 25 set/b/tall.png || exit 99
"$MAKE_PICTURE" interlaced 14 14 set/b/same.png || exit 99
for class in a b c; do cp set/b/*.png dark/$class/; done
mkdir other && cp -r dark/a dark/b other/

# network FILE CHANNELS SIDE: writes a network whose weights fit every side
network() {
    cat >"$1" <<NETWORK
{"name": "$(basename "$1" .json)", "input": [$2, $3, $3], "classes": 2, "normalise": "measured",
 "layers": [{"op": "conv", "name": "conv", "output": 4, "kernel": 3, "init": "he"}, {"op": "relu", "name": "relu"},
            {"op": "average_pool", "name": "pool", "global": true}, {"op": "flatten", "name": "flatten"},
            {"op": "linear", "name": "fc", "output": "classes", "init": "he"}]}
NETWORK
}
network net.json 3 14
network large.json 3 28
network grey.json 1 14

short="--batch 2 --iterations 1 --seed 3 --quiet"
# preprocessing FILE NAME: writes what info says of a model; nothing if there is none
preprocessing() {
    run info "$1" --json
    for key in filter orient resize.0 resize.1 normalisation.name normalisation.mean.0 normalisation.mean.2 \
        normalisation.deviation.0 measured.of; do
        value=$("$JSON_LOOK" "$T/out" "preprocessing.$key" 2>/dev/null) && echo "$key $value"
    done >"$2.txt"
}
same() { if [ -s "$1.txt" ] && cmp -s "$1.txt" "$2.txt"; then ok "$3"; else not_ok "$3" "$(diff "$1.txt" "$2.txt"; told)"; fi; }
# finds PATTERN NAME FILE: a session has such a finding
finds() { if grep -q "$1" "$3"; then ok "$2"; else not_ok "$2" "$(grep '"text"' "$3"; told)"; fi; }
# logits MODEL NAME: writes what a model makes of the pictures
logits() {
    run predict "$1" set --format csv -o "$2.csv"
    cut -d, -f1,3- "$2.csv" | sort >"$2.txt"
}

# shellcheck disable=SC2086 # lists of options
{
    succeeds "a model" train net.json --data folder:set,filter=bicubic,orient=no $short --save base.safetensors
    preprocessing base.safetensors base
    grep -q 'filter bicubic' base.txt && grep -q 'measured.of 4' base.txt && ok "  that prepares pictures in its own way" ||
        not_ok "  that prepares pictures in its own way" "$(cat base.txt)"
    succeeds "its weights begin another network" train net.json --weights base.safetensors --data folder:dark,only=a \
        --lr 0 $short --reset-classes --save tuned.safetensors --export tuned.json
    preprocessing tuned.safetensors tuned
    same base tuned "  which prepares pictures as the model does"
    finds 'pictures are prepared as by base.safetensors: filter=bicubic, orient=no, normalisation .*measured' \
        "  and says so" tuned.json
    run train net.json --weights base.safetensors --data folder:set --lr 0 $short --save again.safetensors
    logits base.safetensors base.logits
    logits again.safetensors again.logits
    same base.logits again.logits "  to the same logits"
    run train base.safetensors --weights base.safetensors --data folder:set $short --export self.json
    grep -q 'are prepared' self.json && not_ok "  a model that is trained further needs no word" "$(cat self.json)" ||
        ok "  a model that is trained further needs no word"

    # --- settings that are given ---
    succeeds "a filter that the data names" train net.json --weights base.safetensors --data folder:set,filter=bilinear \
        $short --save given.safetensors --export given.json
    preprocessing given.safetensors given
    sed 's/filter bicubic/filter bilinear/' base.txt >expected.txt
    same expected given "  is the only difference"
    finds 'prepared by filter=bicubic, orient=no.*otherwise, by filter=bilinear, orient=no' "  and a finding" given.json
    run train net.json --weights base.safetensors --data folder:set,orient=yes $short --save given.safetensors
    preprocessing given.safetensors given
    sed 's/orient false/orient true/' base.txt >expected.txt
    same expected given "so is the orientation"
    run train net.json --weights base.safetensors --data folder:set --filter bilinear --normalise unit $short \
        --save given.safetensors --export given.json
    run info given.safetensors --json
    is "--filter and --normalise hold" preprocessing.filter bilinear
    is "  both" preprocessing.normalisation.name unit
    is "  with the model's orientation" preprocessing.orient false
    finds 'otherwise, by filter=bilinear, orient=no, normalisation .*unit' "  and a finding" given.json

    # --- other inputs ---
    run train large.json --weights base.safetensors --data folder:set $short --save large.safetensors
    run info large.safetensors --json
    is "a larger input has the filter" preprocessing.filter bicubic
    is "  and a size before the crop in proportion" preprocessing.resize.0 32
    run train grey.json --weights base.safetensors --reset conv --data folder:set $short --save grey.safetensors \
        --export grey.json
    run info grey.safetensors --json
    is "another number of channels has the filter" preprocessing.filter bicubic
    is "  but measures its own numbers" preprocessing.measured.of 4
    finds 'this run prepares them otherwise' "  and a finding" grey.json

    # --- models of earlier versions ---
    run train net.json --filter bilinear2 --data folder:set --normalise unit $short --save old.safetensors
    run train net.json --weights old.safetensors --data folder:set $short --save old_tuned.safetensors
    succeeds "the weights of a model that records nothing" info old_tuned.safetensors
    shows 'orient=no.*filter=bilinear2' "  are trained further by bilinear2"
    shows 'deviation 256' "  with its numbers"

    # --- forks ---
    run train net.json --weights base.safetensors --data folder:set --batch 2 --iterations 2 --seed 3 --quiet \
        --run-dir "$T/ancestor"
    run train --fork "$T/ancestor@final" --data folder:other $short --save forked.safetensors
    preprocessing forked.safetensors forked
    same base forked "a fork of a saved model prepares pictures as that does"

    # --- what trains many ---
    for from in net.json base.safetensors; do
        run find-rate $from --weights base.safetensors --data folder:set --batch 2 --iterations 12 --json
        for i in 0 5 11; do "$JSON_LOOK" "$T/out" "points.$i.loss"; done >"${from%.*}.rates.txt" 2>&1
    done
    grep -q '^[0-9]' net.rates.txt || not_ok "find-rate" "$(cat net.rates.txt; told)"
    same net.rates base.rates "find-rate trains on the same pixels"
    succeeds "a group of seeds" train net.json --weights base.safetensors --data folder:set $short --seeds 2 --tag seeded
    run runs tag=seeded --json
    found=0
    for i in 0 1; do
        preprocessing "$("$JSON_LOOK" "$T/out" "runs.$i.directory")/weights.safetensors" "seed$i"
        cmp -s base.txt seed$i.txt && found=$((found + 1))
        run runs tag=seeded --json
    done
    [ $found = 2 ] && ok "  each follows the model" || not_ok "  each follows the model" "$(cat seed0.txt seed1.txt)"
    echo '{"networks": ["net.json"], "weights": "base.safetensors", "batch": [2], "iterations": 1, "seed": 3,
           "data": "folder:set"}' >grid.json
    succeeds "a sweep" sweep grid.json --output "$T/sweep"
    preprocessing "$(find sweep "$XDG_STATE_HOME" -name weights.safetensors -newer grid.json | head -n 1)" cell
    same base cell "  whose cell follows the model"

    # --- a run goes on as it began ---
    long="--data folder:set --batch 2 --iterations 6 --seed 3 --threads 1 --quiet --checkpoint 0.001 --checkpoint-share 100"
    succeeds "an undisturbed run" train net.json --weights base.safetensors $long --run-dir "$T/whole"
    # ends WORD: kills a run after a checkpoint, with the file of its weights then gone or another, and resumes it
    ends() {
        cp base.safetensors weights.safetensors
        hold "$2" train net.json --weights weights.safetensors $long --run-dir "$T/$1"
        let_go KILL
        "$3" weights.safetensors
        succeeds "a run whose file of weights is $1 is resumed" resume "$T/$1" --quiet
        cmp -s whole/weights.safetensors "$1/weights.safetensors" && ok "  to the same bits" ||
            not_ok "  to the same bits" "$(told)"
    }
    another() { cp old.safetensors "$1"; }
    ends gone 3 rm
    ends another 3 another
    # a run of a version that followed no weights: its data.json has no such record
    run train net.json --filter bilinear --normalise unit --data folder:set $short --save plain.safetensors
    cp plain.safetensors weights.safetensors
    succeeds "a run in its own way" train net.json --weights weights.safetensors --normalise unit $long --run-dir "$T/plain"
    hold 3 train net.json --weights weights.safetensors --normalise unit $long --run-dir "$T/earlier"
    let_go KILL
    tab=$(printf '\t')
    sed "/^$tab\"preprocessing\":/,/^$tab},/d; /^$tab\"crc32\"/d" earlier/data.json >data.json
    if "$JSON_LOOK" earlier/data.json preprocessing.filter >found && cat data.json >earlier/data.json &&
        cp base.safetensors weights.safetensors && ! "$JSON_LOOK" earlier/data.json preprocessing.filter >found 2>&1 &&
        "$JSON_LOOK" earlier/data.json training.preprocessing.filter >found; then ok "  of an earlier version"; else
        not_ok "  of an earlier version" "$(cat earlier/data.json)"
    fi
    cp -r earlier early && rm -f early/checkpoint*.safetensors
    succeeds "  is resumed" resume "$T/earlier" --quiet
    for run in plain earlier; do # the models differ in one word: that of the earlier version does not record grey
        journal_lines $run/journal | sed -n 's/.*"iteration":\([0-9]*\).*"loss":\([^,}]*\).*/\1 \2/p' >$run.txt
    done
    same plain earlier "  to the same losses"
    succeeds "  from its start, too" resume "$T/early" --quiet
    run info early/weights.safetensors --json
    is "  as its data was prepared then" preprocessing.filter bilinear

    # --- several processes ---
    need_mpi "several processes"
    cp base.safetensors weights.safetensors
    mpi 2 train net.json --weights weights.safetensors --data folder:set --batch 4 --iterations 3 --seed 3 --blocks 2 --quiet \
        --run-dir "$T/two"
    run train net.json --weights weights.safetensors --data folder:set --batch 4 --iterations 3 --seed 3 --blocks 2 --quiet \
        --run-dir "$T/one"
    cmp -s one/weights.safetensors two/weights.safetensors && ok "two processes follow the model, to the bits of one" ||
        not_ok "two processes follow the model, to the bits of one" "$(told)"
}
done_testing
