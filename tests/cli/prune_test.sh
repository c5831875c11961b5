#!/bin/sh
# tinca prune: the targets, the criteria, the models that it writes, fine-tuning in runs, an interrupted command
# that continues with the same bits, unstructured pruning, and what is refused.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/faults/hold.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
cd "$T" || exit 99
data="--data digits,limit=200 --batch 20"
runs=$XDG_STATE_HOME/tinca/runs

# within NAME PATH LOW HIGH [FILE]: a number of the document is in this range
within() {
    found=$("$JSON_LOOK" "${5:-$T/out}" "$2" 2>&1)
    if awk "BEGIN { exit !($found >= $3 && $found <= $4) }" 2>/dev/null; then
        ok "$1 ($found)"
    else
        not_ok "$1" "$2 is $found, not within $3 and $4"
    fi
}
same() { # same NAME FILE FILE
    if cmp -s "$2" "$3"; then ok "$1"; else not_ok "$1" "$2 and $3 differ"; fi
}
absent() { # absent NAME PATH
    if [ ! -e "$2" ]; then ok "$1"; else not_ok "$1" "$(ls -R "$2")"; fi
}
count_runs() { ls "$runs" | grep -c .; }

# shellcheck disable=SC2086 # a list of options
run train lenet $data --epochs 2 --threads 1 --save m.safetensors -q
[ "$status" = 0 ] || not_ok "a model to begin with" "$(told)"
run train resnet20 --width-rate 2 --data shapes,limit=20 --batch 10 --iterations 2 --threads 1 --save r.safetensors -q
rm -rf "$runs"

# --- targets and criteria ---
# LeNet has 4586000 FLOPs and 431080 parameters
succeeds "half the FLOPs" prune m.safetensors -o half.safetensors --flops 0.5 --json --validate digits,limit=100
cp out half.json
is "  of LeNet" before.flops 4586000 half.json
within "  remain at most, and nearly" after.flops 2200000 2293000 half.json
is "  and its name says so" network "lenet+prune:0.5" half.json
is "  the classes stay" layers.3.after 10 half.json
is "  because a loss reads them" layers.3.held_because "a loss reads them" half.json
has "  the accuracy before is measured" before.top1 half.json
has "  and after" after.top1_high half.json
absent "  the steps are deleted" half.safetensors.prune
succeeds "the model is evaluated" eval half.safetensors --data digits,limit=100 --json
is "  with the same loss" loss "$("$JSON_LOOK" half.json after.loss)"
succeeds "  and described" info half.safetensors --json
is "  it has the FLOPs" flops "$("$JSON_LOOK" half.json after.flops)"
succeeds "once more with two threads" prune m.safetensors -o again.safetensors --flops 0.5 -q --threads 2
same "  the same bits" half.safetensors again.safetensors
succeeds "a tenth of the parameters" prune m.safetensors -o p.safetensors --parameters 0.1 --json
within "  remains" after.parameters 42000 43108
# shellcheck disable=SC2086
succeeds "by the Taylor criterion" prune m.safetensors -o t.safetensors --flops 0.5 --criterion taylor $data --batches 3 -q
# shellcheck disable=SC2086
succeeds "  with more threads" prune m.safetensors -o t2.safetensors --flops 0.5 --criterion taylor $data --batches 3 -q --threads 3
same "  the same bits" t.safetensors t2.safetensors
cmp -s t.safetensors half.safetensors && not_ok "  other channels than by L1" || ok "  other channels than by L1"
# shellcheck disable=SC2086
succeeds "a part of the data is held out" prune m.safetensors -o t2.safetensors --flops 0.5 --criterion taylor $data --validate auto,share=0.2 --json
is "  and measures the accuracy" after.images 40
succeeds "a residual network by batch norm" prune r.safetensors -o r2.safetensors --criterion bn --flops 0.5 --json
within "  half of it" after.flops 1 "$("$JSON_LOOK" out before.flops | awk '{ print $1 / 2 }')"
succeeds "layers that are kept" prune m.safetensors -o k.safetensors --flops 0.6 --keep conv1 --keep 'ip*' --json
is "  keep their channels" layers.0.after 20
is "  each of them" layers.2.after 500
is "  and the table says why" layers.2.held_because "--keep names their layer"
succeeds "a pruned model is pruned again" prune half.safetensors -o quarter.safetensors --flops 0.5 --json
is "  its name has both" network "lenet+prune:0.5+prune:0.5"
within "  a quarter remains" after.flops 1000000 1146500
# shorten OPTION...: measures the network, and prunes it to 0.7 of its least time; again where the machine has
# become so much faster between the two that nothing is left to do. Returns whether it was not.
shorten() {
    for attempt in 1 2 3 4 5; do
        run prune m.safetensors -o l.safetensors --flops 0.9 --json --threads 1
        limit=$(awk "BEGIN { printf \"%.6f\", $("$JSON_LOOK" out before.ms_per_image.min) * 0.7 }")
        run prune m.safetensors -o l.safetensors --latency "$limit" --threads 1 "$@"
        [ "$status" = 1 ] && grep -q 'the model takes .* already' "$T/err" || return 0
    done
    skip "a time, $attempt attempts" "this machine is busy: $(told)"
    return 1
}
if shorten; then
    [ "$status" = 0 ] && ok "a time" || not_ok "a time" "exit $status: $(told)"
    shows 'the search measured [0-9.]+ ms' "  with what was measured"
    succeeds "  of a network" info l.safetensors --json
    within "  that is smaller" flops 1 4585999
