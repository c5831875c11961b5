#!/bin/sh
# tinca train: runs that are stored, saved, exported, evaluated, interrupted and refused; and predict.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
small="--data digits,limit=200 --batch 20 --threads 1"

# shellcheck disable=SC2086 # a list of options
{
    succeeds "a short run" train lenet $small --validate digits,split=test,limit=50 --epochs 2 \
        --seed 5 --save "$T/a.safetensors" --export "$T/a.json" -q
    if [ -s "$T/out" ] || [ -s "$T/err" ]; then
        not_ok "  -q prints nothing" "$(cat "$T/out" "$T/err")"
    else
        ok "  -q prints nothing"
    fi
    is "  the session's format" format tinca-session "$T/a.json"
    is "  the run is done" runs.0.status "done" "$T/a.json"
    is "  ten iterations per epoch" "runs.0.series.loss.#" 20 "$T/a.json"
    is "  two validations" "runs.0.validation.top1.#" 2 "$T/a.json"
    is "  its seed" runs.0.config.seed 5 "$T/a.json"

    succeeds "runs" runs --json
    is "  runs lists it" "runs.#" 1
    is "  its status" runs.0.status "done"
    is "  its network" runs.0.network lenet
    id=$("$JSON_LOOK" "$T/out" runs.0.id)
    succeeds "export by the beginning of its ID" export "${id%????}" -o "$T/b.json"
    is "  is the same run" runs.0.id "$id" "$T/b.json"
    is "  with the same losses" runs.0.series.loss.19 \
        "$("$JSON_LOOK" "$T/a.json" runs.0.series.loss.19)" "$T/b.json"
    succeeds "export as CSV" export "$id" --format csv -o "$T/csv"
    succeeds "export as a picture" export "$id" --format png --log both --x epoch -o "$T/curves.png"
    if od -An -tx1 -j16 -N8 "$T/curves.png" | tr -d ' \n' | grep -q '^00000640000003e8$'; then
        ok "  is a PNG of 1600x1000"
    else
        not_ok "  is a PNG of 1600x1000" "$(od -An -tx1 -N32 "$T/curves.png")"
    fi
    succeeds "export as PDF" export "$id" --format pdf --size 252x200 -o "$T/curves.pdf"
    if head -c 5 "$T/curves.pdf" | grep -q '^%PDF-' && grep -aq '/Count 1$' "$T/curves.pdf"; then
        ok "  has one page"
    else
        not_ok "  has one page" "$(head -c 100 "$T/curves.pdf" | od -c)"
    fi
    succeeds "export as SVG" export "$id" --format svg -o "$T/curves.svg"
    if grep -q '<title>lenet on digits' "$T/curves.svg"; then ok "  has a title"; else
        not_ok "  has a title" "$(head -n 4 "$T/curves.svg")"
    fi
    mkdir "$T/alone" && cp "$TINCA" "$T/alone/tinca"
    if "$T/alone/tinca" export "$id" --format svg -o "$T/none.svg" 2>"$T/none.err"; then
        skip "without the module a chart is refused" "the module is installed here"
    elif [ ! -e "$T/none.svg" ] && grep -q "module that draws charts is missing.*make install" "$T/none.err"; then
        ok "without the module a chart is refused, and says what to do"
    else
        not_ok "without the module a chart is refused, and says what to do" "$(cat "$T/none.err")"
    fi
    if head -n 1 "$T"/csv/loss_*_tinca.csv | grep -q '^#network,mode,batch,step,loss,time$'; then
        ok "  with the studies' heading"
    else
        not_ok "  with the studies' heading" "$(ls "$T/csv" 2>&1)"
    fi

    id_of() { # id_of PATTERN NAME NET OPTION...: the ID of a run of this network matches PATTERN
        pattern=$1 name=$2
        shift 2
        run train "$@" --data shapes,limit=8 --batch 4 --iterations 1 --threads 1 -q
        run runs --json
        if grep -Eq "\"[0-9]{8}-[0-9]{6}-$pattern-[0-9a-f]{4}\"" "$T/out"; then
            ok "$name"
        else
            not_ok "$name" "$(cat "$T/out")"
        fi
    }
    id_of 'resnet20-shuffle-0\.35' "an ID contains technique and rate with all digits" \
        resnet20-shuffle-0.35
    id_of 'resnet20-shuffle-1\.25-4_groups' "also if options set them" resnet20 --technique shuffle \
        --width-rate 1.25 --groups 4

    # sums over blocks of images
    weights_of() { # weights_of NAME OPTION...: trains and saves NAME
        saved=$1
        shift
        succeeds "a run with $*" train lenet $small --epochs 1 --seed 5 --save "$T/$saved.safetensors" \
            --export "$T/$saved.json" -q "$@"
    }
    weights_of none --threads 2
    weights_of one --blocks 1 --threads 1
    weights_of four --blocks 4 --threads 2
    weights_of again --blocks 4 --threads 1
    is "  records the blocks" runs.0.config.blocks 4 "$T/four.json"
    if cmp -s "$T/none.safetensors" "$T/one.safetensors"; then ok "  one block is the default"; else
        not_ok "  one block is the default"
    fi
    if cmp -s "$T/four.safetensors" "$T/again.safetensors"; then
        ok "  the bits do not depend on threads"
    else
        not_ok "  the bits do not depend on threads"
    fi
    if cmp -s "$T/one.safetensors" "$T/four.safetensors"; then
        not_ok "  four blocks add in another order"
    else
        ok "  four blocks add in another order"
    fi
    refuses 2 "1 .*1024" "no blocks" train lenet $small --iterations 1 --blocks 0
    succeeds "bench with blocks" bench lenet --batch 8 --blocks 4 --iterations 2 --json
    has "  names them" blocks

    # models of half the size
    for format in bf16 float16; do
        succeeds "a run that saves $format" train lenet $small --validate digits,split=test,limit=50 \
            --epochs 2 --seed 5 --save "$T/$format.safetensors" --save-precision $format \
            --export "$T/$format.json" -q
        is "  has the same losses" runs.0.series.loss.19 \
            "$("$JSON_LOOK" "$T/a.json" runs.0.series.loss.19)" "$T/$format.json"
        is "  records the format" runs.0.config.save-precision $format "$T/$format.json"
        half=$(($(wc -c <"$T/a.safetensors") / 2))
        bytes=$(wc -c <"$T/$format.safetensors")
        if [ "$bytes" -le $((half + 4096)) ]; then ok "  half the size"; else
            not_ok "  half the size" "$bytes bytes, half are $half"
        fi
        succeeds "eval of it" eval "$T/$format.safetensors" --data digits,split=test,limit=50 --json
        has "  its accuracy" top1
        succeeds "measure of its run" measure "$("$JSON_LOOK" "$T/$format.json" runs.0.id)" --json
        succeeds "check of its run" runs --check "$("$JSON_LOOK" "$T/$format.json" runs.0.id)"
    done
    refuses 2 "float32, bf16.* float16" "an unknown format" train lenet $small \
        --save-precision fp8 --iterations 1

    succeeds "eval" eval "$T/a.safetensors" --data digits,split=test,limit=50 --json
    is "  evaluates all images" images 50
    is "  agrees with the last validation" top1 \
        "$("$JSON_LOOK" "$T/a.json" runs.0.validation.top1.1)"

    succeeds "the same seed again" train lenet $small --epochs 2 --seed 5 \
        --validate digits,split=test,limit=50 --save "$T/c.safetensors" -q
    if cmp -s "$T/a.safetensors" "$T/c.safetensors"; then
        ok "  gives the same bits"
    else
        not_ok "  gives the same bits"
    fi
    succeeds "a run with a summary in a folder of the user" train lenet $small --iterations 3 \
        --run-dir "$T/mine"
    shows '^ *stored in .*/mine' "  the folder is printed"
    if [ -f "$T/mine/config.json" ]; then ok "  and contains the run"; else not_ok "  and contains the run"; fi
    for figure in top1 top5 best_top1 validation_loss best_validation_loss; do
        is "  $figure was not measured" $figure null "$T/mine/summary.json"
    done
    refuses 2 "already holds a run" "a folder that already has a run" train lenet $small --iterations 3 \
        --run-dir "$T/mine"
    succeeds "options override the preset, in any order" train lenet --batch 20 \
        --data digits,limit=200 --iterations 2 --preset digits --lr 0.5 --export "$T/p.json" -q
    is "  batch" runs.0.config.batch 20 "$T/p.json"
    is "  lr" runs.0.config.lr 0.5 "$T/p.json"
    is "  settings without an option come from the preset" runs.0.config.weight-decay 0.0005 "$T/p.json"

    refuses 1 "nowhere" "a data set whose folder is missing" train lenet --data "idx:$T/nowhere" \
        --epochs 1
    refuses 1 "1x28x28|28x28" "images of the wrong shape" train lenet --data shapes --epochs 1
    refuses 1 "cuda" "a device that is missing" train lenet --data digits --device cuda:9
    refuses 1 "nomodel" "a missing model" eval "$T/nomodel" --data digits
    echo "not a model" >"$T/bad.safetensors"
    refuses 1 "bad.safetensors" "a file that is not a model" eval "$T/bad.safetensors" --data digits

    # an interrupted run is saved, with a message
    for signal in TERM QUIT; do
        "$TINCA" train lenet --data digits --batch 20 --epochs 1000 --threads 1 --seed 1 \
            --run-dir "$T/$signal" --export "$T/i.json" >"$T/out" 2>"$T/err" </dev/null &
        child=$!
        wait_until has_line '"loss"' "$T/$signal/journal"
        kill -$signal $child
        wait $child
        status=$?
        if [ $status = 130 ]; then ok "SIG$signal: exit 130"; else not_ok "SIG$signal: exit 130" "$status $(told)"; fi
        is "  the run is stopped" runs.0.status stopped "$T/i.json"
        has "  with its losses" runs.0.series.loss.0 "$T/i.json"
    done

    # the printed command also finds a run outside the folder of all runs
    "$TINCA" train mlp --data digits,limit=64 --batch 8 --epochs 1000000 --threads 1 \
        --run-dir "$T/its own/run" >"$T/out" 2>"$T/err" </dev/null &
    child=$!
    wait_until [ -s "$T/its own/run/journal" ]
    kill -TERM $child
    wait $child
    words=$(sed -n 's/^ *tinca \(resume .*\) continues it$/\1/p' "$T/out")
    eval "run ${words:-resume} --epochs 1" # only a run that is found is refused with these words
    if grep -q "a resumed run can become longer" "$T/err"; then
        ok "the printed command resumes a run in a folder of the user"
    else
        not_ok "the printed command resumes a run in a folder of the user" "$words $(told)"
    fi
}

