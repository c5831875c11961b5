#!/bin/sh
# Readable plots: the robust y axis, smoothing, marks, the mouse on a plot, and the curves of several runs: what
# differs, hidden, alone, pinned, and seeds as a group.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "plots are read"
cd "$T" || exit 99
case $FAKE in /*) ;; *) FAKE=$OLDPWD/$FAKE ;; esac
case $TINCA in /*) ;; *) TINCA=$OLDPWD/$TINCA ;; esac

mouse() { # mouse BUTTON COLUMN ROW M|m: an event as the terminal reports it, from 1
    screen_keys -l "$(printf '\033[<%d;%d;%d%s' "$1" "$2" "$3" "$4")"
}

# --- one run: smoothing, range, mouse ---
screen_terminal=xterm-256color
screen_start 80x24 C.UTF-8 env UI_FAKE_FREEZE=640 "$FAKE" --start --epochs 10
screen_shows 'smoothed +:: raw' "at first the smoothing is what the run says"
screen_keys S
screen_shows 'smoothed \(unsmoothed\)' "S: strength 0"
screen_keys S
screen_shows 'smoothed \(EMA 0\.6\)' "S: 0.6, as in TensorBoard; the legend says so"
screen_keys S S S S
screen_shows 'smoothed \(EMA 0\.999\)' "up to 0.999"
screen_keys S
screen_lacks 'smoothed \(EMA' "and back to what the run says"
screen_lacks 'outliers' "no value is outside the y axis"
screen_keys a
screen_shows '^loss, all values ' "a: the title says that the axis shows all values"
screen_keys l l
screen_shows '^loss, log, all values ' "also on a logarithmic axis"
screen_keys l l a
screen_lacks 'all values ' "and no longer when outliers are left out"

mouse 0 38 10 M
mouse 0 38 10 m
screen_shows 'iteration 4[01][0-9], epoch' "a click reads the values there"
mouse 0 44 10 M
mouse 32 60 12 M
screen_shows 'iteration 6[0-9][0-9], epoch' "a drag moves the cursor"
mouse 32 2 12 M
screen_shows 'iteration 1, epoch' "beyond the edge, to the first iteration"
mouse 0 2 12 m
mouse 64 44 10 M
screen_shows '<> zoomed|<> follows' "the wheel zooms in"
screen_shows '┬.*┬' "around the pointer"
mouse 65 44 10 M
screen_lacks '<> (zoomed|follows)' "and out"
screen_shows 'iteration 1, epoch' "the cursor stays where it was released"
screen_keys Y
screen_wait 'Curves: space'
mouse 0 30 10 M
mouse 0 30 10 m
screen_shows 'iteration 1, epoch' "a click beside an open list does not reach the plot"
screen_end

# --- marks: a new learning rate, a resume ---
export XDG_STATE_HOME="$T/marks"
"$TINCA" train lenet --data digits --validate digits --batch 4 --lr 0.01 --schedule step --step-size 20 \
    --iterations 50 >>"$T/log" 2>&1
screen_start 80x24 C.UTF-8 "$TINCA" ui lenet --data digits
screen_wait 'Set up'
screen_keys o
screen_wait 'lenet'
screen_keys Enter
screen_shows 'L new learning rate' "the legend has what a mark means"
screen_shows '┬.*L.*┬.*L' "on the x axis"
screen_keys M
screen_shows 'iteration 21, .*L learning rate 0\.01 -> 0\.001' "M: at the first of them"
screen_keys M
screen_shows 'iteration 41, .*L learning rate 0\.001 -> 0\.0001' "and the next"
screen_end

export XDG_STATE_HOME="$T/resumed"
iterations() { journal_lines "$XDG_STATE_HOME"/tinca/runs/*/journal | grep -c '"loss"'; }
beyond() { [ "$(iterations)" -gt "$goal" ]; }
# interrupt GOAL COMMAND...: stops the command, which saves, once the journal has more iterations
interrupt() {
    goal=$1
    shift
    "$@" >>"$T/log" 2>&1 &
    wait_until beyond
    kill -INT $!
    wait $! || :
}
interrupt 20 "$TINCA" train lenet --data digits --iterations 100000
interrupt "$(iterations)" "$TINCA" resume "$(basename "$XDG_STATE_HOME"/tinca/runs/*)"
screen_start 80x24 C.UTF-8 "$TINCA" ui lenet --data digits
screen_wait 'Set up'
screen_keys o
screen_wait 'lenet'
screen_keys Enter
screen_shows 'R resumed' "a resume is marked"
screen_keys M
screen_shows 'R resumed after iteration [0-9]+' "and can be read"
screen_end

