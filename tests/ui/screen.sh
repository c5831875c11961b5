# Sourced by the scripts here: the workbench in a real terminal, which is tmux's.
# $FAKE is the workbench over a session that trains nothing (ui_fake), $TINCA the program.
. "${srcdir:-.}/tests/cli/tap.sh"
FAKE=${FAKE:-$(dirname "$TINCA")/ui_fake}
SOCKET=tinca-ui-$$-0
screen_pids= # a workbench outlives its terminal when a run is on, but not its test
# shellcheck disable=SC2086 # a list
trap 'screen_end; kill -9 $screen_pids 2>/dev/null; rm -rf "$T"' EXIT

need_tmux() { # need_tmux NAME: skips the whole script where there is no tmux
    command -v tmux >/dev/null && return
    skip "$1" "tmux is not installed"
    done_testing
}

# screen_start COLUMNSxROWS LOCALE COMMAND...
screen_start() {
    screen_size=$1 screen_locale=$2
    shift 2
    screen_end
    SOCKET=tinca-ui-$$-$((${SOCKET##*-} + 1)) # the old server may still be going away
    tmux -L "$SOCKET" -f /dev/null new-session -d -x "${screen_size%x*}" -y "${screen_size#*x}" \
        env LC_ALL="$screen_locale" TERM="${screen_terminal:-screen-256color}" "$@"
    screen_pids="$screen_pids $(screen_pid 2>/dev/null)"
}
screen_end() { tmux -L "$SOCKET" kill-server 2>/dev/null || :; }
screen_text() { tmux -L "$SOCKET" capture-pane -p 2>/dev/null; }
screen_keys() { tmux -L "$SOCKET" send-keys "$@"; }
screen_resize() { tmux -L "$SOCKET" resize-window -x "${1%x*}" -y "${1#*x}"; }
screen_pid() { tmux -L "$SOCKET" display-message -p '#{pane_pid}'; }

# Patterns are matched byte by byte: ranges of characters are not portable.
BRAILLE=$(printf '\342[\240-\243]')
seen() { screen_text | LC_ALL=C grep -aEq -- "$1"; }

# screen_wait PATTERN: true as soon as it is on the screen; false after some seconds
screen_wait() {
    tries=0
    while [ $tries -lt ${PATIENCE:-60} ]; do
        if seen "$1"; then return 0; fi
        tries=$((tries + 1))
        sleep 0.1
    done
    return 1
}

# screen_shows PATTERN NAME: a test point
screen_shows() {
    if screen_wait "$1"; then ok "$2"; else not_ok "$2" "no $1 on: $(screen_text)"; fi
}

# screen_lacks PATTERN NAME: it goes away, or was never there
screen_lacks() {
    tries=0
    while [ $tries -lt 50 ] && seen "$1"; do
        tries=$((tries + 1))
        sleep 0.1
    done
    if [ $tries -lt 50 ]; then ok "$2"; else not_ok "$2" "$1 is on: $(screen_text)"; fi
}

# ended NAME: the program is gone from the screen
ended() {
    tries=0
    while [ $tries -lt 100 ] && tmux -L "$SOCKET" has-session 2>/dev/null; do
        tries=$((tries + 1))
        sleep 0.1
    done
    if [ $tries -lt 100 ]; then ok "$1"; else not_ok "$1" "still there: $(screen_text)"; fi
}

# fake_kept ID...: kept runs for ui_fake, called DATE-TIME-NETWORK-BATCH
fake_kept() {
    for id; do
        mkdir -p "$XDG_STATE_HOME/tinca/runs/$id"
        echo '{}' >"$XDG_STATE_HOME/tinca/runs/$id/config.json"
    done
}
