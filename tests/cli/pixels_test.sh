#!/bin/sh
# One way from file to pixels: training's validation, eval and predict read the same values of a picture, which the
# model's file records, tinca info prints, and an exported ONNX model and a model that is made from it take along.
. "${srcdir:-.}/tests/cli/tap.sh"
MAKE_PICTURE=$(dirname "$TINCA")/make_picture
cd "$T" || exit 99

mkdir -p set/a set/b
"$MAKE_PICTURE" phone 60 40 set/a/phone.jpg || exit 99
"$MAKE_PICTURE" progressive 200 150 set/a/wide.jpg || exit 99
"$MAKE_PICTURE" interlaced 17 25 set/b/tall.png || exit 99
"$MAKE_PICTURE" interlaced 14 14 set/b/same.png || exit 99
cat >net.json <<'NETWORK'
{"name": "net", "input": [3, 14, 14], "classes": 2, "normalise": "unit",
 "layers": [{"op": "flatten", "name": "flatten"}, {"op": "linear", "name": "fc", "output": "classes", "init": "he"}]}
NETWORK

# logits FILE: prints the pictures and their logits of a CSV file of eval or predict, sorted
logits() {
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) { if ($i ~ /^(origin|image)$/) name = i; if ($i == "logit_0") first = i } next }
             { n = split($name, part, "/"); printf "%s %.5f %.5f\n", part[n], $first, $(first + 1) }' "$1" | sort
}
# both MODEL SET NAME: eval and predict give all pictures the same logits, which are left in $NAME.txt
both() {
    run eval "$1" --data "folder:$2" --predictions "$3.eval.csv"
    run predict "$1" "$2" --format csv -o "$3.predict.csv"
    logits "$3.eval.csv" >"$3.txt"
    logits "$3.predict.csv" >"$3.predict.txt"
    if [ "$(wc -l <"$3.txt")" = 4 ] && cmp -s "$3.txt" "$3.predict.txt"; then
        ok "$3: eval and predict read the same pixels"
    else
        not_ok "$3: eval and predict read the same pixels" "$(cat "$3.txt" "$3.predict.txt" "$T/err")"
    fi
}
# same NAME OTHER MESSAGE; differ NAME OTHER MESSAGE: compare logits
same() { if cmp -s "$1.txt" "$2.txt"; then ok "$3"; else not_ok "$3" "$(cat "$1.txt" "$2.txt")"; fi; }
differ() { if cmp -s "$1.txt" "$2.txt"; then not_ok "$3" "$(cat "$1.txt")"; else ok "$3"; fi; }

succeeds "trains on a folder" train net.json --data folder:set --validate folder:set --batch 2 --iterations 2 --seed 3 \
    --quiet --save new.safetensors --export new.json
both new.safetensors set new
run eval new.safetensors --data folder:set --json
evaluated=$("$JSON_LOOK" "$T/out" loss)
validated=$("$JSON_LOOK" new.json runs.0.validation.loss.0)
if awk -v a="$evaluated" -v b="$validated" 'BEGIN { exit !(a - b < 1e-5 && b - a < 1e-5) }'; then
    ok "so does the validation of the run"
else
    not_ok "so does the validation of the run" "eval $evaluated, validation $validated"
fi
succeeds "info prints the preprocessing" info new.safetensors
shows 'orient=yes' "  the orientation"
shows 'to 16 .filter=bilinear., the middle 14x14' "  the sizes and the filter"
shows 'normalisation unit: .* mean 0 0 0, deviation 255 255 255' "  the normalisation"
run info new.safetensors --json
is "  as JSON" preprocessing.filter bilinear
is "  with the size before the crop" preprocessing.resize.0 16
is "  the crop" preprocessing.crop.1 14
is "  and the range of samples" preprocessing.range.1 255

# --- other ways ---
run eval new.safetensors --data folder:set,orient=no --predictions x.csv
logits x.csv >ignored.txt
differ new ignored "orient=no takes the phone's picture as it is stored"
[ "$(diff new.txt ignored.txt | grep -c '^<')" = 1 ] && ok "  and no other one differs" ||
    not_ok "  and no other one differs" "$(diff new.txt ignored.txt)"
run eval new.safetensors --data folder:set,filter=bilinear2 --predictions x.csv
logits x.csv >bilinear2.txt
differ new bilinear2 "filter=bilinear2 resizes otherwise"
refuses 2 'bilinear2' "an unknown filter" eval new.safetensors --data folder:set,filter=box
succeeds "trains with a filter and without orientation" train net.json --data folder:set,filter=bicubic,orient=no --batch 2 \
    --iterations 2 --seed 3 --quiet --save cubic.safetensors
