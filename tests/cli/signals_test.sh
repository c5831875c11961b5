#!/bin/sh
# What each signal of src/ui/terminal/signals.inc does to commands that train, without the workbench. Of those that do
# the same, make check tries every third, WHOLE=1 each.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
case $srcdir in /*) ;; *) srcdir=$PWD/$srcdir ;; esac
. "$srcdir/tests/faults/hold.sh"
cd "$T" || exit 99
runs=$XDG_STATE_HOME/tinca/runs
job="mlp --data digits,limit=64 --batch 8 --epochs 1000000 --threads 1"
seldom="--checkpoint 0 --checkpoint-share 0.01"

# signals_that ACT: the names of those of the table
signals_that() { sed -n "s/^SIGNAL(\([A-Z0-9]*\), $1)\$/\1/p" "$srcdir/src/ui/terminal/signals.inc"; }
# tried ACT: those of them that are tried
tried() { if whole_list; then signals_that "$1"; else signals_that "$1" | sed -n 'p;n;n'; fi; }
# send SIGNAL: sends it to the program; kills it, with a note, if the shell does not know the signal
send() {
    case $1 in POLL) number=29 ;; PWR) number=30 ;; STKFLT) number=16 ;; *) number=$1 ;; esac
    kill -"$number" $child 2>/dev/null && return
    skip "$1" "the shell cannot send it"
    kill -KILL $child
    wait $child
    return 1
}
newest() { ls -t "$runs" | head -n 1; }
has_iterations() { [ -d "$runs" ] && [ "$(iterations)" -gt "$1" ]; }
iterations() { journal_lines "$runs/$(newest)/journal" | grep -c '^{"iteration"'; }
checkpoints() { journal_lines "$runs/$(newest)/journal" | grep -c '"event":"checkpoint"'; }
has_checkpoints() { [ "$(checkpoints)" -ge "$1" ]; }
# begin ARGUMENT...: starts the program, and waits until a run of it trains
begin() {
    rm -rf "$runs"
    "$TINCA" "$@" >out 2>err </dev/null &
    child=$!
    wait_until has_iterations 20
}
# ends STATUS NAME: the program ends with this status
has_ended() { gone $child || grep -q ') Z ' "/proc/$child/stat"; }
ends() {
    wait_until has_ended || kill -KILL $child
    wait $child
    status=$?
    if [ "$status" = "$1" ]; then ok "$2"; else not_ok "$2" "exit $status: $(cat err)"; fi
}
goes_on() { # goes_on NAME: the run trains on
    had=$(iterations)
    if wait_until has_iterations $((had + 20)) && ! gone $child; then ok "$1"; else not_ok "$1" "$(cat err)"; fi
}

# shellcheck disable=SC2086 # lists of options
{
    # --- train ---
    for signal in $(tried STOP) 40; do
        begin train $job $seldom
        send "$signal" || continue
        ends 130 "$signal: train ends with status 130"
        run runs --json
        is "  and is saved" runs.0.status stopped
        if [ -s "$runs/$(newest)/checkpoint.safetensors" ]; then ok "  with a checkpoint"; else not_ok "  with a checkpoint"; fi
    done

    begin train $job $seldom
    for signal in USR1 USR1; do
        before=$(checkpoints)
        kill -$signal $child
        if wait_until has_checkpoints $((before + 1)); then ok "$signal saves a checkpoint"; else not_ok "$signal saves a checkpoint"; fi
        goes_on "  and the run goes on"
    done
    if wait_until grep -q 'a signal asked for a checkpoint: saved after iteration [1-9]' err; then
        ok "  which is said"
    else
        not_ok "  which is said" "$(cat err)"
    fi
    kill -PIPE $child
    goes_on "PIPE: the run goes on without a reader"
    case $(sed -n 's/^SigIgn:[[:space:]]*//p' /proc/$child/status) in
    *[13579bdf]) skip "HUP: the run goes on without the terminal" "SIGHUP is ignored here" ;;
    *)
        kill -HUP $child
        goes_on "HUP: the run goes on without the terminal"
        ;;
    esac
    kill -XFSZ $child
    goes_on "XFSZ: the write fails instead"
    kill -CONT $child
    goes_on "CONT changes nothing"
    kill -TERM $child
    ends 130 "  and it is stopped as always"

    rm -rf "$runs"
    mkfifo pipe
    head -n 1 pipe >first &
    "$TINCA" train $job $seldom --json >pipe 2>err </dev/null &
    child=$!
    wait_until has_iterations 20
    goes_on "a run goes on without the reader of its output"
    kill -TERM $child
    ends 130 "  and is stopped as always"

    for signal in $(tried CRASH); do
        begin train $job
        kill -USR1 $child
        wait_until has_checkpoints 1
        send "$signal" || continue
        wait $child
        status=$?
        id=$(newest)
        if grep -q "^tinca: SIG$signal: the program has crashed: the last checkpoint is $runs/$id/checkpoint.safetensors; tinca resume $runs/$id continues after iteration [1-9]" err; then
            ok "$signal: the last checkpoint is named"
        else
            not_ok "$signal: the last checkpoint is named" "$(cat err)"
        fi
        case $status in
        130 | 0 | 2) not_ok "  and the program ends by the signal" "status $status" ;;
        *) ok "  and the program ends by the signal" ;;
        esac
    done

    # --- other commands that train ---
    rm -rf "$runs"
    succeeds "a model" train mlp --data digits,limit=64 --batch 8 --epochs 1 --threads 1 -q --save m.safetensors
    # one that has nothing to save ends by the signal, and leaves no half-written file. Another thread may take the
    # signal while this one renames the file: then that is whole.
    succeeds "whole predictions" eval m.safetensors --data digits,limit=64 --threads 1 --predictions whole.csv
    for signal in TERM HUP PIPE USR2 XCPU ALRM; do
        HOLD_ONLY=p.csv
        hold 1 eval m.safetensors --data digits,limit=64 --threads 1 --predictions p.csv
        part=$(ls p.csv.*part)
        let_go $signal
        [ ! -e p.csv ] || ! cmp -s p.csv whole.csv || rm p.csv
        if [ -n "$part" ] && [ $status -gt 128 ] && [ -z "$(ls | grep '^p\.csv')" ]; then
            ok "$signal: eval leaves no half-written file"
        else
            not_ok "$signal: eval leaves no half-written file" "$status: $part: $(ls)"
        fi
    done
    stopped() { # stopped NAME ARGUMENT...: QUIT ends the command with status 130, after USR1 and HUP
        name=$1
        shift
        begin "$@"
        before=$(checkpoints)
        kill -USR1 $child
        if wait_until has_checkpoints $((before + 1)); then ok "USR1: $name saves a checkpoint"; else not_ok "USR1: $name saves a checkpoint" "$(cat err)"; fi
        kill -PIPE $child
        kill -HUP $child
        goes_on "PIPE and HUP: $name goes on"
        kill -QUIT $child
        ends 130 "QUIT: $name ends with status 130"
        cp err messages
        run runs --json
        is "  and its run is saved" runs.0.status stopped
    }
    stopped "a group of seeds" train $job $seldom --seeds 2
    group=$(newest)
    "$TINCA" resume "$group" >out 2>err </dev/null &
    child=$!
    had=$(iterations)
    wait_until has_iterations $((had + 20))
    kill -QUIT $child
    ends 130 "QUIT: resume ends with status 130"
    stopped "a sweep" sweep --name s --networks mlp --data digits,limit=64 --batches 8 --seeds 1 --epochs 1000000 --threads 1 $seldom
    run sweep --name s --report --json
    is "  and its cell can be continued" states.interrupted 1
    stopped "fine-tuning by prune" prune m.safetensors -o p.safetensors --flops 0.7 --data digits,limit=64 --batch 8 \
        --epochs 1000000 --threads 1
    if grep -q 'a signal asked for a checkpoint: saved after iteration [1-9]' messages; then
        ok "  and its checkpoint was the one that USR1 asked for"
    else
        not_ok "  and its checkpoint was the one that USR1 asked for" "$(cat messages)"
    fi
}
done_testing
