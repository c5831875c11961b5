#!/bin/sh
# Loss, validation loss, top-1 and best top-1 of a run are the same numbers under the same names wherever they are
# shown: at the end of tinca train, in tinca runs, in tinca compare, in a report, in the list of runs and its preview,
# on the run's screen, and in all views of the comparison.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "figures are compared"

# figure KEY FORMAT: a number of the run as tinca runs gives it, in a printf format
figure() { awk -v value="$("$JSON_LOOK" "$T/runs.json" "runs.0.$1")" "BEGIN { printf \"$2\", value }"; }

# the rate is so high that the best validation is not the last one
for seed in 5 6; do
    succeeds "a run" train mlp --data digits,limit=200 --validate digits,split=test,limit=60 --epochs 6 --batch 20 \
        --lr 0.6 --seed $seed --threads 1 --device reference
    cp "$T/out" "$T/end$seed"
    sleep 1 # IDs are sorted by the second
done
"$TINCA" runs --json >"$T/runs.json"
first=$("$JSON_LOOK" "$T/runs.json" runs.0.id) second=$("$JSON_LOOK" "$T/runs.json" runs.1.id)
loss=$(figure loss %.4g) validation=$(figure validation_loss %.4g)
top1=$(figure top1 %.2f) best=$(figure best_top1 %.2f)
if [ "$top1" != "$best" ] && [ "$loss" != "$validation" ]; then
    ok "a run with four different figures"
else
    not_ok "a run with four different figures" "loss $loss, $validation, top-1 $top1, best $best"
fi

# --- on the command line ---
cp "$T/end5" "$T/out"
shows "loss $(figure loss %.6g), .* validation loss $validation, top-1 $top1 % \(best $best %\)" "the end of the run"
run runs
shows "$first .* $loss +$top1 %" "the table of runs"
run runs "best-val-loss<=$(figure best_validation_loss %.9g)" --json
is "a filter by the best validation loss" runs.0.id "$first"
run compare "$first" "$second" --json
for key in loss validation_loss top1 best_top1 best_validation_loss; do
    is "compare --json: $key" "runs.0.$key" "$("$JSON_LOOK" "$T/runs.json" "runs.0.$key")"
done
run compare "$first" "$second" --format csv
for key in loss validation_loss top1 best_top1 best_validation_loss; do
    # the only field with commas is that of the data, before all figures
    found=$(sed 's/"[^"]*"//' "$T/out" | awk -F, -v key=$key 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == key) at = i }
        NR == 2 { print $at }')
    if [ "$found" = "$("$JSON_LOOK" "$T/runs.json" "runs.0.$key")" ]; then
        ok "compare --format csv: $key"
    else
        not_ok "compare --format csv: $key" "$found: $(cat "$T/out")"
    fi
done
run compare "$first" "$second"
shows '^# +NETWORK +BEST TOP-1 % +TOP-1 % +VAL. LOSS +LOSS ' "compare: the headings"
shows "^1 +mlp +$best +$top1 +$validation +$loss " "and the row"
run export "$first" --format md -o -
shows "^\| loss \| $(figure loss %.5g) \|" "a report: the loss"
shows "^\| validation loss \| $(figure validation_loss %.5g) \|" "the validation loss"
shows "^\| top-1 accuracy \| $(figure top1 %.5g) % \|" "the accuracy"
shows "^\| best top-1 accuracy \| $(figure best_top1 %.5g) % \|" "and the best one"

# --- in the workbench ---
screen_start 160x40 C.UTF-8 "$TINCA" ui mlp --data digits
screen_wait 'Set up'
screen_keys o
screen_wait 'Runs'
screen_keys Down
screen_shows "^> .* $loss +$top1 " "the list of runs"
screen_shows "loss +$loss\$" "its preview: the loss"
screen_shows "val. loss +$validation\$" "the validation loss"
screen_shows "best val. loss +$(figure best_validation_loss %.4g)\$" "the best one"
screen_shows " top-1 +$top1\$" "the accuracy"
screen_shows "best top-1 +$best\$" "and the best one"
screen_keys Enter
screen_shows "loss +$loss" "the run's screen: the loss"
screen_shows "validation +$validation" "the validation loss"
screen_shows "$top1 % best $best" "the accuracy and the best one"
screen_keys q c
screen_wait 'Compare 2 runs'
screen_keys v
screen_shows "mlp +5 +$best +$top1 +$validation +$loss " "the table of the comparison"
screen_keys Down v v
screen_shows "seed 5 +536 k +$(figure best_top1 %.4g)" "the scatter plot"
screen_keys x validation_loss Enter
screen_shows "seed 5 +$validation +$(figure best_top1 %.4g)" "of another figure"
screen_keys v
screen_shows "loss $loss, .*best_top1 $(figure best_top1 %.4g)" "the parallel coordinates"
screen_end

# --- a run of a version that did not record the best validation loss ---
old=$XDG_STATE_HOME/tinca/runs/$first/summary.json
sed -i '/best_validation_loss/d; /"crc32"/d' "$old"
run runs --json
is "the curves of an older run give it" runs.0.best_validation_loss "$("$JSON_LOOK" "$T/runs.json" runs.0.best_validation_loss)"
screen_start 160x40 C.UTF-8 "$TINCA" ui mlp --data digits
screen_wait 'Set up'
screen_keys o
screen_wait 'Runs'
screen_keys Down
screen_shows "val. loss +$validation\$" "the list has its last validation loss"
screen_lacks 'best val. loss' "  and no best one"
screen_end
# --- the scale of the loss in fp16 ---
screen_start 80x24 C.UTF-8 env UI_FAKE_FP16=1 "$FAKE" --start
screen_shows 'scale, skips +32768, 3' "a run in fp16 shows its scale and the skipped steps"
screen_resize 132x43
screen_shows 'scaled by +32768' "the panel has the scale"
screen_shows 'skipped +3 steps' "and the skipped steps"
screen_end
screen_start 80x24 C.UTF-8 "$FAKE" --start
screen_wait smoothed
screen_lacks 'scale' "a run in float32 has no scale"
screen_end
done_testing
