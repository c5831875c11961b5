#!/bin/sh
# tinca export --format onnx and tinca import MODEL.onnx: the same bytes after a round trip, what PyTorch has written
# (goldens: tests/parity/make_onnx.py), what tinca lacks, and files that are wrong. Whether other programs compute the
# same is tests/long/onnx_long.sh.
srcdir=$(cd "${srcdir:-.}" && pwd)
. "$srcdir/tests/cli/tap.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
cd "$T" || exit 99
files=$srcdir/tests/cli/onnx

cat >all.json <<'END'
{"name": "all", "input": [3, 32, 32], "classes": 10, "normalise": "unit", "layers": [
 {"op": "conv", "name": "first", "output": 20, "kernel": 3, "pad": 2, "dilation": 2},
 {"op": "batch_norm"}, {"op": "prelu", "slope": 0.3}, {"op": "lrn", "size": 3},
 {"op": "channel_shift"}, {"op": "channel_shuffle", "groups": 4}, {"op": "silu"},
 {"op": "max_pool", "kernel": 3, "stride": 2, "ceil": true, "name": "pool"},
 {"op": "average_pool", "kernel": 3, "stride": 2, "pad": 1, "ceil": true}, {"op": "gelu"},
 {"op": "conv_transpose", "output": 10, "kernel": 4, "stride": 2, "pad": 1, "groups": 2, "name": "up"},
 {"op": "hardswish"}, {"op": "leaky_relu", "slope": 0.1}, {"op": "batch_norm", "instance": true},
 {"block": "squeeze_excitation", "reduction": 2, "gate": "hardsigmoid"}, {"op": "dropout", "rate": 0.25},
 {"op": "average_pool", "global": true, "name": "mean"}, {"op": "max_pool", "global": true, "from": "up", "name": "most"},
 {"op": "concat", "from": ["mean", "most"]}, {"op": "elu"}, {"op": "linear", "output": 10, "name": "a"},
 {"op": "sigmoid", "from": "a", "name": "b"}, {"op": "tanh", "from": "a", "name": "c"},
 {"op": "add", "from": ["a", "b", "c"]}, {"op": "fake_quantize", "grid": [0.125, 128]}]}
END
run train all.json --data shapes,limit=40 --batch 20 --iterations 2 --threads 1 --save all.safetensors --run-dir run -q
[ "$status" = 0 ] || not_ok "a model of every operator" "$(told)"
run export all.safetensors --format onnx -o all.onnx
if [ "$status" != 0 ] && grep -q 'built without ONNX' err; then
    skip "ONNX" "this tinca is built without protobuf-c"
    done_testing
fi

# round_trip NAME [ARGUMENT...]: exports, imports and exports again
again= # options of the second export, which the imported model does not imply
round_trip() {
    model=$1
    shift
    run export "$model.safetensors" --format onnx -o one.onnx "$@" && [ "$status" = 0 ] &&
        run import one.onnx -o two.safetensors && [ "$status" = 0 ] &&
        run export two.safetensors --format onnx -o three.onnx $again && [ "$status" = 0 ]
    if [ "$status" = 0 ] && cmp -s one.onnx three.onnx; then
        ok "$model $*: exported, imported and exported again, the file is the same"
    else
        not_ok "$model $*: the round trip" "exit $status: $(told)"
    fi
}
round_trip all
run weights all.safetensors --json && cp out before.json
run weights two.safetensors --json && cp out after.json
is "  a weight is the same" arrays.0.mean "$("$JSON_LOOK" before.json arrays.0.mean)" after.json
run eval all.safetensors --data shapes,limit=20 --threads 1 --json && cp out before.json
run eval two.safetensors --data shapes,limit=20 --threads 1 --json
is "  and the loss is" loss "$("$JSON_LOOK" before.json loss)"
succeeds "  the network file is one" info two.json --json
is "  with the name" network all
round_trip all --save-precision bf16
round_trip all --save-precision float16
round_trip all --fold-batch-norm
for technique in dsc shift shuffle; do
    run train resnet20 --technique $technique --data shapes,limit=20 --batch 20 --iterations 1 --threads 1 \
        --save "$technique.safetensors" -q
    round_trip $technique
