#!/bin/sh
# make.sh PROGRAM LABEL: stops tiny runs of several kinds with a program, packs each into LABEL-KIND.run (the form of
# ../old_runs/make.sh), resumes it with the same program, and adds the checksums of the weights to `sums`. An earlier
# program is built from the commit of its day; runs that are here are never made anew.
#
# The device is the reference, whose bits depend neither on the processor nor on libraries. Network and teacher are
# found in the folder where a command runs.
program=$1 label=$2
[ -x "$program" ] && [ -n "$label" ] || { echo "usage: make.sh PROGRAM LABEL" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd) scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
export XDG_STATE_HOME="$scratch/state" XDG_CACHE_HOME="$scratch/cache" LC_ALL=C
. "$here/networks.sh"

pack() { # pack RUN FILE
    {
        echo "@run $(basename "$1")"
        for file in "$1"/*; do
            name=$(basename "$file")
            case $name in
            checkpoint.previous.* | weights.* | discriminator.* | provenance.json | lock | *.png) continue ;;
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
    } >"$2"
}

make() { # make KIND OPTION...: stops a run within its first second
    kind=$1
    shift
    "$program" train "$@" --device reference --threads 1 --seed 1 --run-dir "$scratch/$kind" -q
    pack "$scratch/$kind" "$here/$label-$kind.run"
    "$program" resume "$scratch/$kind" --max-time '' -q
    for file in "$scratch/$kind"/weights.safetensors "$scratch/$kind"/best.safetensors \
        "$scratch/$kind"/discriminator.safetensors; do
        [ ! -f "$file" ] || echo "$label-$kind $(basename "$file") $(sum_of "$file")" >>"$here/sums"
    done
}

here_path=/proc/self/cwd
write_networks
"$program" train "$here_path/pooled.json" --data digits,limit=200 --batch 20 --iterations 30 --device reference \
    --threads 1 --seed 5 --lr 0.1 --save teacher.safetensors -q
base64 -w 110 teacher.safetensors >"$here/teacher.base64"
digits="--data digits,limit=2000 --batch 1000"
# shellcheck disable=SC2086 # a list of options
{
    make supervised "$here_path/pooled.json" $digits --validate digits,limit=100 --iterations 80 --solver adam --lr 0.8 \
        --ema 0.9 --schedule plateau --stop-patience 25 --average-loss 7 --max-time 1.6s
    make bf16 "$here_path/pooled.json" $digits --iterations 30 --solver nesterov --momentum 0.9 --lr 0.05 \
        --precision bf16 --warm-up 5 --max-time 0.1s
    make distilled "$here_path/pooled.json" $digits --iterations 30 --solver rmsprop --lr 0.01 \
        --teacher "$here_path/teacher.safetensors" --temperature 3 --distill-weight 0.7 --max-time 0.1s
}
make adversarial "$here_path/pair.json" --data maps,limit=60 --batch 20 --iterations 12 --solver adam --lr 0.002 \
    --momentum 0.5 --schedule linear --max-time 0.1s
