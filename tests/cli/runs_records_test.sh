#!/bin/sh
# Runs as records: tinca runs filters by fields, sorts, shows the disk space, deletes, restores and prunes.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/faults/hold.sh"
cd "$T" || exit 99
home=$T/state/tinca/runs

train() { "$TINCA" train mlp --widths 1 --data digits,limit=40 --batch 20 --threads 1 -q "$@" || exit 99; }
train --epochs 2 --validate digits,limit=20 --lr 0.1 --name first --tag good --note 'a note'
sleep 1 # IDs are sorted by the second
train --epochs 1 --lr 0.2 --tag goodish --solver adam
sleep 1
train --epochs 3 --lr 0.05
run runs --json
cp "$T/out" all.json
first=$("$JSON_LOOK" all.json runs.0.id) second=$("$JSON_LOOK" all.json runs.1.id)
third=$("$JSON_LOOK" all.json runs.2.id)

# --- the filter ---
# matches IDS FILTER...: the filter lets these runs pass, in this order
matches() {
    expected=$1
    shift
    run runs --json "$@"
    found=
    for i in 0 1 2; do
        id=$("$JSON_LOOK" "$T/out" runs.$i.id 2>/dev/null) || break
        found="$found${found:+ }$id"
    done
    [ "$found" = "$expected" ] && [ "$status" = 0 ] && ok "$*" || not_ok "$*" "$found, not $expected: $(told)"
}
matches "$first" lr=0.1
matches "$second $third" lr!=0.1
matches "$first $third" lr:0.05..0.1
matches "$first $second $third" network~MLP status=finished
matches "" network~resnet
matches "$second $third" network=mlp-w1 'name!=first'
matches "$first" 'top1>=0'
matches "$second $third" 'top1!=200' 'iteration!=4'
matches "$first" tag=good
matches "$first $second" tag~good
matches "$third" 'tag!~good'
matches "$second" solver=adam
matches "$first" 'note=a note'
matches "$first" 'note~a n'
matches "$second" 'epoch<2'
matches "$first $second $third" 'disk>1k' 'disk<1M'
matches "$third $first $second" --sort lr
matches "$second $first $third" --sort -lr
matches "$first $second $third" --sort top1
matches "$third $first" --sort -epoch 'epoch>1'

refuses 2 'lr has numbers, not texts' "a number contains nothing" runs lr~1
refuses 2 'network has texts' "a text is not compared" runs 'network>1'
refuses 2 'status is never "over"; it can be waiting, .*done' "a status that does not exist" runs status=over
refuses 2 'solver is never "adma"; it can be sgd, .*adam' "nor a solver" runs solver=adma
refuses 2 'strict-device is never "perhaps"; it can be yes, no' "nor an answer" runs strict-device=perhaps
refuses 2 '"many" is not a number' "a number that is none" runs lr=many
for what in lrate=1 '--sort lrate'; do
    run runs $what
    [ "$status" = 2 ] && grep -q '^tinca: .*there is no field "lrate"' "$T/err" &&
        grep -q '^Fields: id, name, .*best-val-loss.*, lr, .*seed' "$T/err" && [ ! -s "$T/out" ] &&
        ok "$what: an unknown field is refused with the list of fields" || not_ok "$what" "$status: $(told)"
done

