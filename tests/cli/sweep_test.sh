#!/bin/sh
# tinca sweep: the cells of a grid, their states, and continuing where it ended.
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
is "  the name comes from the file" name small
is "  all combinations are cells" "cells.#" 12
is "  networks change slowest" cells.6.network lenet
is "  then techniques" cells.3.technique shift
is "  and batches fastest" cells.1.batch 2
is "  a configuration that cannot work is skipped" states.skipped 3
is "  because the technique changes nothing there" cells.3.state skipped
has "  with a reason" cells.3.reason
is "  the other cells wait" states.waiting 9
has "  with its memory" cells.0.memory_forecast_bytes
is "  and without results" cells.0.result null
has "  free disk space is known" disk.free_bytes
is "  with iterations given, every length is known" disk.unknown_lengths 0
forecast=$("$JSON_LOOK" "$T/out" disk.forecast_bytes)
[ "$(runs)" = 0 ] && ok "  no run is started" || not_ok "  no run is started"
[ ! -e state/tinca/sweeps ] && ok "  no sweep is stored" || not_ok "  no sweep is stored"
id=$("$JSON_LOOK" "$T/out" cells.8.id)

succeeds "one cell only" sweep small.json --cell "$id" -q
[ "$(runs)" = 1 ] && ok "  is one run" || not_ok "  is one run" "$(runs)"
succeeds "the same cell once more" sweep small.json --cell 9
[ "$(runs)" = 1 ] && ok "  is done already" || not_ok "  is done already" "$(runs)"
succeeds "the whole sweep" sweep small.json --csv csv --json
is "  all is done" states.done 9
is "  skipped cells are no failures" states.skipped 3
[ "$(runs)" = 9 ] && ok "  one run for each cell, the computed one not repeated" || not_ok "  one run for each cell" "$(runs)"
for key in ms_per_image loss memory_bytes seconds; do has "  $key" "cells.0.result.$key"; done
is "  both iterations" cells.0.result.iterations 2
is "  its run" cells.8.id "$id"
is "  with its threads" cells.0.result.threads 1
[ "$(grep -c . csv/times_*_tinca.csv)" = 10 ] && grep -q '^lenet-shift,CPU,004,' csv/times_*_tinca.csv &&
    ok "  times in the format of the studies" || not_ok "  times" "$(cat csv/times_*)"
