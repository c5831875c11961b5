#!/bin/sh
# Curves: switched on and off, read with a cursor, zoomed, and followed while they grow.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "curves are chosen, read and zoomed"
cd "$T" || exit 99
case $FAKE in /*) ;; *) FAKE=$OLDPWD/$FAKE ;; esac

# --- a run that does not change: all values are known ---
screen_start 80x24 C.UTF-8 env UI_FAKE_FREEZE=640 "$FAKE" --start --epochs 10
screen_shows 'smoothed +:: raw +o validation' "the first picture is the loss: smoothed, raw, validation"
screen_shows 'overfitting$' "the finding is named if there is space"
screen_keys Y
screen_shows '>?\[x\] S smoothed loss' "Y lists the curves, with a cross for those that are shown"
screen_shows '\[ \] C Caffe.s running mean' "and those that are not shown"
screen_keys C
screen_shows '\[x\] C Caffe' "its letter switches a curve on"
screen_keys Home ' '
screen_shows '\[ \] S smoothed' "space switches the selected curve"
screen_keys r o E Enter
screen_shows 'E.* exact mean +C.* Caffe.s mean' "the legend lists the shown curves, with letters"
screen_lacks ':: raw' "and nothing else"
screen_keys y
screen_shows ':: raw' "y returns to the pictures"
screen_keys f
screen_shows 'iteration 400, epoch 4.00.*! overfitting' "f puts the cursor at the finding"
screen_shows 'smoothed 0\.[0-9]+ .*raw 0\.[0-9]+ .*validation 0\.2018' "with the values at the finding"
screen_keys Left
screen_shows 'iteration 39[0-9]|iteration 38[0-9]' "Left: one column back"
screen_keys b
screen_shows 'iteration 400, epoch 4.00' "b: at the best epoch"
screen_keys Home
screen_shows 'iteration 1, epoch 0.01' "Home: at the first iteration"
screen_keys PageDown
screen_shows 'iteration (9|10)[0-9],' "PgDn: forward by a tenth of the plot"
screen_keys End z
screen_shows '<> follows' "z zooms in and follows the newest points"
screen_shows 'iteration 640, epoch 6.40' "around the cursor"
screen_keys '<' '<'
screen_shows '<> zoomed' "<: what was before, which stays"
screen_keys 0
screen_lacks '<> (zoomed|follows)' "0 shows the whole run"
screen_keys Escape
screen_lacks 'iteration 640, epoch' "Esc removes the cursor and stays"
screen_shows '\[Curves\]' "on the run's screen"
screen_keys y y l l
screen_shows 'loss, log' "a log axis"
screen_keys Y M R
screen_keys Enter i
screen_shows 'ms/image 1.25' "ms/image has a plot of its own"
screen_shows 'top-1 95.93' "the accuracy too"
screen_shows 'learning rate 0.01' "and the learning rate"
screen_resize 40x12
screen_shows '640  6.40  S 0\.[0-9]+' "in a small terminal the values follow the iteration"
screen_resize 1x1
screen_resize 40x12
screen_keys Y
screen_shows 'Curves: space, Enter' "the list fits"
screen_end

# --- a run in progress ---
screen_start 80x24 C "$FAKE" --start --epochs 1000
screen_wait 'best epoch'
screen_keys z z x
screen_shows '<> follows' "a run in progress is followed, on another axis too"
newest() { screen_text | sed -n 's/^ *\([0-9][0-9.]*\) .* epoch *$/\1/p'; }
first=
moved_on() {
    now=$(newest)
    [ -n "$first" ] || first=$now # the labels may not be there yet
    [ -n "$now" ] && [ "$now" != "$first" ]
}
if wait_until moved_on; then
    ok "the axis moves with the run"
else
    not_ok "the axis moves with the run" "still from $first: $(screen_text)"
fi
screen_end

# --- a comparison ---
fake_kept 20261118-101500-lenet-0032 20261119-111500-resnet20-0064
screen_start 80x24 C.UTF-8 "$FAKE"
screen_wait 'What it takes'
screen_keys c
screen_wait 'Compare 2 runs'
screen_keys i
screen_shows 'at iteration 1000' "i puts a cursor over all runs"
screen_keys PageUp z
screen_shows '<> zoomed' "z zooms in"
screen_shows 'at iteration (89|90|91)[0-9]' "PgUp: back by a tenth of the plot"
screen_keys x
screen_lacks '<> zoomed' "x: another axis, the whole run"
screen_end
done_testing