fi
if whole_list && shorten --json; then
    [ "$status" = 0 ] && ok "  as JSON" || not_ok "  as JSON" "exit $status: $(told)"
    within "  makes a smaller network" after.flops 1 4585999
fi
[ -z "$(ls "$runs" 2>/dev/null)" ] && ok "without fine-tuning there is no run" || not_ok "without fine-tuning there is no run" "$(ls "$runs")"

# --- fine-tuning ---
job="m.safetensors --flops 0.5 --steps 2 $data --iterations 8 --lr 0.01 --seed 5"
# shellcheck disable=SC2086
succeeds "two steps with fine-tuning" prune $job -o f.safetensors --threads 1 --json
cp out f.json
[ "$(count_runs)" = 2 ] && ok "  in two runs" || not_ok "  in two runs" "$(ls "$runs")"
within "  the first is half way" steps.0.flops 3300000 3439500 f.json
within "  the second at the target" steps.1.flops 2200000 2293000 f.json
last=$("$JSON_LOOK" f.json steps.1.run)
same "  whose weights are the result" "$runs/$last/weights.safetensors" f.safetensors
succeeds "  the run has the network's name" runs "$last" --json
is "  with its chain" runs.0.network "lenet+prune:0.5"
first=$("$JSON_LOOK" f.json steps.0.run)
succeeds "  that of the first step" runs "$first" --json
is "  is named by what it reaches" runs.0.network "lenet+prune:0.75"

succeeds "two steps without, in half precision" prune m.safetensors -o half.safetensors --flops 0.5 --steps 2 \
    --save-precision bf16 -q
run weights half.safetensors
grep -q '^ip1.weight .* BF16 ' out && ok "  the weights are bf16" || not_ok "  the weights are bf16" "$(cat out)"
succeeds "fine-tuning that becomes worse, by the preset cifar" prune m.safetensors -o best.safetensors --flops 0.5 \
    --preset cifar --data digits,limit=100 --validate digits,split=test,limit=50 --batch 20 --epochs 3 --lr 0.1 \
    --momentum 0.9 --schedule fixed --threads 1 --json
best=$runs/$("$JSON_LOOK" out steps.0.run)
same "  the best model is the result" "$best/best.safetensors" best.safetensors
cmp -s "$best/weights.safetensors" best.safetensors && not_ok "  and not the last" || ok "  and not the last"

