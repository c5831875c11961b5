#!/bin/sh
# The real program, from the form to a session file, on a built-in data set.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "the workbench trains"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
cd "$T" || exit 99
screen_start 80x24 C.UTF-8 "$TINCA" ui lenet --data digits,limit=640 --validate digits,limit=100 \
    --batch 32 --epochs 100000
screen_shows '431,080' "the form forecasts lenet's parameters"
screen_keys r
screen_shows 'ms/image +[0-9]' "a real run shows its speed"
screen_shows "$BRAILLE" "and its curve"
screen_keys e
screen_shows 'Export' "e asks for a file"
screen_keys C-u
screen_keys session.json Enter
screen_shows 'Wrote session.json' "and writes the session during the run"
has "the session has the run's losses" runs.0.series.loss.0 session.json
screen_keys q
screen_shows 'What it takes' "q returns to the form"
screen_keys q
screen_shows 'stop it now' "q asks while the run is in progress"
screen_keys y
ended "y stops, saves and quits"
run runs
shows 'stopped' "the run is listed as stopped"
done_testing
