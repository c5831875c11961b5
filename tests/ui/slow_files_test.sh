#!/bin/sh
# A disk that does not answer: while the files of runs cannot be opened (GATE of faults.so), every key
# has its effect; when they can, the runs appear. Nothing here depends on time: what is pressed is
# seen before the gate opens.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "keys are answered while files are read"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
FAULTS=$(dirname "$TINCA")/faults.so
if [ ! -f "$FAULTS" ]; then
    skip "keys are answered while files are read" "the program is built with a sanitizer"
    done_testing
fi
cd "$T" || exit 99
runs=$XDG_STATE_HOME/tinca/runs
for seed in 1 2; do
    "$TINCA" train lenet --data digits,limit=40 --batch 10 --epochs 1 --seed $seed --threads 1 -q \
        >/dev/null || exit 99
done
newest=$(find "$runs" -mindepth 1 -maxdepth 1 | sort | tail -n 1 | sed 's|.*/||')

# slow_start GATE ARGUMENT...: files of runs wait for the file GATE
slow_start() {
    gate=$T/$1
    shift
    screen_start 100x30 C.UTF-8 GATE="$runs/:$gate" LD_PRELOAD="$FAULTS" "$TINCA" "$@"
}

# keys_are_answered WHILE: on the screen that waits
keys_are_answered() {
    screen_keys '?'
    screen_shows 'Everywhere' "? shows help while $1"
    screen_keys Escape
    screen_lacks 'Everywhere' "and Esc leaves it"
    screen_keys m
    screen_shows 'Go to' "m opens the menu while $1"
    screen_keys Escape
    screen_lacks 'Go to' "and Esc closes it"
}

# --- the list ---
slow_start list
screen_shows 'Network' "the workbench starts"
screen_keys o
screen_shows "reading: 0 of 2" "the list says what is still to be read"
screen_shows "$newest" "and shows the IDs"
keys_are_answered "the list is read"
screen_keys f
screen_shows "still being read" "what needs the settings says that they are not there"
if [ -e "$gate" ]; then not_ok "all before a file was read"; else ok "all before a file was read"; fi
: >"$gate"
screen_shows '2 runs' "then the list is there"
screen_shows 'done +lenet' "with what was read"

# --- one run ---
rm "$gate"
screen_keys Enter
screen_shows "Reading run $newest" "a run says that it is being read"
keys_are_answered "a run is read"
screen_keys Escape
screen_shows "not read any further" "Esc abandons it"
screen_shows '2 runs' "and stays in the list"
screen_keys Enter
screen_shows "Reading run $newest" "it can be asked for again"
: >"$gate"
screen_shows '\(earlier\)' "then the run is shown"
screen_lacks 'Reading run' "and no longer said to be read"

# --- the comparison ---
rm "$gate"
screen_keys c
screen_shows 'Reading runs: [0-9]+ of 2' "a comparison says that runs are being read"
keys_are_answered "a comparison is read"
: >"$gate"
screen_shows 'Compare 2 runs' "then they are compared"

# --- quitting ---
slow_start list_quit
screen_wait 'Network'
screen_keys o
screen_wait "reading: 0 of 2"
screen_keys q
screen_wait 'Esc|quit'
screen_keys q
ended "q quits while the list is read"
slow_start attach_quit attach "$newest"
screen_shows "Reading run $newest" "attach says that it reads"
screen_keys q
ended "q quits while a run is read"
done_testing
