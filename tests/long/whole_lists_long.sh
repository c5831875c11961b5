#!/bin/sh
# The whole lists of cases of which `make check` tries a spread sample (tests/sample.h), program by program.
count=0 failed=0
try() {
    count=$((count + 1))
    if "$@" >whole_lists.out 2>&1; then
        echo "ok $count - $* ($(grep -c '^ok' whole_lists.out) results)"
    else
        failed=1
        echo "not ok $count - $*"
        grep -Ev '^ok ' whole_lists.out | tail -n 40 | sed 's/^/# /'
    fi
    rm -f whole_lists.out
}
for program in blocked_kernels_test blocked_training_test chains_test; do
    try "./$program" --long
done
try ./trajectory_test '' # every case with every instruction set
echo "1..$count"
exit $failed
