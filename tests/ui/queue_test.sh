#!/bin/sh
# What waits in other processes stands at the top of the list of runs, and can be taken out of the queue there.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "the list of runs shows the queue"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
cd "$T" || exit 99
job="--data digits,limit=200 --seed 3 --threads 1"
queue=$XDG_STATE_HOME/tinca/queue
# A place's file is there a moment before its process holds it: until then it is not listed.
lists() { [ "$("$TINCA" runs status:waiting | grep -c 'waiting, place')" -eq "$1" ]; }
has_places() { [ "$(ls "$queue" 2>/dev/null | grep -c '^[0-9]')" -eq "$1" ]; }
is_on() { "$TINCA" runs | grep -q running; }

# shellcheck disable=SC2086 # a list of options
{
    "$TINCA" train lenet $job --batch 10 --epochs 1 -q
    "$TINCA" train lenet $job --batch 20 --epochs 100000 -q >/dev/null 2>&1 </dev/null &
    first=$!
    wait_until is_on
    "$TINCA" train mlp $job --batch 50 --wait >second 2>&1 </dev/null &
    second=$!
    wait_until lists 1
    "$TINCA" train lenet $job --batch 40 --epochs 2 --wait >third 2>&1 </dev/null &
    third=$!
    wait_until lists 2
}
screen_start 100x20 C.UTF-8 "$TINCA"
screen_shows '4 runs, 1 on, 2 waiting' "the title counts what waits"
screen_keys o
screen_wait 'Runs.*4 runs, 1 on, 2 waiting'
order() { screen_text | sed -n '4,5p' | awk '{ sub(/^>/, ""); printf "%s %s, ", $1, $2 }'; }
in_order() { [ "$(order)" = "waiting mlp, waiting lenet, " ]; }
wait_until in_order && ok "what waits is at the top, in the order of the queue" ||
    not_ok "what waits is at the top, in the order of the queue" "$(order) $(screen_text)"
screen_shows "place 1 of the queue since [0-9:]+ UTC, process $second" "  with its place, time and process"
screen_keys Enter
screen_shows 'has not begun: nothing can be watched' "Enter says that nothing can be watched yet"
screen_keys '?'
screen_wait 'list of runs'
never() { for _ in $(seq 20); do if seen "$1"; then return 1; fi; sleep 0.1; done; } # the run that is on goes on meanwhile
if never 'Enter +watch the selected run'; then ok "  and is not offered"; else
    not_ok "  and is not offered" "$(screen_text)"
fi
screen_keys q /
screen_keys status:waiting Enter
screen_shows '2 of 4 runs' "the filter status:waiting shows both"
screen_keys Escape
screen_wait 'running +lenet'
screen_keys s
screen_shows 'mlp, batch 50, digits,limit=200, has not begun' "s asks whether to take it out of the queue"
screen_shows "and nothing of the run would be left" "  and says what ends"
screen_keys k
screen_lacks 'leave it waiting' "k leaves it"
has_places 2 && ok "  in the queue" || not_ok "  in the queue"
screen_keys d
screen_shows 'leave it waiting' "d asks, too"
screen_keys t
screen_shows "Process $second leaves the queue" "t takes it out"
wait $second
[ $? -eq 130 ] && ok "  and its process ends" || not_ok "  and its process ends" "$(cat second)"
screen_shows '3 runs, 1 on, 1 waiting' "the title counts one less"

# --- a run that waits to be resumed ---
done_id=$(ls "$XDG_STATE_HOME/tinca/runs" | head -n 1)
"$TINCA" resume "$done_id" --epochs 2 --wait >resumed 2>&1 </dev/null &
resumed=$!
wait_until lists 2
screen_shows '3 runs, 1 on, 2 waiting' "a run that waits to be resumed is no other run"
screen_keys Home Down
screen_shows "$done_id +place 2 of the queue since [0-9:]+ UTC, process $resumed" "  but is waiting"
screen_keys r
screen_shows 'Another process waits to go on' "r says who goes on with it"
screen_keys d
screen_shows 'No run that waits can be deleted' "d says why it is not deleted"
screen_keys s
screen_shows 'waits to go on. Process' "s asks"
screen_keys t
screen_wait "Process $resumed leaves the queue"
wait $resumed
screen_shows '3 runs, 1 on, 1 waiting' "  and takes it out"

# --- another workbench ---
kill -TERM $third
wait $third
screen_keys n
screen_wait 'Training data'
screen_keys F5
screen_shows 'wait until it ends' "the form offers to wait"
screen_keys w
screen_wait 'It waits until'
wait_until lists 1
"$TINCA" runs status:waiting >listed
grep -q 'waiting, place 1' listed && ok "tinca runs lists what waits in the workbench" ||
    not_ok "tinca runs lists what waits in the workbench" "$(cat listed)"
screen_keys o
screen_wait 'Runs'
[ "$(screen_text | grep -c waiting)" -le 2 ] && ok "which lists it once" || not_ok "which lists it once" "$(screen_text)"
screen_keys Home d
screen_shows 'dropped from the queue' "d drops it"
wait_until has_places 0 && ok "  from the queue of all processes" || not_ok "  from the queue of all processes"
screen_end
kill -9 $first
wait $first 2>/dev/null
done_testing
