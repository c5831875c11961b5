# Sourced by the tests of crashes and faults, after tests/cli/tap.sh.

# needs_faults NAME: sets $FAULTS to the library that makes calls fail and records them; without it the test is
# skipped under that name
needs_faults() {
    FAULTS=$(cd "$(dirname "$TINCA")" && pwd)/faults.so
    [ -f "$FAULTS" ] && return
    skip "$1" "the program is built with a sanitizer"
    done_testing
}

# needs_python NAME: skips the test if $PYTHON is missing
needs_python() {
    PYTHON=${PYTHON:-python3}
    command -v "$PYTHON" >/dev/null && return
    skip "$1" "there is no python3"
    done_testing
}

# tiny_network FILE: writes a tiny network
tiny_network() {
    cat >"$1" <<'FILE'
{"name": "tiny", "input": [1, 28, 28], "classes": 10, "normalise": "unit", "layers": [
  {"op": "conv", "name": "c", "output": 2, "kernel": 3, "stride": 2}, {"op": "flatten"},
  {"op": "linear", "name": "fc", "output": "classes"}]}
FILE
}

# curves RUN: prints losses and validations, without measured times
curves() {
    journal_lines "$1/journal" | grep -a '^{"iteration"\|"event":"validation"' |
        sed 's/,"ms_per_image.*//; s/,"seconds.*//'
}

# differences WHOLE RUN: prints the files whose bits differ between the two runs
differences() {
    for name in weights.safetensors best.safetensors; do
        cmp -s "$1/$name" "$2/$name" || echo "$name"
    done
    curves "$1" >"$T/expected.txt"
    curves "$2" >"$T/found.txt"
    [ -s "$T/expected.txt" ] && cmp -s "$T/expected.txt" "$T/found.txt" || echo curves
}

# same NAME WHOLE RUN: a test that both runs ended with the same bits
same() {
    wrong=$(differences "$2" "$3")
    if [ -z "$wrong" ]; then ok "$1"; else not_ok "$1" "not the same: $wrong; $(told)"; fi
}
