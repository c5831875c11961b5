#!/bin/sh
# How long the list of 2,000 runs takes: reading all outlines, the first frame of the workbench that
# shows them (from the key to the text in the terminal of tmux), and `tinca runs`. COUNT=N: so many.
set -e
COUNT=${COUNT:-2000}
work=$(mktemp -d)
socket=tinca-bench-$$
trap 'tmux -L $socket kill-server 2>/dev/null || :; rm -rf "$work"' EXIT
export XDG_STATE_HOME="$work/source" XDG_CONFIG_HOME="$work/config" XDG_CACHE_HOME="$work/cache"
for rate in 0.1 0.03 0.01; do
    "$TINCA" train mlp --data digits,limit=320 --validate digits,split=test,limit=100 --batch 32 \
        --epochs 3 --threads 1 --lr $rate -q
    sleep 1 # IDs are sorted by the second
done
set -- "$work"/source/tinca/runs/*
export XDG_STATE_HOME="$work/state"
"$BENCH" "$COUNT" "$@"
"$BENCH" 0
now() { date +%s%N; }
if command -v tmux >/dev/null; then
    tmux -L $socket -f /dev/null new-session -d -x 100 -y 30 \
        env LC_ALL=C.UTF-8 TERM=screen-256color "$TINCA"
    until tmux -L $socket capture-pane -p | grep -q 'What it takes'; do sleep 0.1; done
    begun=$(now)
    tmux -L $socket send-keys o
    until tmux -L $socket capture-pane -p | grep -q ' mlp '; do :; done
    first=$(now)
    until tmux -L $socket capture-pane -p | grep -qE "(^| )$COUNT runs *\$"; do :; done
    all=$(now)
    echo "the list in the workbench: first frame with runs $(((first - begun) / 1000000)) ms," \
        "all $COUNT runs read and sorted $(((all - begun) / 1000000)) ms"
fi
begun=$(now)
"$TINCA" runs >"$work/list"
echo "tinca runs: $((($(now) - begun) / 1000000)) ms"
