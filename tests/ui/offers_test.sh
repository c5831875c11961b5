#!/bin/sh
# Every key that a screen offers does something, and every other key of its table says why it does nothing. The
# offered keys are those in the help that is opened from the screen; all keys of its table are in the help of
# another screen. Each is pressed in several states of each screen.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "every key offered works"
cd "$T" || exit 99
case $TINCA in /*) ;; *) TINCA=$OLDPWD/$TINCA ;; esac

# keys_below TITLE: the keys of a section of the help, as tmux calls them
keys_below() {
    screen_text | awk -v title=" $1" '
        $0 == title { inside = 1; next }
        $0 == "" { inside = 0 }
        inside && /^  [^ ]/ {
            split(substr($0, 3), parts, "  ")
            count = split(parts[1], names, " ")
            for (i = 1; i <= count; i++) print names[i]
        }' | sed 's/^space$/Space/; s/^PgUp$/PageUp/; s/^PgDn$/PageDown/; s/^Del$/Delete/; s/^S-Tab$/BTab/; s/^C-r$//; /^1$/d; /^\.\.$/d; /^[,.]$/d; /^$/d'
}
# keys_hinted: those of the screen's table in the line of key hints
keys_hinted() {
    screen_text | tail -n 1 | awk -F '  +' '{ for (i = 1; i <= NF; i++) { split($i, words, " "); print words[1] } }' |
        sed 's/^space$/Space/; s/^PgUp$/PageUp/; s/^PgDn$/PageDown/; s/^Del$/Delete/; s/^S-Tab$/BTab/; /^[?qm:oec]$/d; /^$/d'
}
quiet() { [ -z "$(message)" ]; }
message() { screen_text | tail -n 2 | head -n 1 | sed 's/^ *//; s/ *$//'; }
refused() { message | LC_ALL=C grep -aEq '(^| )([Nn]o|[Nn]othing|[Oo]nly|[Aa]lready) '; }
changed() { [ "$(screen_text)" != "$before" ]; }
answers() { ! quiet || { [ "$screen" = Run ] && changed; }; } # some keys of a run lead to its curves, where others work
hush() { # removes an earlier message, so that the next key's answer is seen
    screen_keys C-l
    wait_until quiet
    wait_until settled
}
opposite() {
    case $1 in
    Up) echo Down ;; Down) echo Up ;; Left) echo Right ;; Right) echo Left ;;
    Home) echo End ;; End) echo Home ;; Tab) echo BTab ;; BTab) echo Tab ;; PageUp) echo PageDown ;; PageDown) echo PageUp ;;
    p) [ "$screen" = Pictures ] && echo n ;;
    esac
}

# works KEY: whether the key changes the screen; at the end of a list after the key that goes the other way
works() {
    hush
    before=$(screen_text) other=$(opposite "$1")
    screen_keys "$1"
    if [ -n "$other" ] && ! (PATIENCE=10; wait_until changed) 2>/dev/null; then
        screen_keys "$other"
        wait_until changed || return 1
        hush
        before=$(screen_text)
        screen_keys "$1"
    fi
    wait_until changed
}
restarting() { for key; do case $restart in *" $key "*) echo "$key" ;; esac; done; }
lasting() { for key; do case $restart in *" $key "*) ;; *) echo "$key" ;; esac; done; }

