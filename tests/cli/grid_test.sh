#!/bin/sh
# A study's full grid as a sweep on a small network: both devices, every technique, all batches from 1 to
# 512. Then all its output formats.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
cd "$T" || exit 99
case $TINCA in /*) ;; *) TINCA=$OLDPWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$OLDPWD/$JSON_LOOK ;; esac

runs() { find "$T/state/tinca/runs" -name config.json 2>/dev/null | wc -l; }

cat >small.json <<'EON'
{"name": "small", "input": [1, 28, 28], "classes": 10, "normalise": "unit",
 "layers": [
   {"op": "conv", "name": "conv1", "output": 4, "kernel": 3, "stride": 4, "init": "xavier"},
   {"op": "relu", "name": "relu1"},
   {"op": "conv", "name": "conv2", "output": 8, "kernel": 3, "pad": 1, "init": "xavier"},
   {"op": "max_pool", "name": "pool2", "kernel": 3, "stride": 2},
   {"op": "flatten", "name": "flatten"},
   {"op": "linear", "name": "ip", "output": "classes", "init": "xavier"}
 ]}
EON
# of one class, like the study's images
whole() {
    run sweep --grid overfit --networks ./small.json --techniques none,dsc,shuffle,shift \
        --devices cpu,reference --data digits,only=0,limit=512 --iterations 1 --threads 1 "$@"
}

whole --dry-run --json
is "the whole grid: techniques x devices x batches" "cells.#" 80
is "  all cells can be computed" states.waiting 80
is "  with the study's settings" name overfit

# A sweep that is killed loses only the cell that was running.
"$TINCA" sweep --grid overfit --networks ./small.json --techniques none,dsc,shuffle,shift \
    --devices cpu,reference --data digits,only=0,limit=512 --iterations 1 --threads 1 -q >out 2>err </dev/null &
sweep=$!
under_way() { [ "$(runs)" -ge 5 ]; }
wait_until under_way
kill -KILL $sweep
wait $sweep 2>/dev/null
whole --dry-run --json
some=$("$JSON_LOOK" "$T/out" states.done)
if [ "$some" -ge 3 ] && [ "$some" -lt 80 ]; then
    ok "killed in the middle: $some cells are done"
else
    not_ok "killed in the middle: $some cells are done"
fi
whole --csv csv --json
[ "$status" = 0 ] && ok "the same command" || not_ok "the same command" "$(told)"
is "  computes the rest" states.done 80
[ "$(runs)" -le 81 ] && ok "  and no cell twice" || not_ok "  and no cell twice" "$(runs) runs"

# --- output ---

complete=yes
for key in ms_per_image loss loss_caffe memory_bytes seconds; do
    for cell in 0 9 10 37 79; do
        value=$("$JSON_LOOK" "$T/out" "cells.$cell.result.$key" 2>&1)
        case $value in [0-9]*) ;; *) complete="cell $cell, $key: $value" ;; esac
    done
done
[ "$complete" = yes ] && ok "JSON: every figure of a cell" || not_ok "JSON: every figure" "$complete"
is "  batches change fastest" cells.9.batch 512
is "  then devices" cells.10.device reference
is "  then techniques" cells.20.technique dsc
is "  the speed-up of both devices, each over the other, in every row and batch" "speedups.#" 80
times=$(echo csv/times_*_tinca.csv) losses=$(echo csv/loss_*_tinca.csv)
[ "$(head -n 1 "$times")" = '#network,mode,batch,avg_time,device' ] && ok "CSV: times" ||
    not_ok "CSV: times" "$(head -n 2 "$times")"
[ "$(head -n 1 "$losses")" = '#network,mode,batch,step,loss,time,device' ] && ok "  losses" ||
    not_ok "  losses" "$(head -n 2 "$losses")"
[ "$(grep -cE '^small(-(dsc|shuffle|shift))?,CPU,[0-9]{3},[0-9.e+-]+,(cpu|reference)$' "$times")" = 80 ] &&
    ok "  one row for each run, batches of three digits" || not_ok "  one row for each run" "$(head -n 3 "$times")"
[ "$(grep -cE '^small[a-z-]*,CPU,[0-9]{3},1,[0-9.e+-]+,[0-9.e+-]+,[a-z]+$' "$losses")" = 80 ] &&
    ok "  one row for each iteration" || not_ok "  one row for each iteration" "$(head -n 3 "$losses")"

before=$(runs)
whole
[ "$status" = 0 ] && [ "$(runs)" = "$before" ] && ok "the same command once more computes nothing" ||
    not_ok "the same command once more computes nothing" "$(runs) runs, status $status"
figures=' +[0-9.e+-]+( +[0-9.e+-]+){9}$'
shows '^batch +1 +2 +4 +8 +16 +32 +64 +128 +256 +512$' "tables: by batch"
for title in 'ms/image' 'Memory' 'Loss at the end' 'First iteration with a negative' \
    'Speed-up: how often faster cpu is than reference' \
    'Speed-up: how often faster reference is than cpu'; do
    shows "^$title" "  $title"
done
[ "$(grep -cE "^small-shuffle, (cpu|reference)$figures" "$T/out")" -ge 2 ] &&
    ok "  a row for each technique and device" || not_ok "  rows" "$(head -n 12 "$T/out")"
[ "$(grep -cE "^small-dsc$figures" "$T/out")" = 2 ] && ok "  and one for each in the table of speed-ups" ||
    not_ok "  speed-ups" "$(grep -A 6 Speed-up "$T/out")"

# --- the negative loss ---

run sweep --networks lenet --batches 16 --data digits,only=0,limit=256 --iterations 40 --lr 0.01 --threads 1 \
    --vary seed=1,2,4 --name negative --json
is "one class, three seeds" states.done 3
checked=0 wrong=
for cell in 0 1 2; do
    first=$("$JSON_LOOK" "$T/out" "cells.$cell.result.first_negative_iteration")
    id=$("$JSON_LOOK" "$T/out" "cells.$cell.run")
    [ "$first" = null ] && continue
    checked=$((checked + 1))
    has_line "\"kind\":\"negative-loss\".*\"iteration\":$first\b" "$T/state/tinca/runs/$id/journal" || wrong="$wrong $id:$first"
done
[ -z "$wrong" ] && ok "  the first negative iteration is that of the finding" || not_ok "  first negative" "$wrong"
[ $checked -gt 0 ] && ok "  $checked of them fell below zero" || not_ok "  none fell below zero"
done_testing
