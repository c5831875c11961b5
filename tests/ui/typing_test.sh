#!/bin/sh
# A row of the form that holds text takes every printable key and pastes; F5 and C-r run; candidates are
# shown and chosen; unknown sequences are not typed.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "typing, pasting and completing"
cd "$T" || exit 99
case $FAKE in /*) ;; *) FAKE=$OLDPWD/$FAKE ;; esac
case $TINCA in /*) ;; *) TINCA=$OLDPWD/$TINCA ;; esac
ESC=$(printf '\033')
mkdir -p sets/idx "sets/of mine/cat" "sets/of mine/dog" home/nets
network='{"name": "NAME", "input": [1, 28, 28], "classes": 10, "normalise": "unit", "layers": [{"op": "linear", "name": "ip", "output": "classes"}]}'
echo "$network" | sed s/NAME/mine/ >mine.json
echo "$network" | sed s/NAME/deep/ >home/nets/deep.json

raw() { screen_keys -l "$1"; } # raw BYTES: sends them as they are
paste() { # paste TEXT: as a terminal with bracketed paste sends it
    printf '%s' "$1" >"$T/clipboard"
    tmux -L "$SOCKET" load-buffer "$T/clipboard"
    tmux -L "$SOCKET" paste-buffer -p -r
}
on_network() { # on_network COMMAND...: starts the workbench with the focus on the row Network
    screen_start 80x24 C.UTF-8 "$@"
    screen_wait 'What it takes'
    screen_keys Down
    screen_wait '> Network'
}

# --- typing ---
on_network "$FAKE" --epochs 1000
screen_shows 'F1 help +F10 quit +F5 run' "on a row that holds text the hints name keys that print nothing"
raw 'r/q?*m: oDpn'
screen_shows '> Network +r/q[?][*]m: oDpn' "every printable key edits it"
screen_lacks 'smoothed|this help|Go to' "and none is a command"
screen_keys Escape
screen_shows '‹ lenet ›' "Esc restores the value"
screen_keys Escape
screen_shows 'F10 quits' "a further Esc says which key quits"
raw resnet20
screen_shows '> Network +resnet20 ' "typing resnet20 starts no run"
screen_keys Enter
screen_shows '‹ resnet20 ›' "Enter takes it"
screen_keys F1
screen_shows 'this help' "F1 shows help"
screen_keys q F9
screen_shows 'Go to' "F9 opens the menu"
screen_keys Escape
raw lenet
screen_keys F5
screen_shows 'smoothed' "F5 takes the text and runs"
screen_keys s n
screen_shows 'stopped' "the run is stopped"
screen_keys C-r
screen_shows 'Run 2|smoothed' "C-r runs from another screen"
screen_keys m
screen_wait 'Go to'
screen_keys F5
screen_shows 'running, 1 waiting' "F5 also from the menu"
screen_keys :
screen_wait 'Commands'
screen_keys C-r
screen_shows 'running, 2 waiting' "and C-r from the list of commands"
screen_keys s n q
screen_wait 'What it takes'
screen_keys F10
screen_shows 'carry on|Quit' "F10 quits: with a question while a run is on"
screen_keys y
ended "and the workbench ends"

# --- the keys that work from everywhere, over what lies above a screen ---
screen_start 80x24 C.UTF-8 env UI_FAKE_FREEZE=640 "$FAKE" --start
screen_wait '64 %'
screen_keys '?'
screen_wait '[?] close'
screen_keys F5
screen_shows 'running, 1 waiting' "and from the help"
screen_keys e
screen_wait '─ Export ─'
screen_keys F5
screen_shows 'running, 2 waiting' "F5 closes a dialog in which nothing was typed, and runs"
screen_lacks '─ Export ─' "the dialog is gone"
screen_keys Escape
screen_lacks '[?] close' "Esc closes the help"
screen_keys s
screen_wait 'Stop the run'
screen_keys C-r
screen_shows 'running, 3 waiting' "C-r closes a question, and runs"
screen_keys e
screen_wait '─ Export ─'
screen_keys x F5
screen_shows 'Answer this first' "a dialog in which something was typed stays, and says so"
screen_shows '─ Export ─' "with what was typed"
screen_keys F1
screen_shows 'Answer this first' "F1 does not open help above it"
screen_keys F10
screen_lacks '─ Export ─' "F10 closes it"
screen_keys m
screen_wait 'Go to'
screen_keys F10
screen_lacks 'Go to' "F10 closes the menu"
screen_keys m
screen_wait 'Go to'
screen_keys F1
screen_shows 'Watching a run' "F1 shows help in place of the menu"
screen_keys q
screen_wait 'smoothed'

# --- pasting ---
on_network "$FAKE"
screen_keys Down Down Down
screen_wait '> Training data'
paste "idx:$T/sets/idx
"
screen_shows '> Training data +[^ ]*sets/idx ' "a paste is one text, and its line end presses no Enter"
screen_shows 'Enter take it' "the row is still edited"
screen_keys Escape Escape
screen_shows '‹ digits ›' "Esc restores the value before the paste"
screen_keys Up Up
screen_wait '> Technique'
paste 'qqqrrr'
screen_shows 'paste was ignored' "where nothing takes text a paste is ignored, with a message"
screen_lacks 'smoothed' "and runs nothing"
fake_kept 20261118-101500-lenet-0032
screen_keys o
screen_wait 'lenet'
screen_keys /
paste 'two words'
screen_shows '/ two words' "a search takes a paste"
screen_keys C-u
paste 'lenet
batch:32

'
screen_shows '/ lenet batch:32( |$)' "a line end within a paste is a space"
screen_keys Escape q
screen_wait 'What it takes'
screen_keys m ,
screen_wait 'Colours'
screen_keys Down Down Down Down Down Enter
screen_wait 'C-u clears'
screen_keys C-u
paste '/some/where'
screen_shows '/some/where' "a dialog takes a paste"
screen_keys Escape q

# --- sequences ---
on_network "$FAKE"
raw "$ESC[99~$ESC[1;5A$ESC[<35;10;10M${ESC}Ow$ESC[27;5;9~$ESC]11;rgb:00/00/00$(printf '\a')"
raw x
screen_shows '> Network +x ' "unknown sequences are not typed"
raw "$ESC[1~"
raw y
screen_shows '> Network +yx ' "ESC[1~ is Home"
tmux -L "$SOCKET" send-keys -l "$ESC[" \; send-keys -l 4 \; send-keys -l '~' # one call: they come within a second
raw z
screen_shows '> Network +yxz ' "a sequence in pieces is one key"

# --- candidates ---
on_network "$TINCA" ui lenet --data digits
raw res
screen_shows 'resnet56 +built in' "candidates are shown while a network is typed"
screen_keys Down Down
screen_shows '> resnet56' "Down chooses one"
screen_keys Enter
screen_shows '‹ resnet56 ›' "Enter takes it"
raw resnet20-d
screen_shows 'resnet20-dsc +technique' "suffixes are candidates"
screen_keys Tab Enter
screen_shows '‹ resnet20-dsc ›' "Tab completes"
raw mi
screen_shows 'mine.json' "so are network files of this folder"
screen_keys C-u
raw ./mi
screen_keys Tab Enter
screen_shows '‹ ./mine.json ›' "and of the typed one"
screen_keys Enter
screen_shows 'alexnet +built in' "Enter shows the other networks"
screen_keys Enter
screen_shows '‹ ./mine.json ›' "and a further Enter keeps your file"
screen_keys Enter Down Down Down Enter
screen_lacks '‹ ./mine.json ›' "a choice of the list replaces it"
screen_keys Enter
screen_shows './mine.json +as typed' "but it stays on offer"
screen_keys Escape Escape Down Down Down
screen_wait '[>!] Training data'
raw i
screen_shows 'idx: +MNIST' "kinds of data are candidates"
screen_keys Tab
raw "./sets/o"
screen_keys Tab
screen_shows '[>!] Training data +idx:./sets/of mine/' "names with spaces are completed"
screen_keys C-u
raw 'shapes,'
screen_shows 'limit= +a number of images' "options are candidates"
screen_shows 'only= ' "each of them"
screen_lacks 'direction=' "if the kind of data has them"
raw 'sp'
screen_keys Tab
screen_shows 'shapes,split=( |$)' "Tab completes an option"
screen_keys Down Down Enter
screen_shows '‹ shapes,split=test ›' "and its values"
raw 'shapes,only=st'
screen_keys Tab
screen_shows 'shapes,only=star' "a class by its name"
screen_keys C-u
raw "folder:./sets/of mine,only="
screen_shows '  cat ' "the classes of a folder"
screen_keys Escape Escape
on_network env HOME="$T/home" "$TINCA" ui lenet --data digits
raw '~/nets/'
screen_shows 'deep.json' "~ is the home directory"
screen_keys Tab Enter
screen_shows '‹ /' "and is expanded"
column=$(screen_text | sed -n 's/^\(> Network *\).*/\1/p' | wc -m)
screen_terminal=xterm-256color
on_network "$TINCA" ui lenet --data digits
raw res
screen_wait 'resnet56 +built in'
raw "$ESC[<0;$((column + 3));6M"
screen_shows '> resnet56' "a click chooses a candidate"
raw "$ESC[<0;$((column + 3));6M"
screen_shows '‹ resnet56 ›' "a second one takes it"

