#!/bin/sh
# A grid of runs: what its cells are, what becomes of each, and that it goes on where it ended.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
cd "$T" || exit 99
case $TINCA in /*) ;; *) TINCA=$OLDPWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$OLDPWD/$JSON_LOOK ;; esac

runs() { find "$T/state/tinca/runs" -name config.json 2>/dev/null | wc -l; }

cat >small.json <<'EOG'
{"networks": ["mlp", "lenet"], "techniques": ["none", "shift"], "batches": "1..4",
 "data": "digits,limit=40", "iterations": 2, "threads": 1}
EOG
succeeds "a dry run" sweep small.json --dry-run --json
is "  is named after its file" name small
is "  has all combinations" "cells.#" 12
is "  networks change slowest" cells.6.network lenet
is "  then techniques" cells.3.technique shift
is "  and batches fastest" cells.1.batch 2
is "  what cannot work is skipped" states.skipped 3
is "  because the technique changes nothing there" cells.3.state skipped
has "  with a reason" cells.3.reason
is "  the rest waits" states.waiting 9
has "  with its memory" cells.0.memory_forecast_bytes
is "  and no figures" cells.0.result null
[ "$(runs)" = 0 ] && ok "  nothing is run" || not_ok "  nothing is run"
[ ! -e state/tinca/sweeps ] && ok "  nothing is kept" || not_ok "  nothing is kept"
id=$("$JSON_LOOK" "$T/out" cells.8.id)

succeeds "one cell alone" sweep small.json --cell "$id" -q
[ "$(runs)" = 1 ] && ok "  is one run" || not_ok "  is one run" "$(runs)"
succeeds "the same once more" sweep small.json --cell 9
[ "$(runs)" = 1 ] && ok "  is done already" || not_ok "  is done already" "$(runs)"
succeeds "all of it" sweep small.json --csv csv --json
is "  all is done" states.done 9
is "  the skipped ones are no failures" states.skipped 3
[ "$(runs)" = 9 ] && ok "  a run a cell, the one that was there not again" || not_ok "  a run a cell" "$(runs)"
for key in ms_per_image loss memory_bytes seconds; do has "  $key" "cells.0.result.$key"; done
is "  both iterations" cells.0.result.iterations 2
is "  its run" cells.8.id "$id"
is "  with its own threads" cells.0.result.threads 1
[ "$(grep -c . csv/times_*_tinca.csv)" = 10 ] && grep -q '^lenet-shift,CPU,004,' csv/times_*_tinca.csv &&
    ok "  times as the studies wrote them" || not_ok "  times" "$(cat csv/times_*)"
[ "$(grep -c . csv/loss_*_tinca.csv)" = 19 ] && ok "  losses as well" || not_ok "  losses" "$(cat csv/loss_*)"
succeeds "the same again" sweep small.json
[ "$(runs)" = 9 ] && ok "  runs nothing" || not_ok "  runs nothing" "$(runs)"
shows '^lenet-shift +[0-9.]+ +[0-9.]+ +[0-9.]+$' "  a table of ms/image"
shows '^mlp-shift +skipped +skipped' "  that says what was skipped"
shows '^mlp-shift-b001-.*: skipped: .*technique' "  and why"
succeeds "as Markdown, to a file" sweep small.json --format markdown -o tables.md
grep -q '^| lenet | ' tables.md && ok "  a table" || not_ok "  a table" "$(cat tables.md)"
succeeds "a larger grid of the same name" sweep small.json --batches 1..8 --networks lenet -q
[ "$(runs)" = 11 ] && ok "  runs only what is new" || not_ok "  runs only what is new" "$(runs)"
succeeds "by its name" sweep --name small --dry-run --json
is "  its last grid" "cells.#" 8
is "  all of it done" states.done 8
succeeds "the list" sweep --list
shows '^small +8 +8 +0' "  has it"
rm -r "$T/state/tinca/runs/$("$JSON_LOOK" "$T/state/tinca/sweeps/small/$id/cell.json" run)"
succeeds "a run that was removed" sweep --name small --dry-run --json
is "  waits again" states.waiting 1

# One cell that fails does not stop the others, and is not tried again by itself.
failing() {
    run sweep --networks mlp --batches 2 --data digits --name bad \
        --vary "data=idx:/nowhere;digits,limit=40" --iterations 2 "$@"
}
failing --json
[ "$status" = 1 ] && ok "a cell that fails: status 1" || not_ok "a cell that fails" "$status"
is "  it says so" cells.0.state failed
is "  and the other is done" cells.1.state done
before=$(runs)
failing -q
[ "$status" = 1 ] && [ "$(runs)" = "$before" ] && ok "  it is not tried again" || not_ok "  it is not tried again"
failing -q --retry
[ "$status" = 1 ] && [ "$(runs)" -gt "$before" ] && ok "  but with --retry" || not_ok "  but with --retry" "$(told)"

# A run that diverges is a result: no failure, and never repeated.
diverging() {
    run sweep --networks mlp --batches 2,4 --data digits,limit=40 --name steep --vary lr=0.01,100000 \
        --iterations 5 --threads 1 "$@"
}
diverging --csv steep --json
[ "$status" = 0 ] && ok "a run that diverges is no failure" || not_ok "diverges: $status" "$(told)"
is "  two of four" states.diverged 2
is "  and two done" states.done 2
is "  it is said where" cells.2.state diverged
"$JSON_LOOK" "$T/out" cells.2.reason | grep -q 'at iteration [0-9]* the loss stopped being a number' &&
    ok "  at which iteration" || not_ok "  at which iteration" "$(cat "$T/out")"
is "  a loss that is no number is none" cells.2.result.loss null
has "  its time was measured" cells.2.result.ms_per_image
[ "$(grep -c '^mlp,' steep/times_*_tinca.csv)" = 4 ] && ok "  in the CSV files as well" ||
    not_ok "  in the CSV files" "$(cat steep/times_*)"
before=$(runs)
for again in -q --retry; do
    diverging $again
    [ "$status" = 0 ] && [ "$(runs)" = "$before" ] && ok "  not repeated, $again" ||
        not_ok "  not repeated, $again" "$(runs) runs, status $status"
done
run sweep --name steep --report
shows '^mlp, lr 100000 +diverged +diverged$' "  a word in the table of losses"
shows '^What diverged$' "  named under the tables"
shows '^mlp-b002-cpu-[0-9a-f]+: diverged: [a-z0-9.]+: at iteration ' "  with the layer that broke"
run sweep --list
shows '^steep +4 +2 +2 +0' "  and counted in the list"

# What is interrupted is saved, and run again.
succeeds "options of any kind vary" sweep --networks mlp --vary lr=0.1,0.01 --vary seed=1,2 \
    --data digits --dry-run --json
is "  as cells" "cells.#" 4
is "  each with its value" cells.2.lr 0.01
"$TINCA" sweep --networks mlp,lenet --batches 16 --data digits --iterations 1000000 --name long \
    >out 2>err </dev/null &
sweep=$!
begun() { [ "$(find state/tinca/sweeps/long -name cell.json 2>/dev/null | wc -l)" = 1 ]; }
wait_until begun
"$TINCA" sweep --name long --dry-run --json >out2 2>/dev/null
is "a cell that is on is seen from outside" cells.0.state running out2
kill -INT $sweep
wait $sweep
[ $? = 130 ] && ok "interrupted: status 130" || not_ok "interrupted: status 130" "$(cat err)"
succeeds "  then" sweep --name long --dry-run --json
is "  the cell is interrupted" cells.0.state interrupted
is "  the other was not begun" cells.1.state waiting
first=$("$JSON_LOOK" "$T/out" cells.0.run)
is "  its run was stopped and saved" status stopped "state/tinca/runs/$first/summary.json"

# Killed: nothing can be written any more.
"$TINCA" sweep --networks mlp --batches 16 --data digits --iterations 1000000 --name killed --cell 1 \
    >out 2>err </dev/null &
sweep=$!
begun() { [ -s state/tinca/sweeps/killed/*/cell.json ]; }
wait_until begun
kill -KILL $sweep
wait $sweep 2>/dev/null
succeeds "killed" sweep --name killed --dry-run --json
is "  is interrupted, too" cells.0.state interrupted