done
run train lenet --data digits,limit=100 --batch 20 --iterations 5 --threads 1 --save lenet.safetensors -q
run quantize lenet.safetensors --calibrate digits,limit=20 --threads 1 -o q.safetensors
round_trip q
again='--int8-weights int8'
round_trip q $again
again=
run eval q.safetensors --data digits,limit=50 --threads 1 --json && cp out before.json
run eval two.safetensors --data digits,limit=50 --threads 1 --json
is "  a quantized model has the same loss, too" loss "$("$JSON_LOOK" before.json loss)"

# --- runs and models ---
succeeds "a run's model is exported" export ./run --format onnx -o run.onnx
if grep -aq '"iterations":2' run.onnx; then ok "  with the record of its training"; else not_ok "  the record"; fi
refuses 2 'add --format onnx' "a saved model has no curves" export all.safetensors -o x.json
refuses 2 'add --format onnx' "a run's session has no weights' format" export ./run --save-precision bf16 -o x.json
refuses 2 'ending' "an import needs a model's name" import all.onnx -o x.bin
: >lenet.onnx
refuses 1 'not an ONNX model|no graph' "an empty file is no model" import lenet.onnx -o x.safetensors
cp all.onnx renamed.log
succeeds "a model is known by its content" import renamed.log -o x.safetensors
refuses 1 'exists' "a file that was not named is not replaced" import all.onnx
refuses 2 'it is for models' "a log has no such option" import all.json -o x.safetensors

# --- PyTorch's files ---
if ! command -v python3 >/dev/null; then
    skip "PyTorch's and hostile files" "there is no python3 here"
    done_testing
fi
cat >compare.py <<'END'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
start = 10 + struct.unpack("<H", data[8:10])[0]
got, want = struct.unpack("<5f", data[start:start + 20]), json.load(open(sys.argv[2]))
error = max(abs(a - b) for a, b in zip(got, want)) / max(1, max(map(abs, want)))
sys.exit(f"{got} is not {want}" if error > 1e-5 else 0)
END
for exporter in torchscript dynamo; do
    succeeds "a model of PyTorch's exporter $exporter is imported" import "$files/$exporter.onnx" \
        --normalise unit256 -o torch.safetensors --json
    run predict torch.safetensors "$files/picture.png" --raw torch.npy
    if found=$(python3 compare.py torch.npy "$files/logits.json" 2>&1); then
        ok "  with the same logits"
    else
        not_ok "  with the same logits" "$found"
    fi
    for op in channel_shift channel_shuffle lrn; do
        if grep -q "\"$op\"" torch.json; then ok "  and $op"; else not_ok "  and $op" "$(head -c 300 torch.json)"; fi
    done
done

# --- softmax over an image ---
cat >softmax.py <<'END'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
start = 10 + struct.unpack("<H", data[8:10])[0]
got, right = struct.unpack("<5f", data[start:start + 20]), json.load(open(sys.argv[2]))[sys.argv[3]]
error = min(max(abs(a - b) for a, b in zip(got, want)) / max(map(abs, want)) for want in right.values())
sys.exit(f"{got} is not {right}" if error > 1e-4 else 0)
END
# same_outputs NAME MODEL ROW [FILE.json]: the outputs are those of ONNX Runtime
same_outputs() {
    run predict "$2" "$files/picture.png" --raw out.npy --threads 1
    if [ "$status" = 0 ] && found=$(python3 softmax.py out.npy "$files/${4:-softmax.json}" "$3" 2>&1); then
        ok "$1"
    else
        not_ok "$1" "$(told) $found"
    fi
}
for row in softmax_9 softmax_11 softmax_12_negative softmax_11_flat softmax_13; do
    succeeds "$row is imported" import "$files/$row.onnx" -o softmax.safetensors
    same_outputs "  with the outputs of ONNX Runtime" softmax.safetensors $row
    for device in reference; do
        run predict softmax.safetensors "$files/picture.png" --raw out.npy --device $device
        if found=$(python3 softmax.py out.npy "$files/softmax.json" $row 2>&1); then ok "  on $device, too"; else
            not_ok "  on $device" "$found"; fi
    done
    run export softmax.safetensors --format onnx -o again.onnx && run import again.onnx -o again.safetensors
    same_outputs "  which a round trip keeps" again.safetensors $row
    rm -f softmax.json softmax.safetensors again.*
done
run import "$files/softmax_11_columns.onnx" -o columns.safetensors
if [ "$status" = 1 ] && grep -q 'a softmax along another axis' err; then ok "a softmax over the columns is refused"; else
    not_ok "a softmax over the columns is refused" "exit $status: $(told)"; fi

