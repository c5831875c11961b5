#!/bin/sh
# Type confusion: in each JSON file that tinca reads, and in each JSON text within a saved model, one value after the
# other is replaced by one of each other type, or by one that no writer makes (tests/confuse.h), and every command that
# reads the file must end with a documented status: no crash, no assertion, no endless loop, nothing that a sanitizer
# finds. With the files as they were written each command does its work. Every SAMPLE-th case is tried, from OFFSET on,
# and where SAMPLE is not given, as in make check, with every third of the commands of a long list, others for each
# case; tests/long/confusion_long.sh tries more, with a program under AddressSanitizer. KINDS: only these kinds of files.
srcdir=$(cd "${srcdir:-.}" && pwd)
. "$srcdir/tests/cli/tap.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/${TINCA:-tinca} ;; esac
. "$srcdir/tests/faults/hold.sh"
CONFUSE_JSON=${CONFUSE_JSON:-$(dirname "$TINCA")/confuse_json}
MAKE_PICTURE=$(dirname "$TINCA")/make_picture
case $CONFUSE_JSON in /*) ;; *) CONFUSE_JSON=$PWD/$CONFUSE_JSON ;; esac
if [ "${SAMPLE-}" ] || whole_list; then step=1; else step=3; fi
SAMPLE=${SAMPLE:-2999} OFFSET=${OFFSET:-0}
KINDS=${KINDS:-run stopped sweep model network machine settings figures prune study mapping log grid queue}
export ASAN_OPTIONS="exitcode=99:detect_leaks=0:allocator_may_return_null=1:${ASAN_OPTIONS:-}" UBSAN_OPTIONS="halt_on_error=1:exitcode=99:${UBSAN_OPTIONS:-}"
mkdir "$T/place" && cd "$T/place" || exit 99
export XDG_STATE_HOME="$PWD/state" XDG_CONFIG_HOME="$PWD/config" XDG_CACHE_HOME="$PWD/cache"
mkdir -p state cache config/tinca
runs=state/tinca/runs

# --- every file that there can be ---
train="--validate digits,limit=16 --batch 8 --threads 1 -q"
sweep="sweep --networks mlp --widths 16 --batches 8 --data digits,limit=16 --validate digits,limit=8 --iterations 2
    --threads 1 --name grid --after prune:0.5 --after-epochs 1 -q"
prune="prune m.safetensors -o p.safetensors --flops 0.5 --steps 2 --iterations 6 --data digits,limit=16 --batch 8
    --threads 1 -q"
begin() { # begin ARGUMENT...: a command that makes files
    run "$@"
    [ "$status" = 0 ] || not_ok "files to begin with: tinca $1" "$(told)"
}
"$MAKE_PICTURE" interlaced 28 28 picture.png || not_ok "a picture"
cp "$srcdir/networks/lenet.json" net.json
cp "$srcdir/mappings/sequential-lenet.json" map.json
# shellcheck disable=SC2086 # lists of words
{
    begin train lenet --data digits,limit=32 --test digits,limit=16 --iterations 6 --seed 3 --width-rate 2 \
        --name confused --tag tag --save m.safetensors --export saved.json --tune $train
    begin train mlp --data digits,limit=32 --widths 16 --iterations 6 --seed 4 --name second $train
    begin measure confused --images 4 --threads 1
    begin measure second --images 4 --threads 1
    begin $sweep
    begin quantize m.safetensors -o q.safetensors --calibrate digits,limit=16 --threads 1 -q
    begin models m.safetensors --only --threads 1
    begin train lenet --data digits,limit=8 --iterations 1 --save w.safetensors $train
    begin export w.safetensors --format torch --names map.json -o t.safetensors
    hold 3 train mlp --data digits,limit=32 --widths 16 --epochs 3 --seed 5 --name stopped --checkpoint 0.001 \
        --checkpoint-share 100 $train
    kill -9 $child
    HOLD_ONLY=state.json
    hold 2 $prune # before the first step counts as tuned
    HOLD_ONLY=
    kill -9 $child
}
wait
named() { dirname "$(grep -lx "$1" $runs/*/name.txt)"; }
confused=$(named confused) stopped=$(named stopped)
cat >"$confused/profile.json" <<'END'
{"format": "tinca-profile", "version": 1, "iteration": 1, "iterations": 2, "images": 2, "threads": 1, "seconds": 0.1,
 "cost": 0.01, "networks": [{"name": "network", "layers": [{"name": "conv", "op": "conv", "kernel": "k",
 "choice": "k chosen", "memory_bytes": 0, "forward_seconds": 1e-3, "backward_seconds": null, "forward_flops": 1,
 "backward_flops": 2, "output": [1, 2, 3]}], "weights": [], "gemm": [{"kind": "nt", "shape": [1, 2, 3], "calls": 4,
 "seconds": 0.5}]}], "arenas": []}