both cubic.safetensors set cubic
succeeds "info prints them" info cubic.safetensors
shows 'orient=no.*filter=bicubic' "  both"
differ new cubic "and the pixels are others"

# --- what is made from a model prepares pictures as it does ---
succeeds "fine-tunes the saved model" train cubic.safetensors --weights cubic.safetensors --data folder:set --batch 2 \
    --iterations 1 --lr 0 --quiet --save tuned.safetensors
run info tuned.safetensors --json
is "  with its filter" preprocessing.filter bicubic
is "  and orientation" preprocessing.orient false
both tuned.safetensors set tuned
same cubic tuned "  so that its logits are the same"
# numbers that were measured on one set belong to the model, not to the set that it is trained further with
run train net.json --data folder:set --normalise measured --batch 2 --iterations 1 --quiet --save measured.safetensors
# numbers FILE: writes the normalisation of the model that was described last
numbers() {
    for key in name mean.0 mean.2 deviation.0 deviation.2; do
        "$JSON_LOOK" "$T/out" "preprocessing.normalisation.$key" || echo "no $key"
    done >"$1"
}
run info measured.safetensors --json
numbers numbers.json
mkdir -p dark/a dark/b
cp set/b/same.png dark/a/ && cp set/b/same.png dark/b/
succeeds "trains a model with measured numbers further" train measured.safetensors --weights measured.safetensors \
    --data folder:dark --batch 2 --iterations 1 --quiet --save further.safetensors
run info further.safetensors --json
numbers further.json
grep -q measured numbers.json && cmp -s numbers.json further.json && ok "  keeps them" ||
    not_ok "  keeps them" "$(cat numbers.json further.json)"
is "  and says on how many images they were measured" preprocessing.measured.of 4
run train measured.safetensors --weights measured.safetensors --data folder:dark --batch 2 --iterations 1 --normalise unit \
    --quiet --export further.json
grep -q 'was trained on pictures that are prepared by .*measured.*otherwise, by .*unit' further.json &&
    ok "another normalisation is a finding" || not_ok "another normalisation is a finding" "$(cat further.json)"

# --- a student reads the pixels of its teacher ---
student="net.json --teacher cubic.safetensors --data folder:set --batch 2 --iterations 1 --quiet"
# shellcheck disable=SC2086
{
    succeeds "a student" train $student --save student.safetensors
    run info student.safetensors --json
    is "  has the filter of its teacher" preprocessing.filter bicubic
    is "  and its orientation" preprocessing.orient false
    refuses 2 'filter=bicubic,orient=no, those of the student by filter=bilinear,orient=no' "another filter" \
        train $student --filter bilinear
    run train net.json --teacher measured.safetensors --data folder:dark --batch 2 --iterations 1 --quiet \
        --save student.safetensors
    run info student.safetensors --json
    numbers further.json
    cmp -s numbers.json further.json && ok "  and the measured numbers" || not_ok "  and the measured numbers" "$(told)"
}
run export cubic.safetensors --format onnx -o cubic.onnx
if [ "$status" != 0 ] && grep -q 'built without ONNX' "$T/err"; then
    skip "ONNX" "this tinca is built without protobuf-c"
else
    [ "$status" = 0 ] && ok "exports ONNX" || not_ok "exports ONNX" "$(told)"
    grep -aq 'tinca.preprocessing' cubic.onnx && grep -aq '"filter":"bicubic"' cubic.onnx &&
        ok "  whose metadata have the preprocessing" || not_ok "  whose metadata have the preprocessing"
    succeeds "  which is imported" import cubic.onnx -o again.safetensors
    both again.safetensors set again
    same cubic again "  and prepares pictures in the same way"
    # a model of another program: nothing is recorded, and pictures are resized to its input
    sed 's/tinca\.\([a-z]\)/other.\1/g' cubic.onnx >other.onnx
    succeeds "another program's model is imported" import other.onnx -o other.safetensors
    mkdir numbered && cp -r set/a numbered/0 && cp -r set/b numbered/1
    both other.safetensors numbered other
    run info other.safetensors --json
    is "  with pictures of its input's size" preprocessing.resize.0 14
    is "  antialiased" preprocessing.filter bilinear
    is "  from 0 to 1" preprocessing.normalisation.deviation.0 255
    run train other.safetensors --weights other.safetensors --data folder:numbered --batch 2 --iterations 1 --lr 0 \
        --quiet --save size.safetensors
    run info size.safetensors --json
    is "  and so it stays when it is trained further" preprocessing.resize.0 14
    run train net.json --filter bilinear2 --data folder:set --batch 2 --iterations 1 --quiet --save earlier.safetensors
    run export earlier.safetensors --format onnx -o earlier.onnx
    succeeds "unit of a model that records nothing" import earlier.onnx --normalise unit -o earlier2.safetensors
    run info earlier2.safetensors --json
    is "  divides by 256, as everywhere" preprocessing.normalisation.deviation.0 256
