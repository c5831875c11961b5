#!/bin/sh
# Every screen with files in which every string is hostile: the workbench sends only its intended control
# sequences to the terminal, and the strings appear escaped.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "hostile text on every screen"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
srcdir=$(cd "${srcdir:-.}" && pwd)
. "$srcdir/tests/cli/hostile_text.sh"
. "$srcdir/tests/ui/hostile_screen.sh"
unset COLORTERM TMUX STY
cd "$T" || exit 99
runs=$XDG_STATE_HOME/tinca/runs
evil=$(printf 'x\033]0;p\007\342\200\256<img>\302\233')

# --- the check itself ---
# A recording is checked while it grows: it may end in any byte of an allowed sequence, or after it.
own=$(printf '\033[1;31mred') looked=0 faults='' screen_locale=C
for end in 1 2 3 4 5 6 7 8 9 10; do
    printf '%s' "$own" | head -c "$end" >"$RAW"
    harmless "the first $end bytes"
done
[ -z "$faults" ] && ok "an incomplete allowed sequence is no fault" ||
    not_ok "an incomplete allowed sequence is no fault" "$faults"
printf 'a\033]0;p\007b' >"$RAW"
harmless "a title"
[ -z "$faults" ] && printf '\033[m' >>"$RAW" && harmless "a title"
[ -n "$faults" ] && ok "a forbidden sequence is a fault" || not_ok "a forbidden sequence is a fault" "$(cat -v "$RAW")"

# --- a state folder of hostile files ---
adversarial_network pair.json
run train mlp --data digits,limit=32 --validate digits,limit=16 --batch 8 --iterations 6 --threads 1 -q
[ "$status" = 0 ] || not_ok "a run to begin with" "$(told)"
first=$(ls "$runs")
run measure "$first" --images 4 --threads 1
run train pair.json --data maps,limit=4 --epochs 1 --batch 1 --threads 1 -q
run sweep --networks mlp --batches 8 --data digits,limit=16 --iterations 2 --threads 1 -q
sweeps=$XDG_STATE_HOME/tinca/sweeps
for folder in "$runs"/*-pair-*; do mv "$folder" "$runs/20200101-000003-pair"; done
cp -R "$runs/$first" "$runs/20200101-000002-$evil"
cp -R "$runs/$first" "$runs/20200101-000001-all"
mv "$runs/$first" "$runs/20300101-000000-mlp"
for folder in "$runs"/*-mlp-*; do rm -rf "$folder"; done # the sweep's cell

settings="preset technique widths activation precision memory-limit solver schedule normalise
    save-precision stop-metric max-time names augment sampling class-weights teacher validate tensorboard
    reduce compress bucket filter momentum-form"
hostile_short=1
hostile_folder "$runs/20300101-000000-mlp" $settings created weights
printf '{"network": "%s", "data": "folder:%s"}\n' "$(cat payload)" "$T/pictures" >form.json
hostile_short=
hostile_folder "$runs/20200101-000002-$evil" $settings network data validate device
hostile_folder "$runs/20200101-000003-pair" $settings network data validate device
hostile_folder "$runs/20200101-000001-all"
for file in "$sweeps"/*/*.json "$sweeps"/*/*/*.json; do
    "$HOSTILE_JSON" payload format networks technique techniques device devices data preset run status state \
        <"$file" >changed && cat changed >"$file"
done
mkdir -p config/tinca "pictures/$evil" pictures/plain
printf '{"export-directory": "%s"}\n' "$(head -c 60 payload)" >config/tinca/config.json
for class in "$evil" plain; do
    cp "$runs"/*-pair/sample-0001.png "pictures/$class/a$evil.png"
done
cat >study.json <<'END'
{"format": "tinca-study", "version": 1, "studies": [{"network": "it", "real": "it",
"generated": "it", "fingerprint": "12345678", "seed": 1, "seconds": 1, "shown_twice": 0,
"seen_in_training": null, "images": [{"name": "it", "generated": true, "practice": false},
{"name": "it", "generated": false, "practice": false}], "votes": [{"participant": "it",
"created": "it", "graphics": "it", "columns": 80, "rows": 24, "answers": [
{"image": 0, "real": true, "seconds": 1}, {"image": 1, "real": true, "seconds": 1}]}]}]}
END
printf 'O\\u001b]52;c;T\\u0007\\u202e\302\233m\342\200\256' >payload
"$HOSTILE_JSON" payload format fingerprint graphics <study.json >tinca-study.json

# --- the actions on each screen ---
# reach NAME PATTERN: waits for the screen and checks its bytes
reach() {
    if ! screen_wait "$2"; then
        faults="$faults
$1: no $2 on: $(screen_text)"
        tap_failed=1 # from here on all waits are short
    fi
    harmless "$1"
}

# list: opens the list of runs, from any screen
list() {
    screen_keys m
    screen_wait 'o +Runs'
    screen_keys o Enter
    screen_wait 'status +network'
}

# every_view: opens every tab of the run
every_view() {
    for view in $(screen_text | sed -n 's/!.*//; 2p' | grep -o '[1-9R]'); do
        screen_keys "$view"
        reach "$1, view $view" "^[^!]*$view\["
    done
    screen_keys 1 i
    reach "$1, inspected" '\[Curves\]'
    screen_keys i y
    reach "$1, the other curves" '\[Curves\]'
}

