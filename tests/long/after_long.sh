#!/bin/sh
# The table network x technique x technique after training, which tinca sweep --after prints.
#
# usage: [VARIABLE=VALUE...] tests/long/after_long.sh
#   NETWORKS    networks, with commas between them             lenet,resnet20,squeezenet
#   TECHNIQUES  techniques before training                     none,shift
#   AFTER       techniques after training, as sweep --after    half, int8, pruned, pruned and int8
#   DATA        SPEC of the training data                      CIFAR-10 below $TINCA_DATA, else digits
#   VALIDATE    SPEC of the validation data                    its test split
#   DEVICE      cpu, cuda:0 ...                                cpu
#   EPOCHS      of the training                                10
#   AFTER_EPOCHS  of fine-tuning after a technique             2
#   BATCH, SEED                                                64, 1
#   NAME        of the sweep, which is kept among the user's and continued by the next call; without
#               it the sweep is made in a scratch folder, and deleted
#   OUTPUT      a file for the table in Markdown and JSON (OUTPUT.md, OUTPUT.json)
# lenet needs 28x28 grey images: give it its own call (DATA=idx:...) where the others use CIFAR-10.
srcdir=${srcdir:-.}
keep=$XDG_STATE_HOME
. "$srcdir/tests/cli/tap.sh"
[ -z "$NAME" ] || { if [ -n "$keep" ]; then export XDG_STATE_HOME="$keep"; else unset XDG_STATE_HOME; fi; }
folder=${TINCA_DATA:-$srcdir/../shared/data}

# trial NETWORKS DATA VALIDATE SWEEP: trains, applies the techniques, and checks that every cell has its rows
trial() {
    run sweep --networks "$1" --techniques "${TECHNIQUES:-none,shift}" --batches "${BATCH:-64}" \
        --devices "${DEVICE:-cpu}" --data "$2" --validate "$3" --epochs "${EPOCHS:-10}" --seed "${SEED:-1}" \
        --after "${AFTER:-half,quantize:percentile,prune:0.5,prune:0.5+quantize:percentile}" \
        --after-epochs "${AFTER_EPOCHS:-2}" --name "$4" -q
    if [ "$status" = 0 ]; then ok "$1: trained, and every technique applied"; else not_ok "$1: trained, and every technique applied" "exit $status: $(told)"; fi
    succeeds "$1: the table" sweep --name "$4" --report --format markdown
    shows '^### After training' "$1: has a row for each technique after training"
    sed 's/^/# /' "$T/out"
    [ -z "$OUTPUT" ] || cat "$T/out" >>"$OUTPUT.md"
    succeeds "$1: as JSON" sweep --name "$4" --report --json
    [ -z "$OUTPUT" ] || cp "$T/out" "$OUTPUT-$4.json"
    cells=$("$JSON_LOOK" "$T/out" "cells.#") cell=0 open=0
    while [ $cell -lt "$cells" ]; do
        after=$("$JSON_LOOK" "$T/out" "cells.$cell.after.#" 2>/dev/null) result=0
        while [ $result -lt "${after:-0}" ]; do
            state=$("$JSON_LOOK" "$T/out" "cells.$cell.after.$result.state")
            [ "$state" = done ] || open=$((open + 1))
            result=$((result + 1))
        done
        cell=$((cell + 1))
    done
    if [ $open = 0 ]; then ok "$1: all of them are measured"; else not_ok "$1: all of them are measured" "$open are not"; fi
}

if [ -n "$DATA" ]; then
    trial "${NETWORKS:-lenet,resnet20,squeezenet}" "$DATA" "${VALIDATE:-$DATA,split=test}" "${NAME:-after}"
elif [ -d "$folder/mnist" ] && [ -d "$folder/cifar10" ]; then
    trial "${NETWORKS:-lenet}" "idx:$folder/mnist,split=train" "idx:$folder/mnist,split=test" "${NAME:-after}-mnist"
    [ -n "$NETWORKS" ] || trial resnet20,squeezenet "cifar10:$folder/cifar10,split=train" \
        "cifar10:$folder/cifar10,split=test" "${NAME:-after}-cifar10"
else
    skip "the table of techniques after training" "there are no data sets in $folder"
fi
done_testing
