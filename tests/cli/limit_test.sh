#!/bin/sh
# --memory-limit: it is announced before the run, respected during the run, and does not change the results.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
says() { # says PATTERN NAME: standard error matches PATTERN
    if grep -Eq -- "$1" "$T/err"; then ok "$2"; else not_ok "$2" "$(cat "$T/err")"; fi
}
number() { "$JSON_LOOK" "$T/out" "$1" | cut -d. -f1; }

succeeds "info without a limit" info resnet20 --batch 64 --threads 1 --json
all=$(number memory.total)
is "  without recomputation" memory.flops_again 0
is "  the memory is that without a limit" memory.unlimited "$all"
limit=$((all / 2))
succeeds "info with half of that memory" info resnet20 --batch 64 --threads 1 --memory-limit $limit --json
is "  the document has the memory without a limit" memory.unlimited "$all"
half=$(number memory.total)
if [ "$half" -le $limit ]; then ok "  the limit is respected"; else not_ok "  the limit is respected" "$half of $limit"; fi
if [ "$(number memory.flops_again)" -gt 0 ]; then
    ok "  the recomputed FLOPs are counted"
else
    not_ok "  the recomputed FLOPs are counted" "$(told)"
fi
succeeds "info as text" info resnet20 --batch 64 --memory-limit 60M
shows 'Memory limit: .* instead of .* more FLOPs' "  the cost as a sentence"

# --- the measured memory of the process ---
peak() { # peak OPTION...: prints the peak of training on synthetic batches, in bytes
    succeeds "bench $*" bench resnet20 --batch 64 --threads 1 --iterations 1 --json "$@"
    found=$(number peak_memory_bytes)
}
peak && free=$found
peak --memory-limit $limit
if [ "$found" -lt $((free - (all - half) * 3 / 4)) ]; then
    ok "the measured peak falls as well"
else
    not_ok "the measured peak falls as well" "$found with the limit, $free without"
fi

# --- the same results ---
small="--data shapes,limit=64 --batch 16 --iterations 4 --threads 1"
# shellcheck disable=SC2086 # a list of options
{
    succeeds "a run" train resnet20 $small --save "$T/a.safetensors" -q
    succeeds "a run with a limit" train resnet20 $small --save "$T/b.safetensors" \
        --memory-limit 16MiB --run-dir "$T/limited"
    says 'memory limit: .* MiB instead of .* more FLOPs' "  announces it first"
    if cmp -s "$T/a.safetensors" "$T/b.safetensors"; then
        ok "  gives the same weights, to the bit"
    else
        not_ok "  gives the same weights, to the bit"
    fi
    is "  the limit is stored with the run" config.memory-limit 16MiB "$T/limited/config.json"
    succeeds "a limit above the needed memory" train resnet20 $small --memory-limit 2G
    says 'fit without recomputation' "  costs nothing"
    refuses 1 'raise the limit to [0-9]*[KM]iB, or choose batch [0-9]*, which fits' \
        "a limit that is too low" train resnet20 $small --memory-limit 8M -q
    refuses 1 'not even one image' "a limit that no batch respects" train resnet20 $small --memory-limit 1M
    refuses 2 'as in 600M' "an invalid size" train resnet20 $small --memory-limit lots
}
succeeds "a generator and a discriminator" info pix2pix --memory-limit 1000MiB --json
if [ "$(number memory.total)" -le $((1000 << 20)) ]; then
    ok "  share a limit"
else
    not_ok "  share a limit" "$(told)"
fi
done_testing
