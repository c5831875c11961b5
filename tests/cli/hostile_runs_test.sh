#!/bin/sh
# Runs every command on run folders in which every string is hostile: the output contains no control
# sequences and no invisible characters, and the documents contain no markup. Of each kind of hostile run but the
# first, make check resumes the run and tries every fourth call, so that the four together try each one; WHOLE=1: every
# call of each.
srcdir=${srcdir:-.}
case $TINCA in /*) ;; *) TINCA=$PWD/${TINCA:-tinca} ;; esac
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/cli/hostile_text.sh"
cd "$T" || exit 99
runs=$T/state/tinca/runs

run train mlp --data digits,limit=32 --validate digits,limit=16 --batch 8 --iterations 6 --threads 1 -q
[ "$status" = 0 ] || not_ok "a run to begin with" "$(told)"
id=$(ls "$runs")
run measure "$id" --images 4 --threads 1
cp -R "$runs/$id" whole
run sweep --networks mlp --batches 8 --data digits,limit=16 --iterations 2 --threads 1 -q
rm -rf "$runs"
mkdir "$runs"
cp -R "$T/state/tinca/sweeps" sweeps
evil=$(printf 'x\033]0;p\007\342\200\256<img>\302\233')
complaints= calls=0 documents=0
part= # of four, the calls that are tried; empty: all of them

# try WORDS...: the command's output is harmless
try() {
    place=$((place + 1))
    [ -z "$part" ] || whole_list || [ $((place % 4)) = "$part" ] || [ "$1" = resume ] || return
    run "$@"
    calls=$((calls + 1))
    [ "$status" -gt 2 ] && [ "$status" != 130 ] && complaints="$complaints
tinca $*: exit $status: $(told | cat -v)"
    bytes=$(hostile_bytes "$T/out" "$T/err")
    [ "$bytes" ] && complaints="$complaints
tinca $*: $bytes: $(cat -v "$T/out" "$T/err" | head -c 700)"
}

# clean FILE...: documents are harmless, too
clean() {
    documents=$((documents + $#))
    bytes=$(hostile_bytes "$@")
    [ "$bytes" ] && complaints="$complaints
$bytes: $(cat -v "$@" | head -c 700)"
    grep -n '[^\\]<img' "$@" /dev/null | grep -v '^[^:]*\.\(text\|csv\|json\):' >found &&
        complaints="$complaints
HTML in a document: $(head -c 400 found)"
}

every_command() {
    place=0
    for command in $("$TINCA" --help | sed -n '/^Commands/,/^$/s/^  \([a-z-]*\)  .*/\1/p'); do
        case $command in
        ui) try ui ;; # it reports that it has no terminal
        train)
            try train mlp --data "folder:$evil" --name-of "$evil"
            try train "$evil" --data digits
            for spec in "$evil" "folder:$evil" "list:$evil" "npy:$evil,labels=$evil" "npz:$evil,images=$evil" \
                "digits,only=$evil" "digits,limit=$evil" "digits,$evil=1" "digits,only=$evil,only=$evil" "auto,share=$evil"; do
                try train mlp --data digits,limit=16 --validate "$spec" --iterations 1 --threads 1 -q
            done
            ;;
        resume)
            try resume "$1" --iterations 8 --threads 1 -q
            try resume "$1" --iterations 8 --threads 1
            ;;
        attach)
            try attach "$1"
            try attach "$runs/$1"
            ;;
        watch)
            try watch "$runs/$1/journal.jsonl" "$runs/$1" --idle 0.1s --network "$evil" --columns "top1=$evil"
            try watch "$evil" --framework "$evil"
            ;;
        sweep)
            try sweep --list
            try sweep "$runs/$1/config.json"
            for grid in "$T/state/tinca/sweeps"/*/; do
                try sweep --report "$(basename "$grid")"
                try sweep --report "$(basename "$grid")" --format markdown
            done
            ;;
        info | bench)
            try $command "$runs/$1/config.json"
            try $command "$runs/$1/network.json"
            ;;
        eval)
            try eval "$1" --data digits,limit=8 --threads 1
            try eval "$1" --data "folder:$evil"
            try eval "$runs/$1/best.safetensors" --data digits,limit=8 --json
            ;;
        predict)
            try predict "$1" "$srcdir/docs/pix2pix-shift.png"
            try predict "$runs/$1/best.safetensors" "$evil.png"
            ;;
        weights)
            try weights "$runs/$1/best.safetensors"
            try weights "$runs/$1/best.safetensors" --json
            try weights "$runs/$1/best.safetensors" --network "$runs/$1/network.json"
            try weights "$evil" --rename "$evil=x"
            ;;
        prune)
            try prune "$runs/$1/best.safetensors" -o pruned.safetensors --parameters 0.5 --threads 1
            try prune "$runs/$1/best.safetensors" -o pruned.safetensors --unstructured 0.5 --threads 1 --json
            try prune "$evil" -o "$evil" --flops 0.5 --keep "$evil"
            ;;
        factorize)
            rm -f smaller.safetensors
            try factorize "$runs/$1/best.safetensors" -o smaller.safetensors --energy 0.5
            try factorize "$runs/$1/best.safetensors" -o smaller.safetensors --energy 0.5 --json
            try factorize "$runs/$1/best.safetensors" -o "$evil/$evil" --layers "$evil"
            try factorize "$evil" -o "$evil.safetensors" --keep "$evil"
            ;;
        quantize)
            try quantize "$runs/$1/best.safetensors" --calibrate digits,limit=8 --images 4 -o "$T/quantized.safetensors"
            try quantize "$runs/$1/best.safetensors" --calibrate "folder:$evil" -o "$T/quantized.safetensors"
            ;;
        find-rate)
            try find-rate "$runs/$1/network.json" --data "folder:$evil"
            try find-rate mlp --data "digits,only=$evil"
            ;;
        runs)
            try runs
            try runs --disk --members --sort name
            try runs "name~$evil"
            try runs --json
            try runs --check
            try runs --check "$1" --json
            ;;
        measure)
            try measure "$1" --images 4 --threads 1
            try measure "$1" --images 4 --threads 1 --json
            ;;
        compare)
            rm -f table.*
            for format in text json csv markdown; do
                try compare "$1" --format $format --published
                try compare "$1" --format $format -o "table.$format"
                [ -f "table.$format" ] && clean "table.$format"
            done
            ;;
        models)
            try models "$1" --only --measure --images 2 --threads 1
            try models "$1" --threads 1
            try models --threads 1 --json
            try models --format markdown
            try models --csv
            try models "$evil" --only
            ;;
        tables)
            for format in text md csv latex; do
                try tables trindade --format $format
                try tables gondim --format $format
            done
            ;;
        advise)
            try advise "$1" --need both
            try advise "$1" --limit-ms 1 --limit-mb 1
            try advise "$1" --need both --json
            try advise "$1" --other --need both --threads 1
            try advise "$1" --other --limit-mb 1 --threads 1 --json
            try advise
            ;;
        study) try study "$1" ;;
        explain)
            try explain "$1"
            try explain "$1" --json
            ;;
        import)
            try import --from caffe "$runs/$1/journal.jsonl"
            rm -f imported.safetensors
            try import "$runs/$1/best.safetensors" --network "$runs/$1/network.json" -o imported.safetensors
            try import "$runs/$1/best.safetensors" --network lenet --names "$evil" --json
            ;;
        export)
            rm -rf written
            mkdir written
            try export "$1" -o written/session.json
            try export "$1" --format csv -o written
            try export "$1" --format onnx -o exported.onnx
            try export "$1" --format torch -o exported.safetensors
            try export "$1" --format torch -o exported.safetensors --names "$evil"
            try export "$1" --format caffe -o exported.prototxt
            try export "$1" --format c -o written/model.c
            [ ! -f written/model.c ] || clean written/model.c
            try export "$1" --format md -o written/report.md --picture written/curves.png
            clean $(find written -type f ! -name '*.png')
            try export "$1" --format csv-long -o written/long.csv
            try export "$1" --format npz -o written/run.npz
            try export "$runs/$1/best.safetensors" --format npz -o written/model.npz
            try export "$1" --format tfevents -o written/board
            try export --all --format csv-long -o written/all.csv
            ;;
        completion)
            try completion "$evil"
            for typed in '' "$evil" "--$evil" "--data=folder:$evil/" "$runs/$1/" "$1"; do
                try completion words -- "$typed"
                try completion words -- train "$typed"
                try completion words -- export "$evil" "$typed"
                try completion words -- runs "$typed"
                try completion words -- train --data "$typed"
            done
            ;;
        datasets)
            try datasets
            try datasets "list:$evil"
            ;;
        help)
            try help train
            try help "$evil"
            ;;
        devices | networks) try $command ;;
        *) complaints="$complaints
tinca $command: this test does not know it" ;;
        esac
    done
}

# over NAME [KEY]...: runs all commands on a run whose strings are hostile, except those of the KEYs
over() {
    name=$1
    shift
    complaints=
    rm -rf "$runs" "$T/state/tinca/sweeps"
    mkdir "$runs"
    cp -R whole "$runs/$id"
    cp -R sweeps "$T/state/tinca/sweeps"
    hostile_folder "$runs/$id" "$@"
    for file in "$T/state/tinca/sweeps"/*/*.json "$T/state/tinca/sweeps"/*/*/*.json; do
        "$HOSTILE_JSON" payload format networks technique device preset run "$@" <"$file" >changed &&
            cat changed >"$file"
    done
    every_command "$id"
    [ -z "$complaints" ] && ok "$name" ||
        not_ok "$name" "$(printf %s "$complaints" | head -c 6000)"
}

settings="preset technique widths activation precision memory-limit solver schedule normalise
    save-precision stop-metric max-time names augment sampling class-weights teacher tensorboard
    reduce compress bucket filter momentum-form"
hostile_short=1
over "every string except those that are needed to read the run" $settings created weights
if grep -q onerror table.markdown && grep -q onerror table.csv && grep -q onerror written/report.md; then
    ok "  and the documents contain them"
else
    not_ok "  and the documents contain them" "$(ls written)"
fi
# a folder with a hostile name, too
part=0
mv "$runs/$id" "$runs/$evil"
complaints=
every_command "$evil"
[ -z "$complaints" ] && ok "a folder with a hostile name" ||
    not_ok "a folder with a hostile name" "$(printf %s "$complaints" | head -c 6000)"
hostile_short=
part=1
over "every string except those that are needed to continue the run" $settings network data validate device
hostile_long=1
part=2
over "strings of ten kilobytes" $settings network data validate device
hostile_long=
part=3
over "every string"

[ -z "$(find "$T" -name owned)" ] && ok "no shell ran anything" ||
    not_ok "no shell ran anything"
echo "# $calls calls of the program, $documents documents"
done_testing