# --- every field ---
is "runs --json has the settings" runs.0.fields.lr 0.1 all.json
is "  numbers" runs.0.fields.epoch 2 all.json
is "  texts" runs.0.fields.note 'a note' all.json
is "  and null where there is none" runs.1.fields.top1 null all.json
bytes=$(cat "$home/$first"/* | wc -c)
is "  and the disk space" runs.0.disk_bytes "$bytes" all.json
for field in $("$TINCA" runs lrate=1 2>&1 | sed -n 's/^Fields: \(.*\)\.$/\1/p' | tr -d ,); do
    "$JSON_LOOK" all.json "runs.0.fields.$field" >found 2>&1 || missing="$missing $field"
done
[ -z "$missing" ] && ok "  every field that filters know" || not_ok "  every field that filters know" "$missing"
succeeds "runs --disk" runs --disk
shows 'DISK +WHAT' "  has a column"
shows '^3 runs take .* KiB' "  and the sum"

# --- deletion ---
refuses 2 'not said which' "deletion without a filter" runs --delete
refuses 2 'nobody can be asked: give --yes' "deletion without a terminal" runs --delete "$second"
[ -d "$home/$second" ] && ok "  deletes nothing" || not_ok "  deletes nothing"
refuses 2 'cannot be combined' "--yes without anything to agree to" runs --yes
succeeds "runs --delete --yes" runs --delete --yes lr=0.2 --json
is "  says which" deleted.0 "$second"
[ ! -e "$home/$second" ] && [ -d "$home/$first" ] && ok "  deletes that run alone" || not_ok "  deletes that run alone"
run runs --disk
shows '^1 deleted run in the trash takes .* KiB' "--disk shows the trash"
succeeds "runs --undelete" runs --undelete
[ -d "$home/$second" ] && ok "  brings it back" || not_ok "  brings it back"
succeeds "deletion of nothing" runs --delete --yes lr=77
shows 'None of the 3 runs' "  says so"
if command -v script >/dev/null 2>&1; then
    printf 'n\n' | script -qec "'$TINCA' runs --delete $second" /dev/null >asked 2>&1
    grep -q 'moves to the trash. Go on' asked && [ -d "$home/$second" ] && ok "on a terminal it asks, and n keeps the run" ||
        not_ok "on a terminal it asks, and n keeps the run" "$(cat asked)"
    printf 'y\n' | script -qec "'$TINCA' runs --delete $second" /dev/null >asked 2>&1
    [ ! -d "$home/$second" ] && ok "  and y deletes it" || not_ok "  and y deletes it" "$(cat asked)"
    run runs --undelete
else
    skip "on a terminal it asks" "script is not installed"
fi

# --- pruning ---
files() { (cd "$home/$1" && echo *.safetensors); }
refuses 2 'which weights are to stay' "pruning needs --keep" runs --prune --yes
refuses 2 'cannot be combined' "--keep needs --prune" runs --keep best
refuses 2 'lost for good.*--yes' "pruning without a terminal" runs --prune --keep none
[ "$(files "$first")" = "best.safetensors weights.safetensors" ] && ok "  deletes nothing" || not_ok "  deletes nothing"
# a stopped process still holds its run
hold 5 train mlp --widths 1 --data digits,limit=40 --batch 20 --iterations 200 --device reference \
    --checkpoint 0.001 --checkpoint-share 100 --threads 1 -q
live=$(ls "$home" | grep -vxe "$first" -e "$second" -e "$third")
run runs --delete --yes "id=$live"
[ "$status" = 2 ] && grep -q 'is on' "$T/err" && [ -d "$home/$live" ] && ok "a run that is on is not deleted" ||
    not_ok "a run that is on is not deleted" "$status: $(told)"
run runs --prune --keep none --yes "id=$live"
grep -q "$live is left alone: it is on" "$T/err" && [ -e "$home/$live/checkpoint.safetensors" ] &&
    ok "nor pruned" || not_ok "nor pruned" "$(cat "$T/out" "$T/err")"
[ -e "$home/$live/checkpoint.previous.safetensors" ] && ok "  and has two checkpoints" ||
    not_ok "  and has two checkpoints" "$(files "$live")"
let_go INT
size=$(wc -c <"$home/$first/weights.safetensors")
succeeds "runs --prune --keep best" runs --prune --keep best --yes id=$first --json
is "  counts the bytes" bytes "$size"
[ "$(files "$first")" = best.safetensors ] && ok "  leaves the best model" || not_ok "  leaves the best model" "$(files "$first")"
succeeds "--keep best" runs --prune --keep best --yes id=$third
[ "$(files "$third")" = weights.safetensors ] && ok "  of a run without validation leaves the final one" ||
    not_ok "  of a run without validation leaves the final one" "$(files "$third")"
succeeds "--keep last" runs --prune --keep last --yes "id=$live"
[ "$(files "$live")" = "checkpoint.safetensors weights.safetensors" ] && ok "  leaves the checkpoint of a stopped run" ||
    not_ok "  leaves the checkpoint of a stopped run" "$(files "$live")"
succeeds "  which goes on" resume "$live" -q
succeeds "--keep none" runs --prune --keep none --yes
shows 'Freed .* of 4 runs' "  says what it freed"
[ "$(echo "$home"/*/*.safetensors)" = "$home/*/*.safetensors" ] && ok "  leaves no weights" || not_ok "  leaves no weights"
succeeds "runs --check misses none of them" runs --check
[ "$(cat "$T/out")" = "4 runs checked, 0 damaged, 0 with warnings" ] && ok "  and warns of nothing" ||
    not_ok "  and warns of nothing" "$(cat "$T/out")"
succeeds "pruned runs are compared" compare "$first" "$second" "$third"
succeeds "  and deleted" runs --delete --yes mlp
succeeds "  and restored" runs --undelete
shows 'Restored 4 runs' "  all of them"

# --- how a run came about, and labels of a sweep ---
sed -i 's/"command"/"comment"/' "$home/$first/provenance.json"
succeeds "a run with a damaged file is exported" export "$first" -o session.json
is "  which names it" runs.0.damaged.0 provenance.json session.json
succeeds "a sweep gives its runs tags and a note" sweep --networks mlp --data digits,limit=20 --batches 10,20 \
    --widths 1 --iterations 1 --name labelled --tag night --tag two --note 'of the night' -q
run runs --json tag=night tag=two 'note=of the night'
is "  each of them" "runs.#" 2
refuses 2 'keeps the tags' "which an earlier sweep keeps" sweep --name labelled --tag other -q
refuses 2 'tag' "an invalid tag is refused" sweep --networks mlp --data digits --tag a:b -q
printf '{"networks": "mlp", "data": "digits,limit=20", "batches": 5, "widths": "1", "iterations": 1,
  "tags": "filed", "note": "by file"}' >grid.json
succeeds "a grid's file has them, too" sweep grid.json -q
run runs --json tag=filed 'note=by file'
is "  for its run" "runs.#" 1
printf '{"networks": "mlp", "data": "digits", "tags": "-x"}' >grid.json
refuses 1 'line 1: "tags"' "and invalid ones are refused" sweep grid.json -q
done_testing
