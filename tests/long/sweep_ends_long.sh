#!/bin/sh
# The process of one cell of a sweep is ended at each moment of the table below: by a kill, and by the kernel's answer
# to a lack of memory in a control group. The sweep has to name the cell's state, the reason, and the command that goes
# on with it; that command, called as it is printed, has to end with the bits of a sweep that nobody disturbed.
#
# usage: [VARIABLE=VALUE...] tests/long/sweep_ends_long.sh
#   MOMENTS  only the moments whose names contain this word
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
case $srcdir in /*) ;; *) srcdir=$PWD/$srcdir ;; esac
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
. "$srcdir/tests/faults/same_run.sh"
. "$srcdir/tests/cli/control_group.sh"
needs_faults "sweeps whose cells are ended"
cd "$T" || exit 99
mkdir bin # for the commands that messages name
ln -s "$TINCA" bin/tinca
PATH=$T/bin:$PATH

often="--checkpoint 0.001 --checkpoint-share 100"
work="--networks lenet,mlp --batches 16 --data digits,limit=96 --validate digits,split=test,limit=64 \
 --test digits,split=test,limit=48 --epochs 4 --threads 1 --seed 3 $often"
after="--after prune:0.5,quantize,factorize:0.9 --after-epochs 1"

# --- moments: NAME|FAULT|FAULT_ONLY of faults.so, which stops the process of each cell there ---
moments() {
    cat <<'END'
before its state is recorded|rename:1:stop|cell.json
while the settings are written|rename:1:stop|config.json
while the first checkpoint is written|write:1:stop|checkpoint
before the first checkpoint has its name|rename:1:stop|checkpoint
while a later checkpoint is written|write:9:stop|checkpoint
between the two renames of a checkpoint|rename:5:stop|checkpoint
while the first best model is written|write:1:stop|best
before the second best model has its name|rename:2:stop|best
while the last model is written|write:1:stop|weights
before the last model has its name|rename:1:stop|weights
before the summary has its name|rename:1:stop|summary
END
}

# --- the disturbed cell ---
state() { export XDG_STATE_HOME="$T/$1"; }
sweeps() { echo "$XDG_STATE_HOME/tinca/sweeps/s"; }
process_of() { # process_of NETWORK: the process that computes the cell of the network
    read -r process host 2>/dev/null <"$(echo "$(sweeps)/$1"-*/lock)" && echo "$process"
}
halted() { has_line '^State:.T' "/proc/$(process_of "$1")/status"; }
halted_or_over() { halted "$1" || gone "$sweep"; }
cell_of() { # cell_of NETWORK PATH: a value of the cell in the last output
    index=0
    until "$JSON_LOOK" "$T/out" "cells.$index.id" | grep -q "^$1-"; do index=$((index + 1)); done
    "$JSON_LOOK" "$T/out" "cells.$index.$2"
}
# start VARIABLE... -- ARGUMENT...: starts the sweep with these variables
start() {
    variables=
    while [ "$1" != -- ]; do
        variables="$variables $1"
        shift
    done
    shift
    # shellcheck disable=SC2086 # lists
    env $variables tinca sweep $work --name s "$@" >"$T/said" 2>&1 </dev/null &
    sweep=$!
}
# finished WHAT: waits for the sweep; its status has to be 1 and its messages have to match
finished() {
    wait "$sweep"
    status=$?
    if [ $status = 1 ] && grep -Eq "$2" said; then ok "$1: it is said"; else not_ok "$1: it is said" "$status: $(cat said)"; fi
}
# goes_on NAME: calls the command that the message names, and compares
goes_on() {
    command=$(sed -n 's/^.*: \(tinca sweep --name [^ ]*\( --retry\)\{0,1\}\) \(goes on\|computes\|starts\).*$/\1/p' said | tail -n 1)
    case $command in *--retry) not_ok "  without --retry" "$command" ;; esac
    $command -q $1 >said 2>&1 </dev/null
    status=$?
    if [ $status = 0 ]; then ok "  the command that it names ends with status 0"; else not_ok "  the command that it names ends with status 0" "$status: $command: $(cat said)"; fi
    wrong=
    for network in lenet mlp; do
        was=$("$JSON_LOOK" "$T/plain/tinca/sweeps/s/$network"-*/cell.json run)
        is=$("$JSON_LOOK" "$(echo "$(sweeps)/$network"-*/cell.json)" run)
        found=$(differences "$T/plain/tinca/runs/$was" "$XDG_STATE_HOME/tinca/runs/$is")
        [ -z "$found" ] || wrong="$wrong $network: $found"
    done
    run sweep --name s --report --json
    wrong="$wrong$(figures | diff "$T/figures" - | head -n 5)"
    if [ -z "$wrong" ]; then ok "  with the bits of an undisturbed sweep"; else not_ok "  with the bits of an undisturbed sweep" "$wrong"; fi
    # a folder without settings counts as incomplete, and is deleted by a later run
    litter=$(find "$XDG_STATE_HOME" \( -name '*.part' -o -name '*.prune' -o -name '*.run' -o -name killed.json \) \
        ! -name 'config.json.0.part')
    if [ -z "$litter" ]; then ok "  and no litter"; else not_ok "  and no litter" "$litter"; fi
}
# figures: the accuracies and sizes of the results after training, and of the test set, from the last report
figures() {
    for index in 0 1; do
        for value in result.test.top1 result.test.loss result.loss; do
            echo "$index $value $("$JSON_LOOK" "$T/out" "cells.$index.$value" 2>&1)"
        done
        for number in 0 1 2 3 4; do
            for value in state model.parameters model.checksum measured.top1 measured.loss; do
                echo "$index $number $value $("$JSON_LOOK" "$T/out" "cells.$index.after.$number.$value" 2>&1)"
            done
        done
    done
}
state plain
# shellcheck disable=SC2086
succeeds "an undisturbed sweep" sweep $work $after --name s -q
run sweep --name s --report --json
figures >figures
grep . figures | sed 's/^/# /' | head -n 40

