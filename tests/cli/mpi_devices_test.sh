#!/bin/sh
# Several processes: tinca devices lists them, and a run records what each of them has done.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/cli/mpi.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
case $srcdir in /*) ;; *) srcdir=$PWD/$srcdir ;; esac
need_mpi "the ranks of a launcher"
cd "$T" || exit 99
host=$(uname -n)

# looks FILE PATH PATTERN NAME: the file is one JSON document, and its value at PATH matches
looks() {
    found=$("$JSON_LOOK" "$1" "$2" 2>&1) && printf '%s\n' "$found" | grep -Eqx -- "$3" && ok "$4" ||
        not_ok "$4" "$2 is $found"
}

# --- devices ---

mpi 3 devices
if [ "$status" = 0 ] && [ "$(grep -c "^ *[012]  $host " out)" = 3 ]; then ok "devices lists three ranks"; else
    not_ok "devices lists three ranks" "exit $status: $(cat out; told)"
fi
[ "$(grep -c '^DEVICE' out)" = 1 ] && ok "  once" || not_ok "  once" "$(cat out)"
grep -q 'Open MPI' out && ok "  and names MPI" || not_ok "  and names MPI" "$(cat out)"
mpi 2 devices --json
looks out ranks.# 2 "the document has two ranks"
looks out ranks.1.rank 1 "  with their number"
looks out ranks.1.host "$host" "  host"
looks out ranks.1.threads '[1-9][0-9]*' "  threads"
looks out ranks.1.memory_bytes '[1-9][0-9.e+]*' "  memory"
looks out ranks.1.instruction_set 'generic|avx2|avx512' "  and instruction set"
looks out ranks.1.compute_ms '[0-9.e-]*[1-9][0-9.e-]*' "  milliseconds in which it computes"
looks out ranks.1.wait_ms '[0-9.e-]*[1-9][0-9.e-]*' "  and waits"
looks out ranks.1.blas '..*' "  its BLAS library"
looks out mpi 'Open MPI.*' "  and MPI's version"
run devices --json
if "$JSON_LOOK" out ranks >found 2>&1; then not_ok "one process has no ranks" "$(cat found)"; else
    ok "one process has no ranks"
fi
mpirun -n 1 -x TINCA_CPU=generic "$TINCA" devices : -n 1 "$TINCA" devices >out 2>err </dev/null
if ! grep -Eq ' (avx2|avx512) ' out; then skip "ranks with other instructions" "this processor has no AVX2"; else
    grep -q 'refused.*rank 1 has another instruction set.*TINCA_CPU=generic' out &&
        ok "it says that a run with other instructions is refused" ||
        not_ok "it says that a run with other instructions is refused" "$(cat out)"
fi
other_blas="-n 1 -x OPENBLAS_CORETYPE=Prescott $TINCA"
# shellcheck disable=SC2086 # a list of arguments
mpirun -n 1 "$TINCA" devices --json : $other_blas devices --json >out 2>err </dev/null
if [ "$("$JSON_LOOK" out ranks.0.blas)" = "$("$JSON_LOOK" out ranks.1.blas)" ]; then
    skip "ranks with another BLAS library" "OPENBLAS_CORETYPE changes nothing here"
else
    # shellcheck disable=SC2086
    mpirun -n 1 "$TINCA" devices : $other_blas devices >out 2>err </dev/null
    grep -q 'refused.*rank 1 has the BLAS library .*Prescott, and rank 0 ' out &&
        ok "it says that a run with another BLAS library is refused" ||
        not_ok "it says that a run with another BLAS library is refused" "$(cat out)"
    # shellcheck disable=SC2086
    mpirun -n 1 "$TINCA" train lenet --data digits,limit=32 --batch 16 --iterations 1 -q : \
        $other_blas train lenet --data digits,limit=32 --batch 16 --iterations 1 -q >out 2>err </dev/null
    grep -q 'rank 1 on .*: the BLAS library: .*Prescott, but .* on rank 0' err && ok "  and it is" ||
        not_ok "  and it is" "$(told)"
fi
refuses 1 "it started 2 processes, but MPI" "--ranks of a launcher that is none" devices --ranks 2

# --- what a run records ---

job="lenet --data digits,limit=400 --batch 20 --seed 3 --threads 1"
# shellcheck disable=SC2086 # a list of options
mpi 2 train $job --iterations 40 --run-dir "$T/short" --export short.json
if [ "$status" = 0 ] && grep -q '2 ranks on 1 host: .* ms/iteration' out; then ok "the summary names the ranks"; else
    not_ok "the summary names the ranks" "exit $status: $(cat out; told)"
fi
looks short.json runs.0.ranks.# 2 "the session has two ranks"
looks short.json runs.0.ranks.1.iterations 40 "  each with all iterations, however short the run"
looks short.json runs.0.ranks.1.host "$host" "  host"
looks short.json runs.0.ranks.1.process '[1-9][0-9]*' "  process"
looks short.json runs.0.ranks.1.compute_ms '[0-9.e-]*[1-9][0-9.e-]*' "  milliseconds of computing"
looks short.json runs.0.ranks.0.wait_ms '[0-9.e-]*[1-9][0-9.e-]*' "  and of waiting"
looks short/summary.json ranks.1.iterations 40 "the folder's summary has them"
journal_lines short/journal | grep '"event":"ranks"' | tail -n 1 >event
looks event ranks.1.iterations 40 "as has the journal"
run runs --check "$T/short"
[ "$status" = 0 ] && ok "and the folder is sound" || not_ok "and the folder is sound" "exit $status: $(cat out; told)"
journal_lines short/journal | sed 's/"event":"ranks",\(.*\)"process"/"event":"ranks",\1"proces"/' >changed
mkdir wrong && cp short/* wrong/ && journal_lines -w wrong/journal changed
run runs --check "$T/wrong"
grep -q 'journal: the ' out err && ok "an event that is incomplete is found" ||
    not_ok "an event that is incomplete is found" "exit $status: $(cat out; told)"
run export "$T/short" -o again.json
looks again.json runs.0.ranks.1.iterations 40 "export finds the ranks of a saved run"
if ! python3 -c 'from jsonschema import Draft202012Validator' 2>/dev/null; then
    skip "the session is valid against its schema" "python3-jsonschema (4 or later) is not installed"
elif python3 - "$srcdir/docs/session.schema.json" again.json >log 2>&1 <<'END'; then
import copy, json, sys, jsonschema
schema, session = (json.load(open(path)) for path in sys.argv[1:])
validator = jsonschema.Draft202012Validator(schema)
validator.validate(session)
wrong = copy.deepcopy(session)
wrong["runs"][0]["ranks"][0]["wait_ms"] = "long"
assert not validator.is_valid(wrong), "the schema accepts a text as a time"
END
    ok "the session is valid against its schema"
else
    not_ok "the session is valid against its schema" "$(cat log)"
fi

# --- a longer run: figures while it is on, and other processes after a resume ---

# shellcheck disable=SC2086 # a list of options
mpirun -n 2 "$TINCA" train $job --iterations 100000 --blocks 2 --run-dir "$T/long" -q >out 2>err </dev/null &
launcher=$!
two_events() { [ "$(journal_lines long/journal | grep -s '"event":"ranks"' | wc -l)" -ge 2 ]; }
wait_until two_events && ok "a run that is on records its ranks again and again" ||
    not_ok "a run that is on records its ranks again and again" "$(told)"
for process in $(pgrep -P $launcher); do
    grep -qz '^OMPI_COMM_WORLD_RANK=0$' "/proc/$process/environ" && kill -TERM "$process"
done
wait $launcher
journal_lines long/journal | grep '"event":"ranks"' | sed -n 2p >event
looks event ranks.1.compute_ms '[0-9.e-]*[1-9][0-9.e-]*' "  also what rank 1 has told in its heartbeats"
"$TINCA" resume "$T/long" -q >out 2>err </dev/null &
alone=$!
wait_until has_line '"event":"resume"' long/journal || not_ok "one process resumes it" "$(told)"
kill -TERM $alone
wait $alone
succeeds "one process has resumed it" export "$T/long" -o alone.json
if "$JSON_LOOK" alone.json runs.0.ranks >found 2>&1; then not_ok "a run that one process ends has no ranks" "$(cat found)"; else
    ok "a run that one process ends has no ranks"
fi
done_testing
