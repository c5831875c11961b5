#!/bin/sh
# What the form shows beside its fields, and what the workbench keeps for the next time.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "pictures, times and settings"
cd "$T" || exit 99
case $TINCA in /*) ;; *) TINCA=$OLDPWD/$TINCA ;; esac
CONFIG=$XDG_CONFIG_HOME/tinca/config.json
HALF=$(printf '\342\226\200')

# has TEXT FILE NAME: a test point
has() {
    if grep -q -- "$1" "$2" 2>/dev/null; then ok "$3"; else not_ok "$3" "$(cat "$2" 2>&1)"; fi
}
quit() {
    screen_keys q
    ended "$1"
}

# --- pictures ---
screen_start 120x40 C.UTF-8 "$TINCA" ui resnet20 --data shapes,limit=40 --schedule cosine --batch 8
screen_shows "$HALF" "pictures are shown beside the form"
screen_shows 'star|circle|cross|hexagon|square|triangle' "with the names of their classes"
screen_shows '1-[0-9]+ of 40, epoch 1' "which ones is said"
screen_shows 'learning rate 0.01, falling to 0' "the learning rate is told beforehand"
screen_shows "$BRAILLE" "and drawn"
screen_shows 'not known yet: no run of resnet20' "without an earlier run the time is not known"
screen_keys n
screen_lacks ' 1-[0-9]+ of 40' "n: the next ones"
screen_keys p
screen_shows 'Pictures of shapes,limit=40' "p: as large as the screen"
screen_keys a
screen_shows 'as the network sees them' "a: as the network sees them"
screen_keys Up
screen_shows 'epoch 2' "Up: the next epoch"
screen_keys v
screen_shows 'What it takes' "v: what the run takes"
screen_keys v
screen_resize 40x12
screen_shows 'of 40' "they come again at another size"
screen_resize 120x40
screen_keys q
screen_shows 'Training data' "q goes back to the form"

# --- broken data ---
mkdir -p broken/a && echo 'no picture' >broken/a/x.png
screen_start 120x40 C.UTF-8 "$TINCA" ui alexnet --data "folder:$T/broken" --batch 1
screen_shows 'no pictures to show' "broken data: no pictures"
screen_shows 'neither PNG nor JPEG' "and the reason"
screen_shows '! Training data' "at the field too"
screen_shows 'data cannot be opened' "it is not said to be ready to run"
screen_keys Down Down Right
screen_shows '‹ dsc ›' "keys are answered meanwhile"
quit "it ends"

# --- data that never comes ---
mkdir -p stuck/a && mkfifo stuck/a/x.png
screen_start 120x40 C.UTF-8 "$TINCA" ui alexnet --data "folder:$T/stuck" --batch 1
screen_shows 'Opening the data set' "a folder that does not answer is waited for"
screen_keys Down Down Right
screen_shows '‹ dsc ›' "but not by the keys"
quit "nor by the end"

# --- grey characters ---
screen_terminal=vt100
screen_start 80x24 C "$TINCA" ui lenet --data digits,limit=30 --batch 10 --epochs 1
screen_keys p
screen_shows '[.:*#%@]{4}' "without colours pictures are made of characters"
screen_lacks "$HALF" "not of half blocks"
screen_keys q
screen_terminal=

# --- time ---
screen_keys r
screen_shows 'is done|100' "a short run"
screen_keys x x q
screen_shows 'ms/image.*(just now|minute)' "afterwards its time is expected"
screen_shows 'to the end|about' "and the time to the end"
quit "it ends too"

# --- the form as it was left ---
has '"x-axis":.*"time"' "$CONFIG" "the last choice of the axis is kept"
has '"network"' "$XDG_STATE_HOME/tinca/form.json" "the form is kept"
screen_start 80x24 C.UTF-8 "$TINCA"
screen_shows 'digits,limit=30' "the next start shows it again"
screen_keys Down D
screen_lacks 'digits,limit=30' "D: the defaults"
screen_keys D
screen_shows 'digits,limit=30' "D again: what was there"
quit "it ends once more"
screen_start 80x24 C.UTF-8 "$TINCA" --batch 77
screen_shows 'Batch size +77' "an option on the command line wins"
screen_shows 'digits,limit=30' "over the rest of the form"
screen_start 80x24 C.UTF-8 "$TINCA" --defaults
screen_shows 'Batch size +64' "--defaults begins afresh"
screen_lacks 'limit=30' "in all fields"
sed 's/"10"/"many"/' "$XDG_STATE_HOME/tinca/form.json" >form.json
cp form.json "$XDG_STATE_HOME/tinca/form.json"
screen_start 80x24 C.UTF-8 "$TINCA"
screen_shows '"batch" was left out' "a value that is not valid any more is told"
screen_shows 'digits,limit=30' "the others are taken"

# --- settings ---
screen_start 80x24 C.UTF-8 "$TINCA" --mouse=no
screen_keys m ,
screen_shows 'Colours' "the menu leads to the settings"
screen_shows 'Mouse +no +.this time only' "what the command line says is marked"
screen_keys Down Right
screen_shows 'Changed and saved' "a change is saved"
has '"symbols":.*"braille"' "$CONFIG" "in the configuration file"
has '"mouse":.*true' "$CONFIG" "without what the command line said"
screen_keys Right Right
screen_shows '< ascii >' "and holds at once"
screen_keys Down Down Down Enter Enter
screen_shows '< pt_BR >' "Enter: the next value"
has '"language":.*"pt_BR"' "$CONFIG" "it is saved too"
screen_keys Enter Down Enter
screen_shows 'folder that exports are proposed in' "or a text to type"
screen_keys results Enter
screen_shows 'Export folder +(< )?results' "which is taken"
has '"export-directory":.*"results"' "$CONFIG" "and saved"
screen_keys d
screen_shows 'not set' "d: the default"
screen_resize 40x12
screen_shows 'Language' "at a small size the selected one is in sight"
screen_start 80x24 C.UTF-8 "$TINCA"
screen_keys m ,
screen_shows 'Symbols +ascii' "the next start knows it"

echo '{"colours": "mono", "hue": 3}' >"$CONFIG"
screen_start 80x24 C.UTF-8 "$TINCA"
screen_shows 'config.json: line 1: "hue"' "a mistake in the file is told"
screen_keys m , Down Right
screen_shows 'not saved' "a change is not saved over it"
has '"hue": 3' "$CONFIG" "the file stays as it is"
screen_keys q
quit "and the workbench ends"
has '"hue": 3' "$CONFIG" "also at the end"

status=0
"$TINCA" ui --colours pink </dev/null >out 2>err || status=$?
[ $status = 2 ] && grep -q 'colour-blind' err
if [ $? = 0 ]; then ok "a wrong value on the command line is refused"; else not_ok "a wrong value is refused" "$(cat err)"; fi
done_testing
