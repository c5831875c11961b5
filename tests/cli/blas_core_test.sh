#!/bin/sh
# The kernels of OpenBLAS are those for this processor, also if OpenBLAS is older than the processor and
# would take it for one with SSE3; a choice of the user's is kept.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
unset OPENBLAS_CORETYPE TINCA_CPU

# core NAME=VALUE...: trains with these environment variables; prints the core that the run recorded
core() {
    rm -rf "$T/state/tinca/runs"
    env "$@" "$TINCA" train mlp --widths 1 --data digits,limit=40 --batch 20 --epochs 1 --threads 1 -q >"$T/out" 2>"$T/err" ||
        return 1
    journal_lines "$T"/state/tinca/runs/*/journal | sed -n 's/.*"blas":"OpenBLAS [0-9.a-z]* \([^"]*\)".*/\1/p' | head -n 1
}

chosen=$(core)
[ -n "$chosen" ] && ok "a run records the core of OpenBLAS: $chosen" || not_ok "a run records the core of OpenBLAS" "$(told)"
if grep -qw avx2 /proc/cpuinfo && grep -qw fma /proc/cpuinfo; then
    [ "$chosen" != Prescott ] && ok "AVX2 is used, as $chosen" || not_ok "AVX2 is used" "the core is $chosen"
fi
[ "$(core OPENBLAS_CORETYPE="$chosen")" = "$chosen" ] && ok "the choice is repeated when it is named" ||
    not_ok "the choice is repeated when it is named" "$(told)"
if [ "$(uname -m)" = x86_64 ]; then
    # a library that was built for one processor has no other
    other=$(core OPENBLAS_CORETYPE=Prescott)
    [ "$other" = Prescott ] || [ "$other" = "$chosen" ] && ok "a choice of the user's is kept: $other" ||
        not_ok "a choice of the user's is kept" "the core is $other: $(told)"
fi
done_testing