# --- the terminal is restored ---
switched() { [ "$(grep -ao "$ESC\[[?]2004[hl]" log | tr -d '\n' | tr -d "$ESC" | tee switched)" = "$1" ]; }
switches() { # switches BYTES NAME: those that switch bracketed paste; script shows bytes before it writes them to its log
    if wait_until switched "$1"; then ok "$2"; else not_ok "$2" "$(cat switched)"; fi
}
if ! command -v script >/dev/null || ! command -v dash >/dev/null; then
    skip "bracketed paste is switched off" "script or dash is not installed"
    done_testing
fi
# dash, unlike other shells, does not switch bracketed paste itself
screen_start 80x24 C.UTF-8 env PS1=ready: script -qfec 'dash -i' log
screen_wait '[$#:]'
screen_keys "'$FAKE'" Enter
screen_wait 'What it takes'
screen_keys C-z
screen_shows 'Stopped|ready' "C-z suspends"
switches '[?2004h[?2004l' "bracketed paste is switched on, and off when it is suspended"
screen_keys fg Enter
screen_shows 'What it takes' "fg continues"
expected='[?2004h[?2004l[?2004h'
for _ in 1 2 3 4 5; do # right after a frame begins, too: a C-z is never lost
    screen_keys C-z
    screen_wait 'Stopped|ready'
    screen_keys fg Enter
    screen_wait 'What it takes'
    expected="$expected[?2004l[?2004h"
done
pid=$(screen_pid)
while child=$(pgrep -P "$pid" | head -n 1) && [ -n "$child" ]; do pid=$child; done # script, dash, it
kill -SEGV "$pid"
screen_shows 'Segmentation|Sanitizer' "a crash"
switches "$expected[?2004l" "it is on again after fg, and off after a crash"
done_testing
