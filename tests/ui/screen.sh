# Sourced by the test scripts: runs the workbench in a real terminal, that of tmux.
# $FAKE is the workbench with a session that trains nothing (ui_fake), $TINCA the program.
. "${srcdir:-.}/tests/cli/tap.sh"
FAKE=${FAKE:-$(dirname "$TINCA")/ui_fake}
SOCKET=tinca-ui-$$-0 latter=
trap 'screen_end; end_processes; rm -rf "$T"' EXIT

need_tmux() { # need_tmux NAME: skips the whole script if tmux is not installed
    command -v tmux >/dev/null && return
    skip "$1" "tmux is not installed"
    done_testing
}

# screen_start COLUMNSxROWS LOCALE COMMAND...: runs the command in a new terminal
screen_start() {
    screen_size=$1 screen_locale=$2
    shift 2
    screen_end
    SOCKET=tinca-ui-$$-$((${SOCKET##*-} + 1)) # the old server may not have ended yet
    tmux -L "$SOCKET" -f /dev/null new-session -d -x "${screen_size%x*}" -y "${screen_size#*x}" \
        env LC_ALL="$screen_locale" TERM="${screen_terminal:-screen-256color}" "$@"
}
screen_end() { tmux -L "$SOCKET" kill-server 2>/dev/null || :; }
screen_text() { tmux -L "$SOCKET" capture-pane -p 2>/dev/null; }
screen_keys() { tmux -L "$SOCKET" send-keys "$@"; }
screen_resize() { tmux -L "$SOCKET" resize-window -x "${1%x*}" -y "${1#*x}"; }
screen_pid() { tmux -L "$SOCKET" display-message -p '#{pane_pid}'; }

# Patterns are matched byte by byte: ranges of characters are not portable.
BRAILLE=$(printf '\342[\240-\243]')
seen() { screen_text | LC_ALL=C grep -aEq -- "$1"; }

# screen_wait PATTERN: waits until the screen matches; fails with a note in the log after the limit
screen_wait() { wait_until seen "$1"; }
unseen() { ! seen "$1"; }
over() { ! tmux -L "$SOCKET" has-session 2>/dev/null; }

# settled: whether two captures of the screen agree, which lie a tenth of a second apart or more
settled() {
    former=$latter
    latter=$(screen_text)
    [ -n "$latter" ] && [ "$former" = "$latter" ] && return
    sleep 0.08
    return 1
}

# screen_shows PATTERN NAME: a test that waits until the screen matches
screen_shows() {
    if screen_wait "$1"; then ok "$2"; else not_ok "$2" "no $1 on: $(screen_text)"; fi
}

# screen_lacks PATTERN NAME: a test that waits until the screen does not match
screen_lacks() {
    if wait_until unseen "$1"; then ok "$2"; else not_ok "$2" "$1 is on: $(screen_text)"; fi
}

# ended NAME: a test that waits until the program has ended
ended() {
    if wait_until over; then ok "$1"; else not_ok "$1" "still there: $(screen_text)"; fi
}

# fake_kept ID...: makes runs for ui_fake, with names like DATE-TIME-NETWORK-BATCH
fake_kept() {
    for id; do
        mkdir -p "$XDG_STATE_HOME/tinca/runs/$id"
        echo '{}' >"$XDG_STATE_HOME/tinca/runs/$id/config.json"
    done
}
