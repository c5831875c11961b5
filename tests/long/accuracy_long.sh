#!/bin/sh
# The accuracy of networks on real data: `make check-long`. Needs the data sets below $TINCA_DATA; takes an hour
# or two.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
data=${TINCA_DATA:-$srcdir/../shared/data}

# reaches NAME PERCENT NET KIND FOLDER OPTION...: trains the network and checks its top-1 accuracy
reaches() {
    name=$1 percent=$2 net=$3 kind=$4 folder=$5
    shift 5
    if [ ! -d "$folder" ]; then
        skip "$name" "there is no $folder"
        return
    fi
    run train "$net" --data "$kind:$folder,split=train" --validate "$kind:$folder,split=test" \
        --export "$T/long.json" -q "$@"
    last=$("$JSON_LOOK" "$T/long.json" "runs.0.validation.top1.#" 2>/dev/null)
    top1=$("$JSON_LOOK" "$T/long.json" "runs.0.validation.top1.$((${last:-1} - 1))" 2>&1)
    if [ "$status" = 0 ] && awk "BEGIN { exit !($top1 >= $percent) }" 2>/dev/null; then
        ok "$name ($top1 %)"
    else
        not_ok "$name" "exit $status, $top1 %: $(told)"
    fi
}

reaches "lenet: 99 % on MNIST within 5 epochs" 99 lenet idx "$data/mnist" --batch 64 --epochs 5 \
    --lr 0.02 --momentum 0.9 --weight-decay 0.0005 --schedule cosine --seed 1
reaches "resnet20: 80 % on CIFAR-10 within 12 epochs" 80 resnet20 cifar10 "$data/cifar10" \
    --preset cifar --schedule cosine --batch 128 --epochs 12 --lr 0.1 --seed 1
done_testing
