#!/bin/sh
# bench --profile: every pass against the limits of the machine, in JSON and as a table. The test compares
# sums and checks that values are present; it never checks how fast anything is.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"

at() { "$JSON_LOOK" "$T/out" "$1" 2>&1; }

# passes KEY [PREFIX]: prints the values at KEY of all passes of a network, the solver's step included
passes() {
    i=0 count=$(at "${2-}layers.#")
    set -- "$1" "${2-}"
    while [ "$i" -lt "$count" ]; do
        set -- "$@" "${2}layers.$i.forward.$1" "${2}layers.$i.backward.$1"
        i=$((i + 1))
    done
    set -- "$@" "${2}update.$1"
    shift 2
    "$JSON_LOOK" "$T/out" "$@" | grep -v '^there is no'
}

compare() { # compare NAME A OPERATOR B: compares numbers; "=" to nine digits, as json_look writes them
    if awk -v a="$2" -v b="$4" -v how="$3" 'BEGIN {
        if (a + 0 != a || b + 0 != b) exit 1
        near = a - b <= 1e-7 * b && b - a <= 1e-7 * b
        exit !(how == "=" ? near : how == "<=" ? a < b || near : a > b) }'; then
        ok "$1"
    else
        not_ok "$1" "$2 $3 $4 does not hold"
    fi
}

total() { awk '{ sum += $1 } END { printf "%.9g", sum }'; }

sums() { # sums [PREFIX...]: the passes of the networks add up to the iteration
    for key in flops bytes attainable_ms; do
        compare "  $key add up" "$(for prefix in "$@"; do passes $key "$prefix"; done | total)" = "$(at roofline.$key)"
    done
    compare "  passes take no longer than the iteration" \
        "$(for prefix in "$@"; do passes ms "$prefix"; done | total)" '<=' "$(at roofline.profiled_ms)"
    compare "  and fill most of it" \
        "$(for prefix in "$@"; do passes percent_of_iteration "$prefix"; done | total)" '<=' 100
    wrong=$(for prefix in "$@"; do passes limit "$prefix"; done | grep -Ev '^(compute|memory)$')
    if [ -z "$wrong" ]; then ok "  every pass has a limit"; else not_ok "  every pass has a limit" "$wrong"; fi
}

# --- training ---
succeeds "training" bench lenet --batch 4 --iterations 3 --profile --json
for key in peak_gflops sgemm_gflops gigabytes_per_second; do
    compare "  limits: $key" "$(at roofline.limits.$key)" '>' 0
done
compare "  no product is faster than the peak" "$(at roofline.limits.sgemm_gflops)" '<=' "$(at roofline.limits.peak_gflops)"
for key in ms flops bytes gflops intensity attainable_ms percent_of_attainable percent_of_sgemm profiled_ms; do
    compare "  the iteration: $key" "$(at roofline.$key)" '>' 0
done
sums ""
is "  FLOPs forward: 4 x 576000" layers.0.forward.flops 2304000
is "  and as many backward, since the input's gradient is not needed" layers.0.backward.flops 2304000
is "  bytes: 4 x (4 x (784 + 11520) + 520)" layers.0.forward.bytes 198944
for key in ms gflops intensity attainable_ms percent_of_attainable percent_of_iteration; do
    compare "  a pass: $key" "$(at layers.0.backward.$key)" '>' 0
done
compare "  its time is that of one iteration" "$(at layers.0.forward.ms)" = \
    "$(awk -v s="$(at layers.0.forward_seconds)" 'BEGIN { printf "%.9g", 1e3 * s / 3 }')"
compare "  its limit is the longer of the two times" "$(at layers.0.forward.attainable_ms)" = \
    "$(awk -v f=2304000 -v b=198944 -v peak="$(at roofline.limits.peak_gflops)" \
        -v memory="$(at roofline.limits.gigabytes_per_second)" 'BEGIN {
            compute = f / peak / 1e6; move = b / memory / 1e6
            printf "%.9g", (compute > move ? compute : move) }')"
