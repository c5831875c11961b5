#!/bin/sh
# A short training under valgrind: no invalid access, no use of uninitialised memory, no leak. The kernels are
# the generic ones, since valgrind has no AVX-512; OpenBLAS has one thread.
TINCA=${TINCA:-./tinca}
if ! command -v valgrind >/dev/null; then
    echo "1..0 # SKIP valgrind is not here (Debian: valgrind)"
    exit 0
fi
T=$(mktemp -d) || exit 99
trap 'rm -rf "$T"' EXIT
export XDG_STATE_HOME="$T/state" XDG_CONFIG_HOME="$T/config" XDG_CACHE_HOME=/dev/null LC_ALL=C TINCA_CPU=generic
export OPENBLAS_NUM_THREADS=1 OPENBLAS_CORETYPE=Prescott
echo 1..1
if valgrind -q --error-exitcode=9 --leak-check=full --show-leak-kinds=definite \
    --errors-for-leak-kinds=definite "$TINCA" train lenet --data digits,limit=8 --batch 4 \
    --iterations 2 --threads 1 -q >"$T/out" 2>&1 </dev/null; then
    echo "ok 1 - lenet trains without an error of memory"
else
    sed 's/^/# /' "$T/out"
    echo "not ok 1 - lenet trains without an error of memory"
    exit 1
fi
