#!/bin/sh
# The list of runs goes on with a run that was stopped.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "a run is resumed from the list"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
cd "$T" || exit 99
"$TINCA" train lenet --data digits --batch 20 --epochs 1000 --threads 1 -q </dev/null 2>/dev/null &
child=$!
begun() { has_line '"iteration":2,' "$XDG_STATE_HOME"/tinca/runs/*/journal.jsonl; }
wait_until begun
kill -TERM $child
wait $child
"$TINCA" train mlp --data digits,limit=64 --batch 32 --iterations 2 --threads 1 -q

screen_start 100x30 C.UTF-8 "$TINCA" ui lenet --data digits,limit=320 --epochs 2 --threads 1
screen_wait 'What it takes'
screen_keys o
screen_shows 'stopped +lenet' "the list has the run"
screen_keys r
screen_shows 'complete' "r on a run that is done says so"
screen_keys Down r
screen_shows 'iteration +[0-9]+ of' "r on the stopped one goes on with it"
screen_keys o
screen_shows '> +running +lenet|> +1 running +lenet|running +lenet' "it is one of this sitting"
screen_keys s n
screen_shows 'stopped +lenet' "it can be stopped again"
screen_keys r
screen_shows 'iteration +[0-9]+ of' "and go on again"
screen_end

# --- one that is over, but lost some of its curves ---
damaged=$(find "$XDG_STATE_HOME/tinca/runs" -name '*-mlp-*')
sed -i '/^{"iteration":1,/d' "$damaged/journal.jsonl"
screen_start 100x30 C.UTF-8 "$TINCA" attach "${damaged##*/}"
screen_shows 'journal' "a damaged journal is a finding"
screen_keys r
screen_shows 'Run 1 .*mlp.* is done' "r computes the run again"
screen_end
if has_line '^{"iteration":1,' "$damaged/journal.jsonl"; then ok "its curves are whole"; else not_ok "its curves are whole"; fi
run runs --json
is "all the time it was the same run" "runs.#" 2
done_testing
