#!/bin/sh
# What an operand of tinca export is, is decided by its content: a run, a saved model, an ONNX file, or a file that is
# damaged or none of them, which the message says.
srcdir=$(cd "${srcdir:-.}" && pwd)
. "$srcdir/tests/cli/tap.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
cd "$T" || exit 99

run train lenet --data digits,limit=40 --batch 20 --iterations 1 --threads 1 --save model.safetensors --name first -q
[ "$status" = 0 ] || not_ok "a run and its model" "$(told)"
cp model.safetensors without_ending
head -c 100 model.safetensors >short.safetensors
head -c 5 model.safetensors >shorter.safetensors
size=$(wc -c <model.safetensors)
head -c $((size / 2)) model.safetensors >half.safetensors
: >empty.safetensors
head -c 100 model.safetensors >short_without_ending
echo 'loss 1' >log.safetensors
{ printf '\020\0\0\0\0\0\0\0'; printf '[1,2,3,4,5,6,7,8]'; } >list.safetensors
mkdir folder.safetensors
has() { grep -q -- "$2" "$1"; }

for format in onnx torch prototxt caffe npz; do
    case $format in onnx) ending=onnx ;; prototxt | caffe) ending=prototxt ;; npz) ending=npz ;; *) ending=safetensors ;; esac
    if [ $format = onnx ]; then
        run export model.safetensors --format onnx -o x.onnx
        if [ "$status" != 0 ] && grep -q 'built without ONNX' err; then
            skip "$format" "this tinca is built without protobuf-c"
            continue
        fi
    fi
    if [ $format = caffe ]; then
        run export model.safetensors --format caffe -o x.prototxt
        if [ "$status" != 0 ] && grep -q 'built without' err; then
            skip "$format" "this tinca is built without protobuf-c"
            continue
        fi
    fi
    succeeds "$format: a model" export model.safetensors --format $format -o "one.$ending"
    succeeds "$format: a model whose name does not say so" export without_ending --format $format -o "two.$ending"
    if [ $format = onnx ]; then
        ok "$format: (its name stands in the file)"
    elif cmp -s "one.$ending" "two.$ending"; then
        ok "$format: the same file"
    else
        not_ok "$format: the same file"
    fi
    succeeds "$format: a run" export first --format $format -o "three.$ending"
    for file in short half; do
        refuses 1 "$file\.safetensors: .*(exceeds the file|outside the file|inside the file|shorter)" "$format: a model that is cut off ($file)" \
            export $file.safetensors --format $format -o "x.$ending"
    done
    refuses 1 'shorter\.safetensors: .*shorter than the 8 bytes' "$format: a few bytes" export shorter.safetensors --format $format -o "x.$ending"
    refuses 1 'empty\.safetensors: .*shorter than the 8 bytes' "$format: an empty file" export empty.safetensors --format $format -o "x.$ending"
    refuses 1 'log\.safetensors: ' "$format: another file with a model's name" export log.safetensors --format $format -o "x.$ending"
    refuses 1 'list\.safetensors: ' "$format: a header that is no object" export list.safetensors --format $format -o "x.$ending"
    refuses 1 'short_without_ending: .*no saved model, and there is no run' "$format: a file that is nothing" \
        export short_without_ending --format $format -o "x.$ending"
    refuses 1 'missing\.safetensors: ' "$format: a file that is missing" export missing.safetensors --format $format -o "x.$ending"
done
for format in json csv-long md; do
    refuses 2 'saved model, which has no curves' "$format: a model" export without_ending --format $format -o x
    refuses 1 'short\.safetensors: .*exceeds the file' "$format: a damaged model" export short.safetensors --format $format -o x
    refuses 1 'short\.safetensors: .*exceeds the file' "$format: a damaged model beside a run" export first short.safetensors --format $format -o x
    refuses 1 'no saved model, and there is no run' "$format: another file" export short_without_ending --format $format -o x
done
refuses 2 'folder\.safetensors: .*no such run' "a folder with a model's name" export folder.safetensors --format torch -o x.safetensors

# a file that happens to have the name of a run does not hide it
echo text >first
succeeds "a run beside a file of its name" export first -o first.json
succeeds "  also as a model" export first --format npz -o first.npz
cp model.safetensors first
refuses 2 'saved model' "a model of that name is the model" export first -o second.json
done_testing
