#!/bin/sh
# Networks with many layers: the work grows linearly with their number. 19,000 layers take seconds; quadratic
# work would take minutes of processor time, which `ulimit -t` limits. Each reader and each table is tried; WHOLE=1:
# each in both forms, as text and as JSON.
. "${srcdir:-.}/tests/cli/tap.sh"

head='{"name": "many", "input": [2, 2, 2], "classes": 2, "layers": ['
tail='{"op": "flatten"}, {"op": "linear", "output": "classes"}]}'

# network COUNT TEXT: writes COUNT layers, in each @ replaced by its number and ~ by the number before it
network() {
    LC_ALL=C awk -v count="$1" -v layer="$2" -v head="$head" -v tail="$tail" 'BEGIN {
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

bounded() { # bounded STATUS NAME ARGUMENT...
    wanted=$1 name=$2
    shift 2
    status=0
    (ulimit -t 60 && exec "$TINCA" "$@") >"$T/out" 2>"$T/err" </dev/null || status=$?
    if [ $status = "$wanted" ] && [ -s "$T/out" ]; then
        ok "$name"
    else
        not_ok "$name" "status $status: $(cat "$T/err")"
    fi
}
bounded_info() { # bounded_info NAME [OPTION...]
    name=$1
    shift
    bounded 0 "$name" info "$T/many.json" "$@"
}

network 19000 '{"op": "conv", "name": "n@", "output": 2, "kernel": 1}'
bounded_info "a chain of 19,000 convolutions"
bounded_info "the same as JSON" --json

# --- files of many arrays ---

# arrays COUNT FILE: writes a safetensors file of so many arrays of one zero, two for each of the layers above
arrays() {
    awk -v count="$1" 'BEGIN {
        printf "{"
        for (i = 0; i < count; i++)
            printf "%s\"n%d.%s\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[%d,%d]}", i ? "," : "",
                i / 2, i % 2 ? "bias" : "weight", 4 * i, 4 * i + 4
        printf "}"
    }' >"$T/header"
    length=$(wc -c <"$T/header")
    # shellcheck disable=SC2059 # the format is the eight bytes of the length
    printf "$(printf '\\%03o\\%03o\\%03o\\%03o\\000\\000\\000\\000' $((length & 255)) $((length >> 8 & 255)) \
        $((length >> 16 & 255)) $((length >> 24)))" >"$2"
    cat "$T/header" >>"$2"
    head -c $((4 * $1)) /dev/zero >>"$2"
}
arrays 200000 "$T/many.safetensors"
bounded 1 "200,000 arrays beside 19,000 layers" weights "$T/many.safetensors" --network "$T/many.json"
if whole_list; then
    bounded 0 "the same as JSON" weights "$T/many.safetensors" --network "$T/many.json" --json
    bounded 0 "the values of 200,000 arrays" weights "$T/many.safetensors"
fi
bounded 0 "the values of 200,000 arrays as JSON" weights "$T/many.safetensors" --json
(ulimit -t 60 && exec "$TINCA" weights "$T/many.safetensors" --rename 'n*.bias=b*.bias' --save "$T/renamed.safetensors") \
    2>"$T/err" && ok "200,000 arrays are renamed" || not_ok "200,000 arrays are renamed" "$(cat "$T/err")"

network 9500 '{"op": "relu", "name": "r@"}, {"op": "add", "name": "n@", "from": ["r@", "n~"]}'
bounded_info "19,000 layers with \"from\", as JSON" --json
network 6000 '{"block": "residual", "name": "n@", "output": 2}'
run info "$T/many.json"
if [ "$status" = 1 ] && grep -q "too many layers" "$T/err"; then
    ok "more than 20,000 nodes are refused: $(cut -c 1-120 "$T/err" | sed 's|^.*many.json|many.json|')"
else
    not_ok "more than 20,000 nodes are refused" "status $status: $(cat "$T/err")"
fi
done_testing
