#!/bin/sh
# What each signal of src/ui/terminal/signals.inc does to the workbench: the terminal is as before, and nothing of
# the run is lost.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "signals in the workbench"
screen_terminal=xterm-256color # whose mouse has all the modes
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
table="${srcdir:-.}/src/ui/terminal/signals.inc"
runs=$XDG_STATE_HOME/tinca/runs
job="ui mlp --data digits,limit=64 --batch 8 --epochs 1000000 --threads 1 --checkpoint 0 --checkpoint-share 0.01"
signals_that() { sed -n "s/^SIGNAL(\([A-Z0-9]*\), $1)\$/\1/p" "$table"; }
newest() { ls -t "$runs" | head -n 1; }
count() { journal_lines "$runs/$(newest)/journal" | grep -c "$1"; }
counts() { [ "$(count "$1")" -gt "$2" ]; }
# send SIGNAL: sends it to the workbench. Fails if the shell does not know the signal.
send() {
    case $1 in POLL) number=29 ;; PWR) number=30 ;; STKFLT) number=16 ;; *) number=$1 ;; esac
    kill -"$number" "$child" 2>/dev/null || { skip "$1" "the shell cannot send it"; return 1; }
}
# begin: starts a run in the workbench; all that it sends to the terminal goes to $T/bytes
begin() {
    rm -rf "$runs" "$T/bytes" "$T/go"
    screen_start 80x24 C.UTF-8 sh -c "trap : QUIT; until [ -e '$T/go' ]; do sleep 0.05; done; '$TINCA' $job --start
echo \"status \$?\"; stty -a | grep -o ' icanon' ; cat"
    tmux -L "$SOCKET" pipe-pane "cat >'$T/bytes'"
    : >"$T/go"
    screen_wait 'ms/image'
    child=$(pgrep -P "$(screen_pid)" -x tinca)
    wait_until counts '^{"iteration"' 20
}
# switched_back: whether each of the modes that were switched on has been switched off at last
switched_back() {
    for mode in 1000 1002 1006 1049 2004; do
        # the last switch of the mode in the bytes, "h" or "l"; one switch may name several modes
        last=$(tr '\033' '\n' <"$T/bytes" | LC_ALL=C sed -n 's/^\[?\([0-9;]*\)\([hl]\).*$/;\1; \2/p' | grep ";$mode;" | tail -n 1)
        case $last in *l) ;; *) modes="$mode: $last"; return 1 ;; esac
    done
}
restored() { # restored NAME
    modes=
    if wait_until switched_back; then ok "$1"; else not_ok "$1" "$modes"; fi
}
is_status() { # is_status STATUS NAME: of the newest run
    run runs --json
    is "$2" runs.0.status "$1"
}

for signal in $(signals_that STOP) 40; do
    begin
    send "$signal" || continue
    screen_shows 'status 130' "$signal: status 130"
    screen_shows 'icanon' "  the line settings are restored"
    restored "  and the screen, the mouse and pastes"
    is_status stopped "  the run is saved"
    if [ -s "$runs/$(newest)/checkpoint.safetensors" ]; then ok "  with a checkpoint"; else not_ok "  with a checkpoint"; fi
done

begin
screen_keys 'C-\'
screen_shows 'status 130' "Ctrl-\\: status 130"
is_status stopped "  the run is saved"

begin
for _ in 1 2; do
    saved=$(count '"event":"checkpoint"')
    had=$(count '^{"iteration"')
    kill -USR1 "$child"
    if wait_until counts '"event":"checkpoint"' "$saved"; then ok "USR1 saves a checkpoint"; else not_ok "USR1 saves a checkpoint" "$(screen_text)"; fi
    if wait_until counts '^{"iteration"' $((had + 20)); then ok "  and the run goes on"; else not_ok "  and the run goes on" "$(screen_text)"; fi
done
screen_shows 'asked for a checkpoint' "  with a message"
screen_keys ' '
screen_wait 'Paused'
saved=$(count '"event":"checkpoint"')
kill -USR1 "$child"
if wait_until counts '"event":"checkpoint"' "$saved"; then ok "  also while it is paused"; else not_ok "  also while it is paused" "$(screen_text)"; fi
screen_keys ' '
screen_lacks 'Paused' "  and can go on"
kill -STOP "$child"
screen_keys -R
kill -CONT "$child"
screen_shows 'ms/image' "CONT after STOP paints the screen again"
had=$(count '^{"iteration"')
kill -HUP "$child"
screen_shows 'has hung up; run .*goes on without it' "HUP of a living terminal is said there"
restored "  it is restored"
if wait_until counts '^{"iteration"' $((had + 20)); then ok "  and the run goes on"; else not_ok "  and the run goes on"; fi
saved=$(count '"event":"checkpoint"')
kill -USR1 "$child"
if wait_until counts '"event":"checkpoint"' "$saved"; then ok "  USR1 saves as before"; else not_ok "  USR1 saves as before"; fi
kill -TERM "$child"
screen_shows 'status 130' "  and TERM stops it"
is_status stopped "  and saves the run"

for signal in $(signals_that CRASH); do
    begin
    kill -USR1 "$child"
    wait_until counts '"event":"checkpoint"' 0
    send "$signal" || continue
    screen_shows "SIG$signal: the program has crashed" "$signal: a crash is said"
    screen_shows 'checkpoint.safetensors' "  with the last checkpoint"
    screen_shows 'status 1[0-9]*' "  the program ends"
    screen_shows 'icanon' "  the line settings are restored"
    restored "  and the screen, the mouse and pastes"
done

# --- C-z and a signal ---
if command -v dash >/dev/null; then
    rm -rf "$runs"
    screen_start 80x24 C.UTF-8 env PS1=ready: dash -i
    screen_wait 'ready:'
    # shellcheck disable=SC2086 # a list of options
    screen_keys "$TINCA $job --start" Enter
    screen_wait 'ms/image'
    wait_until counts '^{"iteration"' 20
    screen_keys C-z
    screen_wait 'Stopped|ready:'
    child=$(pgrep -P "$(screen_pid)" -x tinca)
    screen_keys "kill -TERM $child; kill -CONT $child" Enter
    dead() { gone "$child" || grep -q ') Z ' "/proc/$child/stat"; }
    name="stopped by C-z, TERM and CONT let it end in the background"
    if wait_until dead; then ok "$name"; else not_ok "$name" "$(screen_text)"; fi
    is_status stopped "  the run is saved"
    screen_lacks 'ms/image' "  and nothing is drawn over the shell"
else
    skip "a signal to a program that C-z has stopped" "dash is not installed"
fi
done_testing
