#!/bin/sh
# Counts the networks and plans that commands build: each that a run needs is built once, for its forecast, and is the
# one that the run computes with. The program is counted_tinca (tests/count_builds.c). Plans that are searched for a
# smaller batch, when a run is refused, are not counted. Nor are those of a GPU, where a run has two: the forecast asks the
# libraries without measuring, since another run may be using the GPU, and the run's worker measures its kernels.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
TINCA=$(dirname "$TINCA")/counted_tinca

# builds NETWORKS PLANS WHAT ARGUMENT...: runs a command and compares what it has built
builds() {
    expected="$1 networks, $2 plans" what=$3
    shift 3
    rm -f "$T/builds"
    TINCA_BUILDS="$T/builds" "$TINCA" "$@" >"$T/out" 2>"$T/err"
    status=$?
    if [ "$status" = 0 ] && [ "$(cat "$T/builds")" = "$expected" ]; then
        ok "$what: $expected"
    else
        not_ok "$what: $expected" "exit $status, $(cat "$T/builds"): $(head -c 400 "$T/err")"
    fi
}

# a folder of two classes: pictures that an untrained network gets wrong
"$TINCA" train lenet --data digits,limit=20 --batch 10 --iterations 0 --save "$T/untrained.safetensors" --threads 1 -q
"$TINCA" eval "$T/untrained.safetensors" --data digits,limit=100 --wrong "$T/wrong" --threads 1 >"$T/out" 2>&1
for class in cat dog; do
    mkdir -p "$T/two/$class" && cp "$T"/wrong/*.png "$T/two/$class/"
done

job="--data digits,limit=200 --batch 20 --iterations 2 --threads 1 -q"
cat >"$T/tiny.json" <<'END'
{"name": "tiny", "input": [3, 16, 16], "normalise": "signed", "loss": "l1_loss",
 "layers": [{"block": "unet", "name": "unet", "width": 8, "widest": 16, "steps": 3, "dropout_steps": 1},
            {"op": "tanh", "name": "tanh"}],
 "discriminator": {"layers": [
  {"op": "conv", "output": 8, "kernel": 4, "stride": 2, "pad": 1},
  {"op": "leaky_relu", "slope": 0.2},
  {"op": "conv", "output": 1, "kernel": 4, "stride": 2, "pad": 1}]}}
END

# shellcheck disable=SC2086 # lists of options
{
    # the training plan; the plan of validations, which the test and its evaluator share
    builds 1 1 "train" train lenet $job --save "$T/teacher.safetensors"
    # Each cell has a network and a plan, for its memory. The grid has checked its two networks, and only the FLOPs of
    # the saved run are needed.
    builds 7 4 "a sweep is forecast" sweep --networks mlp,lenet --batches 10,20 --data digits --threads 1 --dry-run
    # the machine is measured before plans are built
    unmeasured=$XDG_CACHE_HOME XDG_CACHE_HOME="$T/measured"
    builds 1 1 "the first run on a machine" train lenet $job
    builds 1 1 "the second run on a machine" train lenet $job
    builds 1 1 "train --tune" train lenet $job --tune
    XDG_CACHE_HOME=$unmeasured
    builds 1 2 "train --validate" train lenet $job --validate digits,split=test
    builds 1 2 "train --validate --test" train lenet $job --validate digits,split=test --test digits,split=test
    builds 1 2 "train --test" train lenet $job --test digits,split=test
    builds 1 2 "a training that stops in the middle" train lenet $job --validate digits,split=test --run-dir "$T/stopped" \
        --iterations 400 --max-time 1s
    # the kernels that the run has recorded are read before plans are built
    builds 1 2 "a fork of a checkpoint" train --fork "$T/stopped@last" --iterations 401 -q
    builds 1 2 "resume" resume "$T/stopped" -q
    # Each of the four plans is another computation: the generator, which gets a gradient from outside; the step of the
    # discriminator; its pass with frozen weights, which gives that gradient; and the generator without gradients, for
    # validations and samples. The last one is needed without validation, too: a run of pictures makes samples.
    builds 1 4 "a generator against a discriminator" train "$T/tiny.json" --data maps,limit=4 --epochs 1 --batch 1 \
        --threads 1 --solver adam --lr 0.002 --validate maps,split=test,limit=2 -q
    builds 1 4 "and without validation" train "$T/tiny.json" --data maps,limit=4 --epochs 1 --batch 1 --threads 1 \
        --solver adam --lr 0.002 -q
    # student, teacher, and the plan of validations; the networks of both are built once
    builds 2 3 "a student beside a teacher" train lenet $job --teacher "$T/teacher.safetensors" \
        --validate digits,split=test
    builds 1 1 "a saved model" train "$T/teacher.safetensors" $job
    builds 1 1 "the weights of a saved model" train lenet --weights "$T/teacher.safetensors" $job
    # the number of classes is that of the folders, and a model that a technique has made keeps its outputs
    builds 1 1 "a folder" train lenet --data "folder:$T/two" --batch 4 --iterations 2 --threads 1 -q
    # so it is of other files, whose labels are read before the network is built
    for class in cat dog eel; do
        for picture in "$T"/two/cat/*.png; do
            echo "$picture,$class"
        done
    done >"$T/list.csv"
    builds 1 1 "a list" train lenet --data "list:$T/list.csv" --batch 4 --iterations 2 --threads 1 -q
    mkdir -p "$T/idx"
    labels='\0\1\2\3\4\5\6\7\10\11\12\13'
    # shellcheck disable=SC2059 # the bytes are octal
    printf "\0\0\10\1\0\0\0\14$labels" >"$T/idx/train-labels-idx1-ubyte"
    { printf '\0\0\10\3\0\0\0\14\0\0\0\34\0\0\0\34' && head -c 9408 /dev/zero; } >"$T/idx/train-images-idx3-ubyte"
    builds 1 1 "IDX files of twelve classes" train lenet --data "idx:$T/idx" --batch 4 --iterations 2 --threads 1 -q
    { printf '\223NUMPY\1\0\77\0%-62s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (12,), }" &&
        printf "$labels"; } >"$T/labels.npy"
    { printf '\223NUMPY\1\0\107\0%-70s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (12, 28, 28), }" &&
        head -c 9408 /dev/zero; } >"$T/images.npy"
    builds 1 1 "arrays" train lenet --data "npy:$T/images.npy" --batch 4 --iterations 2 --threads 1 -q
    "$TINCA" prune "$T/teacher.safetensors" -o "$T/pruned.safetensors" --flops 0.5 -q --threads 1
    builds 1 1 "a pruned model" train "$T/pruned.safetensors" $job
    builds 1 1 "find-rate" find-rate lenet --data digits,limit=200 --batch 20 --threads 1 --iterations 10
    builds 1 2 "info" info lenet --threads 1
    # Of a saved model, the plan of one image says before the weights are read whether it fits. Settings of the command
    # come after that, and most commands compute other batches.
    builds 1 2 "eval" eval "$T/teacher.safetensors" --data digits,limit=200 --threads 1
    builds 1 2 "predict" predict "$T/teacher.safetensors" "$T"/two/cat/*.png --threads 1
    builds 1 1 "bench" bench lenet --threads 1 --iterations 2
    builds 1 3 "bench of two networks" bench "$T/tiny.json" --threads 1 --iterations 2
    builds 1 5 "info of two networks" info "$T/tiny.json" --threads 1
}
done_testing
