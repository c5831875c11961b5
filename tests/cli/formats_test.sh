#!/bin/sh
# What a file is, is told by its contents: by tinca info, and by the message about a file in the wrong place. What is
# written, is told by the ending of the output in all commands.
srcdir=$(cd "${srcdir:-.}" && pwd)
. "$srcdir/tests/cli/tap.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
cd "$T" || exit 99

contains() { # contains NAME FILE TEXT
    if grep -qF -- "$3" "$2"; then ok "$1"; else not_ok "$1" "$(cat "$2")"; fi
}
describes() { # describes FILE TEXT
    succeeds "info $1" info "$1"
    contains "  $2" out "$1: $2"
}

# --- files ---
mkdir folder && echo text >folder/file && tar czf archive.bin folder
printf '\211PNG\r\n\032\n0000' >picture.bin
printf 'PK\003\004%s%s' '0000000000000000000000' "$(printf '\020\000')" >archive.zip
printf 'name: "net"\nlayer {\n  name: "data"\n  type: "Input"\n}\n' >net.prototxt
printf 'base_lr: 0.1\nlr_policy: "fixed"\n' >solver.prototxt
printf 'step,loss\n1,2.5\n2,2.0\n' >metrics.csv
printf '{"step": 1, "loss": 2.5}\n{"step": 2, "loss": 2.0}\n' >log.jsonl
printf '#network,mode,batch,step,loss,time\nlenet,CPU,1,1,2.5,0.1\n' >loss_host_caffe.csv
printf 'I0101 10:00:00.0 1 solver.cpp:1] Iteration 0, loss = 2.5\nI0101 10:00:01.0 1 solver.cpp:1] Iteration 1, loss = 2\n' >caffe.log
echo text >text.txt
: >empty

describes archive.bin 'a gzip-compressed tar archive'
describes picture.bin 'a PNG image: a picture'
describes net.prototxt 'a network of Caffe (.prototxt): a network; tinca import makes a network file of it'
describes solver.prototxt 'a solver file of Caffe; tinca import prints it as options of tinca train'
describes metrics.csv 'a table of a training (CSV): the log of a training; tinca import makes a run of it'
contains "  with its points" out '1 training, 2 points, 0 validations'
describes log.jsonl 'JSON lines of a training: the log of a training'
describes caffe.log 'a log of Caffe: the log of a training'
describes loss_host_caffe.csv 'a log of Caffe: the log of a training'
describes text.txt 'a text'
describes empty 'an empty file'
cp empty empty.onnx
printf '\211PNG\r\n\032\n\000\000\000\015IHDR\000\000\000\010\000\000\000\010\010\002\000\000\000' >picture.onnx
describes empty.onnx 'an empty file'
describes picture.onnx 'a PNG image: a picture'
mkdir -p names && echo text >names/lenet
(cd names && "$TINCA" info lenet >../out 2>../err)
contains "the name of a network is not that of a file" out 'LAYER'
refuses 1 'this is not a regular file' "info of a folder" info folder
succeeds "info --json" info archive.bin --json
contains "  names the kind" out '"a gzip-compressed tar archive"'

"$TINCA" train lenet --data digits,limit=20 --batch 10 --iterations 1 --threads 1 --save model.safetensors --name first -q
succeeds "info of a saved model is about its network" info model.safetensors
contains "  with its layers" out 'LAYER'
succeeds "a state dict" export model.safetensors --format torch -o state.safetensors
describes state.safetensors 'a state dict of PyTorch (safetensors): arrays of weights or values'
succeeds "a session" export first -o session.json
describes session.json 'a session file of tinca: curves and results of runs'

# --- a file in the wrong place ---
refuses 1 'archive.bin: it is a gzip-compressed tar archive: ' "--weights names the file" \
    train lenet --data digits,limit=20 --weights archive.bin -q
refuses 1 'archive.bin: it is a gzip-compressed tar archive: ' "--data names the file" train lenet --data npz:archive.bin -q
refuses 1 'picture.bin: it is a PNG image: ' "import names the file" import picture.bin
refuses 1 'picture.onnx: it is a PNG image: ' "  also where its ending is that of a model" import picture.onnx
printf 'PK\003\0040000000000000000000000\020\000\000\000archive/data.pkl' >state.pt
refuses 1 'state.pt: it is a checkpoint of PyTorch .*save_file' "import says how a checkpoint becomes readable" import state.pt -o x.safetensors
refuses 1 'text.txt: no line contains a loss' "a text without a loss needs no name" import text.txt

# --- endings ---
succeeds "a sweep" sweep --networks lenet --data digits,limit=20 --batches 10 --iterations 1 --threads 1 --name s -q -o results.json
contains "  FILE.json is JSON" results.json '"tinca-sweep-results"'
succeeds "the sweep's tables" sweep --name s -q -o results.md
contains "  FILE.md is Markdown" results.md '| batch |'
succeeds "the endings of models" export model.safetensors -o net.npz
describes net.npz "an archive of NumPy's arrays (.npz)"
done_testing
