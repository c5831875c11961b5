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
losses() { journal_lines "$1/journal" | sed -n 's/.*"iteration":\([0-9]*\).*"loss":\([^,}]*\).*/\1 \2/p'; }

# alike NAME RANKS OPTION...: one process and so many (with the whole list: 2 and 4) train to the same bits and report
# the same losses
alike() {
    name=$1 several=$2
    shift 2
    if whole_list; then several="2 4"; fi
    run train "$@" --blocks 4 --threads 2 --run-dir "$T/$name-1" -q
    [ "$status" = 0 ] || not_ok "$name trains in one process" "$(told)"
    losses "$name-1" >first.txt
    for ranks in $several; do
        mpi $ranks train "$@" --blocks 4 --threads 1 --run-dir "$T/$name-$ranks" -q
        same "$name: $ranks processes" "$name-1" "$name-$ranks"
        losses "$name-$ranks" >second.txt
        if [ -s first.txt ] && cmp -s first.txt second.txt; then ok "  with the same losses"; else
            not_ok "  with the same losses" "$(diff first.txt second.txt)"
        fi
    done
}

short="--batch 16 --iterations 6 --seed 3"
weights=1,2,3,4,5,6,7,8,9,10
# shellcheck disable=SC2086 # lists of options
{
    alike plain "2 4" lenet --data digits,limit=64 $short
    alike mixup 4 lenet --data digits,limit=64 $short --augment crop=2,rotate=10,mixup=0.4
    differ "  mixup does something" plain-1 mixup-1
    alike cutmix 2 lenet --data digits,limit=64 $short --augment cutmix=1 --sampling balanced
    alike both 4 resnet20 --data shapes,limit=32 --batch 8 --iterations 3 --seed 3 \
        --augment flip,mixup=0.2,cutmix=1 --label-smoothing 0.1
    alike weighted 2 lenet --data digits,limit=64 $short --class-weights $weights
    differ "  class weights do something" plain-1 weighted-1
    alike everything 4 lenet --data digits,limit=64 $short --class-weights balanced --augment mixup=0.4,cutmix=1

    mpi 2 train lenet --data digits,limit=64 --batch 16 --iterations 40 --seed 3 --blocks 4 --threads 1 \
        --augment mixup=0.4 --class-weights $weights --max-time 0.001s --run-dir "$T/stopped" -q
    mpi 4 resume "$T/stopped" --max-time '' -q
    run train lenet --data digits,limit=64 --batch 16 --iterations 40 --seed 3 --blocks 4 \
        --augment mixup=0.4 --class-weights $weights --run-dir "$T/unstopped" -q
    same "a run that mixes goes on with other processes" unstopped stopped
}

# --- a teacher ---

cat >teacher.json <<'NETWORK'
{"name": "teacher", "input": [1, 28, 28], "classes": 10, "normalise": "unit",
 "layers": [{"op": "conv", "name": "conv1", "output": 12, "kernel": 5, "stride": 2, "pad": 2},
            {"op": "batch_norm", "name": "bn1"}, {"op": "relu", "name": "relu1"},
            {"op": "conv", "name": "conv2", "output": 24, "kernel": 3, "stride": 2, "pad": 1},
            {"op": "batch_norm", "name": "bn2"}, {"op": "relu", "name": "relu2"},
            {"op": "linear", "name": "ip1", "output": 70}, {"op": "relu", "name": "relu3"},
            {"op": "linear", "name": "ip2", "output": "classes"}]}