# A run that was refused for want of memory is tried again: there may be more now.
succeeds "a cell" sweep --networks mlp --batches 16 --data digits,limit=40 --iterations 2 --name room -q
refused=$("$JSON_LOOK" "$(find state/tinca/sweeps/room -name cell.json)" run)
cat >"state/tinca/runs/$refused/summary.json" <<'EOS'
{"format": "tinca-summary", "version": 1, "status": "refused",
 "error": {"kind": 4, "what": "batch 16", "why": "too large", "advice": "a smaller one"}}
EOS
succeeds "  whose run was refused for want of memory" sweep --name room --json
is "  is done" cells.0.state done
[ "$("$JSON_LOOK" "$T/out" cells.0.run)" != "$refused" ] && ok "  by another run" || not_ok "  by another run"

# Threads that vary are cells of their own.
succeeds "threads that vary" sweep --networks mlp --batches 16 --data digits,limit=40 --iterations 2 \
    --vary threads=1,2 --name threads --json
is "  each" cells.0.result.threads 1
is "  has its own" cells.1.result.threads 2

# What cannot fit is computed, not tried.
if (ulimit -v 3000000 && "$TINCA" --version >/dev/null 2>&1); then
    before=$(runs)
    (ulimit -v 3000000 && "$TINCA" sweep --networks googlenet --batches 512 --data tench \
        --iterations 1 --name large --json >out 2>err)
    status=$?
    [ $status = 0 ] && ok "a batch that does not fit is no failure" || not_ok "does not fit" "$(cat err)"
    is "  it cannot fit" cells.0.state cannot-fit out
    "$JSON_LOOK" out cells.0.reason | grep -q 'free for it: batch [0-9]* would fit' &&
        ok "  what would is computed" || not_ok "  what would is computed" "$(cat out)"
    [ "$(runs)" = "$before" ] && ok "  nothing was tried" || not_ok "  nothing was tried"
else
    skip "what cannot fit is marked" "addresses cannot be limited here"
