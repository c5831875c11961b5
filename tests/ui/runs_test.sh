#!/bin/sh
# The list of runs as the place to find and compare runs: filters with completion, groups, columns, saved views,
# the preview, tags, notes, deletion with undo; typed and clicked. And the same filters on the command line.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "runs are filtered, grouped and restored"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
cp "${srcdir:-.}/networks/mlp.json" "$T/mynet.json"
cd "$T" || exit 99
runs=$XDG_STATE_HOME/tinca/runs
train() {
    "$TINCA" train "$@" --iterations 8 --threads 1 -q --data digits,limit=64 --validate digits,split=test,limit=40
    sleep 1 # IDs are sorted by the second
}
train mlp --lr 0.1 --seed 1 --tag good --tag first
train mlp --lr 0.1 --seed 2 --name 'my study'
train mlp --lr 0.03 --seed 1
train "$T/mynet.json" --lr 0.03 --seed 2
"$TINCA" train mlp --data digits,limit=64 --lr 1000000 --iterations 200 --threads 1 -q 2>/dev/null

# --- the command line ---
run runs --json
is "train --tag stores tags" runs.0.tags.1 first
is "train --name stores a name" runs.1.name "my study"
is "a run of mynet.json is called mynet" runs.3.network mynet
is "a run whose loss is not finite has diverged" runs.4.status diverged
run runs --json lr:0.03..0.1 status:done
is "a filter of two terms" "runs.#" 4
run runs --json tag:good
is "a filter by a tag" "runs.#" 1
run runs 'name:my study'
shows 'my study' "an operand with a space"
run runs lrate:1
[ "$status" = 2 ] && grep -q 'no field "lrate"; perhaps .*lr' "$T/err" &&
    ok "an unknown field is refused, with candidates" || not_ok "an unknown field is refused, with candidates" "$(told)"
run runs lr:77
shows 'None of the 5 runs' "a filter that matches nothing says so"
refuses 2 'tag' "an invalid tag is refused" train mlp --data digits --tag a:b
refuses 2 'slashes' "and an invalid name, before training" train mlp --data digits --name a/b

# --- columns ---
screen_start 118x30 C.UTF-8 "$TINCA"
screen_wait 'What it takes'
screen_keys o
screen_shows 'status +network +name +tags .*seed' "settings that differ have a column"
screen_lacks 'device|technique' "those that do not differ have none"
screen_shows 'diverged +mlp' "the run has diverged here, too"
screen_shows '5 runs, none on' "the title counts the runs of the list"
screen_shows 'done +mynet' "and mynet is called so"
screen_resize 72x30
screen_shows 'status.* lr +seed +loss' "with less space those that change most stay"
screen_lacks 'iterations|validate' "not the length of the runs or long texts"
screen_resize 118x30
screen_wait 'validate'
screen_keys C
screen_wait 'automatic; space'
screen_keys End
screen_keys Space
screen_wait 'a automatic'
screen_keys Escape
screen_shows 'network.*tensorb' "C adds a column by hand"
screen_keys q q
ended "the program ends"
screen_start 118x30 C.UTF-8 "$TINCA"
screen_wait 'What it takes'
screen_keys o
screen_shows 'network.*tensorb' "which the next session shows again"
screen_keys C
screen_wait 'space toggles'
for step in $(seq 21); do screen_keys Down; done
screen_shows '>.{1,5} disk +disk space' "a column can show the disk space"
screen_keys Space Escape
screen_shows '(done|diverged) .* [0-9.]+ (K|M)iB' "and then shows it"
screen_keys C
screen_resize 40x12
screen_shows 'a automatic, space toggles, Esc ends' "a small terminal has the whole line about the keys"
screen_shows '^space toggle +Down next +a automatic' "and the line of hints, with the list's keys, is free of the box"
screen_resize 118x30
screen_keys a Escape
screen_lacks 'tensorb' "a there chooses the columns automatically again"

