#!/bin/sh
# The tests of several processes with all repetitions that the short ones leave out: every size of message with 2 and 4
# processes, and every way in which a rank or a launcher ends, resumed or started again.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
export MPI_EVERY=yes TINCA JSON_LOOK
for name in mpi mpi_blocks mpi_overlap mpi_sweep; do
    if sh "$srcdir/tests/cli/${name}_test.sh" >"$T/log" 2>&1; then ok "$name, with all repetitions"; else
        not_ok "$name, with all repetitions" "$(grep -A 5 '^not ok' "$T/log" || tail -n 5 "$T/log")"
    fi
done
done_testing