# Networks that make pictures.
picture_network "$T/tiny.json" 16 8 16 3
succeeds "a network that makes pictures" train "$T/tiny.json" --data maps,limit=4 --batch 2 \
    --threads 1 --epochs 1 -q --run-dir "$T/tiny" --save "$T/tiny.safetensors"
photo=$(ls "$T"/tiny/sample-*.png)
cp "$photo" "$T/a.png"
cp "$photo" "$T/b.png"
succeeds "translates a picture" predict "$T/tiny.safetensors" "$T/a.png" -o "$T/made.png"
shows "a.png -> .*made.png" "  and prints the target"
png_size() { # png_size FILE: prints width and height, as eight bytes
    od -An -tu1 -j16 -N8 "$1" | tr -s ' '
}
if [ "$(png_size "$T/made.png")" = "$(png_size "$T/a.png")" ]; then ok "  as a PNG of the same size"; else
    not_ok "  as a PNG of the same size" "$(png_size "$T/made.png") of$(png_size "$T/a.png")"
fi
# no side of a chart is a multiple of 16 pixels, as the network requires
succeeds "a chart as a picture" export "$T/tiny" --format png --size 499x301 -o "$T/chart.png"
succeeds "the chart is translated" predict "$T/tiny.safetensors" "$T/chart.png" -o "$T/chart-made.png"
size=$(png_size "$T/chart-made.png")
if [ "$size" = " 0 0 1 243 0 0 1 45" ]; then ok "  with its size"; else not_ok "  with its size" "$size"; fi
succeeds "several pictures are translated into a new folder" \
    predict "$T/tiny.safetensors" "$T/a.png" "$T/b.png" -o "$T/made/" --json
