#!/bin/sh
# Every key of every screen does what the help says.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "keys do what the help says"
cd "$T" || exit 99
case $FAKE in /*) ;; *) FAKE=$OLDPWD/$FAKE ;; esac

# --- the form ---
screen_start 80x24 C.UTF-8 "$FAKE" --epochs 1000
screen_shows 'What it takes' "the workbench opens with the form"
screen_shows '431,080' "parameters are forecast"
screen_keys Down Right
screen_shows '‹ alexnet ›' "right: the next network"
screen_shows 'alexnet wants 227x227' "an invalid combination is reported at the field"
screen_keys F5
screen_shows '> *Training data|! Training data' "and cannot be started"
screen_keys Up Up Up Left
screen_shows '‹ lenet ›' "left: the previous network"
screen_keys Down Enter
screen_shows 'type to search' "Enter opens a list"
screen_keys shuf
screen_shows '> shuffle' "typing filters it"
screen_keys Escape
screen_shows '‹ none ›' "Esc closes it without a change"
screen_keys Up Down Down Down Down Down Down 9 6
screen_shows 'Enter take it' "typing starts to edit"
screen_keys Enter
screen_shows '‹ 96 ›' "Enter accepts the number"
screen_keys 0 Enter
screen_shows 'whole number of 1' "an invalid number is refused with a message"
screen_keys Escape Home
screen_keys '*'
screen_shows 'Every setting is shown' "* shows every setting"
screen_shows 'Block rate' "also those without effect"
screen_keys '*'
screen_lacks 'Block rate' "and hides them"
screen_keys c
screen_shows 'no finished run to compare' "c reports that there is nothing to compare"
screen_keys q
screen_shows 'What it takes' "q returns to the form"
screen_keys e
screen_shows 'no run to export' "e reports that there is nothing to export"
screen_keys '?'
screen_shows 'this help' "? shows help"
screen_keys End
screen_shows "plan.s forecast for the run" "which scrolls"
screen_keys q
screen_shows 'What it takes' "q returns"
screen_keys F1
screen_shows 'this help' "F1 shows help, too"
screen_keys Escape
screen_shows 'What it takes' "Esc returns"
screen_keys Escape
screen_shows 'q quits' "but does not quit"

# --- a run ---
screen_keys r
screen_shows 'smoothed' "r starts the run of the form"
screen_wait 'overfitting from epoch' # later it would cover another message
for word in loss ms/image memory epoch iteration; do
    screen_shows "$word" "the run screen shows $word"
done
screen_keys l
screen_shows 'iteration, log' "l: x logarithmic"
screen_keys l
screen_shows 'loss, log' "l: y logarithmic"
screen_keys l l
screen_lacks 'loss, log|iteration, log' "l: linear"
screen_keys x
screen_shows 'Along the x axis: epoch' "x: epochs"
screen_keys x
screen_shows 'time \(s\)' "x: time"
screen_keys x
screen_keys g g
screen_shows 'Symbols: ascii' "g: ASCII"
screen_lacks "$BRAILLE" "without braille"
screen_keys g
screen_shows "$BRAILLE" "g: braille"
screen_keys y
screen_shows 'Curves: top-1 and top-5 accuracy' "y: the accuracy"
screen_keys y
screen_shows 'Curves: loss and accuracy' "y: both, one above the other"
screen_keys y y y
screen_shows 'Curves: the loss' "y: the loss"
screen_keys v
screen_shows '\[Findings\]' "v: findings"
screen_keys v
screen_shows 'Memory of this run' "v: memory"
screen_keys v
screen_keys ' '
screen_shows 'paused|Paused' "space pauses"
screen_keys ' '
screen_shows 'It continues' "and continues"
screen_keys L
screen_shows 'C-u clears' "L asks for a learning rate"
screen_keys 0.5 Enter
screen_shows 'learning rate 0.5' "and sets it"
screen_keys +
screen_shows ' 1 ' "+ proposes twice of it"
screen_keys x Enter
screen_shows 'not a learning rate' "an invalid number is refused with a message"
screen_keys Escape
screen_keys w
screen_shows 'checkpoint' "w writes a checkpoint"
screen_keys e
screen_shows 'session.json' "e proposes a name"
screen_keys C-u
screen_keys out.json Enter
screen_shows 'Wrote out.json' "and writes the file while running"
if [ -s out.json ]; then ok "the file is there"; else not_ok "the file is there"; fi

# --- several runs ---
screen_keys n
screen_keys r
screen_shows 'In the queue' "a second run waits for the first"
screen_keys o
screen_shows 'waiting' "o lists the runs"
screen_keys / wait
screen_lacks '1 running' "/ narrows the list"
screen_keys Escape
screen_keys Down Enter
screen_shows 'waits for the run before it' "Enter shows the selected run"
screen_keys Tab
screen_shows 'Run 1 of 2' "Tab: the next run"
screen_keys s
screen_shows 'after this epoch' "s asks how to stop"
screen_keys c
screen_keys s n
screen_shows 'stopped' "n stops it at once"
screen_keys Tab
screen_shows 'running' "and the next one starts"
screen_keys q
screen_keys q
screen_shows 'What it takes' "q returns to the form"
screen_keys q
screen_shows 'carry on' "q asks while a run is in progress"
screen_keys c
screen_shows 'What it takes' "c continues"
screen_keys q
screen_shows 'carry on' "q asks once more"
screen_keys y
ended "y stops, saves and quits"

# --- a run that fails ---
screen_start 80x24 C.UTF-8 "$FAKE"
screen_wait 'What it takes'
screen_keys Down Down Down Down i 'dx:/nowhere' Enter F5
screen_shows 'no such folder' "a failed run shows the reason"
screen_keys q F10
ended "q quits when no run is in progress"
done_testing
