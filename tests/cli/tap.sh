# Sourced by the scripts here: TAP, a private state folder, and the program ($TINCA).
# $T is a scratch folder that goes away at the end.
T=$(mktemp -d) || exit 99
# Every process that a test starts has this in its environment, tmux's servers and what runs in them
# too: by it what is still on is found at the end, also when the test fails or is interrupted.
export TINCA_TEST="$T"
end_processes() {
    for environment in $(grep -las -- "TINCA_TEST=$T" /proc/[0-9]*/environ 2>/dev/null); do
        process=${environment#/proc/}
        kill -9 "${process%/environ}" 2>/dev/null
    done
}
trap 'end_processes; rm -rf "$T"' EXIT
trap 'exit 130' INT TERM HUP
TINCA=${TINCA:-./tinca}
JSON_LOOK=${JSON_LOOK:-$(dirname "$TINCA")/json_look}
export XDG_STATE_HOME="$T/state" XDG_CONFIG_HOME="$T/config" LC_ALL=C.UTF-8
unset NO_COLOR LANGUAGE
tap_count=0
tap_failed=0

ok() {
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1"
}

not_ok() { # not_ok NAME [DETAILS]
    tap_count=$((tap_count + 1))
    tap_failed=1
    echo "not ok $tap_count - $1"
    printf '%s\n' "${2-}" | sed 's/^/# /'
}

skip() { # skip NAME WHY
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1 # SKIP $2"
}

# subcommands: prints the names of the program's subcommands, from the list that it is built with
subcommands() { sed -n 's/^SUBCOMMAND(\([a-z]*\))$/\1/p' "${srcdir:-.}/src/cli/subcommands.inc"; }

done_testing() {
    echo "1..$tap_count"
    exit $tap_failed
}

# run ARGUMENT...: runs the program; its status is in $status, what it wrote in $T/out and $T/err
run() {
    status=0
    "$TINCA" "$@" >"$T/out" 2>"$T/err" </dev/null || status=$?
}

# Tests wait for what they want to see, never for a time. The limit is there for what never comes:
# so many tenths of a second, which a busy machine makes longer; ten seconds after a first failure.
PATIENCE=${PATIENCE:-1800} PATIENCE_AFTER_FAILURE=100

# wait_until COMMAND...: true as soon as it succeeds; false, and a note in the log, when it never does
wait_until() {
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        if [ $tries -ge "$PATIENCE" ] || { [ "$tap_failed" = 1 ] && [ $tries -ge "$PATIENCE_AFTER_FAILURE" ]; }; then
            echo "# waited in vain for: $*" >&2
            return 1
        fi
        sleep 0.1
    done
}

# has_line PATTERN FILE...: whether one of the files, which need not exist, has a line that matches
has_line() { grep -qs -- "$@"; }
gone() { ! kill -0 "$1" 2>/dev/null; }

told() { head -c 600 "$T/err"; }

# succeeds NAME ARGUMENT...
succeeds() {
    name=$1
    shift
    run "$@"
    if [ "$status" = 0 ]; then ok "$name"; else not_ok "$name" "exit $status: $(told)"; fi
}

# refuses STATUS PATTERN NAME ARGUMENT...: ends so, with one line "tinca: ..." that matches PATTERN,
# and nothing on standard output
refuses() {
    expected=$1 pattern=$2 name=$3
    shift 3
    run "$@"
    if [ "$status" != "$expected" ]; then
        not_ok "$name" "exit $status, not $expected: $(told)"
    elif [ -s "$T/out" ]; then
        not_ok "$name" "standard output is not empty: $(head -c 300 "$T/out")"
    elif [ "$(wc -l <"$T/err")" != 1 ] || ! grep -q '^tinca: .*: .*: ' "$T/err"; then
        not_ok "$name" "not one line of 'tinca: what: why: what to do': $(told)"
    elif ! grep -Eq -- "$pattern" "$T/err"; then
        not_ok "$name" "the message does not match $pattern: $(told)"
    else
        ok "$name"
    fi
}

# picture_network FILE SIDE WIDTH WIDEST STEPS: a network that makes pictures of SIDExSIDE pixels
picture_network() {
    cat >"$1" <<NETWORK
{"name": "$(basename "$1" .json)", "input": [3, $2, $2], "normalise": "signed", "loss": "l1_loss",
 "layers": [{"block": "unet", "name": "unet", "width": $3, "widest": $4, "steps": $5, "dropout_steps": 1},
            {"op": "tanh", "name": "tanh"}]}
NETWORK
}

# adversarial_network FILE: a network that makes pictures of 16x16 pixels, with a discriminator
adversarial_network() {
    cat >"$1" <<NETWORK
{"name": "$(basename "$1" .json)", "input": [3, 16, 16], "normalise": "signed", "loss": "l1_loss",
 "layers": [{"block": "unet", "width": 4, "widest": 8, "steps": 2, "dropout_steps": 1},
            {"op": "tanh"}],
 "discriminator": {"layers": [{"op": "conv", "output": 1, "kernel": 4, "stride": 2, "pad": 1}]}}
NETWORK
}

# shows PATTERN NAME: the last standard output has a line that matches
shows() {
    if grep -Eq -- "$1" "$T/out"; then ok "$2"; else not_ok "$2" "$(head -c 600 "$T/out")"; fi
}

# is NAME PATH VALUE [FILE]: the value at PATH of the JSON document (default: the last output)
is() {
    found=$("$JSON_LOOK" "${4:-$T/out}" "$2" 2>&1)
    if [ "$found" = "$3" ]; then ok "$1"; else not_ok "$1" "$2 is $found, not $3"; fi
}

# has NAME PATH [FILE]: PATH exists
has() {
    if found=$("$JSON_LOOK" "${3:-$T/out}" "$2" 2>&1); then ok "$1"; else not_ok "$1" "$found"; fi
}