# --- the filter ---
screen_keys / l r
screen_shows 'lr:' "completion offers the field"
screen_shows 'Tab complete' "and the hints name its key"
screen_keys Tab
screen_shows '^ / lr:' "Tab completes it"
screen_shows 'lr:0.03 +lr:0.1 +lr:1e\+06' "and then offers the values that occur"
screen_keys 0.03 Enter
screen_shows '2 of 5 runs' "the filter is in effect"
screen_keys /
screen_keys C-u
screen_keys 'lrate:3'
screen_shows 'no field "lrate"' "an unknown field is explained"
screen_keys C-u
screen_keys 'status:done -tag:good' Enter
screen_shows '3 of 5 runs' "a negated term"
screen_keys /
screen_keys C-u
screen_keys 'lr!=0.03 status=finished' Enter
screen_shows '2 of 5 runs' "the operators of the command line"
screen_keys /
screen_keys C-u
screen_keys 'status=over'
screen_shows 'status is never "over"' "a status that does not exist is explained"
screen_keys C-u
screen_keys 'status:done -tag:good' Enter
screen_wait '3 of 5 runs'
screen_keys V
screen_wait 'A name for this view'
screen_keys untagged Enter
screen_shows 'view "untagged" is saved' "V saves the view"
screen_keys Escape
screen_shows '5 runs$' "Esc removes the filter"
screen_keys v
screen_wait 'untagged'
screen_keys unt Enter
screen_shows '3 of 5 runs' "v shows the view again"
grep -q '"untagged"' "$XDG_CONFIG_HOME/tinca/views.json" && ok "it is stored in views.json" ||
    not_ok "it is stored in views.json" "$(cat "$XDG_CONFIG_HOME/tinca/views.json")"
screen_keys v
screen_wait 'untagged'
screen_keys Down DC Escape
screen_shows 'view "untagged" is removed' "Del removes a view"
screen_keys Escape
screen_wait '5 runs$'

# --- groups ---
screen_keys b
screen_wait 'Group by'
screen_keys lr Enter
screen_shows '> *- lr 0.03  2 runs  loss [0-9.]+ ± [0-9.]+' "a group has its mean and standard deviation"
screen_shows 'lr 1000000  1 run' "a group of one run has no deviation"
screen_keys Enter
screen_shows '> *\+ lr 0.03  2 runs' "Enter closes it"
screen_lacks 'mynet' "and its runs are not shown"
screen_keys Right
screen_shows '> *- lr 0.03  2 runs' "Right opens it"
screen_keys Space
screen_shows '2 of 5 marked' "space marks the runs of the group"
screen_keys u
screen_keys b
screen_wait 'Group by'
screen_keys none Enter
screen_lacks 'lr 0.03  2 runs' "none removes the groups"

# --- tags and a note ---
screen_keys Home
screen_keys t
screen_wait 'tags are separated'
screen_keys 'bad:tag' Enter
screen_shows 'none of : < >' "an invalid tag is refused with a message"
screen_keys C-u
screen_keys 'slow' Enter
screen_shows 'has the tags "slow"' "t tags the run"
screen_keys t
screen_wait 'tags are separated'
screen_keys C-u
screen_keys '+odd' Enter
screen_shows 'has the tags "slow odd"' "a sign adds a tag to one run, too"
screen_keys Space Space t
screen_wait '2 marked runs'
screen_keys 'late -slow' Enter
screen_shows 'Tagged 2 runs' "and the marked runs"
run runs --json tag:late -- -tag:slow
is "which the command line finds" "runs.#" 2
screen_keys u Home N
screen_wait 'A note about'
screen_keys 'rate too high' Enter
screen_shows 'rate too high' "N writes a note"

# --- pruning ---
models() { find "$runs" -name '*.safetensors' | wc -l; }
screen_keys a
screen_wait '5 runs are marked'
before=$(models)
screen_keys w
screen_shows 'keep the best model frees' "w asks which weights stay"
screen_shows 'lost for good' "and says that they are lost"
screen_keys k
[ "$(models)" = "$before" ] && ok "k keeps all" || not_ok "k keeps all" "$before, $(models)"
screen_keys w
screen_wait 'keep the best model frees'
screen_keys b
screen_shows 'Deleted weights of [1-5] runs?: [0-9.]+ MB in' "b keeps the best models"
after=$(models)
[ "$after" -lt "$before" ] && [ "$after" -ge 1 ] && ok "  and deletes others" || not_ok "  and deletes others" "$before, $after"
screen_keys w
screen_wait 'keep the best model frees'
screen_keys d
no_models() { [ "$(models)" = 0 ]; }
wait_until no_models
no_models && ok "d deletes all" || not_ok "d deletes all" "$(models)"
screen_keys w
screen_shows 'There are no weights to delete' "then none are left"
run runs --check
[ "$status" = 0 ] && ok "the runs are sound" || not_ok "the runs are sound" "$(cat out err)"
screen_keys u

