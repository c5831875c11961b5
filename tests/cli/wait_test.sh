#!/bin/sh
# tinca train --wait and tinca resume --wait: one run at a time in several processes, in their order.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
cd "$T" || exit 99
job="lenet --data digits,limit=200 --batch 20 --seed 3 --threads 1"
queue=$XDG_STATE_HOME/tinca/queue

is_alive() { ls "$XDG_STATE_HOME"/tinca/runs/*/journal >/dev/null 2>&1; }
# A place's file is there a moment before its process holds it: until then it is not listed.
lists() { [ "$("$TINCA" runs status:waiting | grep -c 'waiting, place')" -eq "$1" ]; }
has_places() { [ "$(ls "$queue" 2>/dev/null | grep -c '^[0-9]')" -eq "$1" ]; }
has_fourth() { [ "$(count_runs)" -eq 4 ] && "$TINCA" runs | grep -q running; }
count_runs() { ls -d "$XDG_STATE_HOME"/tinca/runs/2* | wc -l; }

# shellcheck disable=SC2086 # a list of options
{
    "$TINCA" train $job --epochs 100000 -q >/dev/null 2>&1 </dev/null &
    first=$!
    wait_until is_alive
    "$TINCA" train $job --epochs 1 --wait >killed 2>&1 </dev/null &
    killed=$!
    wait_until lists 1
    "$TINCA" train $job --epochs 2 --wait >second 2>&1 </dev/null &
    second=$!
    wait_until lists 2
    "$TINCA" train $job --epochs 3 --wait >third 2>&1 </dev/null &
    third=$!
    wait_until lists 3
    "$TINCA" train $job --epochs 4 --wait >stopped 2>&1 </dev/null &
    stopped=$!
    wait_until lists 4 && ok "four processes wait" || not_ok "four processes wait" "$(ls "$queue")"
    [ "$(count_runs)" -eq 1 ] && ok "  and have no run yet" || not_ok "  and have no run yet"
    grep -q "waits for 2.*lenet" second && ok "  and say for which run" || not_ok "  and say for which run" "$(cat second)"
    run runs status:waiting
    [ "$(grep -c 'waiting, place [1-4] .*lenet batch 20 on cpu, digits,limit=200; since 20.*, process' out)" -eq 4 ] &&
        grep -q "place 1 .*process $killed\$" out && grep -q "place 4 .*process $stopped\$" out &&
        ok "tinca runs lists them in their order" || not_ok "tinca runs lists them in their order" "$(cat out err)"
    run runs --json status:waiting batch:20
    [ "$(grep -c '"status":.*"waiting"' out)" -eq 4 ] && grep -q "\"process\":.*$third" out &&
        grep -q '"place":.*3' out && ok "  as JSON, too" || not_ok "  as JSON, too" "$(cat out err)"
    run runs status:waiting batch:10
    grep -q 'None of the' out && ok "  and filters them" || not_ok "  and filters them" "$(cat out err)"
    : >"$queue/00000000000000000099"
    run runs --json
    grep -q '"place":.*5' out && not_ok "a place without a process is none" "$(cat out)" || ok "a place without a process is none"
    kill -9 $killed
    kill -TERM $stopped
    wait $killed 2>/dev/null
    wait $stopped 2>/dev/null
    [ $? -eq 130 ] && ok "a signal ends a wait" || not_ok "a signal ends a wait" "$(cat stopped)"
    run train nothing --data digits --wait
    [ "$status" -eq 2 ] && ok "a mistake does not wait" || not_ok "a mistake does not wait" "$status"
    kill -9 $first
    wait $first 2>/dev/null
    wait $second
    [ $? -eq 0 ] && ok "when the first run is killed, the next one starts" ||
        not_ok "when the first run is killed, the next one starts" "$(cat second)"
    wait $third
    [ $? -eq 0 ] && ok "  and then the one after it" || not_ok "  and then the one after it" "$(cat third)"
    journal_lines "$XDG_STATE_HOME"/tinca/runs/2*/journal | grep -h '"event":"start"' | wc -l >starts
    [ "$(cat starts)" -eq 3 ] && ok "  a killed or stopped one has no run" ||
        not_ok "  a killed or stopped one has no run" "$(cat starts)"
    ls "$XDG_STATE_HOME"/tinca/runs | grep '^2' >ids
    second_id=$(sed -n 's/^\(2[^:]*\): done after 20 .*/\1/p' second)
    third_id=$(sed -n 's/^\(2[^:]*\): done after 30 .*/\1/p' third)
    end=$(stat -c %Y "$XDG_STATE_HOME/tinca/runs/$second_id/summary.json")
    begin=$(stat -c %Y "$XDG_STATE_HOME/tinca/runs/$third_id/config.json")
    [ -n "$third_id" ] && [ "$begin" -ge "$end" ] && ok "  one at a time" || not_ok "  one at a time" "$end $begin"
    has_places 0 && ok "the queue is empty" || not_ok "the queue is empty" "$(ls "$queue")"
    "$TINCA" train $job --epochs 100000 -q >/dev/null 2>&1 </dev/null &
    first=$!
    wait_until has_fourth
    run train --fork "$second_id" --technique dsc --wait
    [ "$status" -eq 2 ] && grep -q 'weights of the ancestor' err && ok "a fork that is refused does not wait" ||
        not_ok "a fork that is refused does not wait" "$status $(cat err)"
    "$TINCA" resume "$(head -n 1 ids)" --wait >resumed 2>&1 </dev/null &
    resumed=$!
    wait_until lists 1 && ok "resume waits, too" || not_ok "resume waits, too" "$(cat resumed)"
    run runs status:waiting
    grep -q "$(head -n 1 ids) .*waiting, place 1 .*/" out && [ "$(wc -l <out)" -eq 2 ] &&
        ok "  and its run is listed as waiting" || not_ok "  and its run is listed as waiting" "$(cat out err)"
    run runs --json status:waiting
    grep -q '"command":.*"resume"' out && grep -q "\"id\":.*$(head -n 1 ids)" out &&
        ok "  as JSON, too" || not_ok "  as JSON, too" "$(cat out err)"
    kill -TERM $resumed
    wait $resumed
    kill -9 $first
    wait $first 2>/dev/null
}