is "  under their names" predictions.1.output "$T/made/b.png"
if cmp -s "$T/made/a.png" "$T/made.png"; then ok "  with the same result"; else not_ok "  with the same result"; fi
refuses 2 "-o FILE" "pictures without -o" predict "$T/tiny.safetensors" "$T/a.png"
refuses 2 "cannot be written to one file" "several pictures without a folder" \
    predict "$T/tiny.safetensors" "$T/a.png" "$T/b.png" -o "$T/one.png"
mkdir "$T/twins"
cp "$photo" "$T/twins/a.png"
refuses 2 "same name" "two pictures with the same name" \
    predict "$T/tiny.safetensors" "$T/a.png" "$T/twins/a.png" -o "$T/made"
refuses 2 "overwrite" "an input picture is not overwritten" predict "$T/tiny.safetensors" "$T/a.png" -o "$T"
refuses 1 "" "a folder that is missing" predict "$T/tiny.safetensors" "$T/a.png" -o "$T/no/where.png"

# --- a device that may not fall back ---
succeeds "a strict device that has all kernels" train "$T/tiny.json" --data maps,limit=2 --batch 1 \
    --threads 1 --epochs 1 --strict-device --run-dir "$T/strict"
is "  is kept with the run" config.strict-device true "$T/strict/config.json"
succeeds "  and bench says that nothing falls back" bench "$T/tiny.json" --iterations 1 --threads 1 \
    --strict-device=yes --json
