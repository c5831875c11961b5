#!/bin/sh
# tinca bench --cluster: what is measured with the ranks of a launcher, and that the prediction follows from it by
# the model of docs/clusters.md, and a verdict about one process of turns alone; tinca train gives a hint without one.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/cli/mpi.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
cd "$T" || exit 99

refuses 2 'there is only one process' "one process" bench lenet --cluster
refuses 2 'leave --mode and --profile out' "inference" bench lenet --cluster --mode infer
refuses 2 'leave --mode and --profile out' "a profile" bench lenet --cluster --profile
refuses 2 'leave --device out' "another device" bench lenet --cluster --device reference
need_mpi "the scaling over ranks"

value() { "$JSON_LOOK" out "$1"; }

# positive NAME PATH: the last output has a number above 0 there
positive() {
    if found=$(value "$2") && awk -v found="$found" 'BEGIN { exit !(found + 0 > 0) }'; then ok "$1"; else
        not_ok "$1" "$2 is $found"
    fi
}

# follows RANKS STEPS [PREFIX]: the predicted time is that of the model with the measured parameters, whose keys
# begin so
follows() {
    for key in share_ms gathers ${3-}gather_us ${3-}latency_us gradients ${3-}ns_per_byte predicted_ms; do
        printf '%s ' "$(value $key)"
    done | awk -v ranks="$1" -v steps="$2" '{
        ms = $1 + steps * $2 * $3 / 1e3 + 2 * steps * $4 / 1e3 + 2 * (ranks - 1) / ranks * 4 * $5 * $6 / 1e6
        exit !(ms > 0 && ms / $7 < 1.0001 && ms / $7 > 0.9999)
    }'
}

# predicts LIST INDEX RANKS LATENCY NS: the predicted time of a cluster of so many ranks is that of the model of
# docs/clusters.md with the measured parameters and a network that adds these microseconds and nanoseconds per byte
predicts() {
    is "  $3 ranks are predicted: $1" "predictions.$1.$2.ranks" "$3"
    for key in ranks batch one_process_ms share_alone_ms gathers gather_us latency_us gradients ns_per_byte \
        "predictions.$1.$2.ms" "predictions.$1.$2.speedup"; do
        value "$key" || echo "there is no $key" >&2
    done | tr '\n' ' ' >parameters
    if awk -v ranks="$3" -v latency="$4" -v ns="$5" 'function near(a, b) { return a / b < 1.00001 && a / b > 0.99999 }
    NF == 11 {
        share = $2 / $1
        each = $3 > $4 ? ($3 - $4) / ($2 - share) : $4 / share
        fixed = $3 > $4 ? $3 - each * $2 : 0
        for (steps = 0; 2 ^ steps < ranks; steps++) {}
        ms = (fixed > 0 ? fixed : 0) + each * $2 / ranks + steps * $5 * ($6 + latency) / 1e3
        ms += 2 * steps * ($7 + latency) / 1e3 + 2 * (ranks - 1) / ranks * 4 * $8 * ($9 + ns) / 1e6
        good = near(ms, $10) && near($3 / ms, $11)
    }
    END { exit !good }' parameters; then ok "  by the model"; else not_ok "  by the model" "$(cat parameters)"; fi
}

mpi 2 bench lenet --cluster --threads 1 --iterations 1 --json
[ "$status" = 0 ] && ok "two ranks" || not_ok "two ranks" "$status: $(told)"
is "  without --batch with an image for each of 64 ranks" batch 64
is "  on one host" hosts 1
is "  with the gradients of LeNet" gradients 431152
is "  and one gather, of the loss" gathers 1
prefix=
! grep -q shared_memory out || prefix=shared_memory.
follows 2 1 "$prefix" && ok "  the model predicts from what was measured" ||
    not_ok "  the model predicts" "$(cat out)"
for key in one_process_ms share_alone_ms measured_ms; do positive "  $key" $key; done
blocks=$(value turns.blocks) marked=$(value turns.blocks_marked) verdict=$(value turns.verdict)
[ "$blocks" -ge 10 ] && [ "$blocks" -le 20 ] && ok "  $blocks blocks of turns" || not_ok "  blocks of turns" "$blocks"
case $((blocks - marked >= 10))$verdict in
0null | 1no-difference-shown | 1ranks-faster | 1one-process-faster) ok "  give a verdict if ten are undisturbed ($verdict)" ;;
*) not_ok "  give a verdict if ten are undisturbed" "$blocks, $marked marked: $verdict" ;;
esac
positive "  with a ratio" turns.ratio
is "  six clusters at 10 Gbit/s" "predictions.10_gbit.#" 6
is "  and at 100 Gbit/s" "predictions.100_gbit.#" 6
predicts 10_gbit 2 8 25 0.8
predicts 10_gbit 5 64 25 0.8
predicts 100_gbit 5 64 3 0.08
# one process may use the cores of all ranks, also if each of them is bound to one
cores=$(nproc)
if [ "$cores" -lt 2 ]; then skip "one process with the threads of all ranks" "there is one core"; else
    is "  one process can have two threads" all_threads 2
    OMPI_MCA_hwloc_base_binding_policy=core:overload-allowed mpi 2 bench perceptron --cluster --batch 16 --threads 1 --iterations 1 --json
    is "  also where each rank is bound to a core" all_threads 2
    is "  which has one thread then" threads 1
    positive "  its time" one_process_all_threads_ms