# closing: the keys that open a list or a dialog, which Esc closes
closing=
# press_all SCREEN TITLE STATE KEYS: in the state that `enter` leads to, presses each key of the screen's table.
# KEYS: those that change the state so much that the workbench is started again after them.
press_all() {
    screen=$1 title=$2 state=$3 restart=" $4 "
    enter
    hush
    screen_keys '?'
    screen_wait 'Everywhere'
    offered=$(keys_below "$title")
    screen_keys q
    screen_wait "tinca .* $screen"
    wait_until settled
    offered=$( (echo "$offered"; keys_hinted) | sort -u)
    idle=
    for key in $(all_keys); do
        case " $(echo $offered) " in *" $key "*) continue ;; esac
        hush
        before=$(screen_text)
        screen_keys "$key"
        # an earlier key may have led to another view of a run, where this one works at the end of a list only
        ([ "$screen" != Run ] || PATIENCE=30; wait_until answers) || { [ "$screen" = Run ] && works "$key"; } ||
            idle="$idle $key"
    done
    if [ -z "$idle" ]; then ok "$screen, $state: a key that is not offered says why"; else
        not_ok "$screen, $state: a key that is not offered says why" "silent:$idle
$(screen_text)"
    fi
    idle=
    for key in $(restarting $offered) $(lasting $offered); do
        works "$key" || idle="$idle $key"
        ! refused || idle="$idle $key($(message))"
        case $restart in *" $key "*) enter ;; esac
        case $closing in *" $key "*) screen_keys Escape; wait_until settled ;; esac
    done
    if [ -z "$idle" ]; then ok "  and each of the others works: $(echo $offered)"; else
        not_ok "  and each of the others works" "idle:$idle
$(screen_text)"
    fi
}
all_keys() { cat "all $screen"; }
go() { # go SIZE LETTER SCREEN OPTION...: starts the workbench and shows the screen
    size=$1 letter=$2 place=$3
    shift 3
    screen_start "$size" "${locale:-C.UTF-8}" "$TINCA" "$@"
    screen_wait 'tinca'
    screen_keys m
    screen_wait 'Go to'
    screen_keys "$letter"
    screen_wait "tinca .* $place"
}

screen_start 200x300 C.UTF-8 "$TINCA"
screen_wait 'What it takes'
screen_keys '?'
screen_wait 'Words and marks'
while read -r name title; do
    keys_below "$title" >"all $name"
done <<TABLES
Try Trying a model out
Sweep A sweep
Study Perceptual studies
Advisor Asking the advisor
Devices The devices
Log The log
Settings Settings of the workbench
Pictures Pictures of the training data
Find Finding a learning rate
Runs The list of runs
Run Watching a run
TABLES
if [ "$(wc -l <'all Try')" -gt 10 ] && [ "$(wc -l <'all Pictures')" -gt 4 ]; then ok "the help has all tables"
else not_ok "the help has all tables" "$(screen_text)"; fi

