#!/bin/sh
# Runs the fuzzers, FUZZ_SECONDS each (1 by default; a minute in make check-long, which is the only target that runs
# them), from their seeds and earlier findings. For such a short time they are compiled with -O0: that takes 85 CPU
# seconds, a third of the time, and they try half as many inputs in a second.
# Needs clang with libFuzzer. A fuzzer writes its findings to fuzz/new-TARGET-*; once a finding is understood,
# move it to tests/fuzz/found/TARGET/.
srcdir=$(cd "${srcdir:-.}" && pwd)
build=$(cd "$(dirname "${TINCA:-./tinca}")" && pwd)
CLANG=${CLANG:-clang}
seconds=${FUZZ_SECONDS:-1}
[ "$seconds" -gt 10 ] && optimize=-O1 || optimize=-O0
mkdir -p fuzz && cd fuzz || exit 99

cat >probe.c <<'END'
int LLVMFuzzerTestOneInput(const char *data, unsigned long size)
{
    return data && size > 1u << 30 ? 1 : 0;
}
END
if ! "$CLANG" -fsanitize=fuzzer,address,undefined -o probe probe.c >probe.log 2>&1 ||
    ! ./probe -runs=1 >>probe.log 2>&1; then
    echo "1..0 # SKIP $CLANG with libFuzzer is not here (Debian: clang libclang-rt-14-dev)"
    exit 0
fi
if ! make -s -j"$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)" -f "$srcdir/tests/fuzz/build.mk" \
    SOURCE="$srcdir" KERNELS="$build" CLANG="$CLANG" OPTIMIZE="$optimize" >build.log 2>&1 </dev/null; then
    sed 's/^/# /' build.log | tail -n 40
    echo "Bail out! the fuzzers cannot be built"
    exit 99
fi
rm -rf seeds large && "$build/fuzz_seeds" seeds large || exit 99

export ASAN_OPTIONS="allocator_may_return_null=1:$ASAN_OPTIONS"
count=0 failed=0
# fuzz TARGET LONGEST SEEDS: runs a fuzzer. -timeout is generous, since a slow machine is not a finding
fuzz() {
    count=$((count + 1))
    target=$1
    known=$srcdir/tests/fuzz/found/$target
    [ -d "$known" ] || known=
    mkdir -p "corpus/$3/$target"
    nice -n 10 "./fuzz_$target" -max_total_time="$seconds" -timeout=200 -rss_limit_mb=2560 \
        -max_len="$2" -print_final_stats=1 -artifact_prefix="new-$target-" \
        "corpus/$3/$target" "$3/$target" ${known:+"$known"} >"$3-$target.log" 2>&1 </dev/null
    status=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$3-$target.log")
    if [ $status = 0 ] && [ "${runs:-0}" -gt 0 ]; then
        echo "ok $count - $target, up to $2 bytes: $runs inputs in $seconds s"
    else
        failed=1
        echo "not ok $count - $target, up to $2 bytes: exit $status, see fuzz/$3-$target.log"
        grep -E '^(==|SUMMARY|Test unit|.*ERROR|.*runtime error)' "$3-$target.log" |
            head -n 20 | sed 's/^/# /'
    fi
}

for target in network session safetensors idx cifar png jpeg gz log checkpoint preferences sweep npy npz list onnx mapping prototxt caffemodel events; do
    fuzz $target 65536 seeds
done
# The parsers of texts and tables also get files of the maximum size, which reveals quadratic time. Few such
# inputs fit into the time, so small inputs have a separate run.
for target in network session safetensors log mapping prototxt events; do
    fuzz $target 1048576 large
done
echo "1..$count"
exit $failed
