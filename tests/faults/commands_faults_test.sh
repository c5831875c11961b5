#!/bin/sh
# Each command that writes is killed, gets a full disk, and has its power cut, at TRIALS (1) of its calls each, drawn
# with SEED; afterwards it is repeated or resumed, to the same result. commands.py has a row for each command;
# commands_faults.py says what is good. ROWS: only these rows, with commas between.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/faults/same_run.sh"
needs_faults "commands that are disturbed"
needs_python "commands that are disturbed"
export PYTHONDONTWRITEBYTECODE=1
# two ranks as root, and on one core
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
folder=$(mktemp -d /dev/shm/tinca-commands-XXXXXX 2>/dev/null) || folder=$(mktemp -d "$T/commands-XXXXXX")
trap 'rm -rf "$T" "$folder"' EXIT
old_ifs=$IFS
IFS=,
# shellcheck disable=SC2086 # a list of rows
"$PYTHON" "$srcdir/tests/faults/commands_faults.py" "$TINCA" "$FAULTS" "$folder" "${TRIALS:-1}" "${SEED:-$$}" ${ROWS-}
status=$?
IFS=$old_ifs
exit $status