# --- without a run ---
enter() { go 200x60 t Try; screen_wait 'no run yet whose'; }
press_all Try "Trying a model out" "without a model" w
sweep() { go 200x60 w Sweep --data digits,limit=40 --batch 20 --iterations 2 --threads 1; screen_wait '1 cell'; }
enter() { sweep; screen_keys v; screen_wait 'No sweep is open'; }
press_all Sweep "A sweep" "no sweep is open" "v f e"
enter() { sweep; screen_keys v v; screen_wait 'no sweeps yet'; }
press_all Sweep "A sweep" "no earlier sweep" "v f e"
XDG_STATE_HOME=$T/swept
enter() { sweep; }
press_all Sweep "A sweep" "set up, on a list" "r v e Enter"
enter() { sweep; screen_keys Home; screen_wait '> Study'; }
press_all Sweep "A sweep" "set up, on the study's grid" "r v e f"
enter() { sweep; screen_keys End; screen_wait '> Name'; }
press_all Sweep "A sweep" "set up, on a text" "r v e f Enter"
XDG_STATE_HOME=$T/state
enter() { go 200x60 p Study; screen_wait 'No run of a network'; }
press_all Study "Perceptual studies" "without a run" Enter
enter() { go 80x16 p Study; screen_wait 'No run of a network'; }
press_all Study "Perceptual studies" "in a low terminal" Enter
enter() { go 200x60 a Advisor; screen_wait 'There is no run to read'; }
press_all Advisor "Asking the advisor" "without a run" Enter
enter() { go 200x60 a Advisor; screen_keys Down Down 5 Enter; screen_wait 'ms/image +5'; }
press_all Advisor "Asking the advisor" "on a limit" "Enter Delete Del"
enter() { go 200x60 d Devices; screen_wait 'What tinca can compute on'; }
press_all Devices "The devices" "all visible" ""
enter() { go 80x16 d Devices; screen_wait 'Processor'; }
press_all Devices "The devices" "in a low terminal" ""
enter() { go 200x60 l Log; screen_wait 'no messages yet'; }
press_all Log "The log" "empty" ""
enter() { go 200x60 , Settings; screen_wait Colours; }
press_all Settings "Settings of the workbench" "with the defaults" "Enter Right Left"
enter() { rm -rf "$XDG_CONFIG_HOME"; go 200x60 , Settings; screen_keys Right; screen_wait 'saved'; }
press_all Settings "Settings of the workbench" "changed" "d Enter"
rm -rf "$XDG_CONFIG_HOME"
enter() { go 200x60 i Pictures --data digits; screen_wait '1-[0-9]* of'; }
press_all Pictures "Pictures of the training data" "of digits" "v Tab"
enter() { go 200x60 i Pictures --data digits; screen_keys v; screen_wait 'What it takes'; }
press_all Pictures "Pictures of the training data" "what the run takes" "v Tab"
enter() { go 200x60 f Find --data digits,limit=200 --batch 20 --threads 1; screen_wait 'Suggestion|Marked'; }
press_all Find "Finding a learning rate" "of digits" "Enter u"
enter() { go 200x60 f Find --data idx:nowhere; screen_wait 'nowhere'; }
press_all Find "Finding a learning rate" "of a folder that is missing" "u"
enter() { go 200x60 i Pictures --data idx:nowhere; screen_wait 'There are no pictures'; }
press_all Pictures "Pictures of the training data" "of a folder that is missing" "v Tab"

# --- with runs ---
"$TINCA" train mlp --widths 16 --data digits,limit=200 --validate digits,split=test,limit=120 --epochs 1 --batch 32 --lr 0.1 \
    --threads 1 -q </dev/null 2>/dev/null
image=$(ls "$XDG_STATE_HOME"/tinca/runs/*mlp*/best.safetensors)
cp "$image" model.safetensors
try() { go 200x60 t Try; screen_wait 'top-5 [0-9.]+ %, 120 images'; screen_wait '\* [0-9] '; }
enter() { try; screen_keys 'Right'; screen_wait 'image 2 of 120'; }
press_all Try "Trying a model out" "an image" "f v w i d g u n s"
enter() { try; screen_keys v; screen_wait 'classified correctly|predicted as'; }
press_all Try "Trying a model out" "the matrix" "f v w i d g u n s Enter"
enter() { try; screen_keys v v s; screen_wait 'most often predicted as'; }
press_all Try "Trying a model out" "the classes" "f v w i d g u n Enter"
enter() { try; screen_keys d; screen_wait 'A data set'; screen_keys C-u Enter; screen_wait 'no data set'; }
press_all Try "Trying a model out" "without data" "v w i d u n"
enter() {
    try
    screen_keys w
    screen_wait 'Which weights'
    screen_keys none.safetensors Enter
    screen_wait 'cannot open'
}
press_all Try "Trying a model out" "a model that is missing" "w u"
enter() { go 200x60 a Advisor; screen_wait 'Not known yet'; screen_keys End; screen_wait '^ *> .*(is not trained|ms of)|> mlp'; }
press_all Advisor "Asking the advisor" "on what is missing" "Enter u"
enter() { go 80x20 a Advisor; screen_wait 'Why'; }
press_all Advisor "Asking the advisor" "in a low terminal" "Enter u Right Left"
enter() {
    go 200x60 l Log --data digits,limit=40 --batch 20 --epochs 1 --threads 1 --start
    screen_wait 'is done'
}
press_all Log "The log" "with the messages of a run" "Enter /"
enter() {
    go 200x60 l Log --data digits,limit=40 --batch 20 --epochs 1 --threads 1 --start
    screen_wait 'is done'
    screen_keys / q q q Enter
    screen_wait '/ qqq'
}
press_all Log "The log" "a search without a result" "/"

