#!/bin/sh
# Sweeps in the workbench: a grid is set up, computed, stopped, continued, and viewed later. The test runs the
# real program with small networks.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "sweeps are set up and watched"
cd "$T" || exit 99
case $TINCA in /*) ;; *) TINCA=$OLDPWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$OLDPWD/$JSON_LOOK ;; esac

open_sweep() { # open_sweep SIZE LOCALE OPTION...: starts the workbench and opens the screen Sweep
    size=$1 locale=$2
    shift 2
    screen_start "$size" "$locale" "$TINCA" "$@"
    screen_wait 'tinca'
    screen_keys m
    screen_wait 'w +Sweep'
    screen_keys w
    screen_wait '\[Set up\]'
}

# --- set up ---
cat >mine.json <<'END'
{"name": "mine", "title": "one layer", "input": [1, 28, 28], "classes": 10, "normalise": "unit",
 "layers": [{"op": "linear", "name": "ip1", "output": "classes"}]}
END
open_sweep 80x24 C.UTF-8 --data digits,limit=100 --batch 4 --iterations 5 --threads 1
screen_shows '> Networks.*\[x\] lenet' "the form's values are chosen"
screen_shows '1 cell, 1 waiting' "which gives one cell"
screen_keys Space
screen_shows '! Networks: nothing is chosen' "an empty choice is reported"
screen_keys Left Left Left Space Right Space
screen_shows '2 cells, 2 waiting' "space chooses a value"
screen_keys Enter
screen_shows 'lenet +built in' "Enter types another one, with candidates"
screen_keys mi
screen_shows 'mine.json' "a network file among them"
screen_keys Tab Enter
screen_shows '>\[x\] mine.json' "it is added and chosen"
screen_shows '3 cells, 3 waiting' "and gives cells"
screen_keys Space
screen_shows '2 cells, 2 waiting' "space removes it again"
screen_shows 'At most [0-9.]+' "the memory is forecast"
screen_keys Down a
screen_shows '8 cells, 5 waiting, 3 skipped' "a chooses the whole list"
screen_shows 'dsc: the technique|changes none' "skipped cells have a reason"
screen_keys a
screen_shows '2 cells, 2 waiting' "a once more: the selected value only"
screen_keys Down Left Space
screen_shows '4 cells, 4 waiting' "a second batch"
screen_keys Down Down Enter
screen_keys 'lr0.1' Enter
screen_shows '! lr0.1: .*which setting' "an invalid list is refused with a message"
screen_keys C-u
screen_keys 'lr=0.1,0.01 seed=1,2' Enter
screen_shows '16 cells, 16 waiting' "other settings can vary, too"
screen_keys Enter
screen_keys C-u
screen_keys Enter
screen_shows 'Other lists +.as in' "or not"
screen_keys End Enter
screen_keys tiny Enter
screen_shows 'Name +tiny' "the name is typed"
screen_keys Up Enter
screen_keys half,nosuch Enter
screen_shows 'no such technique after training' "a technique after training is checked"
screen_keys C-u
screen_keys Enter
screen_keys Up Up Enter
screen_keys C-u
screen_keys x Enter
screen_shows '! Iterations x' "an invalid number is refused with a message"
screen_keys C-u
screen_keys 6 Enter
screen_shows 'Iterations +6' "a valid number is accepted"

# --- computing the cells ---
screen_keys r
screen_shows '\[Cells\]' "r starts it"
screen_shows 'Finished: 4 of 4 done' "all cells are computed"
screen_shows 'ms/image \(median\)' "the table shows ms/image"
screen_shows 'batch +2 +4' "by batch"
screen_shows 'lenet +[^ ]+ *[0-9.]+ [^ ]+ *[0-9.]+' "as numbers with a shade"
screen_keys y
screen_shows 'Memory \(most' "y: memory"
screen_shows '[0-9.]+ MiB' "with its unit"
screen_keys y
screen_shows 'Loss at the end' "y: loss"
screen_keys Right Down
screen_shows 'lenet-b004-cpu-[0-9a-f]+: done' "the selected cell is described"
screen_keys Enter
screen_shows 'Run.*lenet' "Enter shows its run"
screen_keys q
screen_shows '\[Cells\]' "and q returns"
screen_keys r
screen_shows 'Nothing is left to run' "r once more computes nothing"
screen_keys e
screen_shows 'Export the sweep' "e asks for a file"
screen_keys C-u
screen_keys table.pdf Enter
screen_shows 'end in .md, .txt or .json' "an unknown extension is refused"
for ending in md json; do
    screen_keys C-u
    screen_keys "table.$ending" Enter
    screen_shows "Wrote table.$ending" "the results as $ending"
    [ $ending = json ] || screen_keys e
done
screen_keys e
screen_shows 'Export the sweep' "once more"
screen_keys C-u
screen_keys csv/ Enter
screen_shows 'Wrote csv/: 4 runs' "a folder gets the studies' CSV files"
[ "$(grep -c '^lenet\|^mlp' csv/times_*_tinca.csv)" = 4 ] && ok "  with one row for each run" ||
    not_ok "  with one row for each run" "$(cat csv/times_*)"
is "the JSON has all cells" states.done 4 table.json
grep -q '^| lenet |' table.md && ok "  as a table" || not_ok "  as a table" "$(cat table.md)"
screen_end

# --- a failed cell and a diverged cell ---
"$TINCA" sweep --networks mlp --batches 2 --data digits,limit=40 --vary lr=100000 --iterations 5 \
    --threads 1 --name broken --vary 'data=idx:./later;digits,limit=40' -q </dev/null 2>/dev/null
open_sweep 80x24 C.UTF-8
screen_keys v v
screen_shows '> broken' "a sweep with a failure is opened"
screen_keys Enter
screen_shows 'Finished: 1 of 2 done' "the failed cell is not done"
screen_shows '2 cells, 1 diverged, 1 failed' "the diverged cell is done"
screen_keys r
screen_shows 'Nothing is left to run' "r does not repeat the failed cell"
screen_keys Down t
screen_shows 'Only a cell that failed' "t is for failed cells only"
screen_shows 'mlp-b002-cpu-[0-9a-f]+: diverged: ' "the diverged cell is marked"
screen_keys Up t
screen_shows 'It waits again; r goes on' "t puts the failed cell back into the queue"
screen_shows '2 cells, 1 waiting, 1 diverged' "it waits"
screen_keys r
screen_shows 'Finished: 1 of 2 done' "r computes it"
screen_shows '2 cells, 1 diverged, 1 failed' "and it fails once more"
screen_end

# --- seeds ---
"$TINCA" sweep --networks mlp --batches 4,8 --data digits,limit=40 --vary lr=0.1,0.01 --seeds 3 --iterations 5 \
    --threads 1 --name several -q </dev/null 2>/dev/null
open_sweep 100x30 C.UTF-8
screen_keys v v
screen_keys Down
screen_wait '> several'
screen_keys Enter
screen_wait 'Finished: 12 of 12 done'
screen_shows 'mean of 3 seeds +[0-9.e-]+ \+- [0-9.e-]+ +[0-9.e-]+ \+- [0-9.e-]+' "a row of means follows each group of seeds"
screen_text >shown
[ "$(grep -c 'mean of 3 seeds' shown)" = 2 ] && ok "  of which there are two" || not_ok "  of which there are two" "$(cat shown)"
screen_keys y
screen_wait 'Memory'
screen_shows 'mean of 3 seeds +[0-9.]+ [KMG]iB' "means of bytes"
screen_keys y
screen_wait 'Loss at the end'
"$TINCA" sweep --networks mlp --batches 4,8 --data digits,limit=40 --vary lr=0.1,0.01 --seeds 3 --iterations 5 \
    --threads 1 --name several --report --json </dev/null >several.json
loss=$("$JSON_LOOK" several.json groups.0.loss.mean)
screen_shows "mean of 3 seeds +$(printf %.4g "$loss") " "the mean is that of the report"
screen_shows 'Its 3 seeds, 3 of which' "and the selected cell's group is described"
screen_keys Down Down Down
screen_shows '> |lr 0.01, seed 1' "the rows of means are passed over"
screen_end

# --- earlier sweeps; pause, stop, continue ---
"$TINCA" sweep --networks mlp --batches 4,8 --data digits --iterations 1000000 --threads 1 \
    --name lasting --cell 1 -q </dev/null 2>/dev/null &
cell=$!
begun() { [ -s state/tinca/sweeps/lasting/*/cell.json ]; }
wait_until begun
open_sweep 80x24 C.UTF-8
screen_keys v
screen_shows 'No sweep is open' "without a sweep the screen says what to do"
screen_keys v
screen_shows ' lasting' "earlier sweeps are listed"
screen_shows ' tiny' "all of its cells are shown"
screen_keys Down
screen_keys Enter
screen_shows 'Sweep lasting' "Enter opens a sweep"
screen_shows '(running|> [0-9]+ %) +waiting' "a cell of another process is running"
kill -INT $cell
wait $cell
screen_keys v v v
screen_shows 'partial +waiting' "and is then interrupted"
screen_keys r
screen_shows '> [0-9]+ % +waiting' "the interrupted cell continues"
screen_keys Space
screen_shows 'Paused: 0 of 2 done' "space pauses"
screen_shows 'Sweep lasting +sweep paused' "the title shows it"
screen_shows 'partial +waiting' "the cell's process has saved and ended"
screen_keys Space
screen_shows 'Running: 0 of 2 done' "and continues"
screen_shows '> [0-9]+ % +waiting' "in a new process"
screen_keys q q
screen_shows 'A sweep is on, and 1 of its cells' "quitting asks"
screen_keys c m w Enter s
screen_shows 'Stop the sweep' "s asks how to stop"
screen_keys n
screen_shows 'Not running: 0 of 2 done' "the cell is stopped at once"
screen_shows 'partial +waiting' "and can be continued"
owner() { cut -d ' ' -f 1 state/tinca/sweeps/lasting/mlp-b004-*/lock; }
stopped=$(owner) # the file keeps the number of the process that has ended
screen_keys r
screen_shows '> [0-9]+ % +waiting' "r continues"
has_new_owner() { pid=$(owner) && [ -n "$pid" ] && [ "$pid" != "$stopped" ]; }
wait_until has_new_owner
kill -9 "$pid"
screen_shows 'partial +> [0-9]+ %' "a cell whose process is killed can be continued, and the next one begins"
screen_shows 'signal 9 .* ended its process' "the reason is shown"
screen_keys m o Enter
screen_shows 'running +mlp' "the run of the cell is among the runs"
screen_keys m w Enter s
screen_shows 'Stop the sweep' "s asks how to stop once more"
screen_keys n
screen_shows 'partial +partial' "the second cell is stopped as well"
screen_resize 40x12
screen_shows 'batch +4 +8' "a small terminal shows the table"
screen_resize 10x4
screen_resize 200x60
screen_shows 'Not running: 0 of 2 done' "and so does a large one, after a tiny one"
screen_end

