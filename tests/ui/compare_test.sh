#!/bin/sh
# The screen Compare with runs on disk: which runs it takes, its order, the scatter plot with its Pareto front,
# and the parallel coordinates; typed and clicked.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "many runs are compared"
screen_terminal=xterm-256color

click() { # click COLUMN ROW, from 1
    screen_keys -l "$(printf '\033[<0;%d;%dM' "$1" "$2")"
    screen_keys -l "$(printf '\033[<0;%d;%dm' "$1" "$2")"
}

# plain_screen: the screen with x for each character that is not ASCII, so that bytes are columns
plain_screen() { screen_text | LC_ALL=C sed "$(printf 's/[\300-\377][\200-\277]*/x/g')"; }

# saved NUMBER LR SEED PARAMETERS TOP1 MS: makes a run that is over; TOP1 or MS -: unknown
saved() {
    folder=$(printf '%s/tinca/runs/20260101-%06d-lenet-%04d' "$XDG_STATE_HOME" "$1" "$1")
    mkdir -p "$folder"
    echo '{"format":"tinca-run","version":1,"id":"'"${folder##*/}"'","created":"","config":{"network":"lenet",
        "data":"digits","validate":"digits:split=test","batch":32,"epochs":3,"device":"cpu","lr":'"$2"',
        "seed":'"$3"'}}' >"$folder/config.json"
    echo '{"event":"start","network":"lenet","technique":"none","parameters":'"$4"',"flops":1000000,"images":100,'\
'"validation_images":10,"classes":10,"threads":2,"iterations":4,"epochs":1,"memory":{"weights":1,"gradients":1,'\
'"solver":1,"activations":1,"workspace":1,"total":5000000}}' >"$folder/journal.jsonl"
    top1=$5 validated=true
    [ "$5" = - ] && top1=0 validated=false
    echo '{"status":"done","error":null,"iteration":4,"iterations":4,"best_top1":'"$top1"',"top1":'"$top1"','\
'"has_validation":'"$validated"'}' >"$folder/summary.json"
}

# --- 41 runs, of which two have the best accuracy per parameter, one no accuracy, and one has not begun ---
number=0
while [ $number -lt 38 ]; do
    saved $number 0.0$((number % 5 + 1)) $((number / 5 + 1)) $((30000 + 1000 * number)) $((60 + number % 7))
    number=$((number + 1))
done
saved 38 0.1 1 20000 70
saved 39 0.1 2 90000 80
saved 40 0.1 3 25000 -
saved 41 0.1 4 25000 -
echo '{}' >"$folder/config.json"

screen_start 80x24 C.UTF-8 "$TINCA" ui lenet --data digits
screen_wait 'Set up'
screen_keys c
screen_shows 'Compare 41 runs' "more than 24 runs are compared"
screen_shows '1 run is left out: it has not begun, or cannot be read' "and those that cannot be are counted"
screen_keys v
screen_shows '# +lr +seed +TOP-1' "settings that differ are columns"
screen_keys BTab
screen_shows '>41 +0.01 +1 ' "rows beyond the letters have numbers"
screen_keys Tab

# --- the order ---
screen_keys s
screen_shows 'sorted: network' "s sorts by the next column"
screen_keys s
screen_shows 'sorted: lr' "by a setting too"
screen_shows '> 1 +0.01 ' "the lowest first"
screen_keys r
screen_shows '> 1 +0.1 ' "r reverses the order"
column=$(plain_screen | sed -n '4s/%.*//p' | wc -c)
click "$column" 4
screen_shows 'sorted: best_top1' "a click on a heading sorts by it"
screen_shows '> 1 +0.1 +2 +80.00' "the best first"
click "$column" 4
screen_shows '> 1 +[0-9.]+ +[0-9]+ +60.00' "a second click reverses"
screen_keys BTab
screen_shows '>41 +0.1 +3 +\?' "an unknown value stays last"
screen_keys Tab s s s s s
screen_shows 'sorted: e_p' "by E_P"
screen_shows 'E_P is the best top-1 accuracy in percent per parameter' "which is explained"
screen_keys b b b b b
screen_shows 'sorted: best_top1' "b goes back"

# --- the scatter plot ---
screen_keys v v
screen_shows '\[Scatter\]' "v: the scatter plot"
screen_shows '^best_top1 *$' "of accuracy"
screen_shows '  parameters *$' "over parameters"
screen_shows 'Pareto front: 2 1$' "names the members of the Pareto front"
screen_shows '1 run has no best_top1' "counts the runs without an accuracy"
screen_shows '1 lr 0.1, seed 2: parameters 90.0 k, best_top1 80' "shows the selected run with its values"
screen_keys Left
screen_lacks '1 lr 0.1, seed 2: parameters' "Left goes to another point"
screen_keys Right Right Right
screen_shows '1 lr 0.1, seed 2: parameters 90.0 k, best_top1 80' "Right back to the rightmost one"
screen_keys Tab
screen_shows '2 lr 0.1, seed 1: parameters 20.0 k, best_top1 70' "Tab goes to the next row"
row=$(plain_screen | grep -n 'x1 *$')
column=$(printf '%s' "${row#*:}" | sed 's/ *$//' | wc -c)
click "$column" "${row%%:*}"
screen_shows '1 lr 0.1, seed 2: parameters 90.0 k' "a click selects a point"
screen_keys l
screen_shows 'parameters, log' "l: another scale"
screen_keys l l l x
screen_shows 'Which figure on the x axis' "x chooses a figure"
screen_keys lr Enter
screen_shows '  lr *$' "such as a setting"
screen_shows 'no Pareto front' "which has no Pareto front"
screen_keys x parameters Enter

