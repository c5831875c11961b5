#!/bin/sh
# Records a session of the workbench as text for docs/session.md: runs the real program in tmux and prints the keys that
# are pressed and the screens that follow. The screen of the run that starts is the picture of README. make cast runs
# it; nothing depends on its output.
. "${srcdir:-.}/tests/ui/screen.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
cd "$T" || exit 99
PATIENCE=1200

# frame CAPTION: prints the caption and the screen, with runs of empty lines reduced to one
frame() {
    printf '\n%s\n\n' "$1"
    screen_text | sed 's/ *$//' | cat -s | sed 's/^\(.\)/    \1/'
}
until_seen() { screen_wait "$1" || { echo "no $1 on:" >&2; screen_text >&2; exit 1; }; }

screen_start 80x24 C.UTF-8 "$TINCA" ui lenet --data digits,validate=0.1 --test auto \
    --batch 16 --epochs 3 --seed 1
until_seen 'It fits'
until_seen 'ms/image +not known'
until_seen '1-[0-9]+ of 9000'
frame '`tinca`: the run to set up, and the time and memory that it needs.'
screen_keys r
until_seen 'epoch +1\.[5-9]'
frame '`r`: the run starts. The loss, raw, smoothed, and at each validation.'
screen_keys 5
until_seen 'conv1 '
frame '`5`: the time of each layer. Other digits: findings, memory, the arena, matrix products, weights.'
screen_keys 1
until_seen 'done after'
screen_keys m t Enter
until_seen 'top-5'
screen_keys v
until_seen '1000 images'
frame '`m` `t`, `v`: the confusion matrix of the trained network; Enter shows the images of a number.'
screen_keys q n
until_seen 'What it takes'
screen_end
screen_start 80x24 C.UTF-8 "$TINCA" ui lenet --data digits,only=7 --batch 16 --iterations 400 \
    --average-loss 20 --lr 0.02 --seed 3 --start
until_seen 'done after'
screen_keys y
until_seen 'exact mean'
screen_keys i
until_seen 'iteration [0-9]+, epoch'
screen_keys End z z z
until_seen '350 '
frame 'Another run, with images of one class only: the loss reaches 0, and Caffe'"'"'s running mean, computed in
float32, stays below 0. `y` chooses the curves, `i` reads their values, `z` zooms in.'
screen_keys Escape 2
until_seen 'Caffe would print'
frame '`2`: the findings.'
screen_keys o
until_seen 'status +network'
screen_keys / loss '>' 0.001
until_seen 'loss>0.001'
frame '`o`: the runs; the columns are what differs. `/` filters by any field, Tab completes.'
screen_keys Escape a c
until_seen 'Compare 2 runs'
frame '`Esc`, `a`, `c`: all runs side by side; the legend says what differs.'
screen_keys v Right Right Right Right Right Right Right Right Right
until_seen 'E_P'
frame '`v`, Right: the table, and the measurements that are missing. `v` again: settings, scatter plot, parallel axes.'
screen_keys q q q
