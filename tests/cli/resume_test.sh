#!/bin/sh
# tinca resume for runs that were killed, stopped or damaged, that another process computes, or in a sweep.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/faults/hold.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
cd "$T" || exit 99
job="lenet --data digits,limit=80 --validate digits,split=test,limit=40 --batch 20 --epochs 5 --seed 3 --threads 1"
often="--checkpoint 0.01 --checkpoint-share 100"

has_checkpoint() { ls "$XDG_STATE_HOME"/tinca/runs/*/checkpoint.safetensors >files 2>/dev/null; }

# begin COMMAND...: starts it in the background and waits for its first checkpoint; sets $child and $id
begin() {
    "$TINCA" "$@" >out 2>err </dev/null &
    child=$!
    wait_until has_checkpoint
    id=$(basename "$(dirname "$(head -n 1 files)")")
}

# same_figures RUN: the summary of a run has every member of the undisturbed one's but what a clock, the memory and
# the process measure
same_figures() { # same_figures RUN [UNDISTURBED]
    for member in status iteration iterations epoch epochs loss loss_caffe loss_mean learning_rate validation_loss \
        top1 top5 best_top1 best_validation_loss pixel_accuracy; do
        "$JSON_LOOK" "${2-$T/whole}/summary.json" $member 2>/dev/null | sed "s/^/$member /"
    done >expected
    while read -r member value; do
        found=$("$JSON_LOOK" "$1/summary.json" "$member" 2>&1)
        [ "$found" = "$value" ] || echo "$member is $found, not $value"
    done <expected >different
    if [ "$(wc -l <expected)" -ge 12 ] && [ ! -s different ]; then ok "  with the same figures to the last digit"; else
        not_ok "  with the same figures to the last digit" "$(cat different expected)"
    fi
}

# shellcheck disable=SC2086 # a list of options
{
    succeeds "an undisturbed run" train $job --run-dir "$T/whole" -q

    hold 3 train $job $often # it has a checkpoint
    let_go KILL
    run runs --json
    id=$("$JSON_LOOK" "$T/out" runs.0.id)
    is "a killed run is interrupted" runs.0.status interrupted
    succeeds "resume by the beginning of the ID" resume "${id%??}" --save k.safetensors \
        --export k.json
    shows "$id: done after 20 iterations" "  to its end"
    shows 'checkpoints?, .* % of the run' "  with the cost of checkpoints"
    grep -q 'continues after iteration [0-9]* of 20' "$T/err" && ok "  and the iteration from which it continued" ||
        not_ok "  and the iteration from which it continued" "$(told)"
    same_figures "$XDG_STATE_HOME/tinca/runs/$id"
    cmp -s k.safetensors whole/weights.safetensors && ok "  with the same bits" ||
        not_ok "  with the same bits"
    is "  and has each iteration once" "runs.0.series.iteration.#" 20 k.json
    is "  in order" runs.0.series.iteration.19 20 k.json
    refuses 2 "complete" "a complete run" resume "$id"
    rm -r "$XDG_STATE_HOME/tinca/runs"

    # killed at its end: the best validation was long before the checkpoint from which it is resumed
    worse="lenet --data digits,limit=60 --validate digits,split=test,limit=40 --batch 20 --epochs 12 --seed 3 --threads 1 --lr 0.02"
    succeeds "a run whose best validation is not the last" train $worse --run-dir "$T/best" -q
    env LD_PRELOAD="$HOLD_LIBRARY" FAULT=rename:1:kill FAULT_ONLY=summary.json \
        ASAN_OPTIONS="verify_asan_link_order=0:${ASAN_OPTIONS-}" "$TINCA" train $worse $often --run-dir "$T/late" -q
    [ -e late/summary.json ] && not_ok "a run is killed at its end" "$(cat late/summary.json)"
    succeeds "  killed at its end" resume ./late -q
    same_figures late best

    # the files that the command was to write are written by the one that resumes the run
    mkdir away
    hold 3 train $job $often --save s.safetensors --export s.json
    let_go KILL
    id=$(ls "$XDG_STATE_HOME/tinca/runs")
    cd away || exit 99
    succeeds "a run that was begun with --save and --export" resume "$id"
    cd .. || exit 99
    cmp -s s.safetensors whole/weights.safetensors && ok "  has its weights in that file" || not_ok "  has its weights in that file"
    is "  and its session" "runs.0.series.iteration.#" 20 s.json
    shows "weights in $T/s.safetensors" "  and says so"
    if grep -q "writes $T/s.safetensors, as it was begun with" "$T/err"; then ok "  also at its beginning"; else not_ok "  also at its beginning" "$(told)"; fi
    rm -r "$XDG_STATE_HOME/tinca/runs" s.json
    hold 3 train $job $often --save s.safetensors --export s.json
    let_go KILL
    rm s.safetensors
    succeeds "other files" resume "$(ls "$XDG_STATE_HOME/tinca/runs")" --save other.safetensors --export other.json -q
    [ -s other.safetensors ] && [ -s other.json ] && [ ! -e s.safetensors ] && [ ! -e s.json ] &&
        ok "  replace them" || not_ok "  replace them" "$(ls)"
    rm -r "$XDG_STATE_HOME/tinca/runs"

    says() { if grep -q -- "$1" "$T/err"; then ok "$2"; else not_ok "$2" "$(told)"; fi; }
    # a file that cannot be written any more does not keep the run from going on
    mkdir there
    hold 3 train $job $often --save there/s.safetensors --export there/s.json
    let_go KILL
    rm -r there
    succeeds "a run whose files have no folder any more" resume "$(ls "$XDG_STATE_HOME/tinca/runs")"
    says "$T/there/s.safetensors: this file will not be written" "  says that of its weights"
    says "$T/there/s.json: this file will not be written" "  and that of its session"
    rm -r "$XDG_STATE_HOME/tinca/runs"

    # the folder of a stranger could name any file
    for stranger in user host; do
        mine="$T/mine-$stranger"
        hold 3 train $job $often --save "$mine" --export "$mine.json"
        let_go KILL
        id=$(ls "$XDG_STATE_HOME/tinca/runs")
        echo mine >"$mine"
        echo mine >"$mine.json"
        case $stranger in user) value=77777 ;; host) value='"elsewhere"' ;; esac
        sed -i -e '/"crc32"/d' -e "s/\(\"$stranger\":[^0-9a-z\"]*\)[^,]*,/\1$value,/" "$XDG_STATE_HOME/tinca/runs/$id/outputs.json"
        grep -q "\"$stranger\":.$value," "$XDG_STATE_HOME/tinca/runs/$id/outputs.json" || not_ok "the $stranger is changed"
        succeeds "a run whose files another $stranger has named" resume "$id"
        says "$mine: this file will not be written .*another user, or another host" "  says that of its weights"
        says "$mine.json: this file will not be written" "  and that of its session"
        [ "$(cat "$mine" "$mine.json")" = "mine
mine" ] && ok "  and leaves them as they are" || not_ok "  and leaves them as they are"
        rm -r "$XDG_STATE_HOME/tinca/runs"
    done

    hold 3 train $job $often --save - >/dev/null
    let_go KILL
    run resume "$(ls "$XDG_STATE_HOME/tinca/runs")" -q
    [ "$status" = 0 ] && [ ! -s "$T/out" ] && ok "standard output is not written to again" ||
        not_ok "standard output is not written to again" "exit $status: $(told)"
    rm -r "$XDG_STATE_HOME/tinca/runs"
    hold 3 train $job $often --seeds 2 --name g --export g.json -q
    let_go KILL
    succeeds "a group of seeds" resume g@seeds -q
    is "  has its session, too" "runs.#" 2 g.json
    rm -r "$XDG_STATE_HOME/tinca/runs"

    long="lenet --data digits --batch 20 --epochs 1000 --threads 1"
    begin train $long $often
    refuses 2 "process $child has a run there" "a run that another process computes" resume "$id"
    kill -TERM $child
    wait $child
    refuses 2 "longer, not shorter" "fewer epochs" resume "$id" --epochs 3
    refuses 2 "other unit" "another unit" resume "$id" --iterations 100000
    refuses 2 "would change what the run computes" "another seed" resume "$id" --seed=4
    printf 'damage' | dd of="$XDG_STATE_HOME/tinca/runs/$id/checkpoint.safetensors" bs=1 seek=9000 \
        conv=notrunc 2>/dev/null
    rm -f err # the signal must come after the program has started
    "$TINCA" resume "$id" -q >out 2>err </dev/null &
    child=$!
    wait_until test -s err
    kill -TERM $child
    wait $child
    status=$?
    grep -q 'checkpoint.safetensors: its checksum is' err && ok "a damaged checkpoint is named" ||
        not_ok "a damaged checkpoint is named" "$(cat err)"
    [ $status = 130 ] && ok "  and the previous one is used" || not_ok "  and the previous one is used" "$status"
    rm -r "$XDG_STATE_HOME/tinca/runs"

    begin sweep --networks lenet --batches 20 --data digits --epochs 1000 --threads 1 --name s \
        --vary seed=3 $often -q
    kill -TERM $child
    wait $child
    succeeds "a sweep that was interrupted, --dry-run" sweep --name s --dry-run --json
    is "  the cell is interrupted" cells.0.state interrupted
    first=$("$JSON_LOOK" "$T/out" cells.0.run)
    "$TINCA" sweep --name s -q >out 2>err </dev/null &
    child=$!
    journal=$XDG_STATE_HOME/tinca/runs/$first/journal
    wait_until has_line '"event":"resume"' "$journal"
    kill -TERM $child
    wait $child
    has_line '"event":"resume"' "$journal" && ok "the sweep resumes the run" ||
        not_ok "the sweep resumes the run" "$(cat err)"
    [ "$(ls "$XDG_STATE_HOME/tinca/runs")" = "$first" ] && ok "  and starts no other run" ||
        not_ok "  and starts no other run"
}
done_testing
