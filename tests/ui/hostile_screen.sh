# Sourced after tests/ui/screen.sh and tests/cli/hostile_text.sh: records every byte that the workbench sends
# to its terminal, and looks for bytes that must not be among them.
RAW=$T/raw
looks=0 # captures of the output

# record_start SIZE LOCALE COMMAND...: like screen_start; records the program's output in $RAW from its first
# byte on
record_start() {
    record_size=$1 record_locale=$2
    shift 2
    : >"$RAW"
    rm -f "$T/go"
    mkfifo "$T/go"
    screen_start "$record_size" "$record_locale" sh -c 'read -r _ <"$0" && exec "$@"' "$T/go" "$@"
    tmux -L "$SOCKET" pipe-pane -O "cat >>'$RAW'" # the program's output, before tmux reads it
    echo >"$T/go"
    looked=0 faults=
}

# own_bytes: prints standard input without the control sequences that the workbench may send: cursor movement,
# erasing, colours, character sets, keypad modes, and vt100's padding. All others stay.
own_bytes() {
    escape=$(printf '\033')
    LC_ALL=C tr -d '\000\r\b\016\017' | LC_ALL=C sed "
        s/$escape\[[0-9;]\{0,12\}[ABCDGHJKLMPSTXdfhlr@]//g
        s/$escape\[[0-9;]\{0,20\}m//g
        s/$escape\[?[0-9;]\{0,12\}[hl]//g
        s/$escape\[[0-9;]*t//g
        s/$escape\[[>0-9]*c//g
        s/$escape[()*+][0AB]//g
        s/$escape[=>78MDEgc]//g"
}

# last_escape: prints the number of bytes of $RAW before its last escape character
last_escape() {
    LC_ALL=C grep -abo "$(printf '\033')" "$RAW" | tail -n 1 | cut -d : -f 1
}

# harmless NAME: adds to $faults each control or invisible character that was sent since the last call. The last
# control sequence may be incomplete, while the program writes and when its terminal is closed; so a call ends
# before it, and the next one begins with it.
harmless() {
    looks=$((looks + 1))
    sent=$(last_escape)
    [ "${sent:-0}" -ge "$looked" ] || sent=$looked
    tail -c +$((looked + 1)) "$RAW" | head -c $((sent - looked)) >"$T/since"
    own_bytes <"$T/since" >"$T/bytes"
    LC_ALL=C grep -aq '7777' "$T/since" && LC_ALL=C grep -aq "$(printf '[\033\233]\\[\\{0,1\\}[0-9;]*7777')" "$T/since" &&
        faults="$faults
$1: a stranger's control sequence"
    # only record_end checks UTF-8; text on a screen has no lines
    bytes=$(hostile_bytes "$T/bytes" | grep -v 'no UTF-8\|line of its own')
    [ "$screen_locale" = C ] && LC_ALL=C grep -aq '[^ -~]' "$T/bytes" && bytes="$bytes not ASCII"
    [ "$bytes" ] && faults="$faults
$1: $bytes: $(LC_ALL=C grep -a '[^ -~]' "$T/bytes" | cat -v | head -c 500)"
    looked=$sent
}

gone() { ! kill -0 "$program" 2>/dev/null; }

# record_end NAME: a test of all output, from the first byte on
record_end() {
    program=$(screen_pid)
    screen_end
    [ -z "$program" ] || wait_until gone # it writes its files when its terminal is closed
    looked=0
    harmless "the whole output"
    [ -s "$T/bytes" ] || faults="$faults
nothing was recorded"
    iconv -f UTF-8 -t UTF-8 <"$T/bytes" >"$T/again" 2>&1 || faults="$faults
not UTF-8: $(tail -n 1 "$T/again")"
    if [ -z "$faults" ]; then ok "$1"; else not_ok "$1" "$(printf %s "$faults" | head -c 20000)"; fi
}
