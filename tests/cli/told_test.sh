#!/bin/sh
# Messages when something goes differently than requested: a run that is resumed without a checkpoint, and a
# sweep with --quiet whose cells fail.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"

# --- resumed before the first checkpoint ---
job="lenet --data digits --batch 20 --iterations 500000 --threads 1 --checkpoint 3600"
# shellcheck disable=SC2086 # a list of options
"$TINCA" train $job --run-dir "$T/killed" -q >"$T/out" 2>"$T/err" </dev/null &
child=$!
under_way() { [ "$(journal_lines "$T/killed/journal" | grep -c '"loss"')" -gt 5 ] 2>/dev/null; }
wait_until under_way
kill -9 $child
wait $child 2>/dev/null
rm -f "$T/killed/checkpoint.safetensors"
recorded=$(journal_lines "$T/killed/journal" | grep -c '"loss"')
"$TINCA" resume "$T/killed" -q >"$T/out" 2>"$T/err" </dev/null &
child=$!
wait_until test -e "$T/killed/journal.previous"
wait_until has_line '"loss"' "$T/killed/journal"
wait_until test -s "$T/err" # progress is shown a few times per second
kill -TERM $child
wait $child
told_of=$(grep -c "no checkpoint yet and begins again with its first iteration" "$T/err")
if [ "$told_of" = 1 ]; then ok "the message that it starts over is printed once"; else
    not_ok "the message that it starts over is printed once" "exit $status: $(told)"
fi
kept=$(journal_lines "$T/killed/journal.previous" | grep -c '"loss"')
if [ "$recorded" -gt 5 ] && [ "$kept" -ge $((recorded - 1)) ] && [ "$kept" -le "$recorded" ]; then
    ok "the old journal is kept"
else
    not_ok "the old journal is kept" "$kept of $recorded lines"
fi

# --- failed cells: a picture that cannot be read ---
mkdir -p "$T/odd/a"
printf '\211PNG\r\n\032\n and no more' >"$T/odd/a/1.png"
grid="--networks lenet --batches 8 --data digits,limit=200 --epochs 1 --threads 1"
# shellcheck disable=SC2086 # a list of options
{
    run sweep --networks lenet --batches 1 --data "folder:$T/odd" --epochs 1 --threads 1 -q
    if [ "$status" = 1 ] && grep -q '^tinca: lenet-b001.*: ' "$T/err"; then
        ok "a sweep with --quiet names the failed cell and the reason"
    else
        not_ok "a sweep with --quiet names the failed cell and the reason" "exit $status: $(told)"
    fi
    succeeds "a sweep without failures" sweep $grid -q
    if [ -s "$T/err" ]; then not_ok "  prints nothing" "$(told)"; else ok "  prints nothing"; fi
}
done_testing