fi

# Tables alone: nothing is computed.
before=$(runs)
run sweep --networks mlp --batches 2,16 --data digits,limit=40 --iterations 2 --name room --report
[ "$status" = 0 ] && [ "$(runs)" = "$before" ] && ok "a report computes nothing" || not_ok "a report" "$(told)"
shows '^mlp +waiting +[0-9.]+$' "  and says what waits"

# Several at a time.
succeeds "two at a time" sweep --networks mlp,lenet --batches 2,4 --data digits,limit=40 \
    --devices cpu,reference --iterations 2 --name pairs --jobs 2 --json
is "  all done" states.done 8
has "  the devices are compared" speedups.0.factor
succeeds "four cores for two" sweep --networks mlp --batches 2,4 --data digits,limit=40 \
    --iterations 2 --name shared --jobs 2 --cores 4 --json
is "  are two for each" cells.1.result.threads 2
run sweep --name pairs
shows 'how often faster cpu is than reference' "  in a table, too"

succeeds "a study's grid" sweep --grid overfit --devices cpu --dry-run --json
is "  both networks, ten batches" "cells.#" 20
is "  up to 512" cells.19.batch 512
is "  of the study's data" name overfit

refuses 2 "no network of this name" "an unknown network" sweep --networks nonet --data digits
refuses 2 "no data set of this kind" "unknown data" sweep --networks mlp --data nodata
refuses 2 "no network was named" "nothing to do" sweep
refuses 2 "no data set was named" "no data" sweep --networks mlp
refuses 2 "no setting of this name" "an unknown setting" sweep --networks mlp --data digits --vary x=1
refuses 2 "which setting" "a list without a setting" sweep --networks mlp --data digits --vary 1,2
refuses 2 "no such cell" "an unknown cell" sweep --name small --cell 99
refuses 2 "no sweep of this name" "an unknown sweep" sweep --name nosuch
refuses 2 "no name for a sweep" "a name that is a path" sweep small.json --name ../x
refuses 2 "makes no difference to cells 1 and 2" "cells that would be one" sweep --networks mlp \
    --data digits --iterations 2 --vary epochs=1,2
refuses 2 "numbers from 1 to" "a range beyond the setting" sweep --networks mlp --data digits \
    --batches 1..100000
refuses 2 "lower number first" "a range that is none" sweep --networks mlp --data digits --batches 4..1
echo '{"networks": ["mlp"], "batchs": [1]}' >bad.json
refuses 1 "line 1: .batchs.: .*no setting" "a grid with a misspelt key" sweep bad.json
echo '{"networks": []}' >bad.json
refuses 1 "a value at least" "an empty axis" sweep bad.json

# --- the key of a row of the studies' CSV files names one cell ---
succeeds "a sweep over seeds and rates" sweep --networks mlp --data digits,limit=40 --batches 4,8 \
    --iterations 2 --vary seed=1,2 --vary lr=0.1,0.01 --csv "$T/keys" --name keys --quiet
twice=$(grep -v '^#' "$T/keys/"times_*_tinca.csv | cut -d, -f1-3,5- | sort | uniq -d)
if head -n 1 "$T/keys/"times_*_tinca.csv | grep -q '^#network,mode,batch,avg_time,seed,lr$' ||
    head -n 1 "$T/keys/"times_*_tinca.csv | grep -q '^#network,mode,batch,avg_time,lr,seed$'; then
    ok "  what varies has a column"
else
    not_ok "  what varies has a column" "$(head -n 1 "$T/keys/"times_*_tinca.csv)"
fi
if [ "$(grep -vc '^#' "$T/keys/"times_*_tinca.csv)" = 8 ] && [ -z "$twice" ]; then
    ok "  and every row its own key"
else
    not_ok "  and every row its own key" "$(cat "$T/keys/"times_*_tinca.csv)"
fi
succeeds "  its losses can be imported again" import "$T/keys/"loss_*_tinca.csv --json
imported=$(grep -c '"id"' "$T/out")
if [ "$imported" = 8 ]; then ok "  as eight runs"; else not_ok "  as eight runs" "$imported: $(cat "$T/out")"; fi
succeeds "a sweep over batches alone" sweep --networks mlp --data digits,limit=40 --batches 4,8 \
    --iterations 2 --csv "$T/plain" --name plain --quiet
if head -n 1 "$T/plain/"times_*_tinca.csv | grep -q '^#network,mode,batch,avg_time$'; then
    ok "  keeps the studies' columns"
else
    not_ok "  keeps the studies' columns" "$(head -n 1 "$T/plain/"times_*_tinca.csv)"
fi

# --- ranges ---
succeeds "a range of seeds" sweep --networks mlp --data digits --batches 1..4 --vary seed=1..5 \
    --name ranged --dry-run --json
cells=$(grep -c '"id"' "$T/out")
if [ "$cells" = 15 ]; then ok "  is each of them, with three batches"; else not_ok "  is each of them" "$cells"; fi
refuses 2 "ranges are for whole numbers.*lr=0.1,0.01" "a range of rates" sweep --networks mlp \
    --data digits --vary lr=0.1..0.001 --dry-run
done_testing
