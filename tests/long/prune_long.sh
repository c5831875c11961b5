#!/bin/sh
# Prunes a network that was trained on CIFAR-10 to half the FLOPs and fine-tunes it, beside the same training without
# pruning: `make check-long`. Prints one table. Hours on a processor; every part continues where it was interrupted if
# PRUNE_WORK names a folder that is kept.
#
# Without make: TINCA=./tinca JSON_LOOK=./json_look TINCA_DATA=DATA sh tests/long/prune_long.sh
# What can be chosen:
#   PRUNE_NETWORK    resnet56            PRUNE_CRITERION  l1, bn or taylor (taylor)
#   PRUNE_EPOCHS     before and after, each (10)    PRUNE_STEPS  steps of pruning, which share the epochs (1)
#   PRUNE_DEVICE     cpu, cuda           PRUNE_THREADS    0: all
#   PRUNE_DATA       SPEC of training (cifar10:$TINCA_DATA/cifar10,split=train)
#   PRUNE_VALIDATE   SPEC of the test set (cifar10:$TINCA_DATA/cifar10,split=test)
#   PRUNE_LR_BEFORE  0.1                 PRUNE_LR_AFTER   0.02
#   PRUNE_SEED       1                   PRUNE_WORK       a folder for models and runs
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
folder=${TINCA_DATA:-$srcdir/../shared/data}/cifar10
network=${PRUNE_NETWORK:-resnet56} epochs=${PRUNE_EPOCHS:-10} steps=${PRUNE_STEPS:-1}
criterion=${PRUNE_CRITERION:-taylor} seed=${PRUNE_SEED:-1}
data=${PRUNE_DATA:-cifar10:$folder,split=train} test=${PRUNE_VALIDATE:-cifar10:$folder,split=test}
work=${PRUNE_WORK:-$T/work}
if [ -z "${PRUNE_DATA-}" ] && [ ! -d "$folder" ]; then
    skip "$network pruned to half the FLOPs" "there is no $folder"
    done_testing
fi
mkdir -p "$work" || exit 99
export XDG_STATE_HOME="$work/state"
where="--device ${PRUNE_DEVICE:-cpu} --threads ${PRUNE_THREADS:-0}"
settings="--batch 128 --momentum 0.9 --weight-decay 0.0001 --schedule cosine --augment yes --seed $seed"
reads= # what the criterion is computed from
[ "$criterion" != taylor ] || reads="--batch 128 --augment yes"
after="$settings --lr ${PRUNE_LR_AFTER:-0.02}"

# part NAME FILE ARGUMENT...: runs the program unless FILE, which it writes, exists; shows its progress
part() {
    part_name=$1 part_file=$2
    shift 2
    if [ -e "$part_file" ]; then
        ok "$part_name (done before)"
    elif "$TINCA" "$@" >"$T/out" 2>"$work/log"; then
        ok "$part_name"
    else
        status=$?
        not_ok "$part_name" "exit $status: $(tail -n 5 "$work/log")"
        [ "$status" = 130 ] && exit 130
    fi
}

# trained NAME OPTION...: trains $work/NAME.safetensors in the run $work/NAME, or continues that run
trained() {
    model=$work/$1.safetensors run=$work/$1
    shift
    if [ -d "$run" ] && [ ! -e "$model" ]; then
        part "$(basename "$run") is trained on" "$model" resume "$run" --save "$model"
    else
        part "$(basename "$run") is trained" "$model" train "$@" --run-dir "$run" --save "$model"
    fi
}

# evaluated NAME: writes $work/NAME.json, the accuracy of $work/NAME.safetensors
evaluated() {
    # shellcheck disable=SC2086
    part "$1 is evaluated" "$work/$1.json" eval "$work/$1.safetensors" --data "$test" $where --json
    [ -e "$work/$1.json" ] || cp "$T/out" "$work/$1.json"
}

# shellcheck disable=SC2086 # lists of options
{
    trained before "$network" --data "$data" --validate "$test" --epochs "$epochs" \
        $settings --lr "${PRUNE_LR_BEFORE:-0.1}" $where
    # beside it, the same fine-tuning of the network as it is
    trained whole "$work/before.safetensors" --weights "$work/before.safetensors" --data "$data" --validate "$test" \
        --epochs "$epochs" $after $where
    part "half of it, as it is" "$work/raw.safetensors" prune "$work/before.safetensors" -o "$work/raw.safetensors" \
        --flops 0.5 --criterion "$criterion" --data "$data" $reads --seed "$seed" $where -q
    part "half of it, trained on" "$work/pruned.safetensors" prune "$work/before.safetensors" \
        -o "$work/pruned.safetensors" --flops 0.5 --criterion "$criterion" --steps "$steps" --data "$data" \
        --epochs "$((epochs / steps))" $after $where --json
    [ -e "$work/prune.json" ] || cp "$T/out" "$work/prune.json"
}
for name in before whole raw pruned; do evaluated $name; done

value() { "$JSON_LOOK" "$work/$1" "$2" 2>/dev/null || echo '?'; }
row() { # row NAME WHAT SIDE
    printf '# | %s | %s | %s | %.2f | %.2f to %.2f | %s |\n' "$2" "$(value prune.json "$3.flops")" \
        "$(value prune.json "$3.parameters")" "$(value "$1.json" top1)" "$(value "$1.json" top1_low)" \
        "$(value "$1.json" top1_high)" "$(value prune.json "$3.ms_per_image.median")"
}
echo "# $network, criterion $criterion, $steps step(s), on ${PRUNE_DEVICE:-cpu}"
echo "# | | FLOPs | parameters | top-1 % | 95 % interval | ms/image |"
echo "# |---|---|---|---|---|---|"
row before "$epochs epochs" before
row whole "$epochs + $epochs epochs, not pruned" before
row raw "$epochs epochs, pruned" after
row pruned "$epochs epochs, pruned, $epochs epochs" after

flops=$(value prune.json before.flops) left=$(value prune.json after.flops)
if awk "BEGIN { exit !($left <= $flops / 2 && $left > 0.49 * $flops) }" 2>/dev/null; then
    ok "half of the FLOPs remain"
else
    not_ok "half of the FLOPs remain" "$left of $flops"
fi
if awk "BEGIN { exit !($(value pruned.json top1) > $(value raw.json top1)) }" 2>/dev/null; then
    ok "fine-tuning makes up for pruning"
else
    not_ok "fine-tuning makes up for pruning" "$(value raw.json top1) %, then $(value pruned.json top1) %"
fi
done_testing
