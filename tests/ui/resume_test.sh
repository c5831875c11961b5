#!/bin/sh
# The list of runs continues a stopped run.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "a run is resumed from the list"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
cd "$T" || exit 99
"$TINCA" train lenet --data digits --batch 20 --epochs 1000 --threads 1 -q </dev/null 2>/dev/null &
child=$!
begun() { has_line '"iteration":2,' "$XDG_STATE_HOME"/tinca/runs/*/journal; }
wait_until begun
kill -TERM $child
wait $child
"$TINCA" train mlp --data digits,limit=64 --batch 32 --iterations 2 --threads 1 -q

screen_start 100x30 C.UTF-8 "$TINCA" ui lenet --data digits,limit=320 --epochs 2 --threads 1
screen_wait 'What it takes'
screen_keys o
screen_shows 'stopped +lenet' "the list contains the run"
screen_keys r
screen_shows 'complete' "r on a finished run gives a message"
screen_keys Down r
screen_shows 'iteration +[0-9]+ of' "r continues the stopped run"
screen_keys o
screen_shows '> +running +lenet|> +1 running +lenet|running +lenet' "it is a run of this session"
screen_keys s n
screen_shows 'stopped +lenet' "it can be stopped once more"
screen_keys r
screen_shows 'iteration +[0-9]+ of' "and continued once more"
screen_end

# --- a finished run that lost part of its journal ---
damaged=$(find "$XDG_STATE_HOME/tinca/runs" -name '*-mlp-*')
(cd "$damaged" && edit_journal sed '/^{"iteration":1,/d')
screen_start 100x30 C.UTF-8 "$TINCA" attach "${damaged##*/}"
screen_shows 'journal' "a damaged journal is a finding"
screen_keys r
screen_shows 'Run 1 .*mlp.* is done' "r computes the run once more"
screen_end
if has_line '^{"iteration":1,' "$damaged/journal"; then ok "its curves are complete"; else not_ok "its curves are complete"; fi
run runs --json
is "it is still the same run" "runs.#" 2
done_testing