is "  no layer" fallback_layers 0
refuses 2 "yes or no" "a value that is neither" info lenet --strict-device=perhaps

# --- a value that does not exist is not shown ---
succeeds "a validated network that makes pictures" train "$T/tiny.json" --data maps,limit=2 \
    --validate maps,limit=1 --batch 1 --threads 1 --epochs 1 --save "$T/one.safetensors"
if grep -q 'pixel accuracy' "$T/out" && ! grep -qi 'nan' "$T/out" "$T/err"; then
    ok "  shows its pixel accuracy and no top-1"
else
    not_ok "  shows its pixel accuracy and no top-1" "$(cat "$T/out" "$T/err")"
fi
succeeds "a single batch" eval "$T/one.safetensors" --data maps,limit=1
shows "mean [0-9.e+-]+ \(one value has no spread\) \(cpu, batch 1\)" "  has no spread, which is said"
succeeds "  nor in JSON" eval "$T/one.safetensors" --data maps,limit=1 --json
is "  sd" ms_per_image.sd null
is "  ci95" ms_per_image.ci95 null
succeeds "one timed iteration" bench "$T/tiny.json" --iterations 1 --threads 1 --json
is "  has no deviation either" ms_per_image.ci95 null
succeeds "  as text" bench lenet --batch 1 --mode infer --iterations 1 --threads 1
shows "ms/image .* \(one value has no spread\)$" "  says so"
shows "latency .* \(one value has no spread\): from an image" "  of the latency, too"
# --- a run that is refused before it begins leaves nothing ---
mkdir -p "$T/broken/a" && echo 'no picture' >"$T/broken/a/x.png"
before=$(ls "$XDG_STATE_HOME/tinca/runs" | wc -l)
run train alexnet --data "folder:$T/broken" --batch 1 --name refused --tag refused -q
[ "$status" -ne 0 ] && grep -q 'neither PNG nor JPEG' "$T/err" && ok "broken data are refused" ||
    not_ok "broken data are refused" "$status $(cat "$T/err")"
[ "$(ls "$XDG_STATE_HOME/tinca/runs" | wc -l)" = "$before" ] && ok "  and leave no folder" ||
    not_ok "  and leave no folder" "$(ls "$XDG_STATE_HOME/tinca/runs")"
run train alexnet --data "folder:$T/broken" --batch 1 --run-dir "$T/own" -q
[ ! -e "$T/own" ] && ok "  nor that of --run-dir" || not_ok "  nor that of --run-dir" "$(ls "$T/own")"
mkdir "$T/kept" && echo mine >"$T/kept/network.json"
run train alexnet --data "folder:$T/broken" --batch 1 --run-dir "$T/kept" -q
[ "$(ls "$T/kept")" = network.json ] && ok "  but files that were there before" ||
    not_ok "  but files that were there before" "$(ls "$T/kept")"

done_testing