END
printf '{"format": "tinca-pruned", "version": 1, "deleted": ["checkpoint.safetensors"]}\n' >"$confused/pruned.json"
printf '{"format": "tinca-killed", "version": 1, "cause": "memory", "what": "run", "why": "killed", "advice": "go on"}\n' \
    >"$stopped/killed.json"
printf '{"export-directory": "%s", "shared-runs": true, "language": "en"}\n' "$PWD" >config/tinca/config.json
cat >tinca-study.json <<'END'
{"format": "tinca-study", "version": 1, "studies": [{"network": "it", "real": "it", "generated": "it", "fingerprint":
"12345678", "seed": 1, "seconds": 1, "shown_twice": 0, "seen_in_training": null, "images": [{"name": "it", "generated":
true, "practice": false}, {"name": "it", "generated": false, "practice": false}], "votes": [{"participant": "it",
"created": "it", "graphics": "it", "columns": 80, "rows": 24, "answers": [{"image": 0, "real": true, "seconds": 1},
{"image": 1, "real": true, "seconds": 1}]}]}]}
END
for i in 1 2 3 4; do
    echo '{"step": '$i', "epoch": 1, "time": '$i', "loss": 0.5, "lr": 0.1, "val_loss": 1.5, "top1": 0.5, "batch": 8}'
done >log.jsonl
cat >given.json <<'END'
{"networks": ["mlp", "lenet"], "techniques": ["none", "dsc"], "batches": "1..8", "devices": ["cpu"], "data":
"digits,limit=16", "validate": "digits,limit=8", "iterations": 2, "threads": 1, "lr": 0.1, "after": "prune:0.5"}
END
# the lines of an earlier version have members to be changed; events in records are read by the same code
journal_lines "$confused/journal" >"$confused/journal.jsonl" && rm "$confused/journal"
sed -i -e '/"journal_sum":/d' -e '/"journal":/d' -e 's/\("energy_unknown":.*\),$/\1/' "$confused/summary.json"
# the checksums would end the reading of a changed file
sed -i -e '/"crc32"/d' "$confused/summary.json" "$confused/outputs.json"
cp -Rp "$T/place" "$T/whole"
complaints= cases=0 calls=0 of= kind= place=0

# restore: everything is again as it was written
restore() {
    find . -mindepth 1 -delete
    cp -Rp "$T/whole/." .
}

# try WORDS...: the command ends with a documented status; with status 0 while nothing is changed
try() {
    place=$((place + 1))
    case $of:$kind in
    case*:run | case*:model) [ $((place % step)) = 0 ] || return 0 ;;
    esac
    calls=$((calls + 1))
    status=0
    timeout 600 "$TINCA" "$@" >"$T/out" 2>"$T/err" </dev/null || status=$?
    case $of:$status in
    *:0 | case*:1 | case*:2 | case*:130) grep -Eqs 'runtime error:|AddressSanitizer' "$T/err" || return 0 ;;
    esac
    complaints="$complaints
$of: tinca $*: exit $status: $(head -c 400 "$T/err")"
}