is "  the solver's step: 5 x 4 x 431080, arrays padded to cache lines" update.bytes 8623040
is "  does no FLOPs that are counted" update.flops 0
is "  so its rate is null" update.gflops null

succeeds "without --profile" bench lenet --batch 2 --iterations 1 --json
if found=$(at roofline); then not_ok "  without the roofline" "$found"; else ok "  without the roofline"; fi

# --- inference, views ---
succeeds "inference" bench resnet20-shift --mode infer --iterations 2 --profile --json
sums ""
is "  no solver" update null
is "  nothing backward" layers.0.backward null
i=0
while [ "$(at "layers.$i.op")" != channel_shift ] && [ "$i" -lt 100 ]; do i=$((i + 1)); done
is "  a fused shift has no pass" "layers.$i.forward" null

# --- two networks ---
cat >"$T/pair.json" <<'NETWORK'
{"name": "pair", "input": [2, 16, 16], "loss": "l1_loss", "layers": [
  {"op": "conv", "output": 3, "kernel": 3, "pad": 1}, {"op": "tanh"}],
 "discriminator": {"layers": [
  {"op": "conv", "output": 4, "kernel": 4, "stride": 2, "pad": 1}, {"op": "leaky_relu", "slope": 0.2},
  {"op": "conv", "output": 1, "kernel": 3, "pad": 1}]}}
NETWORK
succeeds "a generator and a discriminator" bench "$T/pair.json" --iterations 2 --profile --json
sums "" discriminator.
is "  it runs forward three times: 3 x 2 x 4 x 64 x 5 x 16" discriminator.layers.0.forward.flops 122880
is "  the discriminator's weights have gradients twice, its input once" discriminator.layers.0.backward.flops 122880
is "  later layers also have input gradients: (2 x 2 + 1) x 2 x 64 x 4 x 9" \
    discriminator.layers.2.backward.flops 23040
compare "  both have a solver's step" "$(at discriminator.update.ms)" '>' 0

# --- a device without measured limits ---
succeeds "the reference" bench lenet --mode infer --device reference --iterations 1 --profile --json
is "  has no limits" roofline.limits null
is "  they are null" roofline.percent_of_attainable null
is "  also for a layer" layers.0.forward.limit null
is "  and its least time is null" layers.0.forward.attainable_ms null
compare "  but it has a rate" "$(at layers.0.forward.gflops)" '>' 0
succeeds "the reference, as text" bench lenet --mode infer --device reference --iterations 1 --profile
shows '^  limits +not measured: ' "  says so"
shows '^conv1 +fwd .* -$' "  also in the table"

# --- tables ---
narrow() { # no line of the limits or of the table of passes is wider than 80 columns
    if wide=$(awk '/^Its passes/ { on = 1 } /^Matrix/ { on = 0 } (on || /^  (limits|reached)/) && length > 79' "$T/out" | grep .); then
        not_ok "$1" "$wide"
    else
        ok "$1"
    fi
}
succeeds "as text" bench lenet --batch 2 --iterations 1 --profile
shows '^  limits +peak [0-9.]+ GFLOP/s, SGEMM [0-9.]+ GFLOP/s, memory [0-9.]+ GB/s$' "  the limits"
shows '^  reached +[0-9.]+ GFLOP/s: [0-9]+ % of SGEMM, [0-9]+ % of what the limits allow$' "  the share that was reached"
shows '^LAYER +PASS +ms +SHARE +MB +GFLOP/s +FLOP/B +LIMIT$' "  the columns"
shows '^conv2 +bwd +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +(compute|memory) +[0-9]+ %$' "  a pass"
narrow "  in 80 columns"
succeeds "long names" bench googlenet --mode infer --iterations 1 --profile
shows '^LAYER +PASS +ms +SHARE +MB +GFLOP/s +LIMIT$' "  leave out a column"
narrow "  and stay in 80 columns"
done_testing