[ "$(grep -c . csv/loss_*_tinca.csv)" = 19 ] && ok "  losses in the format of the studies" || not_ok "  losses" "$(cat csv/loss_*)"
taken=$(cat "$T"/state/tinca/runs/*/* | wc -c)
[ $((forecast * 10)) -ge $((taken * 9)) ] && [ "$forecast" -le $((taken * 2)) ] &&
    ok "  the forecast of the disk space was right" ||
    not_ok "  the forecast of the disk space" "$forecast, but $taken bytes were written"
succeeds "the same command" sweep small.json
[ "$(runs)" = 9 ] && ok "  computes nothing" || not_ok "  computes nothing" "$(runs)"
shows '^lenet-shift +[0-9.]+ +[0-9.]+ +[0-9.]+$' "  a table of ms/image"
shows '^mlp-shift +skipped +skipped' "  with the skipped cell"
shows '^mlp-shift-b001-.*: skipped: .*technique' "  and the reason"
succeeds "as Markdown, to a file" sweep small.json --format markdown -o tables.md
grep -q '^| lenet | ' tables.md && ok "  a table" || not_ok "  a table" "$(cat tables.md)"
succeeds "a larger grid of the same name" sweep small.json --batches 1..8 --networks lenet -q
[ "$(runs)" = 11 ] && ok "  computes only the new cells" || not_ok "  computes only the new cells" "$(runs)"
succeeds "a sweep by its name" sweep --name small --dry-run --json
is "  has its last grid" "cells.#" 8
is "  all of it done" states.done 8
succeeds "the list of sweeps" sweep --list
shows '^small +8 +8 +0' "  contains it"
rm -r "$T/state/tinca/runs/$("$JSON_LOOK" "$T/state/tinca/sweeps/small/$id/cell.json" run)"
succeeds "a cell whose run was deleted" sweep --name small --dry-run --json
is "  waits once more" states.waiting 1

# A cell that fails does not stop the others, and is not repeated without --retry.
failing() {
    run sweep --networks mlp --batches 2 --data digits --name bad \
        --vary "data=idx:/nowhere;digits,limit=40" --iterations 2 "$@"
}
failing --json
[ "$status" = 1 ] && ok "a cell that fails: status 1" || not_ok "a cell that fails" "$status"
is "  the cell is marked as failed" cells.0.state failed
is "  and the other cell is done" cells.1.state done
before=$(runs)
started_cells() { ls "$T"/state/tinca/sweeps/bad/*/output.txt 2>/dev/null | wc -l; } # cells whose process has begun
rm "$T"/state/tinca/sweeps/bad/*/output.txt
failing -q
[ "$status" = 1 ] && [ "$(started_cells)" = 0 ] && ok "  it is not repeated" || not_ok "  it is not repeated"
failing -q --retry
[ "$status" = 1 ] && [ "$(started_cells)" = 1 ] && ok "  but it is with --retry" || not_ok "  but it is with --retry" "$(told)"
[ "$(runs)" = "$before" ] && ok "  and a run that is refused leaves no folder" ||
    not_ok "  and a run that is refused leaves no folder" "$(runs) $before"

# Divergence is a result: no failure, and never repeated.
diverging() {
    run sweep --networks mlp --batches 2,4 --data digits,limit=40 --name steep --vary lr=0.01,100000 \
        --iterations 5 --threads 1 "$@"
}
diverging --csv steep --json
[ "$status" = 0 ] && ok "a run that diverges is no failure" || not_ok "diverges: $status" "$(told)"
is "  two of four cells diverge" states.diverged 2
is "  and two are done" states.done 2
is "  with the layer" cells.2.state diverged
"$JSON_LOOK" "$T/out" cells.2.reason | grep -q 'at iteration [0-9]* the loss became NaN or infinite' &&
    ok "  and the iteration" || not_ok "  and the iteration" "$(cat "$T/out")"
is "  a loss that is NaN is null" cells.2.result.loss null
has "  its time was measured" cells.2.result.ms_per_image
[ "$(grep -c '^mlp,' steep/times_*_tinca.csv)" = 4 ] && ok "  in the CSV files as well" ||
    not_ok "  in the CSV files" "$(cat steep/times_*)"
before=$(runs)
for again in -q --retry; do
    diverging $again
    [ "$status" = 0 ] && [ "$(runs)" = "$before" ] && ok "  not repeated, $again" ||
        not_ok "  not repeated, $again" "$(runs) runs, status $status"
done
run sweep --name steep --dry-run
shows '^#  CELL +SETTINGS +STATE ' "  a dry run has a column for what varies"
shows '^3  mlp-b002-cpu-[0-9a-f]+  lr 100000  diverged .*  [a-z0-9.]+: at iteration ' "  the value, and the layer"
shows '^Disk space \(forecast\): about [0-9.]+ .?i?B of ' "  and the disk space"
run sweep --name steep --report
shows '^mlp, lr 100000 +diverged +diverged$' "  the table of losses has a word for it"
shows '^What diverged$' "  named under the tables"
shows '^mlp-b002-cpu-[0-9a-f]+: diverged: [a-z0-9.]+: at iteration ' "  with the layer"
run sweep --list
shows '^steep +4 +2 +2 +0' "  and counted in the list of sweeps"

# Interrupted cells are saved, and resumed.
succeeds "any option can be an axis" sweep --networks mlp --vary lr=0.1,0.01 --vary seed=1,2 \
    --data digits --dry-run --json
is "  as cells" "cells.#" 4
is "  each cell with its value" cells.2.lr 0.01
"$TINCA" sweep --networks mlp,lenet --batches 16 --data digits --iterations 1000000 --name long \
    >out 2>err </dev/null &
sweep=$!
begun() { [ "$(find state/tinca/sweeps/long -name cell.json 2>/dev/null | wc -l)" = 1 ]; }
wait_until begun
"$TINCA" sweep --name long --dry-run --json >out2 2>/dev/null
is "another process sees which cell is running" cells.0.state running out2
kill -INT $sweep
wait $sweep
[ $? = 130 ] && ok "interrupted: status 130" || not_ok "interrupted: status 130" "$(cat err)"
succeeds "  then" sweep --name long --dry-run --json
is "  the cell is interrupted" cells.0.state interrupted
is "  the other was not started" cells.1.state waiting
first=$("$JSON_LOOK" "$T/out" cells.0.run)
is "  its run is stopped and saved" status stopped "state/tinca/runs/$first/summary.json"

# Killed: nothing more can be written.
"$TINCA" sweep --networks mlp --batches 16 --data digits --iterations 1000000 --name killed --cell 1 \
    >out 2>err </dev/null &
sweep=$!
begun() { [ -s state/tinca/sweeps/killed/*/cell.json ]; }
wait_until begun
kill -KILL $sweep
wait $sweep 2>/dev/null
succeeds "killed" sweep --name killed --dry-run --json
is "  is interrupted, too" cells.0.state interrupted

