#!/bin/sh
# Augmentations by name and strength, class weights and balanced sampling, from the command line. What
# they compute is compared with PyTorch by augment_test and trajectory_test.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
cd "$T" || exit 99
job="lenet --data digits,limit=100 --batch 20"

# --- the same bits, interrupted or not, whatever the threads ---
all="--augment crop=2,flip,rotate=15,color=0.4,cutout=6,mixup=0.2,cutmix=1 --class-weights balanced
     --sampling balanced --label-smoothing 0.1"
# shellcheck disable=SC2086 # lists of options
{
    succeeds "everything at once" train $job $all --epochs 6 --threads 1 --save "$T/one.safetensors" --export "$T/run.json"
    is "  the list is recorded" runs.0.config.augment \
        crop=2,flip,rotate=15,color=0.4,cutout=6,mixup=0.2,cutmix=1 "$T/run.json"
    is "  and the weights" runs.0.config.class-weights balanced "$T/run.json"
    is "  and the sampling" runs.0.config.sampling balanced "$T/run.json"
    succeeds "with two threads" train $job $all --epochs 6 --threads 2 --save "$T/two.safetensors" -q
    cmp -s "$T/one.safetensors" "$T/two.safetensors" && ok "  the same bits" || not_ok "  the same bits"
    "$TINCA" train $job $all --epochs 6 --threads 2 --max-time 0.01s >stopped 2>&1
    id=$(sed -n 's/^\(2[^:]*\): stopped after .*/\1/p' stopped)
    run resume "$id" --max-time '' --save "$T/resumed.safetensors"
    [ "$status" -eq 0 ] && cmp -s "$T/one.safetensors" "$T/resumed.safetensors" &&
        ok "stopped and resumed, the same bits" || not_ok "stopped and resumed" "$(cat stopped err)"
    run train $job --epochs 1 --augment no --save "$T/last.safetensors" -q
    for one in rotate=15 color=0.4 cutout=6 mixup=0.2 cutmix=1 crop=2 flip; do
        run train $job --epochs 1 --augment $one --save "$T/changed.safetensors" -q
        cmp -s "$T/changed.safetensors" "$T/last.safetensors" && not_ok "$one changes the weights" ||
            ok "$one changes the weights"
        cp "$T/changed.safetensors" "$T/last.safetensors"
    done
}

# --- yes and no are still booleans ---
# shellcheck disable=SC2086
{
    run train $job --iterations 2 --augment on --export "$T/yes.json"
    is "on is yes, and true in the session file" runs.0.config.augment true "$T/yes.json"
    run train $job --iterations 2 --augment no --export "$T/no.json"
    is "no is false" runs.0.config.augment false "$T/no.json"
}

# --- weights of classes ---
# shellcheck disable=SC2086
{
    printf '1 2 3\n4,5 6 7\n8 9 10\n' >weights.txt
    train="train $job --iterations 10 -q"
    succeeds "from a file" $train --class-weights weights.txt --save "$T/file.safetensors"
    succeeds "as a list" $train --class-weights 1,2,3,4,5,6,7,8,9,10 --save "$T/list.safetensors"
    succeeds "without" $train --save "$T/none.safetensors"
    succeeds "all alike" $train --class-weights 3,3,3,3,3,3,3,3,3,3 --save "$T/alike.safetensors"
    cmp -s "$T/file.safetensors" "$T/list.safetensors" && ok "file and list are the same" || not_ok "file and list"
    cmp -s "$T/list.safetensors" "$T/none.safetensors" && not_ok "weights change the run" ||
        ok "weights change the run"
    for place in '1,2,3' '1,2,3,4,5,6,7,8,9,10,11'; do
        refuses 2 '10 classes' "$place is not one a class" train $job --class-weights $place
    done
    refuses 2 'no weight' "a weight below 0" train $job --class-weights 1,1,1,1,1,1,1,1,1,-1
    refuses 2 'all weights are 0' "only zeros" train $job --class-weights 0,0,0,0,0,0,0,0,0,0
    refuses 1 'nowhere.txt' "a file that is not there" train $job --class-weights nowhere.txt
    echo 'one two' >words.txt
    refuses 2 'one is no weight' "a file of words" train $job --class-weights words.txt
}

# --- a sweep ---
# shellcheck disable=SC2086
{
    run sweep --networks lenet --data digits,limit=100 --iterations 2 --vary 'augment=cutout=4,rotate=5;no' --dry-run
    [ "$status" -eq 0 ] && grep -q ' 2 cells' out && ok "a sweep over lists" ||
        not_ok "a sweep over lists" "$(cat out err)"
    run sweep --networks lenet --data digits,limit=100 --iterations 2 --vary augment=cutout=4,rotate=5 --dry-run
    [ "$status" -eq 0 ] && grep -q ' 1 cell' out && ok "  a list alone is one value" ||
        not_ok "  a list alone is one value" "$(cat out err)"
    run sweep --networks lenet --data digits,limit=100 --iterations 2 --vary augment=no,yes --dry-run
    [ "$status" -eq 0 ] && grep -q ' 2 cells' out && ok "  yes and no are two" ||
        not_ok "  yes and no are two" "$(cat out err)"
}

# --- refusals ---
adversarial_network gan.json
# shellcheck disable=SC2086
{
    for wrong in maybe mixup rotate=200 flip,flip crop=4, blur=3; do
        refuses 2 'crop=4,flip' "--augment $wrong" train $job --augment $wrong
    done
    refuses 2 'only one' "a batch of one cannot be mixed" train $job --batch 1 --augment mixup=1
    refuses 2 'border of 28' "a border as large as the image" train $job --augment crop=28
    refuses 2 'loss over classes|not softmax_cross_entropy' "a GAN has no labels to mix" \
        train ./gan.json --data maps,limit=4 --batch 2 --iterations 1 --augment mixup=1
    refuses 2 'loss over classes|not softmax_cross_entropy' "and no classes to weigh" \
        train ./gan.json --data maps,limit=4 --iterations 1 --class-weights balanced
    refuses 2 'loss over classes|have no classes' "or to balance" \
        train ./gan.json --data maps,limit=4 --iterations 1 --sampling balanced
    refuses 2 'pairs' "pairs keep their colours" \
        train ./gan.json --data maps,limit=4 --batch 2 --iterations 1 --augment color=0.1
    refuses 2 'one of shuffled, balanced' "another sampling" train $job --sampling random
}
done_testing