NETWORK
run train ./teacher.json --data digits,limit=128 --batch 16 --iterations 16 --seed 5 --save teacher.safetensors -q
[ "$status" = 0 ] || not_ok "the teacher" "$(told)"
# shellcheck disable=SC2086 # a list of options
{
    taught="--teacher $T/teacher.safetensors --temperature 3 --distill-weight 0.7"
    alike taught 4 lenet --data digits,limit=64 $short $taught
    differ "  the teacher teaches" plain-1 taught-1
    alike mixed 2 lenet --data digits,limit=64 $short $taught --augment mixup=0.3 --validate digits,limit=120
    alike few 4 lenet --data digits,limit=64 --batch 4 --iterations 4 --seed 3 $taught
    if [ "$(journal_lines taught-4/journal | grep -c '"loss_teacher":[0-9]')" = 6 ]; then ok "both parts of the loss are recorded"; else
        not_ok "both parts of the loss are recorded" "$(journal_lines taught-4/journal | head -n 3)"
    fi

    mkdir here there
    cp teacher.safetensors here
    job="lenet --data digits,limit=64 $short --teacher /proc/self/cwd/teacher.safetensors --threads 1 -q"
    status=0
    mpirun -n 1 -wdir "$T/here" "$TINCA" train $job : -n 1 -wdir "$T/there" "$TINCA" train $job >out 2>err </dev/null ||
        status=$?
    if [ "$status" != 0 ] && grep -q 'rank 1 on .*teacher.safetensors' err; then ok "a host without the teacher"; else
        not_ok "a host without the teacher" "$status: $(told)"
    fi
    run train ./teacher.json --data digits,limit=128 --batch 16 --iterations 3 --seed 5 \
        --save there/teacher.safetensors -q
    status=0
    mpirun -n 1 -wdir "$T/here" "$TINCA" train $job : -n 1 -wdir "$T/there" "$TINCA" train $job >out 2>err </dev/null ||
        status=$?
    if [ "$status" != 0 ] && grep -q "rank 1 on .*the checksum of the teacher's file" err; then
        ok "a host with another teacher"
    else
        not_ok "a host with another teacher" "$status: $(told)"
    fi
}

# --- a discriminator ---

cat >adversarial.json <<'NETWORK'
{"name": "adversarial", "input": [3, 16, 16], "normalise": "signed", "loss": "l1_loss",
 "layers": [{"block": "unet", "width": 4, "widest": 8, "steps": 2, "dropout_steps": 1},
            {"op": "tanh"}],
 "discriminator": {"layers": [{"op": "conv", "name": "c1", "output": 6, "kernel": 4, "stride": 2, "pad": 1},
                              {"op": "batch_norm", "name": "bn1"}, {"op": "leaky_relu", "name": "relu1"},
                              {"op": "conv", "name": "c2", "output": 1, "kernel": 3, "pad": 1}]}}
NETWORK
# losses FOLDER: prints the losses of both networks
losses() { journal_lines "$1/journal" | sed -n 's/.*"iteration":\([0-9]*\).*"loss":\([^,}]*\).*"loss_discriminator":\([^,}]*\).*/\1 \2 \3/p'; }
# shellcheck disable=SC2086 # lists of options
{
    small_pairs pairs 32
    job="./adversarial.json --data pairs:$T/pairs --batch 8 --seed 3"
    alike adversarial "2 4" $job --iterations 6 --validate pairs:$T/pairs,limit=10 --solver adam
    alike clipped 4 $job --iterations 3 --clip-norm 0.5 --augment flip
    mpi 2 train $job --iterations 24 --blocks 4 --threads 1 --max-time 0.001s --run-dir "$T/half" -q
    mpi 4 resume "$T/half" --max-time '' -q
    run train $job --iterations 24 --blocks 4 --run-dir "$T/entire" -q
    same "a run with a discriminator goes on with other processes" entire half
    mpi 2 train $job --iterations 2 --run-dir "$T/told"
    if [ "$status" = 0 ]; then ok "a run that measures before it begins"; else
        not_ok "a run that measures before it begins" "$status: $(told)"
    fi
    mpi 2 train $job --iterations 24 --lr 1000000 --run-dir "$T/diverged" -q
    if [ "$status" != 0 ] && grep -q 'became NaN or infinite' err; then ok "a loss that diverges ends all"; else
        not_ok "a loss that diverges ends all" "$status: $(told)"
    fi
}

done_testing
