#!/bin/sh
# After a power cut a run is resumed to the same bits. Tries STATES (120) of the possible states of the disk,
# drawn with SEED; crash_states.py describes them.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/faults/same_run.sh"
needs_faults "states after a power cut"
needs_python "states after a power cut"
# each state is a folder of small files, in memory if possible
folder=$(mktemp -d /dev/shm/tinca-states-XXXXXX 2>/dev/null) || folder=$(mktemp -d "$T/states-XXXXXX")
trap 'rm -rf "$T" "$folder"' EXIT
PYTHONDONTWRITEBYTECODE=1 "$PYTHON" "$srcdir/tests/faults/crash_states.py" "$TINCA" "$FAULTS" "$folder" "${STATES:-120}" \
    "${SEED:-$$}"