# --- the settings that differ, where one line of them fits ---
screen_keys v v v v
screen_shows '\[Settings\]' "the settings that differ"
screen_resize 80x6
screen_keys Down Down
screen_lacks 'Learning rate' "Down scrolls"
screen_keys Home
screen_shows 'Learning rate' "Home shows the first one again"
screen_resize 80x24
screen_keys v
screen_shows '\[Scatter\]' "the next view is the scatter plot again"

# --- parallel coordinates ---
screen_keys v
screen_shows '\[Parallel\]' "v: parallel coordinates"
screen_shows '\[lr\] +seed +parameters +best_top1' "an axis for each setting that differs, the accuracy last"
screen_shows '41 of 41 runs' "all runs"
screen_keys Right Right Right
screen_shows 'lr +seed +parameters +\[best_top1\]' "Right selects an axis"
screen_keys '[' '['
screen_shows ' runs; best_top1 from 62 to 80' "[ raises the lower end of the range"
screen_lacks '41 of 41 runs' "which filters the runs"
screen_keys ']'
screen_shows 'best_top1 from 62 to 70' "] lowers the upper end"
screen_keys '}' '{' '{'
screen_shows '41 of 41 runs' "and back"
screen_keys '['
screen_lacks '41 of 41 runs' "a range again"
screen_keys w
screen_shows '41 of 41 runs' "w frees the axis"
screen_keys '<'
screen_shows 'lr +seed +\[best_top1\] +parameters' "< moves the axis"
screen_keys '-'
screen_shows 'lr +seed +\[parameters\]' "- leaves it out"
screen_keys +
screen_shows 'Which axis' "+ asks for an axis to add"
screen_keys best_top1 Enter
screen_shows 'lr +seed +\[best_top1\] +parameters' "and adds it"
column=$(plain_screen | sed -n '3s/seed.*//p' | wc -c)
click "$column" 3
screen_shows 'lr +\[seed\] +best_top1 +parameters' "a click selects an axis"
screen_resize 40x12
screen_shows '\[seed\]' "at 40x12 the selected axis stays in sight"
screen_keys Left
screen_shows '\[lr\].* par' "and so does the last one, which gives the lines their marks"
screen_resize 80x24
screen_keys Enter
screen_shows 'Run \(earlier\)' "Enter shows the selected run"
screen_end

# --- a narrow table: what differs first, names cut in the middle, no figure cut ---
screen_start 40x16 C.UTF-8 "$TINCA" ui lenet --data digits
screen_wait 'Set'
screen_keys o
screen_wait 'lenet'
screen_keys c
screen_wait 'Compare 41 ru'
screen_keys v
screen_shows '^ +# +lr seed TOP-1 % TOP-1 % LOSS LOSS *$' "a network that all runs have leaves its place to what differs"
screen_shows ' 4 +0.03 +8 +62.00 +62.00 +0 +NaN *$' "and the figures beside it are whole"
for run in 38 39; do
    echo "a run of the long study, number $run" >"$(echo "$XDG_STATE_HOME"/tinca/runs/*"$run"-lenet-*)/name.txt"
done
screen_end
screen_start 40x16 C.UTF-8 "$TINCA" ui lenet --data digits
screen_wait 'Set'
screen_keys o
screen_wait 'lenet'
screen_keys / 'name:number' Enter c
screen_wait 'Compare 2 ru'
screen_keys v
screen_shows '1 lenet.*39' "different names stay different"
screen_shows '2 lenet.*38' "where their middle is cut"
screen_end

# --- the runs that the list shows, in a terminal without Unicode and colours ---
screen_start 80x24 C env NO_COLOR=1 "$TINCA" ui lenet --data digits
screen_wait 'Set up'
screen_keys o
screen_wait 'lenet-0039|done'
screen_keys / 'lenet-003' Enter
screen_wait 'lenet-003'
screen_keys c
screen_shows 'Compare 10 runs' "c compares the runs that match the filter"
screen_keys v v v
screen_shows 'Pareto front: ' "the scatter plot in ASCII"
screen_keys v
screen_shows '^ +[|].*[|]' "and the parallel coordinates"
screen_end

# --- times that were measured one after the other order no rows of the front ---
for run in 31 32; do
    printf '{"format":"tinca-measurements","version":1,"devices":[{"device":"cpu","host":"h","cpu":"c","threads":1,
"created":"2026-01-01T00:00:%s","data":"digits","weights":"","images":9,"top1":9,"top5":9,"loss":1,"model_bytes":1,
"memory_bytes":1,"ms_per_image":{"median":%s,"min":%s,"mean":%s,"sd":0.1,"ci95":0.1}}]}\n' $run $run $run $run \
        >"$(echo "$XDG_STATE_HOME"/tinca/runs/*"$run"-lenet-*)/measurements.json"
done
screen_start 120x30 C.UTF-8 "$TINCA" ui lenet --data digits
screen_wait 'Set up'
screen_keys o
screen_wait 'lenet'
screen_keys / 'lenet-003' Enter
screen_wait 'lenet-003'
screen_keys c
screen_wait 'Compare 10 runs'
screen_keys v v v x ms Enter
screen_shows 'Pareto front: 9 8; 1 pair is not' "the front of times says what turns have not compared"
screen_end
done_testing
