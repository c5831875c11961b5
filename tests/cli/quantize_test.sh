#!/bin/sh
# tinca quantize: the report, the methods, the layers that stay float32, the model that it writes, training it with
# simulated quantization, and what is refused.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
case $srcdir in /*) ;; *) srcdir=$PWD/$srcdir ;; esac
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
cd "$T" || exit 99
runs=$XDG_STATE_HOME/tinca/runs

# within NAME PATH LOW HIGH [FILE]: a number of the document is in this range
within() {
    found=$("$JSON_LOOK" "${5:-$T/out}" "$2" 2>&1)
    if awk "BEGIN { exit !($found >= $3 && $found <= $4) }" 2>/dev/null; then
        ok "$1 ($found)"
    else
        not_ok "$1" "$2 is $found, not within $3 and $4"
    fi
}

# hides PATTERN NAME: the last standard output has no line that matches
hides() {
    if grep -Eq -- "$1" "$T/out"; then not_ok "$2" "$(head -c 600 "$T/out")"; else ok "$2"; fi
}

run train lenet --data digits,limit=400 --batch 20 --epochs 4 --threads 1 --save m.safetensors -q
[ "$status" = 0 ] || not_ok "a model to begin with" "$(told)"
run train resnet20 --data shapes,limit=40 --batch 20 --iterations 8 --threads 1 --save r.safetensors -q
[ "$status" = 0 ] || not_ok "a model with batch norms" "$(told)"
rm -rf "$runs"

# --- the report ---
succeeds "a model is quantized" quantize m.safetensors --calibrate digits,limit=200 --images 40 --threads 1 \
    --data digits,limit=100 -o q.safetensors --json
cp out q.json
is "  its name says so" network "lenet+quantize:percentile" q.json
is "  and how" scales per-channel q.json
is "  the report has every layer" layers.3.layer ip2 q.json
is "  whose weights are integers" layers.3.weights int8 q.json
within "  with little noise of the weights" layers.1.weight_sqnr_db 35 60 q.json
within "  and of the outputs" layers.1.output_sqnr_db 20 60 q.json
within "  a layer alone costs little" layers.0.top1_loss -10 10 q.json
is "  images of the sample" images 40 q.json
within "  the file has about a quarter of the size" bytes_after 400000 480000 q.json
before=$("$JSON_LOOK" q.json before.top1)
within "  the accuracy is nearly that of before" after.top1 "$(awk "BEGIN { print $before - 5 }")" 100 q.json

succeeds "the same without --json" quantize m.safetensors --calibrate digits,limit=200 --images 40 --threads 1 \
    --data digits,limit=100 -o again.safetensors
shows "conv1 +int8" "  shows a table"
if cmp -s q.safetensors again.safetensors; then ok "  and writes the same bytes"; else
    not_ok "  and writes the same bytes" "they differ"
fi
succeeds "with two threads" quantize m.safetensors --calibrate digits,limit=200 --images 40 --threads 2 \
    --data digits,limit=100 -o again.safetensors -q
if cmp -s q.safetensors again.safetensors; then ok "  the bytes are the same"; else
    not_ok "  the bytes are the same" "they differ"
fi

# --- the model ---
succeeds "the model is evaluated" eval q.safetensors --data digits,limit=100 --threads 1 --json
within "  with nearly the same accuracy" top1 "$(awk "BEGIN { print $before - 5 }")" 100
succeeds "its arrays are shown" weights q.safetensors
shows "conv2.weight +50x20x5x5 +I8" "  as integers"
succeeds "and its network" info q.safetensors
shows "quantize:percentile" "  with its chain"

# --- other precisions: the rounding is simulated, so that the logits are those of int8; the method
# entropy clips many values, which makes them differ by several units otherwise ---
succeeds "a model that clips many values" quantize m.safetensors --calibrate digits,limit=200 --images 40 \
    --threads 1 --data digits,limit=50 --method entropy -o e.safetensors -q
succeeds "eval in int8" eval e.safetensors --data digits,split=test,limit=300 --threads 1 \
    --predictions e.int8 --json
hides simulates_int8 "  is not simulated"
accuracy=$("$JSON_LOOK" out top1)
succeeds "eval in float32" eval e.safetensors --data digits,split=test,limit=300 --threads 1 \
    --precision float32 --predictions e.float32 --json
is "  simulates int8" simulates_int8 true
within "  with its accuracy, but for two images" top1 \
    "$(awk "BEGIN { print $accuracy - 0.7 }")" "$(awk "BEGIN { print $accuracy + 0.7 }")"
cut -d, -f18- e.int8 >logits.int8
cut -d, -f18- e.float32 >logits.float32
worst=$(paste -d, logits.int8 logits.float32 | awk -F, 'NR > 1 {
    for (i = 1; i <= 10; i++) { d = $i - $(i + 10); if (d < 0) d = -d; if (d > worst) worst = d }
} END { print NF == 20 ? worst : "unreadable" }')
if awk "BEGIN { exit !($worst < 0.2) }"; then ok "  and its logits (at most $worst apart)"; else
    not_ok "  and its logits" "they are $worst apart"
fi
succeeds "eval in float32 as text" eval e.safetensors --data digits,limit=20 --threads 1 --precision float32
shows "rounding to 8-bit integers simulated" "  says so"
succeeds "info in float32" info e.safetensors --precision float32 --mode infer --json
shows '"op":.*"fake_quantize"' "  shows the steps that round"
succeeds "info of training" info e.safetensors --mode train --json
shows '"op":.*"fake_quantize"' "  too"
succeeds "info of inference" info e.safetensors --mode infer --json
hides fake_quantize "  in int8 has none"

# --- methods and layers ---
for method in minmax entropy mse; do
    succeeds "the method $method" quantize m.safetensors --calibrate digits,limit=200 --images 20 --threads 1 \
        --data digits,limit=50 --method $method --weights per-tensor -o x.safetensors --json
    is "  is in the name" network "lenet+quantize:$method"
    is "  with one scale for a layer" scales per-tensor
done
succeeds "layers are kept" quantize m.safetensors --calibrate digits,limit=200 --images 20 --threads 1 \
    --data digits,limit=50 --keep conv1 --keep 'ip*' -o k.safetensors --json
is "  in float32" layers.0.weights float32
is "  because it was asked" layers.2.kept asked
is "  the others are not" layers.1.weights int8
succeeds "a network with batch norms" quantize r.safetensors --calibrate shapes,limit=40 --images 10 --threads 1 \
    --data shapes,limit=20 -o rq.safetensors --json
within "  the noise of its logits" layers.21.output_sqnr_db 5 60
cat >concat.json <<'NETWORK'
{"name": "branches", "input": [1, 28, 28], "classes": 10, "normalise": "unit",
 "layers": [{"op": "conv", "name": "left", "output": 4, "kernel": 3, "stride": 4},
            {"op": "conv", "name": "right", "from": "input", "output": 4, "kernel": 3, "stride": 4},
            {"op": "concat", "name": "both", "from": ["left", "right"]}, {"op": "relu", "name": "relu"},
            {"op": "linear", "name": "ip", "output": "classes"}]}
NETWORK
run train ./concat.json --data digits,limit=100 --batch 20 --iterations 5 --threads 1 --save c.safetensors \
    --run-dir "$T/branches" -q
succeeds "branches that a relu reads behind their concat" quantize c.safetensors --calibrate digits,limit=200 \
    --images 20 --threads 1 --data digits,limit=50 -o cq.safetensors --json
within "  what the relu clips is no noise" layers.0.output_sqnr_db 20 60
within "  in neither" layers.1.output_sqnr_db 20 60
succeeds "  is evaluated" eval rq.safetensors --data shapes,limit=20 --threads 1

# --- fine-tuning ---
tuned=
for seed in 1 2 3 4 5 6 7 8 9 10 11 12; do
    run quantize m.safetensors --calibrate digits,limit=200 --images 2 --threads 1 --method entropy \
        --weights per-tensor --seed $seed --data digits,split=test,limit=300 --max-loss 0 --epochs 1 --batch 20 \
        --sampling balanced --ema 0.5 -o t.safetensors --json
    grep -q "fine-tuning" err && tuned=$seed && break
done
if [ -n "$tuned" ]; then
    ok "a network that has lost accuracy is trained (seed $tuned)"
    id=$(sed -n 's/^fine-tuning: //p' err)
    run runs --json
    is "  in a run of its own" runs.0.status done
    is "  of this name" runs.0.id "$id"
    is "  with the settings" config.sampling balanced "$runs/$id/config.json"
    is "  all of them" config.ema 0.5 "$runs/$id/config.json"
    succeeds "  whose model is quantized" weights t.safetensors
    shows "ip1.weight +500x800 +I8" "    its weights are integers"
else
    ok "a network that has lost accuracy is trained # SKIP no sample has cost accuracy"
fi
refuses 2 'no meaning in tinca quantize' "a setting without a meaning" quantize m.safetensors --calibrate digits,limit=200 \
    --seeds 3 -o t.safetensors
set -- m.safetensors --calibrate digits,limit=200 --images 5 -o none.safetensors
refuses 2 '^tinca: --temperature: ' "a fine-tuning that contradicts itself" quantize "$@" --epochs 1 --temperature 3 --max-loss 0
refuses 2 '^tinca: --epochs and --iterations: ' "  two lengths" quantize "$@" --epochs 1 --iterations 3
refuses 2 'nolayer' "  a layer to freeze that is none" quantize "$@" --epochs 1 --freeze nolayer -q
for option in --lr=0.1 --checkpoint=5 --tensorboard=board --save-precision=bf16; do
    refuses 2 "^tinca: ${option%=*}: nothing is trained" "without training: $option" quantize "$@" $option
done
if [ -e none.safetensors ]; then not_ok "  and nothing is written"; else ok "  and nothing is written"; fi
succeeds "a quantized model can be trained" train q.safetensors --weights q.safetensors --data digits,limit=100 \
    --batch 20 --iterations 4 --threads 1 --save qt.safetensors -q
succeeds "  and remains quantized" weights qt.safetensors
shows "ip1.weight +500x800 +I8" "    with integers"
refuses 1 "" "  not in bf16" train q.safetensors --weights q.safetensors --data digits,limit=100 --batch 20 \
    --iterations 1 --precision bf16

# --- a run in place of its model ---
run train lenet --data digits,limit=100 --batch 20 --iterations 5 --threads 1 --name trained -q
id=$(ls -t "$runs" | head -1)
[ "$status" = 0 ] || not_ok "a run" "$(told)"
for model in "$id" trained "$runs/$id"; do
    succeeds "a run is quantized" quantize "$model" --calibrate digits,limit=50 --images 10 --threads 1 \
        --data digits,limit=50 -o run.safetensors -q
done
succeeds "  its chain is shown" eval run.safetensors --data digits,limit=50 --threads 1
shows "lenet\\+quantize:percentile" "  by eval"
succeeds "a run is factorized" factorize trained -o x1.safetensors --energy 0.5 -q
succeeds "  pruned" prune trained -o x2.safetensors --flops 0.5 -q
succeeds "  and asked" predict trained "$srcdir/docs/pix2pix-shift.png"
succeeds "  its arrays are shown" weights trained
shows "conv1.weight" "    by name"
succeeds "  it teaches" train mlp --teacher trained --data digits,limit=40 --batch 20 --iterations 2 --threads 1 -q
refuses 1 "neither a file nor a run" "no model and no run" factorize nothing -o x3.safetensors
refuses 1 "neither a file nor a run" "  for a teacher" train mlp --teacher nothing --data digits,limit=40 --iterations 2

# --- what is refused ---
refuses 2 "" "without an output" quantize m.safetensors --calibrate digits -q
refuses 2 "" "without images" quantize m.safetensors -o x.safetensors -q
refuses 2 "" "a method that does not exist" quantize m.safetensors --calibrate digits --method median -o x.safetensors -q
refuses 2 "" "a limit that is no number" quantize m.safetensors --calibrate digits --max-loss much -o x.safetensors -q
refuses 2 "" "a layer that does not exist" quantize m.safetensors --calibrate digits --keep nothing -o x.safetensors -q
refuses 2 "" "every layer kept" quantize m.safetensors --calibrate digits --keep '*' -o x.safetensors -q
refuses 1 "" "a quantized model" quantize q.safetensors --calibrate digits -o x.safetensors -q
refuses 1 "" "a set of pairs" quantize m.safetensors --calibrate maps -o x.safetensors -q
refuses 1 "" "a file that does not exist" quantize none.safetensors --calibrate digits -o x.safetensors -q
head -c 100000 m.safetensors >half.safetensors
refuses 1 "" "half a file" quantize half.safetensors --calibrate digits -o x.safetensors -q
cp q.safetensors kept.safetensors
refuses 1 "does not exist" "a folder that does not exist" quantize m.safetensors --calibrate digits,limit=20 --images 5 \
    -o no/x.safetensors
if [ -n "$(grep 'reading' err)" ]; then not_ok "  before anything is read" "$(told)"; else ok "  before anything is read"; fi
ln m.safetensors link.safetensors
for output in m.safetensors ./m.safetensors link.safetensors; do
    refuses 2 "the model itself" "the model as output: $output" quantize m.safetensors --calibrate digits -o $output -q
done
refuses 2 "written to a file" "standard output" quantize m.safetensors --calibrate digits -o - -q
[ -e ./- ] && not_ok "  makes no file -" || ok "  makes no file -"
refuses 2 "end its name in .safetensors" "another ending" quantize m.safetensors --calibrate digits -o x.bin -q
refuses 2 "the model itself" "16 bits in place of 32" weights m.safetensors --save-precision float16 --save m.safetensors
refuses 1 "" "an output that is refused" quantize half.safetensors --calibrate digits -o kept.safetensors -q
if cmp -s q.safetensors kept.safetensors; then ok "  stays as it was"; else not_ok "  stays as it was" "differs"; fi

# --- the table of models ---
succeeds "the table of models" models --threads 1
shows "lenet.quantize:entropy.*e.safetensors" "  has what was made, wherever it lies"
rm -rf again.safetensors ./*t.safetensors [ckrx]*.safetensors "$runs" # fewer to measure
succeeds "measuring" models --threads 1 --measure --images 3 --json
hides "^$(printf '\t\t\t')\"ms\":.*null" "  measures it on the set of its report, without being told"
rm e.safetensors
succeeds "without the file" models --threads 1
hides "e.safetensors" "  it is not there"
shows "lenet.quantize:percentile.*q.safetensors" "  the others are"
done_testing