# --- several runs ---
export XDG_STATE_HOME="$T/runs"
fake_kept 20261118-103000-lenet-0032 20261118-103001-lenet-0032 20261118-100500-lenet-0032 20261119-105900-lenet-0032
for locale in C.UTF-8 C; do
    screen_start 120x40 $locale "$FAKE"
    screen_wait 'Set up'
    screen_keys c
    screen_shows 'lr 0\.03.* \(2 seeds\)' "$locale: seeds are one entry, named by what differs"
    screen_shows 'lr 0\.005' "$locale: and a run another"
    screen_shows 'mean, min and max of seeds' "$locale: the legend says what a group is drawn as"
    screen_shows '\^v outliers' "$locale: the run that diverges is outside"
    screen_shows '\^' "$locale: and marked"
    screen_shows '^ +3 [^ ]' "$locale: it does not flatten the others"
    screen_keys a
    screen_shows '^ +[0-9.]+k ' "$locale: a shows all values"
    screen_lacks 'outliers' "$locale: and no mark"
    screen_shows '^smoothed loss.*, all values' "$locale: the title says so"
    screen_keys a
    screen_lacks 'loss.*, all values' "$locale: and no longer when they are left out"
    screen_end
done

screen_start 120x24 C.UTF-8 "$FAKE"
screen_wait 'Set up'
screen_keys c
screen_wait 'seeds\)'
screen_keys G
screen_shows 'lr 0\.03, seed 2' "G: seeds apart"
screen_keys G
screen_shows '\(2 seeds\)' "G: and together"
screen_shows '>[0-9a-z].*lr 0\.059' "a row is selected"
screen_keys h
screen_shows '>[0-9a-z] .* hidden' "h hides the selected one"
screen_lacks 'outliers' "which no longer counts"
screen_keys h
screen_lacks 'hidden' "h shows it again"
screen_keys Down Down P
screen_shows '>[0-9a-z].* \* ' "P pins it"
screen_keys Up Up Up Down H
screen_shows 'hidden' "H shows the selected one alone"
screen_shows '^.* [0-9a-z]── \* ' "beside the pinned one"
screen_keys H
screen_lacks 'hidden' "H: all again"
screen_keys i
screen_shows 'at iteration 1000' "the cursor reads the mean of a group"
mouse 0 40 8 M
mouse 0 40 8 m
screen_shows 'at iteration [1-9][0-9][0-9]$|at iteration [1-9][0-9][0-9] ' "a click places it"
screen_keys y
screen_shows 'validation loss' "groups have validations, too"
screen_shows '\(2 seeds\)' "with the mean of both"
screen_end

# --- labels that are too long ---
export XDG_STATE_HOME="$T/many"
fake_kept 20261118-100500-lenet-0032 20261118-103000-lenet-0032 20261118-100500-lenet-0064 \
    20261118-103000-lenet-0064 20261118-100501-resnet20-0032 20261118-103001-resnet20-0032 \
    20261118-100500-resnet20-0064 20261118-103000-resnet20-0064
labels() { # the labels of the legend, one a line
    screen_text | LC_ALL=C awk -F'-- ' '/^ .*-- / {
        for (i = 2; i <= NF; i++) {
            sub(/ *[^ ]?[^ ]?$/, "", $i)
            sub(/ +[^ ]+$/, "", $i)
            print $i
        }
    }'
}
all_differ() { [ "$(labels | sort -u | wc -l)" = 8 ] && labels | grep -q 'resnet20, 64, '; }
screen_start 70x24 C "$FAKE"
screen_wait 'Set up'
screen_keys c
if wait_until all_differ; then ok "labels are shortened to different ones"; else
    not_ok "labels are shortened to different ones" "$(labels; screen_text)"
fi
screen_lacks '-- .*lr 0?\.? ' "and no setting is cut"
screen_end
done_testing
