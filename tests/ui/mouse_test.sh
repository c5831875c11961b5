#!/bin/sh
# Mouse clicks on the rows, tabs and values of the screens.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "clicks"
screen_terminal=xterm-256color

click() { # click COLUMN ROW, from 1
    screen_keys -l "$(printf '\033[<0;%d;%dM' "$1" "$2")"
    screen_keys -l "$(printf '\033[<0;%d;%dm' "$1" "$2")"
}

# --- settings, the advisor, the set-up of a sweep ---
screen_start 80x24 C.UTF-8 "$TINCA" ui lenet --data digits
screen_wait 'Set up'
screen_keys m ,
screen_wait '> Colours'
click 5 4
screen_shows '> Mouse' "a click on a setting selects it"
screen_keys m a Enter
screen_wait '> To become'
click 5 6
screen_shows '> At most MB' "a click on a field of the advisor, too"
screen_keys m w Enter
screen_wait '> Networks'
click 5 7
screen_shows '> Batch sizes' "and on a row of the sweep"
click 5 5
screen_wait '> Networks'
column=$(screen_text | sed -n 's/^\(> Networks.*\)\[ \] alexnet.*/\1/p' | wc -m)
click "$((column + 1))" 5
screen_wait '>\[ \] alexnet'
click "$((column + 1))" 5
screen_shows '\[x\] alexnet' "a second click chooses a value"
screen_shows '\[x\] lenet' "and the others do not change"

# --- a run's views and its list of curves ---
screen_start 80x24 C.UTF-8 "$FAKE"
screen_wait 'Set up'
screen_keys r
screen_wait '1\[Curves\]'
click 14 2
screen_shows '2\[Findings\]' "a click on a tab opens it"
screen_keys 1
screen_wait '1\[Curves\]'
screen_keys Y
screen_wait '\[ \] C '
click 60 5
screen_shows '\[x\] C ' "a click on a curve of the list switches it"
screen_keys Escape
done_testing
