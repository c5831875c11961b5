#!/bin/sh
# Runs of earlier versions, which are stored in tests/cli/old_runs, open in every command: they are listed, checked,
# compared, exported, measured, resumed, forked and deleted like the runs of today.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
old=$(cd "$srcdir/tests/cli/old_runs" && pwd) logs=$(cd "$srcdir/tests/cli/logs" && pwd)
cd "$T" || exit 99
home=$T/state/tinca/runs
mkdir -p "$home"
umask 077
awk -v to="$home" -f "$old/unpack.awk" "$old"/*.run
chmod 700 "$T/state" "$T/state/tinca" "$home" "$home"/*

cat >dot.json <<'NETWORK'
{"name": "dot", "input": [1, 28, 28], "classes": 10, "normalise": "unit",
 "layers": [{"op": "flatten", "name": "flatten"}, {"op": "linear", "name": "fc1", "output": 1, "init": "he"},
            {"op": "relu", "name": "relu1"}, {"op": "linear", "name": "fc2", "output": "classes", "init": "xavier"}]}
NETWORK

count=$(ls "$home" | wc -l)
[ "$count" = "$(ls "$old"/*.run | wc -l)" ] && [ "$count" -ge 8 ] && ok "$count stored runs are unpacked" ||
    not_ok "the stored runs are unpacked" "$(ls -l "$home")"
succeeds "runs lists all of them" runs
[ "$(grep -c '^2026' "$T/out")" = "$count" ] && ! grep -qE 'unreadable|incomplete' "$T/out" &&
    ok "  each with its status" || not_ok "  each with its status" "$(cat "$T/out")"
run runs --json
cp "$T/out" listed.json
is "  as JSON, too" "runs.#" "$count" listed.json
id_of() { sed -n 's/^@run //p' "$old/$1.run"; }
all='' done='' trained='' stopped=''
for file in "$old"/*.run; do
    label=$(basename "$file" .run)
    id=$(id_of "$label")
    all="$all $id"
    case $label in
    *-done) done="$done $id" trained="$trained $id" ;;
    *-stopped) trained="$trained $id" stopped="$stopped $id" ;;
    esac
done
# the first version wrote no lock and no checkpoint, so that its stopped run cannot go on
first=$(id_of 2026-11-21-stopped)
run runs --check
[ "$(tail -n 1 "$T/out")" = "$count runs checked, 1 damaged, 1 with warnings" ] &&
    [ "$(grep -v warning: "$T/out" | grep '^2026' | cut -d: -f1,2)" = "$first: checkpoint.safetensors" ] &&
    ok "runs --check finds nothing else to complain of" ||
    not_ok "runs --check finds nothing else to complain of" "$(cat "$T/out")"

place_of() { # place_of ID FILE: prints the run's place in a list
    index=0
    while found=$("$JSON_LOOK" "$2" runs.$index.id 2>/dev/null) && [ "$found" != "$1" ]; do index=$((index + 1)); done
    echo $index
}
expect() { # expect LABEL STATUS: the list gives this status
    is "$1 is $2" "runs.$(place_of "$(id_of "$1")" listed.json).status" "$2" listed.json
}
for file in "$old"/*.run; do
    label=$(basename "$file" .run)
    case $label in
    *-stopped) expect "$label" stopped ;;
    *) expect "$label" done ;;
    esac
done

# the entries of their journals are the lines that they were written as, also after they have become records
wrong=
for id in $all; do
    journal_lines "$home/$id/journal.jsonl" >lines
    journal_lines -w records lines && journal_lines records >again
    cmp -s lines "$home/$id/journal.jsonl" && cmp -s lines again || wrong="$wrong $id"
done
[ -z "$wrong" ] && ok "records give the lines of JSON of earlier versions" ||
    not_ok "records give the lines of JSON of earlier versions" "$wrong"

succeeds "compare puts all of them side by side" compare $all
succeeds "  and as JSON" compare $all --json
succeeds "advise reads them" advise $done --need faster
succeeds "export writes a session of all" export $all -o session.json
is "  with every run" "runs.#" "$count" session.json
is "  of the present format" version "$("$JSON_LOOK" session.json version)" session.json
succeeds "export writes the studies' tables" export $all --format csv -o tables
succeeds "export writes a report" export $all --format md -o report.md
for id in $done; do
    succeeds "measure times the model of $id" measure "$id"
    succeeds "  eval reads it" eval "$home/$id/best.safetensors" --data digits,limit=20 --json
    is "  and finds the accuracy that the run recorded" top1 \
        "$("$JSON_LOOK" listed.json "runs.$(place_of "$id" listed.json).best_top1")"
    succeeds "  a new run begins with its weights" train dot.json --weights "$home/$id/best.safetensors" \
        --data digits,limit=40 --batch 20 --epochs 1 --threads 1 -q
done
forked=
for id in $stopped; do
    if [ -f "$home/$id/checkpoint.safetensors" ]; then
        # resume reads all that a fork does; WHOLE=1: a fork of each
        if whole_list || [ -z "$forked" ]; then
            succeeds "a run forks from $id" train --fork "$id@last" --iterations 5 --threads 1 -q
            forked=$id
        fi
        run resume "$id" -q
        [ "$status" = 0 ] && ok "resume finishes $id" || not_ok "resume finishes $id" "$(told)"
        run runs --json
        is "  which is done then" "runs.$(place_of "$id" "$T/out").status" done
    fi
done
# a run that is resumed is brought to the present form, and needs no file of the earlier one
for id in $stopped; do
    [ -f "$home/$id/journal" ] && [ ! -e "$home/$id/journal.jsonl" ] && ok "$id has a journal of records then" ||
        { [ "$id" = "$first" ] || not_ok "$id has a journal of records then" "$(ls "$home/$id")"; }
done

# whichever call it is killed at meanwhile, it ends with the same bits when it is resumed once more
. "$srcdir/tests/faults/same_run.sh"
FAULTS=$(cd "$(dirname "$TINCA")" && pwd)/faults.so
last=$(id_of 2026-11-30-stopped)
if [ -f "$FAULTS" ]; then
    mkdir packed
    awk -v to=packed -f "$old/unpack.awk" "$old/2026-11-30-stopped.run"
    chmod 700 "packed/$last"
    kills=0 wrong=
    for fault in write:1 write:2 write:4 write:9 open:2 fsync:1 fsync:2 rename:1 rename:2 fsync:4 unlink:1 unlink:2; do
        rm -rf r && cp -rp "packed/$last" r
        FAULT=$fault:kill LD_PRELOAD=$FAULTS "$TINCA" resume ./r --threads 1 --checkpoint 0.001 \
            --checkpoint-share 100 -q >"$T/out" 2>"$T/err" </dev/null
        [ -f r/summary.json ] && grep -q '"done"' r/summary.json || {
            kills=$((kills + 1))
            run resume ./r --threads 1 -q
            [ "$status" = 0 ] || wrong="$wrong $fault: $(told)"
        }
        cmp -s r/weights.safetensors "$home/$last/weights.safetensors" &&
            [ "$(curves r)" = "$(curves "$home/$last")" ] || wrong="$wrong $fault"
        run runs --check ./r
        [ "$status" = 0 ] && [ ! -e r/journal.jsonl ] || wrong="$wrong $fault: $(head -c 300 "$T/out")"
    done
    [ -z "$wrong" ] && [ $kills -ge 6 ] && ok "killed at $kills of 12 calls, a run of an earlier version ends with the same bits" ||
        not_ok "killed at $kills of 12 calls, a run of an earlier version ends with the same bits" "$wrong"
else
    skip "killed, a run of an earlier version ends with the same bits" "there is no faults.so"
fi
for id in $trained; do
    run attach "$id"
    [ "$status" = 0 ] || { [ "$status" = 130 ] && [ "$id" = "$first" ]; } && ok "attach shows the end of $id" ||
        not_ok "attach shows the end of $id" "exit $status: $(told)"
    succeeds "explain explains its losses" explain "$id"
done
done_testing
