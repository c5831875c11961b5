# Sourced by the offers*_test.sh: every key that a screen offers does something, and every other key of its table
# says why it does nothing. The offered keys are those in the help that is opened from the screen; all keys of its
# table are in the help of another screen. Each is pressed in one state of each screen or several (WHOLE: in all).
#
# What the program writes to the terminal is kept in the file "frames", for two questions that captures of the
# screen leave open: has the program handled a key (it has when the frame is there that C-l asks for), and was
# there an answer that another frame has replaced since?
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "every key offered works"
cd "$T" || exit 99
case $TINCA in /*) ;; *) TINCA=$OLDPWD/$TINCA ;; esac

# keys_below TITLE: the keys of a section of the help, as tmux calls them
keys_below() {
    screen_text | awk -v title=" $1" '
        $0 == title { inside = 1; next }
        $0 == "" { inside = 0 }
        inside && /^  [^ ]/ {
            split(substr($0, 3), parts, "  ")
            count = split(parts[1], names, " ")
            for (i = 1; i <= count; i++) print names[i]
        }' | sed 's/^space$/Space/; s/^PgUp$/PageUp/; s/^PgDn$/PageDown/; s/^Del$/Delete/; s/^S-Tab$/BTab/; s/^C-r$//; /^1$/d; /^\.\.$/d; /^[,.]$/d; /^$/d'
}
# keys_hinted: those of the screen's table in the line of key hints
keys_hinted() {
    screen_text | tail -n 1 | awk -F '  +' '{ for (i = 1; i <= NF; i++) { split($i, words, " "); print words[1] } }' |
        sed 's/^space$/Space/; s/^PgUp$/PageUp/; s/^PgDn$/PageDown/; s/^Del$/Delete/; s/^S-Tab$/BTab/; /^[?qm:oec]$/d; /^$/d'
}
message() { screen_text | awk '{ before = last; last = $0 } END { gsub(/^ +| +$/, "", before); print before }'; }
quiet() { [ -z "$(message)" ]; }
refused() { message | LC_ALL=C grep -aEq '(^| )([Nn]o|[Nn]othing|[Oo]nly|[Aa]lready) '; }
CLEAR=$(printf '\033[H\033[J')
cleared() { LC_ALL=C grep -aqF "$CLEAR" frames; }
only_cleared() { [ "$(head -c ${#CLEAR} frames)" = "$CLEAR" ]; }
still() { # whether tmux has got all of the frame
    former=$latter
    latter=$(stat -c %s frames)
    [ "$former" = "$latter" ]
}
changed() { [ "$(screen_text)" != "$before" ]; }
answers() { ! quiet; }
redraw() { # waits until all keys before are handled
    screen_keys C-l
    wait_until cleared
}
hush() { # removes an earlier message, so that the next key's answer is seen
    : >frames
    redraw
    wait_until quiet
    latter=
    wait_until still
    : >frames
}
# A message of success stays for seconds, whatever key comes next. Starting anew takes less.
next() { redraw; (PATIENCE=1; wait_until quiet) 2>/dev/null || enter; }
opposite() {
    case $1 in
    Up) echo Down ;; Down) echo Up ;; Left) echo Right ;; Right) echo Left ;;
    Home) echo End ;; End) echo Home ;; Tab) echo BTab ;; BTab) echo Tab ;; PageUp) echo PageDown ;; PageDown) echo PageUp ;;
    p) [ "$screen" = Pictures ] && echo n ;;
    esac
}

# press KEY: whether the key changes the screen. A change that lasts is seen soon, whatever the machine does
# meanwhile. If none is, C-l tells when the key has been handled: what was drawn until then was an answer, too.
press() {
    before=$(screen_text)
    screen_keys "$1"
    (PATIENCE=5; wait_until changed) 2>/dev/null && return
    redraw
    changed || ! only_cleared
}
# works KEY: whether the key does something; at the end of a list after the key that goes the other way
works() {
    hush
    press "$1" && return
    other=$(opposite "$1")
    if [ -n "$other" ] && press "$other"; then
        hush
        press "$1" && return
    fi
    wait_until changed # by an answer that takes long
}
# tells_why KEY: whether a key that is not offered says why. Some keys of a run lead to its curves, where others
# work, at the end of a list only after the key that goes the other way.
tells_why() {
    if [ "$screen" = Run ]; then
        works "$1"
    else
        screen_keys "$1"
        wait_until answers
    fi
}
restarting() { for key; do case $restart in *" $key "*) echo "$key" ;; esac; done; }
lasting() { for key; do case $restart in *" $key "*) ;; *) echo "$key" ;; esac; done; }

# due LIST KEY: whether a key is tried in this state: in every state with the whole list, else where the screen has it for
# the first time, and in every fourth state after that, each key in another one.
states=0
due() {
    whole_list && return
    if ! grep -qsxF -- "$2" "$1 $screen"; then
        echo "$2" >>"$1 $screen"
        return
    fi
    [ $((($(grep -nxF -- "$2" "all $screen" | sed -n '1s/:.*//p') + states) % 4)) = 0 ]
}