# A run that was refused because memory was short is tried once more: there may be more memory now.
succeeds "a cell" sweep --networks mlp --batches 16 --data digits,limit=40 --iterations 2 --name room -q
refused=$("$JSON_LOOK" "$(find state/tinca/sweeps/room -name cell.json)" run)
cat >"state/tinca/runs/$refused/summary.json" <<'EOS'
{"format": "tinca-summary", "version": 1, "status": "refused",
 "error": {"kind": 4, "what": "batch 16", "why": "too large", "advice": "a smaller one"}}
EOS
succeeds "  whose run was refused because memory was short" sweep --name room --json
is "  is done" cells.0.state done
[ "$("$JSON_LOOK" "$T/out" cells.0.run)" != "$refused" ] && ok "  by another run" || not_ok "  by another run"

# Different numbers of threads are different cells.
succeeds "threads as an axis" sweep --networks mlp --batches 16 --data digits,limit=40 --iterations 2 \
    --vary threads=1,2 --name threads --json
is "  each cell" cells.0.result.threads 1
is "  has its number of threads" cells.1.result.threads 2

# Whether a cell fits is computed before it is started.
if (ulimit -v 3000000 && "$TINCA" --version >/dev/null 2>&1); then
    before=$(runs)
    (ulimit -v 3000000 && "$TINCA" sweep --networks googlenet --batches 512 --data tench \
        --iterations 1 --name large --json >out 2>err)
    status=$?
    [ $status = 0 ] && ok "a batch that does not fit is no failure" || not_ok "does not fit" "$(cat err)"
    is "  the cell does not fit" cells.0.state cannot-fit out
    "$JSON_LOOK" out cells.0.reason | grep -q 'free for it: batch [0-9]* would fit' &&
        ok "  the largest batch that fits is computed" || not_ok "  the largest batch that fits is computed" "$(cat out)"
    [ "$(runs)" = "$before" ] && ok "  no run was started" || not_ok "  no run was started"
else
    skip "a cell that does not fit is marked" "addresses cannot be limited here"
fi

# --report: nothing is computed.
before=$(runs)
run sweep --networks mlp --batches 2,16 --data digits,limit=40 --iterations 2 --name room --report
[ "$status" = 0 ] && [ "$(runs)" = "$before" ] && ok "a report computes nothing" || not_ok "a report" "$(told)"
shows '^mlp +waiting +[0-9.]+$' "  and lists the waiting cells"

# Several jobs.
succeeds "two jobs" sweep --networks mlp,lenet --batches 2,4 --data digits,limit=40 \
    --devices cpu,reference --iterations 2 --name pairs --jobs 2 --json
is "  all done" states.done 8
has "  the devices are compared" speedups.0.factor
succeeds "four cores for two jobs" sweep --networks mlp --batches 2,4 --data digits,limit=40 \
    --iterations 2 --name shared --jobs 2 --cores 4 --json
is "  are two threads for each" cells.1.result.threads 2
run sweep --name pairs
shows 'how often faster cpu is than reference' "  also in a table"

succeeds "a study's grid" sweep --grid overfit --devices cpu --dry-run --json
is "  both networks, ten batches" "cells.#" 20
is "  up to 512" cells.19.batch 512
is "  on the study's data" name overfit

