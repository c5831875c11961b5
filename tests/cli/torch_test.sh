#!/bin/sh
# tinca export --format torch and tinca import STATE.safetensors: what PyTorch has written (goldens:
# tests/parity/make_torch.py) gives its logits and comes back as it was, the mapping that fits is found, what does not
# fit is listed, and wrong mappings are refused. Whether PyTorch computes the same is tests/long/torch_long.sh.
srcdir=$(cd "${srcdir:-.}" && pwd)
. "$srcdir/tests/cli/tap.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
cd "$T" || exit 99
files=$srcdir/tests/cli/torch

# logits MODEL NAME: the output for the image, beside the golden NAME.logits
logits() {
    run predict "$1" "$files/image.png" --raw logits.npy --threads 1
    tail -c 20 logits.npy | od -An -v -w4 -tf4 >here
    worst=$(paste here "$files/$2.logits" | awk '
        { d = $1 - $2; d = d < 0 ? -d : d; b = $2 < 0 ? -$2 : $2; worst = d > worst ? d : worst; most = b > most ? b : most; n++ }
        END { print n == 5 ? worst / (most > 1 ? most : 1) : 1 }')
    awk -v worst="$worst" 'BEGIN { exit !(worst <= 1e-5) }' && ok "$2: PyTorch's logits ($worst)" ||
        not_ok "$2: PyTorch's logits" "$worst: $(paste here "$files/$2.logits") $(told)"
}

# arrays FILE: name, shape, type and statistics of the arrays of a file but counters, sorted
arrays() {
    "$TINCA" weights "$1" | grep -v num_batches_tracked | tail -n +2 | tr -s ' ' | sort
}

for format in float32 float16 bf16; do
    succeeds "$format: a state dict of PyTorch" import "$files/$format.safetensors" --network "$files/small.json" --normalise unit256 \
        -o $format.safetensors
    grep -q '^small: 37 arrays, by the mapping cifar-resnet$' out && [ ! -s err ] &&
        ok "  by the mapping that is recognised, and counters are no news" || not_ok "  by the mapping" "$(cat out err)"
    logits $format.safetensors $format
    succeeds "  and back" export $format.safetensors --format torch --names cifar-resnet -o back.safetensors
    arrays "$files/$format.safetensors" >there
    case $format in
    float32) arrays back.safetensors >here ;;
    *) # statistics stay float32 here, and PyTorch's are half, too
        "$TINCA" weights back.safetensors >table
        sed -i "s/\(running_[a-z]* *[0-9]* *\)F32/\1$(test $format = bf16 && echo BF16 || echo F16)/" table
        grep -v num_batches_tracked table | tail -n +2 | tr -s ' ' | sort >here ;;
    esac
    cmp -s here there && ok "  the arrays are the same" || not_ok "  the arrays are the same" "$(diff here there)"
done
run weights back.safetensors
[ "$(grep -c 'num_batches_tracked  *1\{0,1\}  *I64' out)" = 7 ] && ok "every batch norm has its counter" ||
    not_ok "every batch norm has its counter" "$(cat out)"

succeeds "shortcuts without parameters" import "$files/option-a.safetensors" --network "$files/small.json" \
    --normalise unit256 -o a.safetensors --json
is() { # is NAME MEMBER VALUE
    value=$("$JSON_LOOK" out "$2")
    [ "$value" = "$3" ] && ok "$1" || not_ok "$1" "$2: $value, not $3"
}
is "  become identities" identities 10
is "  by the mapping" names cifar-resnet
logits a.safetensors option-a
succeeds "  and back" export a.safetensors --format torch --names cifar-resnet -o back.safetensors
grep -q 'without 10 arrays that change nothing' out && ok "  they are left out" || not_ok "  they are left out" "$(cat out)"
arrays "$files/option-a.safetensors" >there
arrays back.safetensors >here
cmp -s here there && ok "  the arrays are the same" || not_ok "  the arrays are the same" "$(diff here there)"

