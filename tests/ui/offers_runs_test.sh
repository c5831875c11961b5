#!/bin/sh
# Every key that the list of runs offers, and the screen of one run, does something.
. "${srcdir:-.}/tests/ui/offers.sh"

# --- the list of runs ---
closing=" C b v V R t N d X / w "
away="Enter c f r F s n U a u Space"
XDG_STATE_HOME=$T/empty
enter() { go 200x60 o Runs; screen_wait 'There is no run'; }
press_all Runs "The list of runs" "without a run" "$away"
XDG_STATE_HOME=$T/listed
train() { # train OPTION...: IDs are sorted by the second
    "$TINCA" train mlp --widths 16 --data digits,limit=200 --validate digits,split=test,limit=120 --epochs 2 --batch 32 \
        --threads 1 -q "$@" </dev/null 2>/dev/null
    sleep 1
}
train --lr 0.1
train --lr 100000 --weight-decay 10 # whose product lets every weight grow, whatever the gradients are
train --lr 0.01 --seed 2
listed() { go 200x60 o Runs; screen_wait '3 runs'; wait_until settled; }
enter() { listed; screen_keys Home; }
press_all Runs "The list of runs" "a finished run" "$away"
enter() { listed; screen_keys End Up; screen_wait '> *diverged'; }
press_all Runs "The list of runs" "a diverged run" "$away"
enter() { listed; screen_keys Space; screen_wait 'of 3 marked'; }
press_all Runs "The list of runs" "a marked run" "$away"
enter() {
    listed
    screen_keys b
    screen_wait 'Group by'
    screen_keys l r Enter
    screen_lacks 'Group by' "grouped by the learning rate"
    screen_keys Home
}
press_all Runs "The list of runs" "the head of a group" "$away Left Right"
enter() { listed; screen_keys / z z z Enter; screen_wait 'zzz'; }
press_all Runs "The list of runs" "a filter that nothing matches" "$away"

# --- one run ---
closing=" e L + - Y s "
away="F c t n 2 3 4 5 6 7 8 9 v i b f M Tab BTab r"
watched() { listed; screen_keys "$@"; wait_until settled; screen_keys Enter; screen_wait 'smoothed'; }
enter() { watched Home; }
press_all Run "Watching a run" "a finished run" "$away"
enter() { watched End Up; screen_wait 'diverged'; }
press_all Run "Watching a run" "a diverged run" "$away"
enter() { watched Home; screen_keys 5; screen_wait '\[Layers\]'; }
press_all Run "Watching a run" "its layers" "$away"
enter() { watched Home; screen_keys 2; screen_wait '\[Findings\]'; }
press_all Run "Watching a run" "its findings" "$away"
done_testing
