#!/bin/sh
# tinca advise --other and --apply: the second page of the flowchart, techniques after training.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"

refuses 2 'no models' "without any model" advise --other --need smaller
succeeds "a short run" train lenet --data digits,limit=200 --batch 20 --threads 1 \
    --validate digits,split=test,limit=40 --epochs 1 -q
model=$(ls "$T/state/tinca/runs"/*lenet*/best.safetensors)
made="$T/state/tinca/models"

succeeds "to be faster" advise --other --limit-ms 1000 --threads 1 --json
is "  the time must be measured first" verdict measure
is "  of this row" row.name lenet
succeeds "to be smaller" advise --other --limit-mb 1 --threads 1 --json
is "  half precision is enough" verdict try
is "  and is the step" step half:float16
is "  on the row that was read" row.row 1
is "  compared with the network" reference.name lenet
is "  the network is the best so far" best.name lenet
has "  with reasons" reasons.1
succeeds "much smaller" advise --other --limit-mb 0.5 --threads 1 --json
is "  int8 is enough" step quantize:percentile
succeeds "very much smaller" advise --other --limit-mb 0.2 --threads 1 --json
is "  its linear layers have most parameters, and int8 makes the rest of it small enough" step factorize:p0.4
succeeds "as it is" advise --other --limit-mb 2 --threads 1 --json
is "  it meets the limit" verdict use
succeeds "as text" advise --other --limit-mb 1 --threads 1
shows '^Try half:float16 on lenet next' "  what to try"
shows 'Row 1, lenet: time not measured, 1.726 MB, 0.00 points lost: 1.73 times' "  why, with the row's figures"
shows "^  tinca weights .*--save-precision float16" "  and the command"
shows "^  tinca advise --apply --network lenet --limit-mb 1 .*--threads 1" "  and the one that applies what is needed"
succeeds "the first page names the second" advise --need faster --device powerful
shows 'tinca advise --other' "  where no technique helps"

succeeds "applying" advise --apply --limit-mb 1 --threads 1 --budget 5 -o "$T/best.safetensors" --json
is "  the limit is met" verdict use
is "  by the technique" row.name lenet+half:float16
is "  which is the best so far" best.name lenet+half:float16
is "  it is measured" row.accuracy_from measured
is "  and compared with its origin" row.origin lenet
if [ "$(ls "$made"/*.safetensors | wc -l)" = 1 ]; then ok "  its model stays"; else not_ok "  its model stays" "$(ls "$made")"; fi
if cmp -s "$made"/*.safetensors "$T/best.safetensors"; then ok "  and is copied"; else not_ok "  and is copied"; fi
if grep -q 'lenet: applying half:float16' "$T/err"; then ok "  it says what it does"; else not_ok "  it says what it does" "$(told)"; fi
succeeds "a limit of size besides the wish to be faster" advise --apply --need faster --limit-ms 1000 --limit-mb 1 \
    --budget 5 --threads 1 --json
is "  counts: both models are fast enough, one is small enough" row.name lenet+half:float16
succeeds "once more" advise --apply --limit-mb 1 --threads 1 --budget 5
if ! grep -q applying "$T/err"; then ok "  nothing is to be done"; else not_ok "  nothing is to be done" "$(told)"; fi
succeeds "it is a row of the table of models" models --threads 1 --json
is "  the last one" models.1.name lenet+half:float16

# the first page is about networks as they were trained
succeeds "a pruned model" prune "$model" --flops 0.6 --data digits,limit=60 --epochs 1 --batch 20 --threads 1 \
    -o "$T/pruned.safetensors" -q
succeeds "the first page" advise --need faster --threads 1
if ! grep -q '[+]prune' "$T/out"; then ok "  does not concern it"; else not_ok "  does not concern it" "$(cat "$T/out")"; fi

# a budget that ends at once: what there is stays, and is named
succeeds "a budget that is over at once" advise --apply --limit-mb 0.2 --threads 1 --budget 0.00001
if grep -q 'time budget has ended' "$T/err"; then ok "  is said"; else not_ok "  is said" "$(told)"; fi
shows '^The best so far: lenet' "  with the best so far"
succeeds "no accuracy may be lost, and nothing helps" advise --other --limit-mb 0.0001 --accept-loss 0 \
    --threads 1 --json
is "  the smallest share is tried" verdict try

# another network of the same name: what was made from the first one is not taken for its result
succeeds "another network of the same name" train lenet --data digits,limit=400 --batch 20 --threads 1 \
    --validate digits,split=test,limit=40 --epochs 3 -q
succeeds "applying to it" advise --apply --limit-mb 1 --threads 1 --budget 5 --json
is "  the limit is met" verdict use
second=$("$JSON_LOOK" "$T/out" reference.path)
is "  by a new model" row.gain.points 0
if grep -q 'lenet: applying half:float16' "$T/err"; then ok "  which was made"; else not_ok "  which was made" "$(told)"; fi
if [ "$(ls "$made"/*.safetensors | wc -l)" = 2 ]; then ok "  beside the other one"; else not_ok "  beside the other one" "$(ls "$made")"; fi
if [ "$second" != "$model" ]; then ok "  it is compared with the better network"; else not_ok "  it is compared with the better network" "$second"; fi
succeeds "in the table of models" models --threads 1 --sort name --json
origins=$("$JSON_LOOK" "$T/out" models.2.origin_row)$("$JSON_LOOK" "$T/out" models.3.origin_row)
case $origins in
12 | 21) ok "  each result has the origin that it was made from" ;;
*) not_ok "  each result has the origin that it was made from" "$origins" ;;
esac

refuses 2 'apply' "a budget without applying" advise --other --need smaller --budget 1
refuses 2 'minutes' "a budget that is none" advise --apply --need smaller --budget soon
refuses 2 'network' "a network without models" advise --other --need smaller --network resnet20
succeeds "another run" train mlp --data digits,limit=200 --batch 20 --threads 1 \
    --validate digits,split=test,limit=40 --epochs 1 -q
refuses 2 'several networks' "several networks" advise --other --need smaller
succeeds "named files alone" advise --other --limit-ms 1000 --threads 1 "$model" --json
is "  are the table" network lenet
is "  measured on the data of the run in whose folder it is" row.data digits,split=test,limit=40
run advise --other --limit-mb 2 --threads 1 "$T/absent.safetensors"
if [ "$status" = 1 ]; then ok "a file that is missing"; else not_ok "a file that is missing" "exit $status"; fi
done_testing