refuses 2 "no network of this name" "an unknown network" sweep --networks nonet --data digits
refuses 2 "no data set of this kind" "unknown data" sweep --networks mlp --data nodata
refuses 2 "no network was named" "no networks" sweep
refuses 2 "no data set was named" "no data" sweep --networks mlp
refuses 2 "no setting of this name" "an unknown setting" sweep --networks mlp --data digits --vary x=1
refuses 2 "which setting" "a list without a key" sweep --networks mlp --data digits --vary 1,2
refuses 2 "no such cell" "an unknown cell" sweep --name small --cell 99
refuses 2 "no sweep of this name" "an unknown sweep" sweep --name nosuch
refuses 2 "cannot be the name of a sweep" "a path as a name" sweep small.json --name ../x
refuses 2 "makes no difference to cells 1 and 2" "an axis without effect" sweep --networks mlp \
    --data digits --iterations 2 --vary epochs=1,2
refuses 2 "numbers from 1 to" "a range beyond the setting" sweep --networks mlp --data digits \
    --batches 1..100000
refuses 2 "lower number first" "a range with its ends reversed" sweep --networks mlp --data digits --batches 4..1
echo '{"networks": ["mlp"], "batchs": [1]}' >bad.json
refuses 1 "line 1: .batchs.: .*no setting" "a grid with a misspelt key" sweep bad.json
echo '{"networks": []}' >bad.json
refuses 1 "a value at least" "an empty axis" sweep bad.json

# --- each row of the studies' CSV files has a unique key ---
succeeds "a sweep over seeds and rates" sweep --networks mlp --data digits,limit=40 --batches 4,8 \
    --iterations 2 --vary seed=1,2 --vary lr=0.1,0.01 --csv "$T/keys" --name keys --quiet
twice=$(grep -v '^#' "$T/keys/"times_*_tinca.csv | cut -d, -f1-3,5- | sort | uniq -d)
if head -n 1 "$T/keys/"times_*_tinca.csv | grep -q '^#network,mode,batch,avg_time,seed,lr$' ||
    head -n 1 "$T/keys/"times_*_tinca.csv | grep -q '^#network,mode,batch,avg_time,lr,seed$'; then
    ok "  each setting that varies has a column"
else
    not_ok "  each setting that varies has a column" "$(head -n 1 "$T/keys/"times_*_tinca.csv)"
fi
if [ "$(grep -vc '^#' "$T/keys/"times_*_tinca.csv)" = 8 ] && [ -z "$twice" ]; then
    ok "  and the key of each row is unique"
else
    not_ok "  and the key of each row is unique" "$(cat "$T/keys/"times_*_tinca.csv)"
fi
succeeds "  its losses can be imported" import "$T/keys/"loss_*_tinca.csv --json
imported=$(grep -c '"id"' "$T/out")
if [ "$imported" = 8 ]; then ok "  as eight runs"; else not_ok "  as eight runs" "$imported: $(cat "$T/out")"; fi
succeeds "a sweep over batches only" sweep --networks mlp --data digits,limit=40 --batches 4,8 \
    --iterations 2 --csv "$T/plain" --name plain --quiet
if head -n 1 "$T/plain/"times_*_tinca.csv | grep -q '^#network,mode,batch,avg_time$'; then
    ok "  has the studies' columns only"
else
    not_ok "  has the studies' columns only" "$(head -n 1 "$T/plain/"times_*_tinca.csv)"
fi

# --- ranges ---
succeeds "a range of seeds" sweep --networks mlp --data digits --batches 1..4 --vary seed=1..5 \
    --name ranged --dry-run --json
cells=$(grep -c '"id"' "$T/out")
if [ "$cells" = 15 ]; then ok "  is each of them, with three batches"; else not_ok "  is each of them" "$cells"; fi
refuses 2 "ranges are for whole numbers.*lr=0.1,0.01" "a range of rates" sweep --networks mlp \
    --data digits --vary lr=0.1..0.001 --dry-run
