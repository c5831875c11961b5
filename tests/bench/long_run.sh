#!/bin/sh
# How long each command takes to read a run of a million iterations, and how long the workbench takes from Enter on
# the list of runs to the frame with the curve. Each figure is the least of REPEAT (5) measurements, since a loaded machine only
# adds to it. COUNT=N: so many iterations.
set -e
COUNT=${COUNT:-1000000}
REPEAT=${REPEAT:-5}
work=$(mktemp -d)
socket=tinca-bench-$$
trap 'tmux -L $socket kill-server 2>/dev/null || :; rm -rf "$work"' EXIT
export XDG_STATE_HOME="$work/state" XDG_CONFIG_HOME="$work/config" XDG_CACHE_HOME="$work/cache"
"$TINCA" train mlp --data digits,limit=320 --validate digits,split=test,limit=100 --batch 32 \
    --epochs 3 --threads 1 -q
id=20260101-000000-long-0001
for short in "$work"/state/tinca/runs/*; do :; done
python3 "$srcdir/tests/bench/long_run.py" "$short" "$work/state/tinca/runs/$id" "$COUNT" \
    "$(dirname "$TINCA")/journal_lines"
rm -rf "$short"
measure() { # measure WHAT TIMES ARGUMENT...: prints wall-clock and processor time of a command
    python3 - "$1" "$2" "$TINCA" "$@" <<'PYTHON'
import os, subprocess, sys, time
times = []
for _ in range(int(sys.argv[2])):
    begun, before = time.monotonic(), os.times()
    subprocess.run([sys.argv[3]] + sys.argv[6:], stdout=subprocess.DEVNULL)
    after = os.times()
    times.append((time.monotonic() - begun, after.children_user + after.children_system
                  - before.children_user - before.children_system))
print("%-28s %6.2f s, processor %6.2f s" % (sys.argv[1], *map(min, zip(*times))))
PYTHON
}
now() { date +%s%N; }
shown() { tmux -L $socket capture-pane -p | LC_ALL=C grep -qP "$1"; }
used() { # prints the processor time of the workbench in milliseconds
    awk -v tick="$(getconf CLK_TCK)" '{ print int(($14 + $15) * 1000 / tick) }' \
        "/proc/$(tmux -L $socket display-message -p '#{pane_pid}')/stat"
}
open_run() { # prints the milliseconds from Enter on the list to the first frame with a curve, by clock and processor
    tmux -L $socket -f /dev/null new-session -d -x 100 -y 30 \
        env LC_ALL=C.UTF-8 TERM=screen-256color "$TINCA"
    until shown 'What it takes'; do sleep 0.1; done
    tmux -L $socket send-keys o
    until shown ' mlp .*[0-9]'; do sleep 0.1; done
    sleep 0.5
    before=$(used)
    begun=$(now)
    tmux -L $socket send-keys Enter
    until shown '\xe2[\xa0-\xa3]'; do :; done # a braille character
    echo $((($(now) - begun) / 1000000)) $(($(used) - before))
    tmux -L $socket kill-server
    sleep 0.5 # until its socket is gone
}
measure "compare" "$REPEAT" compare "$id"
measure "explain" "$REPEAT" explain "$id"
measure "tables" "$REPEAT" tables trindade
measure "runs" "$REPEAT" runs
measure "export, report" "$REPEAT" export --format md -o "$work/report.md" "$id"
measure "export, chart" "$REPEAT" export --format png -o "$work/chart.png" "$id"
measure "export, CSV" "$REPEAT" export --format csv -o "$work" "$id"
measure "export, session file" "$REPEAT" export -o "$work/session.json" "$id"
measure "runs --check" "$REPEAT" runs --check "$id"
if command -v tmux >/dev/null; then
    for i in $(seq "$REPEAT"); do open_run; done >"$work/opened"
    echo "from Enter to the curve in the workbench: $(cut -d ' ' -f 1 "$work/opened" | sort -n | head -n 1) ms," \
        "processor $(cut -d ' ' -f 2 "$work/opened" | sort -n | head -n 1) ms"
fi