# --- interrupted ---
rm -rf "$runs"
has_checkpoint_or_ended() { ls "$runs"/*/checkpoint.safetensors >files 2>/dev/null || gone $child; }
slow="m.safetensors --flops 0.5 --steps 2 --data digits,limit=1000 --batch 10 --iterations 120 --lr 0.01"
# shellcheck disable=SC2086
run prune $slow -o whole.safetensors -q --threads 1
[ "$status" = 0 ] || not_ok "an undisturbed pruning" "$(told)"
rm -rf "$runs"
rm -f files
echo old >cut.safetensors
# At the first record of its first run it is asked for a checkpoint, which would be due after seconds only, and stopped
# when that is there.
# shellcheck disable=SC2086
env LD_PRELOAD="$HOLD_LIBRARY" FAULT=write:1:stop FAULT_ONLY=journal \
    ASAN_OPTIONS="verify_asan_link_order=0:${ASAN_OPTIONS-}" \
    "$TINCA" prune $slow -o cut.safetensors --threads 1 >out 2>err </dev/null &
child=$!
wait_until stopped_or_gone $child
kill -USR1 $child
kill -CONT $child
wait_until has_checkpoint_or_ended
kill -INT $child
status=0
wait $child || status=$?
if [ -d cut.safetensors.prune ]; then
    [ "$status" = 130 ] && ok "a signal ends it with 130" || not_ok "a signal ends it with 130" "exit $status: $(cat err)"
    has_line 'the same command continues' err && ok "  and says how to continue" || not_ok "  and says how to continue" "$(cat err)"
    [ "$(cat cut.safetensors)" = old ] && ok "  the old file is as it was" || not_ok "  the old file is as it was"
    refuses 2 "another pruning to this output was interrupted" "another request" prune m.safetensors -o cut.safetensors --flops 0.4
    cp -R cut.safetensors.prune kept
    printf ' ' >>cut.safetensors.prune/state.json
    # shellcheck disable=SC2086
    refuses 1 "delete its folder to begin again" "a damaged state" prune $slow -o cut.safetensors
    echo '{"format": ' >cut.safetensors.prune/state.json
    # shellcheck disable=SC2086
    refuses 1 "delete its folder to begin again" "a torn state" prune $slow -o cut.safetensors
    rm -r cut.safetensors.prune
    mv kept cut.safetensors.prune
    # shellcheck disable=SC2086
    succeeds "the same command continues" prune $slow -o cut.safetensors --threads 2 -q
    [ "$(count_runs)" = 2 ] && ok "  in the run that was begun" || not_ok "  in the run that was begun" "$(ls "$runs")"
    same "  with the same bits" cut.safetensors whole.safetensors
    absent "  and ends" cut.safetensors.prune
else
    skip "a signal ends it with 130" "it was done before"
fi

# --- killed while it deletes its steps ---
FAULTS=$(dirname "$TINCA")/faults.so
if [ -f "$FAULTS" ]; then
    place=1
    while :; do
        rm -rf g.safetensors g.safetensors.prune
        # shellcheck disable=SC2086
        LD_PRELOAD=$FAULTS FAULT=unlink:$place:kill FAULT_ONLY=g.safetensors.prune \
            "$TINCA" prune $job -o g.safetensors --threads 1 -q 2>/dev/null </dev/null
        status=$?
        [ $status = 137 ] || break
        same "killed at deletion $place: the output is complete" f.safetensors g.safetensors
        : >g.safetensors.prune/state.json.7.part
        # shellcheck disable=SC2086
        succeeds "  the command can be repeated" prune $job -o g.safetensors --threads 1 -q
        same "  with the same bits" f.safetensors g.safetensors
        absent "  and nothing is left" g.safetensors.prune
        place=$((place + 1))
    done
    [ $status = 0 ] && [ $place -gt 3 ] && ok "at all deletions" || not_ok "at all deletions" "$place, exit $status"
    # a power cut may undo any of the deletions: here that of the state, but not that of the last model
    # shellcheck disable=SC2086
    LD_PRELOAD=$FAULTS FAULT=unlink:1:kill FAULT_ONLY=g.safetensors.prune \
        "$TINCA" prune $job -o g.safetensors --threads 1 -q 2>/dev/null </dev/null
    before=$(count_runs)
    rm g.safetensors.prune/*-tuned2.safetensors
    # shellcheck disable=SC2086
    succeeds "a state without its last model" prune $job -o g.safetensors --threads 1 -q
    same "  goes on to the same bits" f.safetensors g.safetensors
    [ "$(count_runs)" = "$before" ] && ok "  in the runs that there were" || not_ok "  in the runs that there were" "$(ls "$runs")"
    absent "  and nothing is left" g.safetensors.prune
else
    skip "killed while it deletes its steps" "the program is built with a sanitizer"
fi

# --- unstructured ---
succeeds "weights of zero" prune m.safetensors -o u.safetensors --unstructured 0.9 --json --validate digits,limit=20
cp out u.json
is "  nine of ten" zeros 387450 u.json
is "  of the weights" weights 430500 u.json
within "  a compressed file is smaller" after.compressed_bytes 1 "$("$JSON_LOOK" u.json before.compressed_bytes | awk '{ print $1 / 3 }')" u.json
within "  the file is not" after.bytes "$("$JSON_LOOK" u.json before.bytes)" 100000000 u.json
has "  both are timed" after.ms_per_image.median u.json
"$JSON_LOOK" u.json p >/dev/null 2>&1 && not_ok "  without a verdict about them" "$(cat u.json)" ||
    ok "  without a verdict about them"
gzip -c u.safetensors >u.gz
within "  gzip agrees" after.compressed_bytes "$(($(wc -c <u.gz) * 98 / 100))" "$(($(wc -c <u.gz) * 102 / 100))" u.json
is "  its name says so" network "lenet+prune:m0.9" u.json
succeeds "as text" prune m.safetensors -o u.safetensors --unstructured 0.5
shows '215250 of 430500 weights are zero' "  with its zeros"
shows 'Ratios of ms/image are no verdict' "  and no verdict about the times"
shows 'only a compressed file is smaller' "  and what they are worth"
refuses 2 "a value again" "fine-tuning" prune m.safetensors -o u.safetensors --unstructured 0.5 --data digits --epochs 1
refuses 2 "leave out --criterion" "a criterion" prune m.safetensors -o u.safetensors --unstructured 0.5 --criterion l1
refuses 2 "above 0 and below 1" "all weights" prune m.safetensors -o u.safetensors --unstructured 1

# --- refused ---
refuses 2 "give one of --flops" "no target" prune m.safetensors -o x.safetensors
refuses 2 "more than one target" "two targets" prune m.safetensors -o x.safetensors --flops 0.5 --latency 1
refuses 2 "above 0 and below 1" "a share of 1" prune m.safetensors -o x.safetensors --flops 1
refuses 2 "above 0 and below 1" "a negative share" prune m.safetensors -o x.safetensors --parameters=-1
refuses 2 "no number" "a share that is none" prune m.safetensors -o x.safetensors --flops half
refuses 2 "a time above 0" "no time" prune m.safetensors -o x.safetensors --latency 0
refuses 2 "give -o FILE" "no output" prune m.safetensors --flops 0.5
refuses 2 "written to a file" "standard output" prune m.safetensors -o - --flops 0.5
refuses 2 "the model itself" "the model as output" prune m.safetensors -o ./m.safetensors --flops 0.5
refuses 2 "the model itself" "  of zeros, too" prune m.safetensors -o m.safetensors --unstructured 0.5
refuses 2 "end its name in .safetensors" "another ending" prune m.safetensors -o x.bin --flops 0.5
refuses 2 "needs a data set" "taylor without data" prune m.safetensors -o x.safetensors --flops 0.5 --criterion taylor
refuses 2 "needs that data" "a part of no data" prune m.safetensors -o x.safetensors --flops 0.5 --validate auto
refuses 2 "needs that data" "  nor for zeros" prune m.safetensors -o x.safetensors --unstructured 0.5 --validate auto
for option in --weights --reset --seeds --l1-weight; do
    refuses 2 "$option.*no meaning in tinca prune" "a setting without a meaning: $option" prune m.safetensors -o x.safetensors \
        --flops 0.5 $option 1
done
refuses 2 "fine-tuning needs" "fine-tuning without data" prune m.safetensors -o x.safetensors --flops 0.5 --epochs 2
set -- m.safetensors -o x.safetensors --flops 0.5 --data digits,limit=40 --epochs 1
refuses 2 "^tinca: --stop-patience: " "a fine-tuning that contradicts itself" prune "$@" --stop-patience 3
refuses 2 "^tinca: --temperature: " "  one without a teacher" prune "$@" --temperature 3
refuses 2 "^tinca: --epochs and --iterations: " "  two lengths" prune "$@" --iterations 3
refuses 2 "nolayer" "  a layer to freeze that is none" prune "$@" --freeze nolayer
absent "  before anything is begun" x.safetensors.prune
refuses 1 "no such folder" "a fine-tuning whose data is refused" prune m.safetensors -o x.safetensors --flops 0.5 --epochs 1 \
    --data folder:none -q
absent "  leaves nothing that blocks the next" x.safetensors.prune
for option in --lr=0.1 --max-time=1h --tensorboard=board --checkpoint=5 --test=auto; do
    refuses 2 "^tinca: ${option%=*}: nothing is trained" "without training: $option" prune m.safetensors -o x.safetensors \
        --flops 0.5 $option
done
refuses 2 "^tinca: --save-precision: " "zeros in other weights" prune m.safetensors -o x.safetensors --unstructured 0.5 \
    --save-precision bf16
refuses 1 "no channel|none of its channels has a scale" "no batch norm" prune m.safetensors -o x.safetensors --flops 0.5 --criterion bn
refuses 2 "name of no layer" "a layer that is none" prune m.safetensors -o x.safetensors --flops 0.5 --keep nothing
refuses 1 "none of its channels can be removed: --keep" "all layers kept" prune m.safetensors -o x.safetensors --flops 0.5 --keep '*'
refuses 1 "keeps a tenth" "a target below the least" prune m.safetensors -o x.safetensors --flops 0.001
refuses 1 "the fastest took" "a time that is too short" prune m.safetensors -o x.safetensors --latency 0.0000001 -q
refuses 1 "takes .* already" "a time that is met" prune m.safetensors -o x.safetensors --latency 100000
refuses 1 "" "no model" prune none.safetensors -o x.safetensors --flops 0.5
head -c 1000 m.safetensors >torn.safetensors
refuses 1 "" "a torn model" prune torn.safetensors -o x.safetensors --flops 0.5
refuses 1 "" "no folder for the output" prune m.safetensors -o no/x.safetensors --flops 0.5
refuses 1 "" "another data set" prune m.safetensors -o x.safetensors --flops 0.5 --validate maps,limit=2 -q
refuses 2 "" "steps without a number" prune m.safetensors -o x.safetensors --flops 0.5 --steps 0
absent "and nothing is left" x.safetensors
absent "  no folder either" x.safetensors.prune
done_testing
