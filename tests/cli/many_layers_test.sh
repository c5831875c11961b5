#!/bin/sh
# Networks with many layers: the work grows linearly with their number. 19,000 layers take seconds; quadratic
# work would take minutes of processor time, which `ulimit -t` limits.
. "${srcdir:-.}/tests/cli/tap.sh"

head='{"name": "many", "input": [2, 2, 2], "classes": 2, "layers": ['
tail='{"op": "flatten"}, {"op": "linear", "output": "classes"}]}'

# network COUNT TEXT: writes COUNT layers, in each @ replaced by its number and ~ by the number before it
network() {
    awk -v count="$1" -v layer="$2" -v head="$head" -v tail="$tail" 'BEGIN {
        print head "{\"op\": \"relu\", \"name\": \"n0\"},"
        for (i = 1; i <= count; i++) {
            text = layer
            gsub("@", i, text)
            gsub("~", i - 1, text)
            print text ","
        }
        print tail
    }' >"$T/many.json"
}

bounded_info() { # bounded_info NAME [OPTION...]
    name=$1
    shift
    status=0
    (ulimit -t 60 && exec "$TINCA" info "$T/many.json" "$@") >"$T/out" 2>"$T/err" </dev/null ||
        status=$?
    if [ $status = 0 ] && [ -s "$T/out" ]; then
        ok "$name"
    else
        not_ok "$name" "status $status: $(cat "$T/err")"
    fi
}

network 19000 '{"op": "conv", "name": "n@", "output": 2, "kernel": 1}'
bounded_info "a chain of 19,000 convolutions"
bounded_info "the same as JSON" --json
network 9500 '{"op": "relu", "name": "r@"}, {"op": "add", "name": "n@", "from": ["r@", "n~"]}'
bounded_info "19,000 layers with \"from\""
network 6000 '{"block": "residual", "name": "n@", "output": 2}'
run info "$T/many.json"
if [ "$status" = 1 ] && grep -q "too many layers" "$T/err"; then
    ok "more than 20,000 nodes are refused: $(cut -c 1-120 "$T/err" | sed 's|^.*many.json|many.json|')"
else
    not_ok "more than 20,000 nodes are refused" "status $status: $(cat "$T/err")"
fi
done_testing
