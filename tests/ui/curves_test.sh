#!/bin/sh
# Curves are switched on and off, read under a cursor, zoomed and followed.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "curves are chosen, read and zoomed"
cd "$T" || exit 99
case $FAKE in /*) ;; *) FAKE=$OLDPWD/$FAKE ;; esac

# --- a run that stands still: what is read can be foretold ---
screen_start 80x24 C.UTF-8 env UI_FAKE_FREEZE=640 "$FAKE" --start --epochs 10
screen_shows 'smoothed +:: raw +o validation' "at first the loss: smoothed, raw, validation"
screen_shows 'overfitting$' "the finding has its word where there is room"
screen_keys Y
screen_shows '>?\[x\] S smoothed loss' "Y lists the curves, those that are on with a cross"
screen_shows '\[ \] C Caffe.s running mean' "and those that are off"
screen_keys C
screen_shows '\[x\] C Caffe' "its letter switches a curve on"
screen_keys Home ' '
screen_shows '\[ \] S smoothed' "space switches the selected one"
screen_keys r o E Enter
screen_shows 'E.* exact mean +C.* Caffe.s mean' "the legend names what is on, with letters"
screen_lacks ':: raw' "and nothing else"
screen_keys y
screen_shows ':: raw' "y goes back to the pictures"
screen_keys f
screen_shows 'iteration 400, epoch 4.00.*! overfitting' "f: the cursor at the finding"
screen_shows 'smoothed 0\.[0-9]+ .*raw 0\.[0-9]+ .*validation 0\.2018' "with the values of there"
screen_keys Left
screen_shows 'iteration 39[0-9]|iteration 38[0-9]' "Left: a column before it"
screen_keys b
screen_shows 'iteration 400, epoch 4.00' "b: at the best epoch"
screen_keys Home
screen_shows 'iteration 1, epoch 0.01' "Home: at the first iteration"
screen_keys PageDown
screen_shows 'iteration (7|8)[0-9],' "PgDn: a tenth of the plot further"
screen_keys End z
screen_shows '<> follows' "z: closer, and with the newest points"
screen_shows 'iteration 640, epoch 6.40' "around the cursor"
screen_keys '<'
screen_shows '<> zoomed' "<: what was before, which stays"
screen_keys 0
screen_lacks '<> (zoomed|follows)' "0: all again"
screen_keys Escape
screen_lacks 'iteration 640, epoch' "Esc puts the cursor away, and stays"
screen_shows '\[Curves\]' "on the run"
screen_keys y y l l
screen_shows 'loss, log' "a log axis"
screen_keys Y M R
screen_keys Enter i
screen_shows 'ms/image 1.25' "ms/image has a plot of its own"
screen_shows 'top-1 95.93' "the accuracy too"
screen_shows 'learning rate 0.01' "and the learning rate"
screen_resize 40x12
screen_shows '640  6.40  S 0\.[0-9]+' "in little room the values follow the iteration"
screen_resize 1x1
screen_resize 40x12
screen_keys Y
screen_shows 'Curves: space, Enter' "the list fits"
screen_end

# --- a run that goes on ---
screen_start 80x24 C "$FAKE" --start --epochs 1000
screen_wait 'best epoch'
screen_keys z z x
screen_shows '<> follows' "a live run is followed, on another axis too"
newest() { screen_text | sed -n 's/^ *\([0-9][0-9.]*\) .* epoch *$/\1/p'; }
first=
moved_on() {
    now=$(newest)
    [ -n "$first" ] || first=$now # the labels may not be there yet
    [ -n "$now" ] && [ "$now" != "$first" ]
}
if wait_until moved_on; then
    ok "the axis moves on with it"
else
    not_ok "the axis moves on with it" "still from $first: $(screen_text)"
fi
screen_end

# --- a comparison ---
fake_kept 20261118-101500-lenet-0032 20261119-111500-resnet20-0064
screen_start 80x24 C.UTF-8 "$FAKE"
screen_wait 'What it takes'
screen_keys c
screen_wait 'Compare 2 runs'
screen_keys i
screen_shows 'at iteration 1000' "i: a cursor over all runs"
screen_keys PageUp z
screen_shows '<> zoomed' "z: closer"
screen_shows 'at iteration (89|90|91)[0-9]' "PgUp: a tenth of the plot back"
screen_keys x
screen_lacks '<> zoomed' "x: another axis, all of it"
screen_end
done_testing
