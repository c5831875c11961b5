#!/bin/sh
# A memory limit: said before the run starts, kept while it runs, without a trace in the results.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
says() { # says PATTERN NAME: on standard error
    if grep -Eq -- "$1" "$T/err"; then ok "$2"; else not_ok "$2" "$(cat "$T/err")"; fi
}
number() { "$JSON_LOOK" "$T/out" "$1" | cut -d. -f1; }

succeeds "info without a limit" info resnet20 --batch 64 --threads 1 --json
all=$(number memory.total)
is "  nothing is computed again" memory.flops_again 0
is "  as much as without a limit" memory.unlimited "$all"
limit=$((all / 2))
succeeds "info with half of it" info resnet20 --batch 64 --threads 1 --memory-limit $limit --json
is "  says what it is without" memory.unlimited "$all"
half=$(number memory.total)
if [ "$half" -le $limit ]; then ok "  keeps it"; else not_ok "  keeps it" "$half of $limit"; fi
if [ "$(number memory.flops_again)" -gt 0 ]; then
    ok "  counts what is computed again"
else
    not_ok "  counts what is computed again" "$(told)"
fi
succeeds "info in words" info resnet20 --batch 64 --memory-limit 60M
shows 'Memory limit: .* instead of .* more FLOPs' "  the price as a sentence"

# --- what a process really takes ---
peak() { # peak OPTION...: of a training on synthetic batches, in bytes
    succeeds "bench $*" bench resnet20 --batch 64 --threads 1 --iterations 1 --json "$@"
    found=$(number peak_memory_bytes)
}
peak && free=$found
peak --memory-limit $limit
if [ "$found" -lt $((free - (all - half) * 3 / 4)) ]; then
    ok "measured, it is less as well"
else
    not_ok "measured, it is less as well" "$found with the limit, $free without"
fi

# --- the same results ---
small="--data shapes,limit=64 --batch 16 --iterations 4 --threads 1"
# shellcheck disable=SC2086 # a list of options
{
    succeeds "a run" train resnet20 $small --save "$T/a.safetensors" -q
    succeeds "a run with a limit" train resnet20 $small --save "$T/b.safetensors" \
        --memory-limit 16MiB --run-dir "$T/limited"
    says 'memory limit: .* MiB instead of .* more FLOPs' "  says what it does first"
    if cmp -s "$T/a.safetensors" "$T/b.safetensors"; then
        ok "  gives the same weights, to the bit"
    else
        not_ok "  gives the same weights, to the bit"
    fi
    is "  is kept with the run" config.memory-limit 16MiB "$T/limited/config.json"
    succeeds "a limit that nothing exceeds" train resnet20 $small --memory-limit 2G
    says 'fit without recomputation' "  costs nothing"
    refuses 1 'raise the limit to [0-9]*[KM]iB, or choose batch [0-9]*, which fits' \
        "a limit that cannot be kept" train resnet20 $small --memory-limit 8M -q
    refuses 1 'not even one image' "one that nothing keeps" train resnet20 $small --memory-limit 1M
    refuses 2 'as in 600M' "no number of bytes" train resnet20 $small --memory-limit lots
}
succeeds "two networks" info pix2pix --memory-limit 1000MiB --json
if [ "$(number memory.total)" -le $((1000 << 20)) ]; then
    ok "  share a limit"
else
    not_ok "  share a limit" "$(told)"
fi
done_testing
