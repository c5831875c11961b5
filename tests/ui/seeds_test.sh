#!/bin/sh
# Groups of seeds in the workbench: the form's row, the group as one entry of the list of runs, which opens
# and closes, and as one row of the comparison, with the test that it names.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "groups of seeds in the workbench"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
cd "$T" || exit 99
job="--data digits,limit=100 --validate digits,limit=50 --batch 20 --iterations 4 --threads 1"
# shellcheck disable=SC2086 # a list of options
"$TINCA" train lenet $job --lr 0.0001 --seeds 2 --name slow -q

# shellcheck disable=SC2086
screen_start 132x43 C.UTF-8 "$TINCA" ui lenet $job --seeds 3
screen_shows 'Seeds +3' "the form has the number of seeds"
screen_keys F5
wait_until seen 'done|loss'
screen_keys o
screen_shows '\+ seeds [0-9].*lenet.* 3 runs .*loss' "the list has the three runs as one entry"
screen_shows '\+ seeds slow +2 runs .*loss [0-9.]+ [^0-9]+ [0-9.]+' "and those of the command line, with mean and interval"
screen_lacks '> .*done' "their runs are not shown"
screen_keys Right
screen_shows '^.*- seeds' "Right opens the entry"
screen_shows 'done +lenet' "its runs are below it"
screen_keys Left
screen_lacks 'done +lenet' "Left closes it"
all_done() { [ "$(ls "$XDG_STATE_HOME"/tinca/runs/*/summary.json | wc -l)" -eq 5 ]; }
wait_until all_done
screen_wait '5 runs, none on'
screen_keys c
screen_shows '3 seeds' "the comparison draws the group as one"
screen_keys v
screen_shows 'lenet \(3 seeds\) .*[0-9.]+ \+- ' "and has one row for it, with interval"
screen_shows "Welch's t-test: n = [23] and [23] seeds" "the test is named"
screen_keys q q
done_testing