# --- arrays that stay in the file until they are read ---
succeeds "large arrays of all kinds are imported" import "$files/stored.onnx" -o stored.safetensors
same_outputs "  with the outputs of ONNX Runtime" stored.safetensors stored stored.json
head -c 30000 "$files/stored.onnx" >short.onnx
run import short.onnx -o short.safetensors
if [ "$status" = 1 ] && grep -q 'ends too early' err; then ok "a file that ends in an array is refused"; else
    not_ok "a file that ends in an array is refused" "exit $status: $(told)"; fi
rm -f stored.* short.*

# --- files that are wrong ---
python3 "$files/hostile_files.py" hostile || exit 99
for name in right branches beside; do
    succeeds "$name.onnx is imported" import hostile/$name.onnx -o right.safetensors
done
# the loss has the softmax at the end, also if nodes after it pass its values on
for name in flatten dropout image log; do
    succeeds "a classifier that ends with a softmax ($name) is imported" import hostile/end-$name.onnx -o end.safetensors
    if grep -q 'softmax at the end was left out' err && ! grep -q '"softmax"' end.json; then ok "  without it, which is said"; else
        not_ok "  without it, which is said" "$(told) $(cat end.json)"; fi
done
mkdir -p labelled/a labelled/b && cp "$files/picture.png" labelled/a/1.png && cp "$files/picture.png" labelled/b/1.png
# outputs that are no classes of which an image has one: no figure of a classifier is made of them
while read -r name last; do
    succeeds "a $last that is no class of an image ($name) is imported" import hostile/end-$name.onnx -o end.safetensors
    if grep -q "$last at the end is kept" err && grep -q "\"$last\"" end.json; then ok "  as it is, which is said"; else
        not_ok "  as it is, which is said" "$(told) $(cat end.json)"; fi
    for use in "eval end.safetensors --data folder:labelled" "train ./end.json --data folder:labelled --epochs 1 --batch 1"; do
        # shellcheck disable=SC2086
        refuses 1 "ends in a $last whose values are neither" "  ${use%% *} takes no labels for it" $use --threads 1
    done
    refuses 2 "ends in a $last whose values are neither" "  predict has no classes" predict end.safetensors "$files/picture.png"
    succeeds "  predict writes its outputs" predict end.safetensors "$files/picture.png" --raw end.npy --threads 1
done <<'END'
pixels softmax
picture softmax
sigmoid sigmoid
sigmoid-flatten sigmoid
END
succeeds "a sigmoid of each pixel is imported" import hostile/end-sigmoid-picture.onnx -o end.safetensors
if grep -q 'its output is taken as a picture' err; then ok "  as a picture, which is said"; else not_ok "  as a picture" "$(told)"; fi
rm -rf labelled end.*
for name in log-relu log-pixels; do
    run import hostile/end-$name.onnx -o x.safetensors
    if [ "$status" = 1 ] && grep -q 'not the end of a classifier' err; then ok "a LogSoftmax ($name) that cannot be left out"; else
        not_ok "a LogSoftmax ($name) that cannot be left out" "exit $status: $(told)"; fi
done
run import hostile/lacks.onnx -o lacks.safetensors
if [ "$status" = 1 ] && grep -q 'Einsum the_Einsum' err && grep -q 'Magic the_Magic' err && ! grep -q the_Relu err; then
    ok "nodes that tinca lacks are listed, and no others"
else
    not_ok "nodes that tinca lacks are listed" "exit $status: $(told)"
fi
if [ -e lacks.safetensors ] || [ -e lacks.json ]; then not_ok "and no file is written"; else ok "and no file is written"; fi
run import hostile/lacks.onnx -o lacks.safetensors --json
is "the list as JSON" missing.1.operator Magic
while read -r name pattern; do
    refuses 1 "$pattern" "$name.onnx is refused" import hostile/$name.onnx -o x.safetensors
done <<'END'
truncated ends too early
channels do not fit
count number of its values
huge too large
negative negative size
cycle before any node
missing before any node
no-input has none
two-inputs one input
free-size must be fixed
no-output output of a layer
deep branch of a condition
beyond do not fit the file
above another file, \.\..*, which is not in the model's folder
hidden not in the model's folder
absolute not in the model's folder
link not in the model's folder
device not in the model's folder
END
for name in pad expand; do
    run import hostile/$name.onnx -o x.safetensors
    if [ "$status" = 1 ]; then ok "$name.onnx is refused"; else not_ok "$name.onnx" "exit $status"; fi
done
done_testing