# --- built-in networks: names, and the way back ---
job="--batch 1 --threads 1 -q"
# round_trip NETWORK DATA MAPPING ARRAY...: exports by a mapping ("": the usual one), finds the network again, and
# exports the same bytes
round_trip() {
    network=$1 mapping=$3
    # shellcheck disable=SC2086 # a list of options
    [ -e "$network.safetensors" ] || "$TINCA" train "$network" --data "$2" $job --iterations 1 --save "$network.safetensors" >log 2>&1
    shift 3
    # shellcheck disable=SC2086
    succeeds "$network, ${mapping:-the usual names}" export "$network.safetensors" --format torch -o one.safetensors ${mapping:+--names $mapping}
    "$TINCA" weights one.safetensors >table
    for array; do
        grep -q "^$array " table || not_ok "  has $array" "$(cat table)"
    done
    rm -f two.safetensors
    run import one.safetensors -o two.safetensors
    [ "$status" = 0 ] && grep -q "^$network:" out && ok "  is recognised without a name" ||
        not_ok "  is recognised without a name" "$(cat out err)"
    # shellcheck disable=SC2086
    run export two.safetensors --format torch -o three.safetensors ${mapping:+--names $mapping}
    cmp -s one.safetensors three.safetensors && ok "  and exported again, the file is the same" ||
        not_ok "  and exported again, the file is the same" "$(told)"
}
round_trip resnet20 shapes,limit=4 "" conv1.weight bn1.running_mean bn1.num_batches_tracked layer1.0.conv1.weight \
    layer2.0.shortcut.0.weight layer3.2.bn2.running_var linear.bias
round_trip resnet20 shapes,limit=4 torchvision-resnet layer2.0.downsample.0.weight fc.weight
round_trip resnet20 shapes,limit=4 sequential-resnet20 stem.0.weight body.0.p.0.weight body.8.bb.bias
round_trip resnet20 shapes,limit=4 network stage1.0.conv1.weight stage1.0.bn1.num_batches_tracked
round_trip lenet digits,limit=4 "" conv1.weight ip2.bias
round_trip lenet digits,limit=4 sequential-lenet n.0.weight n.7.bias
round_trip squeezenet shapes,limit=4 sequential-squeezenet n.3.q.0.weight n.14.running_var
round_trip mobilenet shapes,limit=4 "" conv1.weight layers.10.conv2.weight linear.bias
round_trip mobilenet shapes,limit=4 timm-mobilenet conv_stem.weight blocks.3.5.bn2.weight classifier.bias
round_trip vgg19 shapes,limit=4 "" features.0.bias features.50.running_mean classifier.weight
run export vgg19.safetensors --format torch -o one.safetensors --save-precision bf16
grep -q '16 biases that PyTorch' out && ok "biases that PyTorch's network has are zeros" || not_ok "biases" "$(cat out err)"
"$TINCA" weights one.safetensors >table
grep -q '^features.0.bias *64 *BF16 *0 *0 *0 *0$' table && grep -q '^features.0.weight .*BF16' table &&
    grep -q '^features.1.running_mean .*F32' table && ok "  in the precision that was asked for" ||
    not_ok "  in the precision that was asked for" "$(cat table)"

# a run
# shellcheck disable=SC2086
"$TINCA" train lenet --data digits,limit=4 $job --iterations 1 --name ours >log 2>&1
succeeds "a run's model" export ours --format torch -o run.safetensors --names sequential-lenet
refuses 2 'no curves' "a state dict has no curves" export run.safetensors -o run.json

# --- the commands of docs/interoperability.md, but those of Python and those that watch ---
docs=$srcdir/docs/interoperability.md
mkdir docs && cd docs || exit 99
sed -n '/^```json$/,/^```$/p' "$docs" | grep -v '^```' >wrapped.json
grep '^    tinca ' "$docs" | grep -v 'trained.safetensors\|PICTURE\|PREFIX\|tinca watch' | sed "s|^    tinca|'$TINCA'|" >commands
[ "$(wc -l <commands)" = 5 ] && ok "the documentation has its commands" || not_ok "the documentation has its commands" "$(cat commands)"
while IFS= read -r command; do
    sh -c "$command" >log 2>&1 </dev/null && ok "  ${command#* }" || not_ok "  ${command#* }" "$(cat log)"
done <commands
"$TINCA" weights model.safetensors >one
"$TINCA" weights unwrapped.safetensors >two
cmp -s one two && ok "  the weights are the same" || not_ok "  the weights are the same" "$(diff one two)"
"$TINCA" weights wrapped.safetensors | grep -q '^model.blocks2.0.skip.1.num_batches_tracked ' && ok "  and have the names" ||
    not_ok "  and have the names"
cd ..

# --- what does not fit ---
run import "$files/float32.safetensors" -o x.safetensors
[ "$status" = 1 ] && grep -q 'no built-in network' err && ok "a network that is not built in" || not_ok "no network" "$(told)"
run import "$files/option-a.safetensors" --network lenet -o x.safetensors
[ "$status" = 1 ] && grep -q '^  missing: conv1.bias, 20$' err && grep -q '^  another shape: conv1.weight, 20x1x5x5; conv1.weight of the file, 4x3x3x3$' err &&
    grep -q '^  unexpected: layer1.0.conv1.weight, 4x4x3x3$' err && ! grep -q num_batches err && [ ! -e x.safetensors ] &&
    ok "everything that does not fit is listed" || not_ok "everything that does not fit is listed" "$(cat err)"
