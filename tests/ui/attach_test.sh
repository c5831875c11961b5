#!/bin/sh
# Runs of other processes are watched live from a second terminal, without commands to them, and are continued
# when their process has ended. A run whose terminal is lost continues to its end.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "a run of another process is watched"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
cd "$T" || exit 99
FIRST=tinca-owner-$$
trap 'screen_end; tmux -L "$FIRST" kill-server 2>/dev/null; end_processes; rm -rf "$T"' EXIT
runs=$XDG_STATE_HOME/tinca/runs

newest_run() {
    find "$runs" -mindepth 1 -maxdepth 1 2>/dev/null | sort | tail -n 1 | sed 's|.*/||'
}

# Starts the run in the first terminal; sets $owner to its process and $previous to the run before it.
first_start() { # first_start ARGUMENT...
    previous=$(newest_run)
    tmux -L "$FIRST" -f /dev/null new-session -d -x 80 -y 24 \
        env LC_ALL=C.UTF-8 TERM=screen-256color "$TINCA" ui "$@" --start
    owner=$(tmux -L "$FIRST" display-message -p '#{pane_pid}')
}
first_keys() { tmux -L "$FIRST" send-keys "$@"; }

# has_begun N: the run of first_start has computed N iterations
has_begun() {
    newest=$(newest_run)
    [ "$newest" != "$previous" ] && journal_lines "$runs/$newest/journal" | grep -q "^{\"iteration\":$1,"
}
iteration() { screen_text | sed -n 's/.*iteration  *\([0-9]*\) of.*/\1/p' | head -n 1; }
further() {
    after=$(iteration)
    before=${before:-$after}
    [ "${after:-0}" -gt "${before:-0}" ]
}
grows() {
    before=
    wait_until further
}

# --- two terminals ---
first_start lenet --data digits --batch 8 --epochs 1000 --threads 1
wait_until has_begun 5
screen_start 80x24 C.UTF-8 "$TINCA" attach
screen_shows '\(attached\)' "attach shows the run in progress"
screen_shows "c compare  e export" "it can be compared and exported"
screen_lacks "space pause" "and not paused, which only its owner can"
screen_shows "process $owner" "and the process that computes it"
screen_shows 'newest figures [0-9]+ s ago' "and how old the figures are"
if grows; then ok "attach follows the run"; else not_ok "attach follows the run" "$before, $after: $(screen_text)"; fi
for key in ' ' L w r; do
    screen_keys "$key"
    screen_shows "can only be watched" "key '$key' says whose run it is"
    screen_keys Escape
done
screen_keys s
screen_shows "which has a terminal: stop it there" "it is stopped where it has a terminal"
first_keys ' '
screen_shows 'paused' "a pause is shown"
first_keys ' '
screen_shows 'running' "and its end"
screen_keys 5
screen_shows 'measured by the process' "views that measure the run are not available"
screen_keys 1 2
screen_shows 'Findings' "views can be chosen"
for size in 40x12 20x5 200x60 80x24; do screen_resize $size; done
screen_shows "process $owner" "it can be resized to any size"
screen_resize 40x12
screen_shows "Read-only: process $owner, [0-9]+ s ago" "at 40x12 the line about the process is short"
screen_keys q
ended "q quits without a question"
if kill -0 "$owner"; then ok "and the run continues"; else not_ok "and the run continues"; fi

# --- the workbench without a run ---
screen_start 120x30 C.UTF-8 "$TINCA"
screen_shows 'Another process has a run that is on: o leads to it' "the workbench mentions the run"
screen_keys o
screen_shows 'running +lenet' "the list contains it"
screen_shows "process $owner" "with its process"
screen_keys Enter
screen_shows '\(attached\)' "Enter watches it"
if grows; then ok "live"; else not_ok "live" "$before, $after: $(screen_text)"; fi
screen_keys q
screen_wait 'Runs'

# --- the terminal is lost ---
tmux -L "$FIRST" kill-server
lost() { ! tmux -L "$FIRST" has-session 2>/dev/null; }
wait_until lost
recorded() { journal_lines "$runs"/*/journal | wc -l; }
had=$(recorded)
goes_on() { [ "$(recorded)" -gt $((had + 5)) ]; }
if wait_until goes_on && kill -0 "$owner"; then
    ok "without its terminal the run continues"
else
    not_ok "without its terminal the run continues"
fi
screen_keys Enter
screen_shows 'without a terminal \(s stops it\)' "attach shows that its terminal is lost"
if grows; then ok "and it is still followed"; else not_ok "and it is still followed" "$before, $after: $(screen_text)"; fi
screen_keys s
screen_shows 'Stop the run\?' "then s asks"
screen_keys c
screen_lacks 'Stop the run\?' "c lets it continue"
screen_keys s
screen_wait 'Stop the run\?'
screen_keys s
screen_shows 'It is over \(stopped\)' "and stops it"
run runs --json
is "the run was saved" runs.0.status stopped
if wait_until gone "$owner"; then ok "its process has ended"; else not_ok "its process has ended"; fi
screen_keys r
screen_shows 'Run [^(]*lenet.*running' "r continues the run in this process"
screen_keys s n
screen_shows 'stopped after' "as a run of this process"
screen_keys q q
screen_end

# --- killed ---
first_start lenet --data digits --batch 8 --epochs 1000 --threads 1
wait_until has_begun 5
screen_start 120x30 C.UTF-8 "$TINCA" attach
screen_shows "process $owner" "a second run is watched"
kill -KILL "$owner"
screen_shows 'Interrupted: process .* ended unexpectedly' "kill -9 is reported"
tmux -L "$FIRST" kill-server 2>/dev/null
id=$(newest_run)
"$TINCA" resume "$id" -q 2>/dev/null &
owner=$!
screen_shows "process $owner" "another process that continues it is shown"
if grows; then ok "and followed"; else not_ok "and followed" "$before, $after: $(screen_text)"; fi
kill -KILL "$owner"
wait "$owner" 2>/dev/null
screen_wait 'Interrupted'
screen_keys r
screen_shows 'Run [^(]*lenet.*running' "r continues the run in this process"
screen_keys s n
screen_wait 'stopped after'
screen_end

# --- a run that lost its terminal and ends ---
first_start lenet --data digits,limit=640 --batch 16 --iterations 2000 --threads 1
wait_until has_begun 5
tmux -L "$FIRST" kill-server
lost_terminal() { [ "$(sed 's/.*) //' "/proc/$owner/stat" | cut -d ' ' -f 5)" = 0 ]; }
wait_until lost_terminal
kill -STOP "$owner" # it must not end before it is seen; the end of its terminal would let it go on
screen_start 120x30 C.UTF-8 "$TINCA" attach
screen_shows 'without a terminal' "attach shows a run that lost its terminal"
kill -CONT "$owner"
screen_shows 'It is over \(done\)' "the run continues to its end"
screen_end
run runs --json
id=$(newest_run)
screen_start 80x24 C "$TINCA" attach "$id"
screen_shows 'no longer active: it is done' "attach shows a finished run"
screen_end

# --- a run that starts while the list is open ---
screen_start 120x30 C.UTF-8 "$TINCA"
screen_wait 'What it takes'
screen_keys o
screen_wait 'Runs'
"$TINCA" train mlp --data digits --batch 20 --epochs 1000 --threads 1 -q 2>/dev/null &
owner=$!
screen_shows 'running +mlp' "a run of another process that starts appears in the list"
kill -KILL $owner
wait $owner 2>/dev/null
screen_shows 'interr[^ ]* +mlp' "and so does its end"
done_testing
