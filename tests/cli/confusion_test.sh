#!/bin/sh
# Type confusion: in each JSON file of a run's folder one value after the other is replaced by one of each other
# type, and every command that opens runs must end with a documented status: no crash, no assertion, no endless
# loop, nothing that a sanitizer finds. Every SAMPLE-th case is tried, from OFFSET on; tests/long/confusion_long.sh
# tries all, with a program under AddressSanitizer.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/${TINCA:-tinca} ;; esac
CONFUSE_JSON=${CONFUSE_JSON:-$(dirname "$TINCA")/confuse_json}
case $CONFUSE_JSON in /*) ;; *) CONFUSE_JSON=$PWD/$CONFUSE_JSON ;; esac
SAMPLE=${SAMPLE:-599} OFFSET=${OFFSET:-0} FILES=${FILES:-}
export ASAN_OPTIONS="exitcode=99:detect_leaks=0:allocator_may_return_null=1:${ASAN_OPTIONS:-}" UBSAN_OPTIONS="halt_on_error=1:exitcode=99:${UBSAN_OPTIONS:-}"
cd "$T" || exit 99
state=$T/state/tinca runs=$T/state/tinca/runs

# --- a run with all files that a run can have ---
run train lenet --data digits,limit=32 --validate digits,limit=16 --batch 8 --iterations 6 --threads 1 --seed 3 \
    --width-rate 0.5 --name confused --tag tag --save saved.safetensors --export saved.json -q
[ "$status" = 0 ] || not_ok "a run to begin with" "$(told)"
id=$(ls "$runs")
run measure "$id" --images 4 --threads 1
run train lenet --data digits,limit=32 --validate digits,limit=16 --batch 8 --iterations 6 --threads 1 --seed 4 -q
second=$(ls "$runs" | grep -vx "$id")
run compare "$id" "$second" --threads 1
run sweep --networks mlp --batches 8 --data digits,limit=16 --iterations 2 --threads 1 -q
cat >"$runs/$id/profile.json" <<'PROFILE'
{"format": "tinca-profile", "version": 1, "iteration": 1, "iterations": 2, "images": 2, "threads": 1, "seconds": 0.1,
 "cost": 0.01, "networks": [{"name": "network", "layers": [{"name": "conv", "op": "conv", "kernel": "k",
 "choice": "k chosen", "memory_bytes": 0, "forward_seconds": 1e-3, "backward_seconds": null, "forward_flops": 1,
 "backward_flops": 2, "output": [1, 2, 3]}], "weights": [], "gemm": [{"kind": "nt", "shape": [1, 2, 3], "calls": 4,
 "seconds": 0.5}]}], "arenas": []}
PROFILE
printf '{"format": "tinca-pruned", "version": 1, "deleted": ["checkpoint.safetensors"]}\n' >"$runs/$id/pruned.json"
printf '{"format": "tinca-killed", "version": 1, "cause": "memory", "what": "run", "why": "killed", "advice": "go on"}\n' \
    >"$runs/$id/killed.json"
# the checksums would end the reading of a changed file
sed -i '/"crc32"/d' "$runs/$id/outputs.json"
# the checksum of the journal would end the reading of a changed one
sed -i -e '/"crc32"/d' -e 's/"journal_crc32": *[0-9]*,//' "$runs/$id/summary.json"
cp -R "$state" whole
complaints= cases=0 calls=0 of=

# try WORDS...: the command ends with a documented status
try() {
    calls=$((calls + 1))
    status=0
    timeout 600 "$TINCA" "$@" >out 2>err </dev/null || status=$?
    case $status in 0 | 1 | 2 | 130) grep -Eqs 'runtime error:|AddressSanitizer' err || return 0 ;; esac
    complaints="$complaints
$of: tinca $*: exit $status: $(head -c 400 err)"
}

every_command() {
    rm -rf written
    mkdir written
    try runs
    try runs --json --disk
    try runs --check
    try runs --check "$1" --json
    try runs top1 network:lenet --sort -top1 --members
    for format in json csv csv-long npz tfevents md png; do
        try export "$1" --format $format -o "written/$format"
    done
    try export "$1" "$second" --format md -o written/two.md --picture written/two.svg
    try export --all -o written/all.json
    try export "$1" --format onnx -o written/model.onnx
    try compare "$1" "$second"
    try compare "$1" "$second" --format json
    try compare "$1" "$second" --format markdown --published
    try explain "$1" --json
    try advise "$1" --need both --json
    try attach "$1"
    try models "$1" --json
    try tables trindade
    try tables gondim --format md
    try completion words -- export "$1"
    try eval "$1" --data digits,limit=8 --threads 1
    try measure "$1" --images 2 --threads 1
    try measure "$1" --raw written/times.csv --images 2 --threads 1
    try info "$runs/$1/config.json"
    try info "$runs/$1/network.json" --json
    try sweep --list
    for grid in "$state"/sweeps/*/; do try sweep --report "$(basename "$grid")" --format json; done
    try train --fork "$1@best" --iterations 2 --threads 1 -q
    try resume "$1" --iterations 7 --threads 1 -q
}

root_array=10 # the case in which a document is an array, which is always tried
try_case() { # try_case FILE NUMBER
    rm -rf "$state"
    cp -R whole "$state"
    "$CONFUSE_JSON" "whole/$1" "$2" >"$state/$1"
    of="case $2 of $1"
    every_command "$id"
    cases=$((cases + 1))
}

# confuse FILE: tries the cases of a file of the folder of state; the next file goes on in the same steps
number=$OFFSET
confuse() {
    count=$("$CONFUSE_JSON" "whole/$1") || not_ok "$1 is read" "$("$CONFUSE_JSON" "whole/$1")"
    before=$cases complaints=
    [ "$SAMPLE" = 1 ] || try_case "$1" $root_array
    while [ "$number" -lt "$count" ]; do
        try_case "$1" "$number"
        number=$((number + SAMPLE))
    done
    number=$((number - count))
    if [ -n "$complaints" ]; then
        not_ok "$1: $((cases - before)) of $count cases" "$(printf %s "$complaints" | head -c 9000)"
    else
        ok "$1: $((cases - before)) of $count cases"
    fi
}

files=$(cd whole && ls runs/"$id"/*.json runs/"$id"/*.jsonl sweeps/*/*.json sweeps/*/*/*.json 2>/dev/null)
for file in config journal network data summary provenance measurements profile pruned correct killed outputs; do
    case " $(echo "$files" | tr '\n' ' ')" in
    *"/$file.json"*) ;;
    *) not_ok "there is a $file.json to be changed" "$files" ;;
    esac
done
for file in ${FILES:-$files}; do
    for each in $(cd whole && ls -d $file); do confuse "$each"; done
done
echo "# $cases cases, $calls calls of the program"
[ "$cases" -gt 0 ] && ok "there were cases" || not_ok "there were cases"
done_testing