fi
mpi 3 bench perceptron --cluster --threads 1 --iterations 1 --json
is "three ranks have equal shares" batch 66
is "  and predict 64, too" predictions.100_gbit.5.ranks 64
TINCA_SHARED_MEMORY=0 mpi 4 bench resnet20 --technique shift --cluster --batch 4 --threads 1 --iterations 1 --json
[ "$status" = 0 ] && ok "four ranks" || not_ok "four ranks" "$status: $(told)"
! grep -q shared_memory out && follows 4 2 && ok "  by the model" || not_ok "  by the model" "$(cat out)"
mpi 2 bench perceptron --cluster --batch 16 --threads 1 --iterations 1
[ "$status" = 0 ] && has_line 'predicted .* ms$' out && has_line 'measured .* the model is off by' out &&
    has_line '100 Gbit/s' out && ok "the text" || not_ok "the text" "$status: $(cat out err)"
# a verdict only of turns, with the blocks, t and p beside it
grep -Eq 'in turns +[0-9.e+-]+ of the time of one process with threads: [12], (no verdict: .*blocks|(no difference is shown|faster|slower).*t-test of [0-9]+ ABBA blocks)' out &&
    ok "  has a verdict of turns, or says why there is none" || not_ok "  has a verdict of turns" "$(cat out)"
has_line 'RATIO: .* without a verdict' out && ! grep -iq 'times as fast' out &&
    ok "  and none of predicted times" || not_ok "  and none of predicted times" "$(cat out)"
mpi 2 bench lenet --cluster --batch 15
[ "$status" = 2 ] && has_line 'choose a multiple of 2' err && ok "uneven shares" ||
    not_ok "uneven shares" "$status: $(cat err)"
[ "$(grep -c 'tinca:' err)" = 1 ] && ok "  are told once" || not_ok "  are told once" "$(cat err)"
mpi 2 bench lenet --cluster --batch 18 --blocks 3
[ "$status" = 2 ] && has_line 'equally many of 3 blocks' err && ok "blocks that cannot be shared" ||
    not_ok "blocks that cannot be shared" "$status: $(cat err)"
adversarial_network pair.json
mpi 2 bench ./pair.json --cluster --batch 2 --iterations 2 --threads 1
[ "$status" = 0 ] && has_line 'measured .* the model is off by' out && ok "a network with a discriminator" ||
    not_ok "a network with a discriminator" "$status: $(cat err)"

# --- before a run ---
# An iteration of the smallest network takes microseconds, and a message between processes as many at least.
mpi 2 train perceptron --data digits,limit=40 --batch 2 --iterations 100000000 --max-time 0.01s --threads 1 --run-dir "$T/small"
[ "$status" = 0 ] && has_line 'not comparable: measured at different times; tinca bench --cluster takes turns' err &&
    ! has_line 'does not pay' err && ok "a run that takes longer than one process gets a hint, and no verdict" ||
    not_ok "a run that takes longer than one process gets a hint" "$status: $(cat err)"
has_line 'in 2 processes and .* ms in one process with [12] threads*:' err && ok "  with its number of threads" ||
    not_ok "  with its number of threads" "$(cat err)"
mpi 2 resume "$T/small" --max-time 0.02s
[ "$status" = 0 ] && has_line 'tinca bench --cluster takes turns' err && ok "  resumed, too" ||
    not_ok "  resumed, too" "$status: $(cat err)"
[ "$(journal_lines small/journal | grep -c '"kind":"scaling"')" = 2 ] && ok "  both are findings of the run" ||
    not_ok "  both are findings of the run" "$(journal_lines small/journal | grep finding)"
mpi 2 train perceptron --data digits,limit=40 --batch 2 --iterations 2 --threads 1 --run-dir "$T/quiet" -q
[ "$status" = 0 ] && [ ! -s err ] && ok "  -q: not a word" || not_ok "  -q: not a word" "$status: $(cat err)"
mpi 2 train lenet --data digits,limit=40 --batch 5 --iterations 2 --threads 1 --run-dir "$T/uneven"
[ "$status" = 2 ] && ! has_line 'data parallelism' err && ok "  a run that is refused is not measured" ||
    not_ok "  a run that is refused is not measured" "$status: $(cat err)"
done_testing
