#!/bin/sh
# Methods of training that look beyond one image, in several processes: mixup, cutmix and class weights, whose images
# belong together with those of other processes, and a teacher. The bits are those of one process.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/cli/mpi.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
need_mpi "mixed images and teachers in several processes"
cd "$T" || exit 99

# losses FOLDER: prints the losses of a run
losses() { sed -n 's/.*"iteration":\([0-9]*\).*"loss":\([^,}]*\).*/\1 \2/p' "$1/journal.jsonl"; }

# alike NAME OPTION...: 1, 2 and 4 processes train to the same bits and report the same losses
alike() {
    name=$1
    shift
    run train "$@" --blocks 4 --threads 2 --run-dir "$T/$name-1" -q
    [ "$status" = 0 ] || not_ok "$name trains in one process" "$(told)"
    losses "$name-1" >first.txt
    for ranks in 2 4; do
        mpi $ranks train "$@" --blocks 4 --threads 1 --run-dir "$T/$name-$ranks" -q
        same "$name: $ranks processes" "$name-1" "$name-$ranks"
        losses "$name-$ranks" >second.txt
        if [ -s first.txt ] && cmp -s first.txt second.txt; then ok "  with the same losses"; else
            not_ok "  with the same losses" "$(diff first.txt second.txt)"
        fi
    done
}
# differ NAME FOLDER FOLDER: two runs have other weights, so that the setting between them does something
differ() {
    if [ -s "$2/weights.safetensors" ] && ! cmp -s "$2/weights.safetensors" "$3/weights.safetensors"; then
        ok "$1"
    else
        not_ok "$1" "$2 and $3 are the same"
    fi
}

short="--batch 16 --iterations 6 --seed 3"
weights=1,2,3,4,5,6,7,8,9,10
# shellcheck disable=SC2086 # lists of options
{
    alike plain lenet --data digits,limit=64 $short
    alike mixup lenet --data digits,limit=64 $short --augment crop=2,rotate=10,mixup=0.4
    differ "  mixup does something" plain-1 mixup-1
    alike cutmix lenet --data digits,limit=64 $short --augment cutmix=1 --sampling balanced
    alike both resnet20 --data shapes,limit=32 --batch 8 --iterations 3 --seed 3 \
        --augment flip,mixup=0.2,cutmix=1 --label-smoothing 0.1
    alike weighted lenet --data digits,limit=64 $short --class-weights $weights
    differ "  class weights do something" plain-1 weighted-1
    alike everything lenet --data digits,limit=64 $short --class-weights balanced --augment mixup=0.4,cutmix=1

    mpi 2 train lenet --data digits,limit=640 --batch 16 --iterations 400 --seed 3 --blocks 4 --threads 1 \
        --augment mixup=0.4 --class-weights $weights --max-time 0.1s --run-dir "$T/stopped" -q
    mpi 4 resume "$T/stopped" --max-time '' -q
    run train lenet --data digits,limit=640 --batch 16 --iterations 400 --seed 3 --blocks 4 \
        --augment mixup=0.4 --class-weights $weights --run-dir "$T/unstopped" -q
    same "a run that mixes goes on with other processes" unstopped stopped
}

done_testing
