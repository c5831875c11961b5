#!/bin/sh
# The screen Find rate: a search of what the form says, the marked rate, and how it comes into the form.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "the learning-rate finder"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
cd "$T" || exit 99

screen_start 100x30 C.UTF-8 "$TINCA" ui lenet --data digits,limit=400 --batch 20 --threads 1
screen_wait 'What it takes'
screen_keys L
screen_wait 'Suggestion: '
screen_shows 'learning rate, log' "the loss is drawn over the rate, with a logarithmic axis"
rate=$(screen_text | sed -n 's/.*Suggestion: \([^,]*\),.*/\1/p')
"$TINCA" find-rate lenet --data digits,limit=400 --batch 20 --threads 1 --json >found.json
[ "$(printf '%.2g' "$("$JSON_LOOK" found.json suggestion)")" = "$rate" ] &&
    ok "the suggestion is that of tinca find-rate" || not_ok "the suggestion is that of tinca find-rate" "$rate"
screen_keys s
screen_shows 'No search is on' "a key that does nothing says why"
screen_keys Left
screen_shows 'Marked: ' "Left marks the rate before"
screen_keys b
screen_shows "Suggestion: $rate," "b marks the suggestion again"
screen_keys Enter
screen_shows "The learning rate is $rate now" "Enter takes it into the form"
screen_shows "Learning rate +.*$rate" "  which shows it"
! find "$XDG_STATE_HOME" -name journal | grep -q . && ok "no run is saved" || not_ok "no run is saved"
screen_keys L
screen_shows "Suggestion: $rate," "the result stays until the form changes"

# the longest reason for no suggestion, on a screen of 80x24
screen_start 80x24 C.UTF-8 "$TINCA" ui squeezenet-4 --data shapes,limit=400 --batch 8 --threads 1
screen_wait 'What it takes'
screen_keys L
screen_wait 'Marked: '
screen_shows 'No suggestion: the loss falls at no rate,' "a reason for no suggestion"
screen_shows '--iterations 1000' "  with the option to give"
screen_shows '\(options of tinca find-rate\)\.' "  is shown to its end"
done_testing