# A cell whose process alone is ended goes on from its checkpoint when the sweep is repeated, unless the program has
# crashed; the sweep goes on with the others. The kernel's count of processes that it has killed for memory tells
# such a kill from others; here a file stands for that count.
often="--checkpoint 0.01 --checkpoint-share 100"
journal() { echo "state/tinca/runs/$("$JSON_LOOK" "$(echo state/tinca/sweeps/"$grid"/mlp-b008-*/cell.json)" run)/journal"; }
saved() { [ -s state/tinca/sweeps/"$grid"/mlp-b008-*/cell.json ] && has_line '"event":"checkpoint"' "$(journal)"; }
resumed() { has_line '"event":"resume","iteration":[1-9]' "$(journal)"; }
next_begun() { [ -s state/tinca/sweeps/"$grid"/mlp-b016-*/cell.json ]; }
kill_cell() { # kill_cell NAME AFTER SIGNAL STATE STATUS: starts a sweep of two cells and ends the first one by a signal;
    # the count becomes AFTER. The cell's state and its run's status are to be STATE and STATUS.
    printf 'nr_free_pages 9\noom_kill 3\n' >vmstat
    # a sanitizer would end a crashed process with a status in place of the signal
    ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}handle_segv=0:handle_abort=0 $apart sh -c 'if [ -n "$2" ]; then mount --bind vmstat /proc/vmstat; fi
        exec "$0" sweep --networks mlp --batches 8,16 --data digits --iterations 1000000 --threads 1 --name "$1" '"$often" \
        "$TINCA" "$1" "$2" >out 2>err </dev/null &
    sweep=$!
    grid=$1
    wait_until saved
    [ -z "$2" ] || printf 'nr_free_pages 9\noom_kill %s\n' "$2" >vmstat
    read -r cell host <"$(echo state/tinca/sweeps/"$grid"/mlp-b008-*/lock)"
    kill -"$3" "$cell"
    wait_until next_begun
    kill -INT $sweep
    wait $sweep
    cp err messages
    told=$(grep -cE "^[12] interrupted(, 1 out of memory)?: tinca sweep --name $grid goes on with them$" err)
    if [ "$told" = 1 ]; then ok "the end of the sweep names the command"; else not_ok "the end of the sweep names the command" "$(cat err)"; fi
    first=$("$JSON_LOOK" "$(echo state/tinca/sweeps/"$grid"/mlp-b008-*/cell.json)" run)
    succeeds "a sweep whose first cell is ended by $3 goes on" runs "$first" --json
    is "  its run's status" runs.0.status "$5"
    succeeds "  and the sweep" sweep --name "$1" --dry-run --json
    is "  has the cell's state" cells.0.state "$4"
    is "  and the next cell was computed" cells.1.state interrupted
}
goes_on() { # goes_on ARGUMENT...: the sweep, repeated, goes on with the run of its first cell from the checkpoint
    "$TINCA" sweep --name "$grid" "$@" >out 2>err </dev/null &
    sweep=$!
    if wait_until resumed; then ok "  repeated, it goes on from the checkpoint"; else not_ok "  repeated, it goes on from the checkpoint" "$(cat err)"; fi
    kill -INT $sweep
    wait $sweep
    succeeds "  then" sweep --name "$grid" --dry-run --json
    is "  its state" cells.0.state interrupted
    is "  is that of the same run" cells.0.run "$first"
    is "  without a reason" cells.0.reason null
}
apart=''
kill_cell struck '' KILL interrupted interrupted
shows 'signal 9 .Killed. ended its process: tinca sweep --name struck goes on from its checkpoint' "  with the signal as the reason"
goes_on --retry
kill_cell crashed '' SEGV failed interrupted
if grep -q '^1 failed: tinca sweep --name crashed --retry computes them once more$' messages; then
    ok "  the end of the sweep names its command, too"
else
    not_ok "  the end of the sweep names its command, too" "$(cat messages)"
fi
shows 'signal 11 .*ended its process: .*--retry goes on from its checkpoint' "  with the signal as the reason"
goes_on --retry
kill_cell asked '' TERM interrupted stopped
if grep -q 'mlp-b008-.*interrupted: a signal asked its process to stop; tinca sweep --name asked goes on from its checkpoint' messages; then
    ok "  with what happened"