# --- each cell's memory is that of its own process ---
"$TINCA" sweep --networks lenet --batches 4,3000,5 --data digits --iterations 2 --threads 1 --name memory \
    --cell 1 -q </dev/null
open_sweep 80x24 C.UTF-8
screen_keys v v
screen_shows ' memory' "a sweep whose first cell is computed"
screen_keys Down Down Enter
screen_shows 'Sweep memory' "is opened"
screen_keys r
screen_shows 'Finished: 3 of 3 done' "the workbench computes the others"
screen_end
"$TINCA" sweep --name memory --report --json -q >out 2>err </dev/null
memory() { "$JSON_LOOK" out "cells.$1.result.memory_bytes"; }
if [ "$(memory 1)" -gt $(($(memory 0) * 3)) ]; then
    ok "a cell with batch 3000 needs much memory"
else
    not_ok "a cell with batch 3000 needs much memory" "$(memory 0) $(memory 1)"
fi
if [ $(($(memory 2) * 9)) -lt $(($(memory 0) * 10)) ] && [ $(($(memory 0) * 9)) -lt $(($(memory 2) * 10)) ]; then
    ok "the cell after it has as much as one that was computed alone"
else
    not_ok "the cell after it has as much as one that was computed alone" "$(memory 0) $(memory 2)"
fi

# --- without colours, in ASCII ---
NO_COLOR=1
export NO_COLOR
open_sweep 80x24 C
screen_keys v v Down Down Down Down Enter
screen_shows 'Sweep tiny' "another sweep is opened"
screen_shows 'lenet +[_"-] +[0-9.]+' "shades are ASCII"
if screen_text | LC_ALL=C grep -q '[^ -~]'; then
    not_ok "no other process runs" "$(screen_text)"
else
    ok "no other process runs"
fi
done_testing
