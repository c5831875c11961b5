#!/bin/sh
# What a person is told where things went otherwise than asked: a run that is resumed without a
# checkpoint, a quiet sweep with cells that failed.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"

# --- resumed before the first checkpoint ---
job="lenet --data digits --batch 20 --iterations 500000 --threads 1 --checkpoint 3600"
# shellcheck disable=SC2086 # a list of options
"$TINCA" train $job --run-dir "$T/killed" -q >"$T/out" 2>"$T/err" </dev/null &
child=$!
under_way() { [ "$(grep -c '"loss"' "$T/killed/journal.jsonl" 2>/dev/null)" -gt 5 ] 2>/dev/null; }
wait_until under_way
kill -9 $child
wait $child 2>/dev/null
rm -f "$T/killed/checkpoint.safetensors"
recorded=$(grep -c '"loss"' "$T/killed/journal.jsonl")
"$TINCA" resume "$T/killed" -q >"$T/out" 2>"$T/err" </dev/null &
child=$!
wait_until test -e "$T/killed/journal.previous.jsonl"
wait_until has_line '"loss"' "$T/killed/journal.jsonl"
wait_until test -s "$T/err" # it is shown a few times a second
kill -TERM $child
wait $child
told_of=$(grep -c "no checkpoint yet and begins again with its first iteration" "$T/err")
if [ "$told_of" = 1 ]; then ok "that it begins again is said once"; else
    not_ok "that it begins again is said once" "exit $status: $(told)"
fi
kept=$(grep -c '"loss"' "$T/killed/journal.previous.jsonl")
if [ "$recorded" -gt 5 ] && [ "$kept" -ge $((recorded - 1)) ] && [ "$kept" -le "$recorded" ]; then
    ok "what was recorded is kept aside"
else
    not_ok "what was recorded is kept aside" "$kept of $recorded lines"
fi

# --- cells that failed: a picture that cannot be read ---
mkdir -p "$T/odd/a"
printf '\211PNG\r\n\032\n and no more' >"$T/odd/a/1.png"
grid="--networks lenet --batches 8 --data digits,limit=200 --epochs 1 --threads 1"
# shellcheck disable=SC2086 # a list of options
{
    run sweep --networks lenet --batches 1 --data "folder:$T/odd" --epochs 1 --threads 1 -q
    if [ "$status" = 1 ] && grep -q '^tinca: lenet-b001.*: ' "$T/err"; then
        ok "a quiet sweep names the cell that failed, and why"
    else
        not_ok "a quiet sweep names the cell that failed, and why" "exit $status: $(told)"
    fi
    succeeds "one without failures" sweep $grid -q
    if [ -s "$T/err" ]; then not_ok "  is quiet" "$(told)"; else ok "  is quiet"; fi
}
done_testing