# --- the commands that read a kind of files; "$1" is the file ---
try_run() {
    mkdir written
    try runs
    try runs --json --disk
    try runs --check second
    [ "$of" ] && try runs --check confused --json # it reports that checksums are missing
    try runs top1 network:lenet --sort -top1 --members
    for format in json csv csv-long npz tfevents md; do try export confused --format $format -o "written/$format"; done
    if [ -f "$(dirname "$TINCA")/tinca-chart.so" ]; then
        try export confused --format png -o written/png
        try export confused second --format md -o written/two.md --picture written/two.svg
    fi
    try export --all -o written/all.json
    try export confused --format onnx -o written/model.onnx
    try compare confused second
    try compare confused second --format json --pairs
    try compare confused second --format markdown --published
    try explain confused --json
    try advise confused second --need both --json
    try attach confused
    try models confused --json
    try tables trindade
    try tables gondim --format md
    try completion words -- export con
    try eval confused --data digits,limit=8 --threads 1
    try predict confused picture.png
    try measure confused --images 2 --threads 1
    try measure confused --raw written/times.csv --images 2 --threads 1
    try info "$confused/network.json" --json
    try train --fork confused@best --iterations 8 --threads 1 -q
}
try_stopped() {
    try runs --json
    [ "$of" ] && try runs --check stopped # the run was killed
    try export stopped -o stopped.json
    try compare stopped second
    try train --fork stopped --epochs 4 --threads 1 -q
    try resume stopped --threads 1 -q
}
try_sweep() {
    try sweep --list --json
    try sweep --name grid --dry-run --json
    try sweep --name grid --report --csv tables
    try sweep --name grid --report --format markdown
    try models
    try completion words -- sweep --name g
    # shellcheck disable=SC2086 # a list of words
    try $sweep --retry
}
try_model() {
    try info "$1" --json
    try weights "$1"
    try models "$1" --only --threads 1
    try eval "$1" --data digits,limit=8 --threads 1
    try export "$1" --format onnx -o m.onnx
    case $1 in
    m.*)
        try export "$1" --format torch -o z.safetensors
        try export "$1" --format caffe -o m.prototxt
        try quantize "$1" -o qq.safetensors --calibrate digits,limit=8 --threads 1 -q
        try factorize "$1" -o f.safetensors --parameters 0.8 --threads 1 -q
        try train lenet --width-rate 2 --weights "$1" --data digits,limit=8 --batch 4 --iterations 1 --threads 1 -q
        try train mlp --teacher "$1" --data digits,limit=8 --batch 4 --iterations 1 --threads 1 -q
        ;;
    esac
}
try_network() {
    try info "$1" --json
    try info "$1" --width-rate 2 --classes 3
    try train "$1" --technique dsc --data digits,limit=8 --batch 4 --iterations 1 --threads 1 -q
    try sweep --networks "$1" --batches 2,4 --data digits,limit=8 --iterations 1 --dry-run
}
try_machine() {
    try devices --json
    try train mlp --data digits,limit=8 --batch 4 --iterations 1 --threads 1 -q
    if whole_list; then try bench mlp --iterations 1 --threads 1 --profile; fi # it measures the machine for seconds
    try bench mlp --iterations 1 --threads 1
    try advise confused second --need both
    try devices --tune
}
try_settings() {
    try runs
    try train mlp --data digits,limit=8 --batch 4 --iterations 1 --threads 1 -q
}
try_figures() {
    try models
    try models m.safetensors --only --json --threads 1
}
try_prune() { try $prune; }
try_study() {
    try study --report
    try study --report --json
    try tables gondim
}
try_mapping() {
    try weights t.safetensors --names map.json --network lenet
    try import t.safetensors --names map.json --network lenet -o i.safetensors
    try export w.safetensors --format torch --names map.json -o z.safetensors
}
try_log() {
    try import log.jsonl --name log
    try import log.jsonl --framework jsonl --batch 8 --images 32 --columns step=step,loss=val_loss --name log2
}
try_grid() { try sweep given.json --dry-run --json; }
try_queue() {
    try runs
    try runs --json
    try runs status=waiting
}