# --- the list of runs ---
closing=" C b v V R t N d X / "
away="Enter c f r F s n U a u Space"
XDG_STATE_HOME=$T/empty
enter() { go 200x60 o Runs; screen_wait 'There is no run'; }
press_all Runs "The list of runs" "without a run" "$away"
XDG_STATE_HOME=$T/listed
train() { # train OPTION...: IDs are sorted by the second
    "$TINCA" train mlp --widths 16 --data digits,limit=200 --validate digits,split=test,limit=120 --epochs 2 --batch 32 \
        --threads 1 -q "$@" </dev/null 2>/dev/null
    sleep 1
}
train --lr 0.1
train --lr 100000 --weight-decay 10 # whose product lets every weight grow, whatever the gradients are
train --lr 0.01 --seed 2
listed() { go 200x60 o Runs; screen_wait '3 runs'; wait_until settled; }
enter() { listed; screen_keys Home; }
press_all Runs "The list of runs" "a finished run" "$away"
enter() { listed; screen_keys End Up; screen_wait '> *diverged'; }
press_all Runs "The list of runs" "a diverged run" "$away"
enter() { listed; screen_keys Space; screen_wait 'of 3 marked'; }
press_all Runs "The list of runs" "a marked run" "$away"
enter() {
    listed
    screen_keys b
    screen_wait 'Group by'
    screen_keys l r Enter
    screen_lacks 'Group by' "grouped by the learning rate"
    screen_keys Home
}
press_all Runs "The list of runs" "the head of a group" "$away Left Right"
enter() { listed; screen_keys / z z z Enter; screen_wait 'zzz'; }
press_all Runs "The list of runs" "a filter that nothing matches" "$away"

# --- one run ---
closing=" e L + - Y s "
away="F c t n 2 3 4 5 6 7 8 9 v i b f M Tab BTab r"
watched() { listed; screen_keys "$@"; wait_until settled; screen_keys Enter; screen_wait 'smoothed'; }
enter() { watched Home; }
press_all Run "Watching a run" "a finished run" "$away"
enter() { watched End Up; screen_wait 'diverged'; }
press_all Run "Watching a run" "a diverged run" "$away"
enter() { watched Home; screen_keys 5; screen_wait '\[Layers\]'; }
press_all Run "Watching a run" "its layers" "$away"
enter() { watched Home; screen_keys 2; screen_wait '\[Findings\]'; }
press_all Run "Watching a run" "its findings" "$away"
closing=
XDG_STATE_HOME=$T/state

# --- with sweeps ---
for name in one two; do
    "$TINCA" sweep --networks mlp --batches 2,4 --data digits,limit=40 --vary lr=0.1,0.01 --iterations 3 --threads 1 \
        --name $name -q </dev/null 2>/dev/null
done
earlier() { go 200x60 w Sweep; screen_keys v v; screen_wait ' two'; }
enter() { earlier; screen_keys Up; }
press_all Sweep "A sweep" "earlier sweeps" "v f e Enter"
enter() { earlier; screen_keys Enter; screen_wait 'Finished: 4 of 4'; }
press_all Sweep "A sweep" "a sweep that is done" "v f e Enter"
enter() {
    end_processes
    rm -rf "$T/swept"
    go 200x60 w Sweep --data digits --batch 20 --iterations 100000 --threads 1
    screen_wait '1 cell'
    screen_keys r
    screen_wait 'Running'
    screen_wait ' [0-9]+ %'
}
XDG_STATE_HOME=$T/swept
press_all Sweep "A sweep" "a sweep that is on" "v f e Enter s Space t"
done_testing
