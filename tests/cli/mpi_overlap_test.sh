#!/bin/sh
# Gradients that are sent over MPI while the backward pass computes: the same bits for any size of message
# (--bucket); --compress bf16 and --reduce fast train as well, are recorded, and say what they change.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/cli/mpi.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
cd "$T" || exit 99

job="lenet --data digits,limit=256 --batch 32 --epochs 1 --threads 1 --seed 3"

# --- what is refused, and what one process says ---

# shellcheck disable=SC2086 # a list of options
{
    run train $job --bucket many
    [ "$status" = 2 ] && grep -q 'auto, whole or a number of bytes' err && ok "--bucket many" ||
        not_ok "--bucket many" "$status: $(cat err)"
    run train $job --bucket 0
    [ "$status" = 2 ] && ok "--bucket 0" || not_ok "--bucket 0" "$status: $(cat err)"
    run train $job --reduce slow
    [ "$status" = 2 ] && ok "--reduce slow" || not_ok "--reduce slow" "$status: $(cat err)"
    run train $job --reduce fast --compress bf16
    [ "$status" = 2 ] && grep -q 'MPI adds no values of bf16' err && ok "both at once" ||
        not_ok "both at once" "$status: $(cat err)"
    run train lenet --data digits,limit=32 --batch 16 --iterations 1 --reduce fast --run-dir "$T/one"
    [ "$status" = 0 ] && grep -q 'have no effect' err && ok "one process says that it has no effect" ||
        not_ok "one process says that it has no effect" "$status: $(cat err)"
}

need_mpi "sums over MPI"
export TINCA_SHARED_MEMORY=0 # on one host, --bucket auto would use it

# alike NAME WAYS OPTION...: the same bits without overlap and with messages of several sizes; WAYS are words
# RANKS:BUCKET:THREADS. The bucket `auto` takes three iterations to be measured.
alike() {
    name=$1 ways=$2
    shift 2
    every && ways="2:whole:1 2:1:1 2:64K:2 2:auto:1 4:whole:1 4:1:1 4:64K:2 4:auto:1"
    run train "$@" --blocks 4 --threads 2 --run-dir "$T/$name-1" -q
    [ "$status" = 0 ] || not_ok "$name trains in one process" "$(told)"
    for way in $ways; do
        ranks=${way%%:*} threads=${way##*:} bucket=${way#*:} bucket=${bucket%:*}
        mpi "$ranks" train "$@" --blocks 4 --threads "$threads" --bucket "$bucket" --run-dir "$T/$name-$way" -q
        same "$name, $ranks processes, $threads threads, --bucket $bucket" "$name-1" "$name-$way"
    done
}

alike lenet "2:whole:1 2:1:1 2:64K:2 4:auto:1" lenet --data digits,limit=128 --batch 16 --iterations 8 --seed 3
alike resnet20 "2:auto:1 4:1:1" resnet20 --data shapes,limit=20 --batch 4 --iterations 4
alike squeezenet "4:64K:2" squeezenet-shift --data shapes,limit=16 --batch 4 --iterations 4

# losses FOLDER: the last losses of a run; a slow machine writes more lines of other kinds between them
losses() { journal_lines "$1/journal" | grep -o '"loss": *[0-9.e-]*' | grep -o '[0-9.e-]*$' | tail -n 4; }
# near NAME FOLDER: the last losses of the run are near those of the exact one
near() {
    losses exact >losses-exact
    losses "$2" >losses
    if [ -s losses-exact ] && paste losses-exact losses |
        awk '{d = $1 - $2; if (d < 0) d = -d; if (NF != 2 || d > 0.02 * $1 + 0.002) bad = 1} END {exit bad}'; then
        ok "$1"
    else
        not_ok "$1" "$(paste losses-exact losses | tr '\t\n' ' ;')"
    fi
}

# recorded NAME FOLDER KEY VALUE
recorded() {
    "$JSON_LOOK" "$2/config.json" "config.$3" >found 2>&1
    if grep -q "$4" found; then ok "$1"; else not_ok "$1" "$(cat found)"; fi
}

# shellcheck disable=SC2086 # a list of options
{
    mpi 2 train $job --run-dir "$T/exact"
    [ "$status" = 0 ] && ! grep -q 'other bits' err && ok "exact sums say nothing of other bits" ||
        not_ok "exact sums say nothing of other bits" "$status: $(told)"
    mpi 2 train $job --compress bf16 --run-dir "$T/bf16"
    [ "$status" = 0 ] && grep -q 'bf16: another number of processes than 2 gives other bits' err &&
        ok "--compress bf16 says what it changes" || not_ok "--compress bf16 says what it changes" "$status: $(told)"
    near "  its losses are near the exact ones" bf16
    recorded "  it is recorded" bf16 compress bf16
    cmp -s exact/weights.safetensors bf16/weights.safetensors && not_ok "  its weights differ" ||
        ok "  its weights differ"
    mpi 2 train $job --compress bf16 --bucket 1 --run-dir "$T/bf16-small" -q
    same "  the same bits for other messages" bf16 bf16-small
    mpi 2 train $job --reduce fast --run-dir "$T/fast"
    [ "$status" = 0 ] && grep -q 'reduce fast: MPI chooses the order' err && ok "--reduce fast says what it changes" ||
        not_ok "--reduce fast says what it changes" "$status: $(told)"
    near "  its losses are near the exact ones" fast
    recorded "  it is recorded" fast reduce fast
    recorded "  so is the size of messages" bf16-small bucket 1
    mpi 2 resume "$T/fast" --reduce exact
    [ "$status" = 2 ] && grep -q 'would change what the run computes' err && ok "a resumed run keeps it" ||
        not_ok "a resumed run keeps it" "$status: $(told)"
}

# a run that is stopped with one size of messages goes on with another, to the same bits
# shellcheck disable=SC2086 # a list of options
{
    job="lenet --data digits,limit=64 --batch 16 --iterations 20 --threads 1 --seed 3"
    mpi 2 train $job --max-time 0.001s --run-dir "$T/stopped" -q
    mpi 2 resume "$T/stopped" --max-time '' --bucket whole -q
    if [ "$status" = 0 ]; then
        run train $job --blocks 2 --run-dir "$T/unstopped" -q
        same "a resumed run with other messages" stopped unstopped
    else
        not_ok "a resumed run with other messages" "$status: $(told)"
    fi
}

done_testing
