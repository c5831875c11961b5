#!/bin/sh
# make.sh PROGRAM LABEL: trains the tiny runs of this folder with a program and packs each into LABEL-STATUS.run, a
# text file. An earlier program is built from the commit of its day. Runs of the present day are added before a change
# of what a run's folder contains; those that are here are never made anew.
#
# In a packed run a line "@lines NAME" begins a file whose text ends with a newline, "@text NAME" one without it, and
# "@base64 NAME" a file of other bytes. unpack.awk unpacks it.
program=$1 label=$2 here=$(dirname "$0")
[ -x "$program" ] && [ -n "$label" ] || { echo "usage: make.sh PROGRAM LABEL" >&2; exit 2; }
here=$(cd "$here" && pwd) scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch" /tmp/dot.json' EXIT
export XDG_STATE_HOME="$scratch/state" XDG_CACHE_HOME="$scratch/cache" LC_ALL=C
cat >/tmp/dot.json <<'NETWORK'
{"name": "dot", "input": [1, 28, 28], "classes": 10, "normalise": "unit",
 "layers": [{"op": "flatten", "name": "flatten"}, {"op": "linear", "name": "fc1", "output": 1, "init": "he"},
            {"op": "relu", "name": "relu1"}, {"op": "linear", "name": "fc2", "output": "classes", "init": "xavier"}]}
NETWORK

pack() { # pack STATUS: packs the only run of the folder, and deletes it
    for run in "$XDG_STATE_HOME"/tinca/runs/*; do
        {
            echo "@run $(basename "$run")"
            for file in "$run"/*; do
                name=$(basename "$file")
                case $name in
                *.safetensors) echo "@base64 $name" && base64 -w 110 "$file" ;;
                *)
                    if [ -z "$(tail -c 1 "$file")" ]; then
                        echo "@lines $name" && cat "$file"
                    else
                        echo "@text $name" && cat "$file" && echo
                    fi
                    ;;
                esac
            done
        } >"$here/$label-$1.run"
        rm -r "$run"
    done
}

"$program" train /tmp/dot.json --data digits,limit=40 --validate digits,limit=20 --batch 20 --epochs 2 \
    --threads 1 --seed 1 -q && "$program" measure "$(ls "$XDG_STATE_HOME/tinca/runs")" >"$scratch/log" 2>&1
pack done
if "$program" resume --help >"$scratch/log" 2>&1; then
    "$program" train --help | grep -q widths && network='mlp --widths 1' || network=/tmp/dot.json
    "$program" train $network --data digits,limit=10000 --batch 10000 --iterations 8 --device reference \
        --threads 1 --seed 1 -q &
    process=$!
    while kill -0 "$process" && [ "$(cat "$XDG_STATE_HOME"/tinca/runs/*/journal.jsonl 2>/dev/null | wc -l)" -lt 3 ]; do sleep 0.02; done
    kill -INT "$process"
    wait "$process"
    pack stopped
fi
if "$program" import --help >"$scratch/log" 2>&1; then
    "$program" import "$here/../logs/loss_titan_caffe.csv" >"$scratch/log" 2>&1 && pack imported
fi