# --- a sweep ---
cat >grid.json <<'END'
{"name": "queued", "networks": ["lenet"], "batches": [10, 20], "data": "digits,limit=200", "epochs": 1, "threads": 1}
END
# shellcheck disable=SC2086 # a list of options
{
    before=$(count_runs)
    run sweep grid.json --wait --jobs 2
    [ "$status" -eq 2 ] && grep -q 'one of --wait and --jobs' err && ok "several jobs cannot wait" ||
        not_ok "several jobs cannot wait" "$status $(cat err)"
    "$TINCA" train $job --epochs 100000 -q >/dev/null 2>&1 </dev/null &
    first=$!
    has_more() { [ "$(count_runs)" -gt "$before" ] && "$TINCA" runs | grep -q running; }
    wait_until has_more
    ls "$XDG_STATE_HOME/tinca/runs" | grep '^2' >known
    "$TINCA" sweep grid.json --wait >swept 2>&1 </dev/null &
    sweep=$!
    wait_until lists 1 && ok "a sweep waits" || not_ok "a sweep waits" "$(cat swept)"
    "$TINCA" train $job --epochs 1 --wait >after 2>&1 </dev/null &
    after=$!
    wait_until lists 2
    [ "$(count_runs)" -eq $((before + 1)) ] && ok "  and has no run yet" || not_ok "  and has no run yet"
    kill -9 $first
    wait $first 2>/dev/null
    wait $sweep
    [ $? -eq 0 ] && grep -q 'Loss at the end' swept && ok "  and then computes its cells" ||
        not_ok "  and then computes its cells" "$(cat swept)"
    wait $after
    [ $? -eq 0 ] && ok "  and the run after it" || not_ok "  and the run after it" "$(cat after)"
    after_id=$(sed -n 's/^\(2[^:]*\): done after 10 .*/\1/p' after)
    begins() { for id; do stat -c %.3Y "$XDG_STATE_HOME/tinca/runs/$id/config.json"; done; }
    cells=$(ls "$XDG_STATE_HOME/tinca/runs" | grep '^2' | grep -vxF -f known | grep -vx "$after_id")
    # The names of runs that begin in the same second do not say which was first.
    # shellcheck disable=SC2086 # a list of IDs
    cells=$(begins $cells | sort -n)
    order=$(echo "$cells" | head -n 1; begins "$after_id"; echo "$cells" | tail -n 1)
    echo "$order" | sort -nc 2>order_error && [ "$(echo "$cells" | wc -l)" -eq 2 ] &&
        ok "  between two cells: the second joined the queue later" || not_ok "  between two cells" "$order"
    has_places 0 && ok "  nobody waits at the end" || not_ok "  nobody waits at the end" "$(ls "$queue")"
}
done_testing
