#!/bin/sh
# Runs the fuzzers, FUZZ_SECONDS each (10 where CI is set, else 2), from their seeds and what was
# found before. Needs clang with libFuzzer; what a fuzzer finds is left in fuzz/new-TARGET-*: once it
# is understood it goes to tests/fuzz/found/TARGET/.
srcdir=$(cd "${srcdir:-.}" && pwd)
build=$(cd "$(dirname "${TINCA:-./tinca}")" && pwd)
CLANG=${CLANG:-clang}
seconds=${FUZZ_SECONDS:-${CI:+10}}
seconds=${seconds:-2}
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
    SOURCE="$srcdir" KERNELS="$build" CLANG="$CLANG" >build.log 2>&1 </dev/null; then
    sed 's/^/# /' build.log | tail -n 40
    echo "Bail out! the fuzzers cannot be built"
    exit 99
fi
rm -rf seeds && "$build/fuzz_seeds" seeds || exit 99

export ASAN_OPTIONS="allocator_may_return_null=1:$ASAN_OPTIONS"
count=0 failed=0
for target in network session safetensors idx cifar png jpeg gz log checkpoint preferences sweep; do
    count=$((count + 1))
    known=$srcdir/tests/fuzz/found/$target
    [ -d "$known" ] || known=
    mkdir -p "corpus/$target"
    # the parsers of texts and tables get files as large as a hostile one may be: what takes time by
    # the square of the size shows; -timeout is generous: a loaded machine is no finding
    case $target in
        network | session | safetensors | log) longest=1048576 ;;
        *) longest=65536 ;;
    esac
    nice -n 10 "./fuzz_$target" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2560 \
        -max_len=$longest -print_final_stats=1 -artifact_prefix="new-$target-" \
        "corpus/$target" "seeds/$target" ${known:+"$known"} >"$target.log" 2>&1 </dev/null
    status=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$target.log")
    if [ $status = 0 ] && [ "${runs:-0}" -gt 0 ]; then
        echo "ok $count - $target: $runs inputs in $seconds s"
    else
        failed=1
        echo "not ok $count - $target: exit $status, see fuzz/$target.log"
        grep -E '^(==|SUMMARY|Test unit|.*ERROR|.*runtime error)' "$target.log" | head -n 20 | sed 's/^/# /'
    fi
done
echo "1..$count"
exit $failed