number=0
moments >table
while IFS='|' read -r name fault only; do
    case $name in *"${MOMENTS-}"*) ;; *) continue ;; esac
    for jobs in 1 2; do
        number=$((number + 1))
        state "kill-$number"
        start "LD_PRELOAD=$FAULTS" "FAULT=$fault" "FAULT_ONLY=$only" -- --jobs $jobs
        for network in lenet mlp; do
            wait_until halted_or_over $network
            halted $network || { not_ok "$name: the process stops there" "$(cat said)"; break; }
            kill -KILL "$(process_of $network)"
        done
        finished "killed $name, --jobs $jobs" 'signal 9 .Killed. ended its process'
        run sweep --name s --dry-run --json
        was=$(cell_of lenet state)
        case $was in
        interrupted | waiting | done) ok "  lenet is $was" ;;
        *) not_ok "  lenet can go on" "$was" ;;
        esac
        goes_on "$after"
        rm -rf "$XDG_STATE_HOME"
    done
done <table

# --- a lack of memory ---
# hogs: prints the processes in the group that are not of the program
hogs() {
    while read -r hog; do
        grep -aq tinca "/proc/$hog/cmdline" 2>/dev/null || echo "$hog"
    done <"$group/cgroup.procs"
}
# take_memory NETWORK: fills the group until the kernel has killed the cell's process, and frees it again
take_memory() {
    process=$(process_of "$1")
    for _ in 1 2 3 4 5 6 7 8; do
        # shellcheck disable=SC2016 # the inner shell expands it
        sh -c 'echo $$ >"$0/cgroup.procs"; { head -c 64M /dev/zero; sleep 60; } | tail >/dev/null' "$group" 2>/dev/null &
        sleep 0.4
        gone "$process" && break
    done
    # shellcheck disable=SC2046 # a list
    kill -KILL $(hogs) 2>/dev/null
    gone "$process"
}
if find_group && echo 209715200 >"$limit"; then
    trap 'end_processes; sleep 0.5; rmdir "$group"; rm -rf "$T"' EXIT
    state "memory"
    # shellcheck disable=SC2016,SC2086 # the inner shell expands it; lists
    env "LD_PRELOAD=$FAULTS" FAULT=rename:5:stop FAULT_ONLY=checkpoint \
        sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" tinca sweep $work --name s --jobs 2 >said 2>&1 </dev/null &
    sweep=$!
    wait_until halted_or_over lenet
    wait_until halted_or_over mlp
    for network in lenet mlp; do
        if wait_until take_memory $network; then ok "the kernel kills $network for memory"; else not_ok "the kernel kills $network for memory" "$(cat said)"; fi
    done
    finished "killed for memory" 'killed for memory: the system ended its process, which had used [0-9.]+ MiB'
    run sweep --name s --dry-run --json
    is "  it is the state of both" states.out-of-memory 2
    goes_on "$after"
    rm -rf "$XDG_STATE_HOME"
else
    skip "cells that the kernel kills for memory" "no control group with a limit on memory can be made here"
fi
done_testing
