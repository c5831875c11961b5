#!/bin/sh
# Failing system calls. A disk that is full, read-only, over quota or gone for a while costs a run nothing; if
# it fails permanently, the run ends with the reason. Failing allocations and threads end in a message. STEP:
# every STEP-th allocation fails in turn (30; 1: each).
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/faults/same_run.sh"
STEP=${STEP:-30}
needs_faults "calls that fail"
cd "$T" || exit 99
job="train mlp --widths 16 --data digits,limit=200 --validate digits,split=test,limit=40 --batch 10 --epochs 5
    --seed 3 --threads 1 --checkpoint 0.02 --checkpoint-share 100 -q"

# with FAULT ARGUMENT...: runs the program with a failing call; sets $status
with() {
    failing=$1
    shift
    status=0
    FAULT=$failing FAULT_COUNT=$T/count LD_PRELOAD=$FAULTS "$TINCA" "$@" >out 2>err </dev/null ||
        status=$?
}

# shellcheck disable=SC2086 # a list of options
succeeds "an undisturbed run" $job --run-dir whole

# Temporary faults: the run reports them and continues, and nothing is missing in the end.
for fault in write:5:ENOSPC+60/space write:60:EDQUOT+20/quota write:30:EIO+40/error \
    write:40:ESTALE+50/tale fsync:5:ENOSPC+3/space fsync:7:EIO+3/error rename:3:EROFS+2/[Rr]ead-only \
    rename:4:EIO+3/error open:6:ENOSPC+3/space; do
    rm -rf r
    # shellcheck disable=SC2086
    with "${fault%/*}" $job --run-dir r
    if [ "$status" = 0 ]; then ok "${fault%/*}: the run continues"; else not_ok "${fault%/*}" "exit $status: $(cat err)"; fi
    same "  and nothing is lost" whole r
done

# With a checkpoint at the end of each epoch alone, as on a very fast machine, a run has 129 writes.
# Permanent faults: the status is that of a failure, the message has the reason, earlier files are intact, and
# once the disk works the run is resumed to the same bits.
for fault in write:100:ENOSPC+/space write:120:EDQUOT+/quota fsync:6:EIO+/error \
    rename:2:EROFS+/[Rr]ead-only open:6:ENOSPC+/space; do
    rm -rf r
    # shellcheck disable=SC2086
    with "${fault%/*}" $job --run-dir r
    if [ "$status" = 1 ] && grep -q "^tinca: .*${fault#*/}" err; then
        ok "${fault%/*}, permanently: status 1 and the reason"
    else
        not_ok "${fault%/*}, permanently: status 1 and the reason" "exit $status: $(cat err)"
    fi
    for left in r/*.part; do
        [ -e "$left" ] && not_ok "  a temporary file is left" "$left"
    done
    succeeds "  once the disk works it is resumed" resume ./r -q
    same "  to the same bits" whole r
done

# A process that was killed while it wrote its first file leaves half of it behind.
rm -rf r
mkdir r
echo '{' >r/config.json.4711.part
# shellcheck disable=SC2086
succeeds "a run begins in the folder of one that was killed at its first file" $job --run-dir r
if [ -e r/config.json.4711.part ]; then not_ok "  half a file is left" "config.json.4711.part"; else ok "  and removes the half file"; fi

# --- memory: the N-th allocation fails ---
tiny_network tiny.json
small="train tiny.json --data digits,limit=8 --validate digits,split=test,limit=4 --batch 4
    --iterations 3 --threads 2 -q"
# shellcheck disable=SC2086
with malloc:0 $small --run-dir whole2
calls=$(cat count)
refused=0
borne=0
wrong=
n=$(($$ % STEP + 1))
while [ $n -le "$calls" ]; do
    rm -rf r
    # shellcheck disable=SC2086
    with malloc:$n $small --run-dir r
    if [ "$status" = 1 ] && grep -q '^tinca: .*: ' err && ! grep -q 'not JSON' err; then
        refused=$((refused + 1))
    elif [ "$status" = 0 ] && cmp -s whole2/weights.safetensors r/weights.safetensors; then
        borne=$((borne + 1))
    else
        wrong="$wrong $n (exit $status: $(head -c 100 err))"
    fi
    n=$((n + STEP))
done
echo "# $calls allocations: $refused times a message, $borne times it did without"
if [ -z "$wrong" ] && [ $refused -gt 0 ]; then
    ok "a failing allocation gives a message"
else
    not_ok "a failing allocation gives a message" "$wrong"
fi

# --- threads ---
for n in 1 2 3 4 5 6; do
    rm -rf r
    # shellcheck disable=SC2086
    with thread:$n:EAGAIN+ $small --run-dir r
    if { [ "$status" = 1 ] && grep -q '^tinca: .*thread' err; } ||
        { [ "$status" = 0 ] && cmp -s whole2/weights.safetensors r/weights.safetensors; }; then
        ok "no thread can be started from number $n on: exit $status"
    else
        not_ok "no thread can be started from number $n on" "exit $status: $(cat err)"
    fi
done
done_testing