run import one.safetensors --network resnet20 -o x.safetensors --json
[ "$status" = 1 ] && ok "and as JSON" || not_ok "and as JSON" "$status $(told)"
is "  the first that is missing" missing.0 stem.conv.weight
is "  and unexpected" unexpected.0 "$("$JSON_LOOK" out unexpected.0)"
sed 's/"classes": 5/"classes": 4/' "$files/small.json" >four.json
succeeds "the classes are those of the state dict" import "$files/float32.safetensors" --network four.json -o x.safetensors --json
is "  as it says" classes 5
run import "$files/float32.safetensors" --network four.json --classes 4 -o x.safetensors
[ "$status" = 1 ] && grep -q '^  another shape: fc.weight, 4x8; linear.weight of the file, 5x8$' err &&
    ok "unless others are asked for" || not_ok "unless others are asked for" "$(cat err)"

# a training lists it in its one line, with the rest as a number
begin() { refuses "$1" "$2" "$3" train lenet --data digits,limit=40 --batch 20 --iterations 1 --weights "$4"; }
narrow="train mlp --data digits,limit=40 --batch 20 --iterations 1"
succeeds "a network of other widths" $narrow --widths 30,20 --save narrow.safetensors -q
x28=xxxxxxxxxxxxxxxxxxxxxxxxxxxx
succeeds "an array of another name" weights lenet.safetensors --rename ip2.bias=ip2.offset --save renamed.safetensors
succeeds "  and one of a long name" weights lenet.safetensors --rename ip2.bias=$x28.$x28 --save long_name.safetensors
refuses 1 'do not fit the network; of another shape \(3\): hidden.2.fc.weight \(20x30, not 24x30\), hidden.2.fc.bias \(20, not 24\), output.weight' \
    "a training lists the arrays of another shape" $narrow --widths 30,24 --weights narrow.safetensors
begin 1 'missing \(1\): ip2.bias \(10\); left over \(1\): ip2.offset: ' "and those that are missing and left over" renamed.safetensors
begin 1 'of another shape \([0-9]+\): [^;]* and [0-9]+ more; left over \([0-9]+\): [^;:]* and [0-9]+ more: tinca weights' "and how many more there are" one.safetensors
begin 1 "left over \\(1\\): $x28\\.\\.\\.$x28: " "a long name loses its middle" long_name.safetensors

# --- mappings of one's own, and wrong ones ---
echo '{"names": [["model.*", "*"]]}' >prefix.json
succeeds "a mapping of one's own" export lenet.safetensors --format torch --names prefix.json -o one.safetensors
"$TINCA" weights one.safetensors | grep -q '^model.conv1.weight ' && ok "  names the arrays" || not_ok "  names the arrays"
succeeds "  and reads them" import one.safetensors --network lenet --names prefix.json -o x.safetensors
echo '{"names": [["a*", "conv1.*"], ["ip*", "ip2.*"]]}' >none.json
refuses 1 'no name for this array' "a mapping that loses a name" export lenet.safetensors --format torch --names none.json -o x.safetensors
for text in '[]' '{"names": 1}' '{"names": [["a", "b*"]]}' '{"names": [], "then": [[]]}' '{"names": [], "networks": [1]}' \
    '{"names": [], "num_batches_tracked": "no"}' '{"names": [["*********", "a"]]}' '{' '' 'null'; do
    printf '%s' "$text" >wrong.json
    refuses 1 'wrong.json' "the mapping $text" export lenet.safetensors --format torch --names wrong.json -o x.safetensors
done
refuses 1 'built in are network, cifar-resnet, ' "a mapping that is not there" export lenet.safetensors --format torch --names nothing -o x.safetensors
refuses 2 'format torch' "a mapping for another format" export lenet.safetensors --format onnx --names cifar-resnet -o x.onnx
refuses 2 'the model itself' "the model itself" export lenet.safetensors --format torch -o lenet.safetensors
refuses 2 'safetensors' "a file of another ending" export lenet.safetensors --format torch -o lenet.pt
refuses 2 'no such file' "a mapping for a log" import /dev/null --names cifar-resnet
run import lenet.safetensors -o x.safetensors
[ "$status" = 0 ] && grep -q 'names of the network' out && ok "a model's own names" || not_ok "a model's own names" "$(told)"
run quantize lenet.safetensors --calibrate digits,limit=8 -o int8.safetensors --threads 1 -q
refuses 1 'onnx' "a quantized model" export int8.safetensors --format torch -o x.safetensors
done_testing
