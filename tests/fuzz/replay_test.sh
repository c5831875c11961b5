#!/bin/sh
# Runs every fuzz target on its seeds and on earlier findings (tests/fuzz/found), in the ordinary build.
srcdir=${srcdir:-.}
programs=$(dirname "${TINCA:-./tinca}")
T=$(mktemp -d) || exit 99
trap 'rm -rf "$T"' EXIT
"$programs/fuzz_seeds" "$T/seeds" "$T/large" || { echo "Bail out! the seeds cannot be written"; exit 99; }
"$programs/fuzz_replay" "$T/seeds" "$T/large" "$srcdir/tests/fuzz/found"