fi

# --- a network that makes pictures ---
picture_network makes.json 16 4 8 2
succeeds "a network that makes pictures" train makes.json --data maps,limit=4 --batch 2 --iterations 1 --quiet \
    --save makes.safetensors
succeeds "  whose info" info makes.safetensors
shows 'orient=yes.*, stretched to 16x16 .filter=bilinear.$' "  says that pictures are stretched to its input"
run info makes.safetensors --json
is "  as JSON" preprocessing.fit stretch
run info new.safetensors --json
is "those of a classifier are cut out" preprocessing.fit crop

# --- grey networks ---
sed 's/"input": \[3/"input": [1/' net.json >grey.json
succeeds "a network with one channel" train grey.json --data folder:set --batch 2 --iterations 2 --seed 3 --quiet \
    --save grey.safetensors
both grey.safetensors set grey
run info grey.safetensors --json
is "  makes its grey of the colours" preprocessing.grey rgb
# --- a measured normalisation of a large set ---
awk 'BEGIN { for (i = 0; i < 10001; i++) print "set/b/same.png," i % 2 }' >large.csv
succeeds "trains on 10,001 pictures" train net.json --data list:large.csv,draw=5 --normalise measured --batch 2 \
    --iterations 1 --quiet --save large.safetensors --export large.json
grep -q '10000 of the 10001 images, drawn by the seed 5' large.json && ok "  and says that it measured a sample" ||
    not_ok "  and says that it measured a sample" "$("$JSON_LOOK" large.json runs.0.findings)"
run train net.json --data list:large.csv,draw=5 --normalise measured --batch 2 --iterations 1
grep -q '10000 of the 10001 images, drawn by the seed 5' "$T/err" && ok "  on standard error" || not_ok "  on standard error" "$(told)"
cp large.json "$T/out"
is "  and in the record of its data" runs.0.data.training.measured.images 10000
is "  with the seed" runs.0.data.training.measured.seed 5
succeeds "so does info" info large.safetensors
shows '10000 of 10001 images, drawn at random by the seed 5' "  of the model"

# --- models and runs of earlier versions, of which nothing is recorded ---
succeeds "trains as earlier versions did" train net.json --filter bilinear2 --data folder:set --validate folder:set --batch 2 \
    --iterations 4 --seed 3 --quiet --save old.safetensors --export old.json
grep -aq 'tinca.preprocessing' old.safetensors && not_ok "  a model that records nothing" ||
    ok "  a model that records nothing"
both old.safetensors set old
succeeds "info says how its pictures are prepared" info old.safetensors
shows 'orient=no.*filter=bilinear2' "  by bilinear2"
shows 'deviation 256' "  where unit divided by 256"
shows 'records no filter: pictures are prepared as by earlier versions' "  because it records no filter"
run eval new.safetensors --data folder:set,filter=bilinear2,orient=no --predictions x.csv
logits x.csv >early.txt
differ new early "which differs from today's"

# a run whose config.json lacks the setting is one of an earlier version
run train net.json --filter bilinear2 --data folder:set --validate folder:set --batch 2 --iterations 4 --seed 3 --quiet \
    --max-time 0.001s
id=$(ls -t "$XDG_STATE_HOME/tinca/runs" | head -n 1)
config=$XDG_STATE_HOME/tinca/runs/$id/config.json
grep -q '"filter"' "$config" && sed '/"crc32"/d; /"filter"/d' "$config" >config.json && cat config.json >"$config" &&
    ok "a run without the setting" || not_ok "a run without the setting" "$(cat "$config")"
succeeds "  is forked" train --fork "$id@last" --max-time 1h --quiet --export forked.json
succeeds "  and resumed" resume "$id" --max-time 1h --quiet --export resumed.json
for run in forked resumed; do
    cp $run.json "$T/out"
    is "$run: with the filter of its time" runs.0.config.filter bilinear2
    for i in 0 1 2 3; do
        is "  and loss $i" "runs.0.series.loss.$i" "$("$JSON_LOOK" old.json "runs.0.series.loss.$i")"
    done
done
done_testing
