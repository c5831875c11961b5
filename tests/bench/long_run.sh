#!/bin/sh
# How long each command takes to read a run of a million iterations: without its column file, while it
# writes that, and with it. COUNT=N: so many iterations.
set -e
COUNT=${COUNT:-1000000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_STATE_HOME="$work/state" XDG_CONFIG_HOME="$work/config" XDG_CACHE_HOME="$work/cache"
"$TINCA" train mlp --data digits,limit=320 --validate digits,split=test,limit=100 --batch 32 \
    --epochs 3 --threads 1 -q
id=20260101-000000-long-0001
python3 "$srcdir/tests/bench/long_run.py" "$work"/state/tinca/runs/* "$work/state/tinca/runs/$id" \
    "$COUNT"
measure() { # measure WHAT ARGUMENT...: prints wall-clock and processor time of a command
    what=$1
    shift
    python3 - "$what" "$TINCA" "$@" <<'PYTHON'
import resource, subprocess, sys, time
begun = time.monotonic()
subprocess.run(sys.argv[2:], check=True, stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print("%-28s %6.2f s, processor %6.2f s"
      % (sys.argv[1], time.monotonic() - begun, used.ru_utime + used.ru_stime))
PYTHON
}
measure "compare, writes the columns" compare "$id"
measure "compare" compare "$id"
measure "runs" runs
measure "export, report" export --format md -o "$work/report.md" "$id"
measure "export, chart" export --format png -o "$work/chart.png" "$id"
measure "export, CSV" export --format csv -o "$work" "$id"
measure "export, session file" export -o "$work/session.json" "$id"
