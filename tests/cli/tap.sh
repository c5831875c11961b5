# Sourced by the test scripts: functions that print TAP, a private state folder, and the program ($TINCA).
# $T is a scratch folder, which is deleted at the end.
T=$(mktemp -d) || exit 99
# Every process that a test starts has this variable in its environment, also tmux's servers and their
# programs. With it the processes that still run at the end are found, also after a failure.
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
# Where the figures of the machine cannot be stored, fixed rules choose kernels and tasks: tests do not
# depend on how fast the machine is. Other programs may use the cache.
export XDG_CACHE_HOME="$T/cache"
mkdir "$XDG_CACHE_HOME" && : >"$XDG_CACHE_HOME/tinca"
# OpenBLAS starts a thread for each core when it is loaded, which waits actively for 2 to the power of this many cycles,
# 26 unless it is told: tens of milliseconds of processor time, in each of thousands of short calls.
export OPENBLAS_THREAD_TIMEOUT=4
unset NO_COLOR LANGUAGE
tap_count=0
tap_failed=0
tap_in_vain= # what a test waited for until the limit

# whole_list: whether all cases of a list are tried, as make check-long does, or a part that is spread over them
whole_list() { [ "${WHOLE-}" ]; }

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
subcommands() { sed -n 's/^SUBCOMMAND(\([a-z_]*\))$/\1/p' "${srcdir:-.}/src/cli/subcommands.inc" | tr _ -; }

# done_testing: ends the script. A condition that never came true is a failure, also where nothing else depended on
# it: the test has not seen what it waited for, and took minutes.
done_testing() {
    [ -z "$tap_in_vain" ] || [ "$tap_failed" = 1 ] || not_ok "every condition came true" "not$tap_in_vain"
    echo "1..$tap_count"
    exit $tap_failed
}

# run ARGUMENT...: runs the program; sets $status and writes its output to $T/out and $T/err
run() {
    status=0
    "$TINCA" "$@" >"$T/out" 2>"$T/err" </dev/null || status=$?
}

# Tests wait for a condition, never for a time. The limits are for conditions that never come true, in tenths
# of a second; after a first failure a test waits ten seconds only.
PATIENCE=${PATIENCE:-6000} PATIENCE_AFTER_FAILURE=100

# wait_until COMMAND...: repeats the command until it succeeds; fails with a note in the log after the limit. Most
# conditions come true at once: the first pauses are short, and not counted.
wait_until() {
    tries=-3
    until "$@"; do
        tries=$((tries + 1))
        if [ $tries -lt 0 ]; then
            sleep 0.02
            continue
        fi
        if [ $tries -ge "$PATIENCE" ] || { [ "$tap_failed" = 1 ] && [ $tries -ge "$PATIENCE_AFTER_FAILURE" ]; }; then
            echo "# waited in vain for: $*" >&2
            tap_in_vain="$tap_in_vain, $*"
            return 1
        fi
        sleep 0.1
    done
}

# journal_lines FILE...: prints the journals of runs, which may be missing, as lines of JSON; those of earlier versions
# have such lines
JOURNAL_LINES=${JOURNAL_LINES:-$(dirname "$TINCA")/journal_lines}
journal_lines() { "$JOURNAL_LINES" "$@"; }

# edit_journal COMMAND...: replaces ./journal by what the command makes of its lines
edit_journal() {
    journal_lines journal >"$T/lines"
    "$@" <"$T/lines" >"$T/edited"
    journal_lines -w journal "$T/edited"
}

# has_line PATTERN FILE...: whether one of the files, which may be missing, has a line that matches; journals are read
# as lines of JSON
has_line() {
    case $2 in
    */journal) pattern=$1 && shift && journal_lines "$@" | grep -q -- "$pattern" ;;
    *) grep -qs -- "$@" ;;
    esac
}
gone() { ! kill -0 "$1" 2>/dev/null; }

told() { head -c 600 "$T/err"; }

# succeeds NAME ARGUMENT...: the program ends with status 0
succeeds() {
    name=$1
    shift
    run "$@"
    if [ "$status" = 0 ]; then ok "$name"; else not_ok "$name" "exit $status: $(told)"; fi
}

# refuses STATUS PATTERN NAME ARGUMENT...: the program ends with STATUS and one line "tinca: ..." on standard
# error that matches PATTERN, and prints nothing on standard output
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

# picture_network FILE SIDE WIDTH WIDEST STEPS: writes a network that makes pictures of SIDExSIDE pixels
picture_network() {
    cat >"$1" <<NETWORK
{"name": "$(basename "$1" .json)", "input": [3, $2, $2], "normalise": "signed", "loss": "l1_loss",
 "layers": [{"block": "unet", "name": "unet", "width": $3, "widest": $4, "steps": $5, "dropout_steps": 1},
            {"op": "tanh", "name": "tanh"}]}
NETWORK
}

# small_pairs FOLDER COUNT: makes a set of pairs whose pictures are small and differ. Those of the generated set "maps"
# take 35 ms each to be drawn.
small_pairs() {
    mkdir -p "$1"
    pair=0
    while [ $pair -lt "$2" ]; do
        "$(dirname "$TINCA")/make_picture" interlaced $((40 + 2 * pair)) $((20 + pair)) "$1/$((100 + pair)).png" || exit 99
        pair=$((pair + 1))
    done
}

# adversarial_network FILE: writes a network with a discriminator that makes pictures of 16x16 pixels
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

# is NAME PATH VALUE [FILE]: the JSON document (default: the last output) has VALUE at PATH
is() {
    found=$("$JSON_LOOK" "${4:-$T/out}" "$2" 2>&1)
    if [ "$found" = "$3" ]; then ok "$1"; else not_ok "$1" "$2 is $found, not $3"; fi
}

# has NAME PATH [FILE]: the JSON document has a value at PATH
has() {
    if found=$("$JSON_LOOK" "${3:-$T/out}" "$2" 2>&1); then ok "$1"; else not_ok "$1" "$found"; fi
}