# --- deletion and undo ---
screen_keys a
screen_wait '5 runs are marked'
screen_keys d
screen_shows 'U restores it for 30 days' "d says how long it can be undone"
screen_keys d
screen_shows 'Deleted 5 runs: U restores them' "and deletes"
[ -z "$(ls "$runs")" ] && ok "the runs are gone" || not_ok "the runs are gone" "$(ls "$runs")"
screen_keys U
screen_shows 'Restored 5 runs' "U restores them"
screen_shows '> .*diverged' "the list shows them again"
[ "$(ls "$runs" | wc -l)" = 5 ] && ok "in their folder" || not_ok "in their folder" "$(ls "$runs")"
screen_keys U
screen_shows 'has its earlier note again' "a second U undoes the note before it"
screen_lacks 'rate too high' "which is gone"
screen_keys U
screen_shows '2 runs have their earlier tags again' "the next one the tags of two runs"
run runs --json tag:slow
is "in their files, too" "runs.#" 1
screen_keys R
screen_wait 'A name for this run'
screen_keys C-u
screen_keys 'second thought' Enter
screen_wait 'is called "second thought" now'
screen_keys U
screen_shows 'has its earlier name again' "U undoes a name"
screen_keys U
screen_wait 'has its earlier tags again'
screen_keys U
screen_wait 'has its earlier tags again'
screen_keys U
screen_shows 'no deletion is left' "until nothing is left"
screen_keys Home d
screen_wait 'Delete\?'
screen_keys d
screen_wait 'Deleted 1 run'
screen_keys X
screen_shows '1 deleted run' "X asks before the trash is emptied"
screen_keys k
screen_keys q q
ended "the program ends"
succeeds "a later command restores it" runs --undelete
run runs --json
is "it is there again" "runs.#" 5
succeeds "runs --empty-trash" runs --empty-trash

# --- wide, narrow and clicked ---
screen_terminal=xterm-256color
screen_start 130x30 C.UTF-8 "$TINCA"
screen_wait 'What it takes'
screen_keys o
screen_wait 'done +mynet'
screen_keys Down
screen_shows "mynet-[0-9a-f]+ done" "the preview names the run"
screen_shows "smoothed.*validation" "and has its curves"
screen_shows "$BRAILLE" "as a plot"
click() { # click COLUMN ROW, from 1
    screen_keys -l "$(printf '\033[<0;%d;%dM' "$1" "$2")"
    screen_keys -l "$(printf '\033[<0;%d;%dm' "$1" "$2")"
}
row=$(screen_text | grep -n 'my study' | head -n 1 | cut -d: -f1)
click 5 "$row"
screen_shows '> +done +mlp +my study' "a click selects a run"
screen_shows 'my study done' "and the preview follows"
column=$(screen_text | sed -n 3p | awk '{ print index($0, "loss") }')
click "$column" 3
screen_shows 'Runs by loss ↑' "a click on a heading sorts by it"
click "$column" 3
screen_shows 'Runs by loss ↓' "and another one reverses the order"
screen_resize 40x12
screen_shows '> +done +mlp' "40 columns show the list"
screen_lacks '[0-9]e-[0-9]?$' "no number is cut"
screen_end

# --- a run that was refused, and one that failed ---
screen_start 130x30 C.UTF-8 "$TINCA" ui mlp --data "idx:$T/nowhere" --start
screen_shows '^! Training data' "the form shows why a run is refused"
screen_shows 'there is no such folder' "  and at which field"
screen_keys Home o
screen_wait 'Runs'
screen_lacks 'refused' "  and the list of runs has none"
screen_keys End
screen_keys / 'status:diverged' Enter
screen_shows 'mlp-[0-9a-f]+ diverged' "that of a run that diverged"
screen_shows '│ .*at iteration [0-9]+ the loss became' "says when"
screen_shows "smoothed" "beside its curves"
screen_end
done_testing