# --- the cases ---
root_array=10 # the case in which a document is an array, which is always tried
# try_case KIND FILE NUMBER: the commands of the kind, with a change of the file
try_case() {
    [ "$1" = queue ] || restore
    "$CONFUSE_JSON" "$T/whole/$2" "$3" >"$2"
    of="case $3 of $2" place=$cases
    "try_$1" "$2"
    cases=$((cases + 1))
}

# confuse KIND FILE...: tries the cases of files, which go on in the same steps, after the commands of the kind with
# what was written
number=$OFFSET
confuse() {
    kind=$1 of=
    shift
    complaints=
    [ "$kind" = queue ] || restore
    "try_$kind" "$1"
    [ -z "$complaints" ] && ok "$kind: every command does its work" ||
        not_ok "$kind: every command does its work" "$(printf %s "$complaints" | head -c 9000)"
    for file; do
        count=$("$CONFUSE_JSON" "$T/whole/$file") || not_ok "$file is read" "$("$CONFUSE_JSON" "$T/whole/$file")"
        before=$cases complaints=
        [ "$SAMPLE" = 1 ] || try_case "$kind" "$file" $root_array
        while [ "$number" -lt "$count" ]; do
            try_case "$kind" "$file" "$number"
            number=$((number + SAMPLE))
        done
        number=$((number - count))
        if [ -n "$complaints" ]; then
            not_ok "$file: $((cases - before)) of $count cases" "$(printf %s "$complaints" | head -c 9000)"
        else
            ok "$file: $((cases - before)) of $count cases"
        fi
    done
}

# of_kind KIND: prints its files
of_kind() {
    case $1 in
    run) ls "$confused"/*.json "$confused"/*.jsonl ;;
    stopped)
        ls "$stopped"/killed.json "$stopped"/data.json "$stopped"/config.json "$stopped"/checkpoint.safetensors
        ;;
    sweep) ls state/tinca/sweeps/*/grid.json state/tinca/sweeps/*/*/cell.json state/tinca/sweeps/*/*/after/*/*.json ;;
    model) echo m.safetensors q.safetensors ;;
    network) echo net.json ;;
    machine) echo cache/tinca/machines.json ;;
    settings) echo config/tinca/config.json ;;
    figures) ls state/tinca/model-figures/*.json | head -n 2 ;;
    prune) echo p.safetensors.prune/state.json ;;
    study) echo tinca-study.json ;;
    mapping) echo map.json ;;
    log) echo log.jsonl ;;
    grid) echo given.json ;;
    queue) ls state/tinca/queue/[0-9]* ;;
    esac
}

for file in config journal network data summary provenance measurements profile pruned correct outputs; do
    [ -f "$confused/$file.json" ] || [ -f "$confused/$file.jsonl" ] || not_ok "there is a $file.json to be changed"
done
for kind in $KINDS; do
    cd "$T/whole" || exit 99
    if [ "$kind" = queue ]; then # a process waits, for one that has stopped
        cd "$T/place" && restore
        hold 3 train mlp --data digits,limit=32 --epochs 3 --checkpoint 0.001 --checkpoint-share 100 $train
        "$TINCA" train mlp --data digits,limit=16 --epochs 1 --wait $train >"$T/waits" 2>&1 </dev/null &
        waits() { ls state/tinca/queue/[0-9]* >"$T/entries" 2>/dev/null && [ -s "$(cat "$T/entries")" ]; }
        wait_until waits
        mkdir -p "$T/whole/state/tinca/queue" && cp "$(cat "$T/entries")" "$T/whole/state/tinca/queue"
    fi
    files=$(of_kind $kind)
    cd "$T/place" || exit 99
    # shellcheck disable=SC2086 # a list of files
    confuse $kind $files
done
echo "# $cases cases, $calls calls of the program"
[ "$cases" -gt 0 ] && ok "there were cases" || not_ok "there were cases"
done_testing
