#!/bin/sh
# Ranks that have other numbers of blocks than 1, 2, 4, ... (--blocks): the same bits for any number of ranks that
# divides the blocks, and a run that goes on with another number of them.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/cli/mpi.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
cd "$T" || exit 99
need_mpi "several blocks for each rank"

# alike NAME K WAYS OPTION...: one process and several train to the same bits with K blocks; WAYS are words
# RANKS:BUCKET:THREADS
alike() {
    name=$1-$2 blocks=$2 ways=$3
    shift 3
    run train "$@" --blocks "$blocks" --threads 2 --run-dir "$T/$name-1" -q
    [ "$status" = 0 ] || not_ok "$name trains in one process" "$(told)"
    for way in $ways; do
        ranks=${way%%:*} threads=${way##*:} bucket=${way#*:} bucket=${bucket%:*}
        mpi "$ranks" train "$@" --blocks "$blocks" --threads "$threads" --bucket "$bucket" \
            --run-dir "$T/$name-$way" -q
        same "$name: $ranks processes, $threads threads, --bucket $bucket" "$name-1" "$name-$way"
    done
}

# --- the same bits ---

regular_network norms.json
digits="--data digits,limit=96 --seed 3"
small="2:64K:1 3:whole:1 6:1:1"
one="6:1:1"
if whole_list; then one=$small; fi
every && small="2:whole:1 2:1:2 2:64K:1 2:auto:1 3:whole:1 3:1:2 6:1:1 6:auto:1"
# shellcheck disable=SC2086 # lists of options
{
    alike lenet 6 "$small" lenet $digits --batch 12 --iterations 4
    alike lenet 12 "4:auto:1" lenet $digits --batch 24 --iterations 5
    alike resnet20 6 "3:whole:1" resnet20 --data shapes,limit=24 --batch 6 --iterations 2 --augment yes
    alike resnet20 12 "4:1:1" resnet20 --data shapes,limit=24 --batch 12 --iterations 1
    alike norms 6 "$one" ./norms.json $digits --batch 12 --iterations 4 --validate digits,limit=20 --clip-norm 1
    alike norms 12 "4:1:2" ./norms.json $digits --batch 12 --iterations 3 --device reference
    alike adam 14 "2:1:1" ./norms.json $digits --batch 28 --iterations 3 --solver adam --freeze conv1
    # where the processor has no instructions for it, the reference rounds to bf16
    plain=
    grep -qw avx512_bf16 /proc/cpuinfo || plain="--device reference"
    alike bf16 6 "2:1:1" ./norms.json $digits --batch 12 --iterations 3 --precision bf16 $plain
    run train lenet $digits --batch 12 --iterations 4 --blocks 4 --threads 1 --run-dir "$T/lenet-4-1" -q
    differ "  another K gives other bits" lenet-6-1 lenet-4-1
}

# --- sums whose bits may depend on the ranks ---

# shellcheck disable=SC2086 # lists of options
{
    mpi 2 train ./norms.json $digits --batch 12 --iterations 4 --blocks 6 --compress bf16 --bucket 1 --run-dir "$T/half" -q \
        --clip-norm 1
    mpi 2 train ./norms.json $digits --batch 12 --iterations 4 --blocks 6 --compress bf16 --run-dir "$T/again" -q --clip-norm 1
    same "--compress bf16: the same for the same ranks" half again
    differ "  but others than without it" half norms-6-1
    mpi 2 train lenet $digits --batch 12 --iterations 60 --blocks 6 --reduce fast --run-dir "$T/fast" \
        --validate digits,limit=100 -q
    run eval fast/weights.safetensors --data digits,limit=96 --json
    top1=$("$JSON_LOOK" out top1)
    top1=${top1%%.*}
    [ "$status" = 0 ] && [ "${top1:-0}" -ge 40 ] && ok "--reduce fast learns, too ($top1 %)" ||
        not_ok "--reduce fast learns, too" "$status: $(cat out err)"
}

# --- resuming with another number of ranks ---

# refused NAME PATTERN: the last command has refused to resume a run, once and with this message
refused() {
    if [ "$status" = 2 ] && [ "$(grep -c '^tinca:' err)" = 1 ] && grep -Eq "^tinca: [^:]*: $2" err; then ok "$1"; else
        not_ok "$1" "$status: $(told)"
    fi
}

# shellcheck disable=SC2086 # lists of options
{
    run train ./norms.json $digits --batch 12 --iterations 30 --blocks 6 --run-dir "$T/long" -q
    mpi 2 train ./norms.json $digits --batch 12 --iterations 30 --blocks 6 --max-time 0.001s --run-dir "$T/resumed" -q
    cp resumed/journal before
    mpi 4 resume "$T/resumed" -q
    refused "four ranks do not resume a run with six blocks" \
        'this run has 6 blocks, of which 4 processes cannot have equally many: start 1, 2, 3 or 6 processes$'
    cmp -s resumed/journal before && ok "  which does not change it" || not_ok "  which does not change it"
    mpi 3 resume "$T/resumed" --max-time 0.001s -q
    mpi 6 resume "$T/resumed" --max-time 0.001s -q
    if journal_lines resumed/journal | grep -q '"iteration":30,'; then not_ok "  three, and six, resume a part of it"; else
        ok "  three, and six, resume a part of it"
    fi
    mpi 2 resume "$T/resumed" --max-time 1h -q
    same "  two finish it, to the same bits as one process" long resumed
    is_resumed=$(journal_lines resumed/journal | grep -c '"event":"resume"')
    [ "$is_resumed" = 3 ] && ok "  it was resumed three times" || not_ok "  it was resumed three times" "$is_resumed"
    run runs --check "$T/resumed"
    [ "$status" = 0 ] && ok "  it is a valid run" || not_ok "  it is a valid run" "$(told)"

    run train lenet $digits --batch 12 --iterations 30 --max-time 0.001s --run-dir "$T/single" -q
    mpi 2 resume "$T/single" -q
    refused "two ranks do not resume a run with one block" 'this run was begun with one block: it resumes in one process$'
    run resume "$T/single" -q
    [ "$status" = 0 ] && ok "  but one does" || not_ok "  but one does" "$status: $(told)"
    run train lenet $digits --batch 10 --blocks 4 --iterations 30 --max-time 0.001s --run-dir "$T/unequal" -q
    mpi 2 resume "$T/unequal" -q
    refused "nor one whose blocks have unequal parts of a batch" \
        'the 4 blocks .* batches of 10 images.*: it resumes in one process$'
    run resume "$T/unequal" -q
    [ "$status" = 0 ] && ok "  which one does" || not_ok "  which one does" "$status: $(told)"
}

done_testing
