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
# the picture of a report waits for the reader of a pipe, and the process that writes it crashes meanwhile
mkfifo pipe.png
screen_keys e
screen_shows 'Export' "e asks again"
screen_keys Right Right Right Right Right Right C-u
screen_keys pipe.md Enter
screen_shows 'Press Enter again' "the picture's file exists"
screen_keys Enter
exporting() {
    for process in $(grep -las -- "TINCA_TEST=$T" /proc/[0-9]*/environ 2>/dev/null); do
        process=${process#/proc/} process=${process%/environ}
        { tr '\0' ' ' <"/proc/$process/cmdline"; } 2>/dev/null | grep -q '^tinca export ' && return
    done
    return 1
}
if wait_until exporting; then
    kill -SEGV "$process"
    screen_shows 'signal 11' "an export that crashes says so"
    screen_shows 'ms/image +[0-9]' "and the run is on"
else
    not_ok "an export is a process" "$(screen_text)"
fi
screen_keys q
screen_shows 'What it takes' "q returns to the form"
screen_keys q
screen_shows 'stop it now' "q asks while the run is in progress"
screen_keys y
ended "y stops, saves and quits"
run runs
shows 'stopped' "the run is listed as stopped"

# a run in a folder whose name alone could be that of a run, and a file whose name could be an option
screen_start 80x24 C.UTF-8 "$TINCA" ui mlp --data digits,limit=64 --batch 32 --iterations 2 --run-dir bare --start
screen_shows 'done' "a run in a folder of the current one is done"
screen_keys e
screen_shows 'Export' "e asks for a file"
screen_keys C-u
screen_keys -l -- -bare.json
screen_keys Enter
screen_shows 'Wrote ' "and writes the session"
has "  of that run" runs.0.series.loss.0 ./-bare.json
screen_keys q q
done_testing