else
    not_ok "  with what happened" "$(cat messages)"
fi
goes_on
often='--checkpoint 0 --checkpoint-share 0.01'
saved() { [ -s state/tinca/sweeps/"$grid"/mlp-b008-*/cell.json ] && has_line '^{"iteration":9,' "$(journal)"; }
kill_cell early '' KILL interrupted interrupted
shows 'tinca sweep --name early starts its run over, as it has no checkpoint' "  without a checkpoint, which is said"
kill_cell shaky '' SEGV failed interrupted
shows 'tinca sweep --name shaky --retry starts its run over, as it has no checkpoint' "  and if it crashed"
often="--checkpoint 0.01 --checkpoint-share 100"
saved() { [ -s state/tinca/sweeps/"$grid"/mlp-b008-*/cell.json ] && has_line '"event":"checkpoint"' "$(journal)"; }
if unshare -rm sh -c 'mount --bind vmstat /proc/vmstat' 2>/dev/null; then
    apart='unshare -rm'
    kill_cell starved 4 KILL out-of-memory 'out of memory'
    shows 'killed for memory: the system ended its process, which had used [0-9.]+ MiB' "  for a lack of memory"
    goes_on
    kill_cell unlucky 3 KILL interrupted interrupted
    shows 'signal 9 .Killed. ended its process' "  and not if the count is the same"
else
    skip "a cell that is killed for memory" "no namespace with other files in /proc can be made"
fi

# A full disk: the run goes on, but its end cannot be saved.
library=$(cd "$(dirname "$TINCA")" && pwd)/faults.so
[ -f "$library" ] || library=$(dirname "$library")/faults_without_memory.so
grid=full
full() { # full VARIABLE...: the sweep with these variables in the environment
    env "$@" "ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS-}" "$TINCA" sweep --networks mlp --batches 8 \
        --data digits,limit=64 --iterations 200 --threads 1 --name full $often -q >out 2>err </dev/null
}
full "LD_PRELOAD=$library" FAULT=write:1:ENOSPC+ FAULT_AFTER=/checkpoint.safetensors FAULT_ONLY=/runs/
status=$?
if [ $status = 1 ] && grep -q 'the disk is full: .*: tinca sweep --name full goes on from its checkpoint' err; then
    ok "a full disk: the message names the command"
else
    not_ok "a full disk: the message names the command" "$status: $(cat err)"
fi
succeeds "  the sweep" sweep --name full --dry-run --json
is "  has the cell's state" cells.0.state disk-full
first=$("$JSON_LOOK" "$T/out" cells.0.run)
succeeds "  the run" runs "$first" --json
is "  has it as its status" runs.0.status 'disk full'
succeeds "the disk has room again" sweep --name full -q
if resumed; then ok "  the run goes on from its checkpoint"; else not_ok "  the run goes on from its checkpoint" "$(head -c 300 "$(journal)")"; fi
succeeds "  the sweep" sweep --name full --dry-run --json
is "  is done" cells.0.state done
is "  by the same run" cells.0.run "$first"
# The same cell, computed by the user's own command: a full disk is a failure like others.
status=0
env "LD_PRELOAD=$library" FAULT=write:1:ENOSPC+ FAULT_AFTER=/checkpoint.safetensors FAULT_ONLY=/runs/ \
    "ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS-}" "$TINCA" sweep --networks mlp --batches 8 --cell 1 \
    --data digits,limit=64 --iterations 200 --threads 1 --name by-hand $often -q >out 2>err </dev/null || status=$?
if [ $status = 1 ] && grep -q "No space left on device: tinca sweep --name by-hand goes on from its checkpoint" err; then
    ok "a full disk, with --cell: status 1 and the command"
else
    not_ok "a full disk, with --cell: status 1 and the command" "$status: $(cat err)"
fi

# A rate whose last bit 15 digits do not tell: the cell's process finds its cell in grid.json all the same.
succeeds "a rate of 17 digits" sweep --networks mlp --batches 8 --data digits,limit=64 --iterations 1 --threads 1 \
    --vary lr=0.30000000000000004 --name digits --json
is "  is computed" cells.0.state done

done_testing
