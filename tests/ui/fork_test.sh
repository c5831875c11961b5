#!/bin/sh
# Forking a run from the list of runs, and waiting for the run of another process.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "a run is forked"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
cd "$T" || exit 99
job="--data digits,limit=200 --batch 20 --seed 3 --threads 1"
runs=$XDG_STATE_HOME/tinca/runs
has_both() { ls "$runs"/*/checkpoint.previous.safetensors >/dev/null 2>&1; }

# shellcheck disable=SC2086 # a list of options
{
    "$TINCA" train lenet $job --epochs 100000 --checkpoint 0.01 --checkpoint-share 100 -q </dev/null 2>/dev/null &
    child=$!
    wait_until has_both
    kill -TERM $child # a killed process could leave the checkpoint before alone
    wait $child 2>/dev/null
}
id=$(basename "$runs"/2*)
screen_start 100x30 C.UTF-8 "$TINCA"
screen_wait 'What it takes'
screen_keys o
screen_wait 'stopped +lenet'
screen_keys F
screen_shows 'l +its last checkpoint' "F offers the last checkpoint"
screen_shows 'p +the checkpoint before' "  and the one before"
screen_lacks 'its best model' "  and nothing that the run does not have"
screen_keys l
screen_shows "Fork of $id at iteration [0-9]+ \(last\)" "the form says what it is a fork of"
screen_keys Home Down Down Right
screen_keys r
screen_shows 'weights of the ancestor belong to' "another technique is refused with the reason"
screen_keys Left F
screen_shows 'No fork any more' "F gives the fork up"
screen_keys o
screen_wait 'stopped +lenet'
screen_keys F l
screen_wait 'Fork of'
screen_keys r
screen_shows 'iteration +[0-9]+ of' "the fork runs"
screen_lacks 'r runs the fork' "  and what was said about the form is gone"
screen_shows 'F forked' "  a mark shows where it left its ancestor"
screen_lacks 'R resumed' "  which is no resume"
screen_keys s n
screen_shows 'stopped' "  and can be stopped"
screen_end
fork=$(ls "$runs" | grep '^2' | grep -v "$id")
grep -q "\"ancestor\":[[:space:]]*\"$id\"" "$runs/$fork/config.json" && ok "  it records its ancestor" ||
    not_ok "  it records its ancestor" "$(cat "$runs/$fork/config.json")"
screen_start 100x30 C.UTF-8 "$TINCA" attach "$fork"
screen_shows "fork of $id" "  which its screen shows"
screen_end

# --- the run of another process ---
# shellcheck disable=SC2086 # a list of options
"$TINCA" train lenet $job --epochs 100000 -q </dev/null 2>/dev/null &
child=$!
is_on() { "$TINCA" runs | grep -q running; }
wait_until is_on
other=$("$TINCA" runs | sed -n 's/^\(2[^ ]*\) .* running .*/\1/p')
# shellcheck disable=SC2086 # a list of options
screen_start 100x30 C.UTF-8 "$TINCA" ui lenet $job --epochs 2
screen_shows '1 other run uses 1 of [0-9]+ cores, [0-9.]+ MiB' "the form shows what the machine computes"
screen_keys r
screen_shows 'wait until it ends' "r offers to wait"
screen_keys w
screen_shows 'It waits until' "the run waits"
screen_keys o
screen_shows 'waiting' "  and the list says so"
screen_shows "waits for $other\$" "  and for which run, in the title"
screen_keys g
screen_shows "^ waits for $other" "  and below the selected run"
kill -9 $child
wait $child 2>/dev/null
screen_shows 'done +lenet' "it starts when the other process has died"
screen_end

# --- the title counts the runs of other processes on every screen ---
screen_start 100x30 C.UTF-8 "$TINCA"
screen_wait 'What it takes'
screen_wait 'runs, none on'
# shellcheck disable=SC2086 # a list of options
"$TINCA" train lenet $job --epochs 100000 -q </dev/null 2>/dev/null &
child=$!
screen_shows 'Set up .*runs, 1 on' "the title of the form counts a run that another process begins"
kill -TERM $child
wait $child 2>/dev/null
screen_shows 'Set up .*runs, none on' "and that it has ended"
screen_end
done_testing