# closing: the keys that open a list or a dialog, which Esc closes
closing=
# press_all SCREEN TITLE STATE KEYS: in the state that `enter` leads to, presses each key of the screen's table.
# KEYS: those that change the state so much that the workbench is started again after them.
press_all() {
    screen=$1 title=$2 state=$3 restart=" $4 "
    states=$((states + 1))
    enter
    hush
    screen_keys '?'
    screen_wait 'Everywhere'
    offered=$(keys_below "$title")
    screen_keys q
    screen_wait "tinca .* $screen"
    wait_until settled
    offered=$( (echo "$offered"; keys_hinted) | sort -u)
    idle=
    for key in $(all_keys); do
        case " $(echo $offered) " in *" $key "*) continue ;; esac
        due refused "$key" || continue
        hush
        tells_why "$key" || idle="$idle $key"
    done
    if [ -z "$idle" ]; then ok "$screen, $state: a key that is not offered says why"; else
        not_ok "$screen, $state: a key that is not offered says why" "silent:$idle
$(screen_text)"
    fi
    idle= tried=
    for key in $(restarting $offered) $(lasting $offered); do
        due offered "$key" || continue
        tried="$tried $key"
        works "$key" || idle="$idle $key"
        ! refused || idle="$idle $key($(message))"
        case $closing in *" $key "*) screen_keys Escape; wait_until settled ;; esac
        case $restart in *" $key "*) enter ;; *) next ;; esac
    done
    if [ -z "$idle" ]; then ok "  and each of the others works:$tried"; else
        not_ok "  and each of the others works" "idle:$idle
$(screen_text)"
    fi
}
begin() { # begin SIZE OPTION...
    size=$1
    shift
    screen_start "$size" "${locale:-C.UTF-8}" "$TINCA" "$@"
    tmux -L "$SOCKET" pipe-pane "exec cat >>'$T/frames'"
}
all_keys() { cat "all $screen"; }
go() { # go SIZE LETTER SCREEN OPTION...: starts the workbench and shows the screen
    size=$1 letter=$2 place=$3
    shift 3
    begin "$size" "$@"
    screen_wait 'tinca'
    if [ "$letter" != o ]; then # o leads to the runs from everywhere
        screen_keys m
        screen_wait 'Go to'
    fi
    screen_keys "$letter"
    screen_wait "tinca .* $place"
}

begin 200x300
screen_wait 'What it takes'
screen_keys '?'
screen_wait 'Words and marks'
while read -r name title; do
    keys_below "$title" >"all $name"
done <<TABLES
Try Trying a model out
Sweep A sweep
Study Perceptual studies
Advisor Asking the advisor
Devices The devices
Log The log
Settings Settings of the workbench
Pictures Pictures of the training data
Find Finding a learning rate
Runs The list of runs
Run Watching a run
TABLES
if [ "$(wc -l <'all Try')" -gt 10 ] && [ "$(wc -l <'all Pictures')" -gt 4 ]; then ok "the help has all tables"
else not_ok "the help has all tables" "$(screen_text)"; fi