# place LETTER: opens a screen of the menu
place() {
    screen_keys m
    screen_wait 'Go to'
    screen_keys "$1" Enter
    case $1 in
    s) reach "set up" 'Network .*O.\]52' ;;
    f)
        reach "find rate" 'Find rate'
        screen_keys Escape
        ;;
    i) reach "pictures" 'x.\]0;p' ;;
    o) reach "runs" 'done +O.\]52' ;;
    c)
        reach "compare" '1.* O.\]52'
        screen_keys v
        reach "compare: table" 'O.\]52'
        screen_keys v
        reach "compare: settings" 'O.\]52|OWNED'
        screen_keys v
        ;;
    t)
        reach "try it" 'Try it: .*mlp'
        screen_keys w
        reach "try it: weights" '20300101'
        screen_keys Escape
        ;;
    a) reach "advisor" 'O.\]52' ;;
    p) reach "study" 'O.\]52' ;;
    b) reach "tables" 'Runs read' ;;
    g)
        reach "models" 'models? on cpu'
        screen_keys v
        reach "models: the Pareto front" '\[Pareto front\]'
        screen_keys v
        ;;
    w)
        reach "sweep" '\[Set up\]'
        screen_keys v v
        reach "sweep: earlier" '\[Earlier\]'
        screen_keys Enter
        reach "sweep: cells" '\[Cells\]'
        ;;
    e)
        reach "export" 'Export|no run to export|No run is marked'
        screen_keys Escape
        ;;
    l) reach "log" '! .*(x.\]0;p|O.\]52)' ;;
    d) reach "devices" 'Processor' ;;
    ,) reach "settings" 'Export folder +OWNED' ;;
    h) reach "help" 'Help' && screen_keys Escape ;;
    *) faults="$faults
the menu offers $1, which this test does not know" ;;
    esac
}

every_place() {
    screen_keys m
    screen_wait 'h +Help'
    letters=$(screen_text | sed -n 's/^[^a-z,]*\([a-z,]\)  [A-Z].*/\1/p')
    screen_keys Escape
    wait_until unseen 'Go to'
    [ "$(echo $letters | wc -w)" -ge 13 ] || faults="$faults
the menu was not read: $letters"
    for letter in $letters; do place "$letter"; done
}

every_run() {
    for row in 0 1 2 3; do
        list
        screen_keys Up Up Up Up # vt100 has no Home
        for step in $(seq $row); do screen_keys Down; done
        harmless "row $row"
        screen_keys Enter
        reach "run $row" 'Run \(earlier\)|this is no run|status +network'
        seen 'Run \(earlier\)' && every_view "run $row"
    done
}

every_question() {
    list
    screen_keys Up Up Up Up d
    reach "delete" 'Delete'
    screen_keys Escape
    screen_keys R
    reach "a name" 'A name'
    screen_keys Escape
    screen_keys / OWNED Enter
    reach "search" 'status +network'
    screen_keys Escape
    screen_keys a e
    reach "export of all" 'marked runs'
    screen_keys Escape
    screen_keys u '>' '>'
    reach "sorted" 'Runs by'
    screen_keys f
    reach "to form" 'Network .*(O.\]52|mlp)'
    list
    screen_keys r # a line refuses it, or a failed run is shown
    reach "resume" '^ ! |^ tinca .+ Run .+ (O.\]52|OWNED)'
}

# session SIZE LOCALE TERMINAL: visits every screen
session() {
    screen_terminal=$3
    cp form.json "$XDG_STATE_HOME/tinca/form.json" # the program writes it
    record_start "$1" "$2" "$TINCA"
    reach "the form" 'Network .*O.\]52'
    screen_keys r # a configuration that cannot run is reported
    reach "a configuration that cannot run" '!.*O.\]52'
    screen_keys Up # from the network's row, where letters are text
    list # files that cannot be read are reported, too
    every_run
    every_place
    every_question
    record_end "every screen at $1, $2, TERM=$3"
}

# each locale, terminal and size at least once
session 80x24 C vt100
session 132x43 C.UTF-8 screen-256color
if whole_list; then
    session 80x24 C.UTF-8 screen-256color
    session 80x24 C screen-256color
    session 80x24 C.UTF-8 vt100
fi
[ -z "$(find "$T" -name owned)" ] && ok "no shell ran anything" || not_ok "no shell ran anything"
echo "# $looks looks at the bytes of the screens"
done_testing
