#!/bin/sh
# Terminal behaviour: any size, any resize, signals, and restoring the terminal.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "terminal behaviour"
case $FAKE in /*) ;; *) FAKE=$PWD/$FAKE ;; esac

# --- sizes ---
screen_start 80x24 C.UTF-8 "$FAKE" --start --epochs 1000
screen_wait 'ms/image'
for size in 120x40 20x5 1x1 40x12 400x120 7x3 60x18 33x9 200x60 21x24 80x4 80x24; do
    screen_resize $size
done
screen_shows 'ms/image' "many resizes are survived"
screen_resize 20x5
screen_shows 'loss' "at 20x5 the loss is shown"
screen_resize 40x12
screen_shows 'ms/im' "at 40x12 the speed, too"
screen_keys '?' ; screen_resize 20x5 ; screen_keys q s ; screen_resize 5x3 ; screen_keys c e
screen_resize 30x6 ; screen_keys Escape L ; screen_resize 80x24 ; screen_keys Escape
screen_shows 'ms/image' "dialogs survive resizes, too"
# the terminal was smaller, and has its former size before the program looks
screen_start 80x24 C.UTF-8 "$FAKE" --start --epochs 1000
screen_wait 'ms/image'
screen_keys -R
screen_lacks 'tinca' "the terminal has lost its contents"
kill -WINCH "$(screen_pid)"
screen_shows 'tinca .+ Run .+ lenet' "it is painted again, although its size is the same"

# --- signals ---
kill -TERM "$(screen_pid)"
ended "SIGTERM stops, saves and ends"
for pair in INT:130 TERM:130; do
    screen_start 80x24 C.UTF-8 sh -c "'$FAKE' --start --epochs 1000; echo \"status \$?\"; sleep 600"
    screen_wait 'ms/image'
    kill -"${pair%:*}" "$(pgrep -P "$(screen_pid)" | head -n 1)"
    screen_shows "status ${pair#*:}" "SIG${pair%:*}: exit status ${pair#*:}"
done
screen_start 80x24 C.UTF-8 sh -c "'$FAKE' --start --epochs 1000; echo \"status \$?\"; stty -a | grep -o ' icanon.*echo '; sleep 600"
screen_wait 'ms/image'
kill -SEGV "$(pgrep -P "$(screen_pid)" | head -n 1)"
screen_shows 'icanon' "after a crash the terminal is restored"
screen_start 80x24 C.UTF-8 sh -c "'$FAKE' --start --epochs 20; echo \$? >'$T/hup'"
screen_wait 'ms/image'
screen_keys ' ' # no key can end the pause afterwards
screen_wait 'Paused'
pid=$(pgrep -P "$(screen_pid)" | head -n 1)
screen_end
nice=
# gave_way: whether the process has been seen with a lower priority. It must be checked before it ends.
gave_way() {
    nice="$nice $(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null | cut -d ' ' -f 17)"
    case $nice in *1[0-9]*) ;; *) gone "$pid" ;; esac
}
wait_until gave_way
case $nice in
*1[0-9]*) ok "then its priority falls" ;;
*) not_ok "then its priority falls" "nice$nice" ;;
esac
name="when the terminal is closed the run continues to its end, paused or not"
if wait_until gone "$pid"; then ok "$name"; else not_ok "$name"; fi

# --- restoring the terminal ---
screen_start 80x24 C.UTF-8 sh -c "stty -a >'$T/before'; '$FAKE'; stty -a >'$T/after'; echo finished; sleep 600"
screen_wait 'What it takes'
screen_keys q
screen_shows finished "q quits"
if cmp "$T/before" "$T/after"; then ok "the line settings are restored"; else not_ok "the line settings are restored"; fi
screen_lacks 'What it takes' "and so is the screen"

# --- terminals ---
for terminal in vt100 linux xterm xterm-256color; do
    screen_terminal=$terminal
    screen_start 80x24 C "$FAKE" --start
    screen_shows 'ms/image' "TERM=$terminal in the C locale"
done
for scheme in default light mono colour-blind; do
    screen_start 80x24 C.UTF-8 "$FAKE" --start --colours $scheme
    screen_shows 'ms/image' "colours: $scheme"
done
coloured() { tmux -L "$SOCKET" capture-pane -p -e | grep -Eq "$(printf '\033')\[[0-9;]*[34][0-8][;m]"; }
screen_terminal=screen-256color
screen_start 80x24 C.UTF-8 "$FAKE"
screen_wait 'What it takes'
if coloured; then ok "colours are used"; else not_ok "colours are used"; fi
screen_start 80x24 C.UTF-8 env NO_COLOR=1 "$FAKE"
screen_wait 'What it takes'
if coloured; then not_ok "NO_COLOR: no colours"; else ok "NO_COLOR: no colours"; fi
screen_end
refused() { # refused NAME COMMAND...: the command refuses to start and says what to do
    name=$1
    shift
    status=0
    "$@" >"$T/out" 2>"$T/err" || status=$?
    if [ $status = 2 ] && grep -q '^tinca: .*tinca train' "$T/err"; then
        ok "$name"
    else
        not_ok "$name" "status $status: $(cat "$T/err" "$T/out")"
    fi
}
refused "without a terminal a message says what to do" "$FAKE" </dev/null
screen_terminal=dumb
screen_start 80x24 C.UTF-8 sh -c "'$FAKE'; echo \"status \$?\"; sleep 600"
screen_shows 'status 2' "TERM=dumb is refused in words"
screen_shows 'or another terminal' "which say what to do"
PROGRAM=$TINCA
case $PROGRAM in /*) ;; *) PROGRAM=$PWD/$PROGRAM ;; esac
screen_start 80x24 C.UTF-8 sh -c "'$PROGRAM' ui mlp --data digits,limit=64 --batch 16 --iterations 4 --start; echo \"status \$?\"; sleep 600"
screen_shows 'done after 4 iterations' "with --start the run is shown in lines"
screen_shows 'status 0' "and ends with status 0"
screen_terminal=screen-256color
# y answers the question of q, which does not fit all of these sizes
asked_to_end() {
    screen_keys q y 2>/dev/null
    over
}
for size in 39x12 40x11 20x5 8x2 2x1; do
    screen_start $size C.UTF-8 sh -c "'$FAKE' --start; echo \"status \$?\" >'$T/small'"
    screen_wait '[^ ]'
    wait_until asked_to_end
    ended "at $size it starts and ends"
    if grep -q 'status 0' "$T/small"; then ok "at $size without an error"; else not_ok "at $size without an error" "$(cat "$T/small")"; fi
done
done_testing
