#!/bin/sh
# A disk that does not answer: while the files of runs cannot be opened (GATE of faults.so), every key works;
# when they can, the runs appear. Nothing depends on time: the effect of each key is on the screen before the
# gate opens.
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

# slow_start GATE ARGUMENT...: starts the workbench; files below $slow (those of runs) wait for the file GATE
slow=$runs/
slow_start() {
    gate=$T/$1
    shift
    screen_start 100x30 C.UTF-8 GATE="$slow:$gate" LD_PRELOAD="$FAULTS" "$TINCA" "$@"
}

# keys_are_answered WHILE: presses keys on a screen that waits
keys_are_answered() {
    screen_keys '?'
    screen_shows '[?] close' "? shows help while $1"
    screen_keys Escape
    screen_lacks '[?] close' "and Esc closes it"
    screen_keys m
    screen_shows 'Go to' "m opens the menu while $1"
    screen_keys Escape
    screen_lacks 'Go to' "and Esc closes it"
}

# --- the list ---
slow_start list
screen_shows 'Network' "the workbench starts"
screen_keys o
screen_shows "reading: 0 of 2" "the list says that runs are being read"
screen_shows "$newest" "and shows the IDs"
keys_are_answered "the list is read"
screen_keys f
screen_shows "still being read" "actions that need the settings report that they are not read yet"
if [ -e "$gate" ]; then not_ok "all before a file was read"; else ok "all before a file was read"; fi
: >"$gate"
screen_shows '2 runs' "then the list is complete"
screen_shows 'done +lenet' "with the values that were read"

# --- the queue, when a run is to start ---
rm "$gate"
screen_end
slow=$XDG_STATE_HOME/tinca/queue
mkdir "$slow" # without a queue none is waited for
slow_start queue ui lenet --data digits,limit=40 --batch 10 --epochs 1 --threads 1
screen_wait 'Training data'
screen_keys F5
screen_shows 'Looking what other processes compute' "r says that it looks at the queue"
keys_are_answered "the queue is read"
if [ -e "$gate" ]; then not_ok "all before it was read"; else ok "all before it was read"; fi
: >"$gate"
screen_shows 'done|100 %' "then the run starts"
screen_end
find "$runs" -mindepth 1 -maxdepth 1 | grep -v "$newest" | sort | tail -n 1 | xargs rm -r
slow=$runs/
: >"$T/list"
slow_start list
screen_wait 'Network'
screen_keys o
screen_wait '2 runs'

# --- one run ---
rm "$gate"
screen_keys Enter
screen_shows "Reading run $newest" "a run says that it is being read"
keys_are_answered "a run is read"
screen_keys Escape
screen_shows "Reading the run was cancelled" "Esc cancels it"
screen_shows '2 runs' "and the list remains"
screen_keys Enter
screen_shows "Reading run $newest" "it can be opened once more"
: >"$gate"
screen_shows '\(earlier\)' "then the run is shown"
screen_lacks 'Reading run' "without the message"

# --- the comparison ---
rm "$gate"
screen_keys c
screen_shows 'Reading runs: [0-9]+ of 2' "a comparison says that runs are being read"
keys_are_answered "a comparison is read"
screen_keys v
screen_shows '1 key acts when' "a key that acts on the runs is kept"
screen_keys v Down
screen_shows '3 keys act when' "so are more"
: >"$gate"
screen_shows 'Compare 2 runs' "then they are compared"
screen_shows '\[Settings\]' "and the keys act in their order"
screen_keys v v v
screen_wait '\[Curves\]'

# --- a run of another process ---
screen_end
ls "$runs" >earlier
"$TINCA" train lenet --data digits,limit=400 --batch 10 --epochs 100000 --seed 7 --threads 1 -q \
    >/dev/null 2>&1 &
live=$!
begun() { for file in "$runs"/*/journal; do [ "$(journal_lines "$file" | wc -l)" -ge "$1" ] || return 1; done; }
wait_until begun 3
on=$(ls "$runs" | grep -vxFf earlier)
slow_start live
: >"$gate"
screen_keys o
screen_wait "running +lenet"
screen_keys Home
screen_wait "$on"
screen_keys Enter
screen_shows 'Attached, read-only: process' "a run of another process is watched"
rm "$gate"
screen_shows 'newest figures ([2-9]|[1-9][0-9]+) s ago' "the age of the newest figures grows while the journal cannot be read"
keys_are_answered "the journal is being read"
: >"$gate"
screen_shows 'newest figures [01] s ago' "then the run is followed"
screen_end

# --- screens that read all runs ---
slow_start advisor
screen_wait 'Network'
screen_keys m a Enter
screen_shows 'Advisor' "the advisor opens"
keys_are_answered "it reads the runs"
: >"$gate"
screen_shows 'lenet' "then it lists the networks"
slow_start try
screen_wait 'Network'
screen_keys m t Enter
screen_shows 'Reading the folder of runs' "the screen Try searches for a model"
keys_are_answered "the search ends"
screen_keys Escape
screen_lacks 'Reading the folder' "Esc cancels the search"
screen_keys m t Enter
screen_wait 'Reading the folder'
: >"$gate"
screen_shows 'Try it.*lenet|lenet.*(best|last)' "then the newest weights are used"

# --- the folder itself ---
slow=$runs
slow_start home
screen_shows 'Network' "the workbench starts even if the folder of runs cannot be read"
screen_keys o
screen_shows 'Reading the folder of runs' "the list reports it"
keys_are_answered "the folder is read"
: >"$gate"
screen_shows '3 runs' "then the runs are listed"
slow=$runs/

# --- quitting ---
slow_start list_quit
screen_wait 'Network'
screen_keys o
screen_wait "reading: 0 of 3"
screen_keys q
screen_wait 'Esc|quit'
screen_keys q
ended "q quits while the list is read"
slow_start attach_quit attach "$newest"
screen_shows "Reading run $newest" "attach reports that it is reading"
screen_keys q
ended "q quits while a run is read"
kill "$live"
wait "$live" 2>/dev/null

# --- which thread reads ---
# In all views and lists the thread of the screen opens nothing below the folder of runs.
if ! command -v strace >/dev/null || ! strace -o /dev/null true 2>/dev/null; then
    skip "the thread of the screen reads no file of a run" "strace cannot be used"
    done_testing
fi
screen_start 100x30 C.UTF-8 strace -f -o "$T/calls" -e trace=%file "$TINCA"
screen_wait 'Network'
from=$(($(wc -l <"$T/calls") + 1)) # its configuration was read before that
screen_keys o
screen_wait '3 runs|of 3 marked'
screen_keys Home Enter
screen_wait '\(earlier\)'
for view in 2 3 4 5 6 7 8 9 1; do screen_keys $view; done
screen_keys Escape
screen_wait '3 runs|of 3 marked'
screen_keys a c
screen_wait 'Compare [23] runs'
screen_keys v s Escape
screen_keys m a Enter
screen_wait 'Advisor'
screen_wait 'lenet'
screen_keys Escape
screen_wait '3 runs|of 3 marked'
screen_keys m t Enter
screen_wait 'lenet.*(best|last)'
screen_keys q
screen_wait '3 runs|of 3 marked'
screen_end
main=$(head -n 1 "$T/calls" | cut -d' ' -f1)
sed -n "$from,\$p" "$T/calls" | grep -F "$runs/" >"$T/below"
grep "^$main " "$T/below" >"$T/main"
if [ -s "$T/below" ] && [ ! -s "$T/main" ]; then ok "the thread of the screen reads no file of a run"; else
    not_ok "the thread of the screen reads no file of a run" "$(head -n 20 "$T/main")"
fi
done_testing
