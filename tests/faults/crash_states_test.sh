#!/bin/sh
# What a power cut may leave of a run is resumed to the same bits: STATES of the states that the disk may
# be in (300), drawn with SEED. crash_states.py says which there are.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/faults/same_run.sh"
needs_faults "states after a power cut"
needs_python "states after a power cut"
# each state is a folder of small files: in memory where that can be
folder=$(mktemp -d /dev/shm/tinca-states-XXXXXX 2>/dev/null) || folder=$(mktemp -d "$T/states-XXXXXX")
trap 'rm -rf "$T" "$folder"' EXIT
"$PYTHON" "$srcdir/tests/faults/crash_states.py" "$TINCA" "$FAULTS" "$folder" "${STATES:-300}" \
    "${SEED:-$$}"
