#!/bin/sh
# The panels beside the form's fields, and the values that the workbench stores for its next start.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "pictures, times and settings"
cd "$T" || exit 99
case $TINCA in /*) ;; *) TINCA=$OLDPWD/$TINCA ;; esac
CONFIG=$XDG_CONFIG_HOME/tinca/config.json
HALF=$(printf '\342\226\200')

# has TEXT FILE NAME: a test that the file contains the text
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
screen_shows '1-[0-9]+ of 40, epoch 1' "with the numbers of the pictures"
screen_shows 'learning rate 0.01, falling to 0' "the learning rate over the run is shown"
screen_shows "$BRAILLE" "and drawn"
screen_shows 'not known: no run of resnet20' "without an earlier run the time is unknown"
screen_keys n
screen_lacks ' 1-[0-9]+ of 40' "n: the next pictures"
screen_keys p
screen_shows 'Pictures of shapes,limit=40' "p: a whole screen of pictures"
screen_keys a
screen_shows 'as the network sees them' "a: cropped and flipped as in training"
screen_keys Up
screen_shows 'epoch 2' "Up: the next epoch"
screen_keys v
screen_shows 'What it takes' "v: the forecast of the run"
screen_keys v
screen_resize 40x12
screen_shows 'of 40' "they appear at another size, too"
screen_resize 120x40
screen_keys q
screen_shows 'Training data' "q returns to the form"

# --- augmentations by name, mixed images included ---
screen_start 120x40 C.UTF-8 "$TINCA" ui resnet20 --data shapes,limit=40 --batch 8 --augment crop=4,flip,cutmix=1
screen_shows 'crop=4,flip,cutmix=1' "an augmentation has names and strengths"
screen_keys p
screen_shows 'as stored' "the pictures as they are"
screen_keys a
screen_shows 'epoch 1, crop=4,flip,cutmix=1' "a: the augmentation is named"
screen_shows '[0-9]+% (star|circle|cross|hexagon|square|triangle)' "and mixed pictures show the share of their class"
screen_keys q
screen_shows 'Training data' "q returns to the form"

# --- rates explain themselves on their rows ---
screen_start 80x24 C.UTF-8 "$TINCA" ui resnet20 --data shapes --width-rate 0.5 --block-rate 2.4
screen_shows 'Width rate +0\.5 +widths / 0\.5' "a width rate says what it does"
screen_shows 'Block rate +2\.4 +inner width / 2\.4' "and a block rate"
quit "the workbench ends"

# --- broken data ---
mkdir -p broken/a && echo 'no picture' >broken/a/x.png
screen_start 120x40 C.UTF-8 "$TINCA" ui alexnet --data "folder:$T/broken" --batch 1
screen_shows 'no pictures to show' "broken data: no pictures"
screen_shows 'neither PNG nor JPEG' "and the reason"
screen_shows '! Training data' "also at the field"
screen_shows 'data cannot be opened' "the form does not offer to run it"
screen_keys Down Down Right
screen_shows '‹ dsc ›' "keys are answered in the meantime"
screen_keys r
screen_shows '! This cannot run' "a run that is refused says so on the form"
screen_shows '^! Training data' "  and at its field"
screen_keys Home o
screen_shows 'There is no run yet' "  and leaves no run behind"
[ -z "$(ls "$XDG_STATE_HOME/tinca/runs")" ] && ok "  and no folder" ||
    not_ok "  and no folder" "$(ls -R "$XDG_STATE_HOME/tinca/runs")"
screen_keys q
screen_wait 'What it takes'
quit "the workbench ends"

# --- data that never arrives ---
mkdir -p stuck/a && mkfifo stuck/a/x.png
screen_start 120x40 C.UTF-8 "$TINCA" ui alexnet --data "folder:$T/stuck" --batch 1
screen_shows 'Opening the data set' "the form waits for a folder that does not answer"
screen_keys Down Down Right
screen_shows '‹ dsc ›' "keys are still answered"
quit "and the workbench still ends"

# --- pictures of characters ---
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
screen_shows 'ms/image.*(just now|minute)' "afterwards the form shows its time"
screen_shows 'to the end|about' "and the time of the whole run"
quit "the workbench ends, too"

# --- the last form ---
has '"x-axis":.*"time"' "$CONFIG" "the last choice of the axis is stored"
has '"network"' "$XDG_STATE_HOME/tinca/form.json" "the form is stored"
screen_start 80x24 C.UTF-8 "$TINCA"
screen_shows 'digits,limit=30' "the next start shows it"
screen_keys D
screen_lacks 'digits,limit=30' "D: the defaults"
screen_keys D
screen_shows 'digits,limit=30' "D once more: the earlier values"
quit "the workbench ends once more"
screen_start 80x24 C.UTF-8 "$TINCA" --batch 77
screen_shows 'Batch size +77' "an option of the command line overrides it"
screen_shows 'digits,limit=30' "beside the rest of the last form"
screen_start 80x24 C.UTF-8 "$TINCA" --defaults
screen_shows 'Batch size +64' "--defaults ignores it"
screen_lacks 'limit=30' "in all fields"
sed 's/"10"/"many"/' "$XDG_STATE_HOME/tinca/form.json" >form.json
cp form.json "$XDG_STATE_HOME/tinca/form.json"
screen_start 80x24 C.UTF-8 "$TINCA"
screen_shows '"batch" was left out' "a value that is no longer valid is reported"
screen_shows 'digits,limit=30' "the other values are used"

# --- settings ---
screen_start 80x24 C.UTF-8 "$TINCA" --mouse=no
screen_keys m ,
screen_shows 'Colours' "the menu leads to the settings"
screen_shows 'Mouse +no +.this time only' "settings from the command line are marked"
screen_keys Down Right
screen_shows 'Changed and saved' "a changed setting is saved"
has '"symbols":.*"braille"' "$CONFIG" "in the configuration file"
has '"mouse":.*true' "$CONFIG" "without the settings of the command line"
screen_keys Right Right
screen_shows '< ascii >' "and takes effect at once"
screen_keys Down Down Down Enter Enter
screen_shows '< pt_BR >' "Enter: the next value"
has '"language":.*"pt_BR"' "$CONFIG" "it is saved, too"
screen_keys Enter Down Enter
screen_shows 'folder that exports are proposed in' "or a text is typed"
screen_keys results Enter
screen_shows 'Export folder +(< )?results' "which is accepted"
has '"export-directory":.*"results"' "$CONFIG" "and saved"
screen_keys d
screen_shows 'not set' "d: the default"
screen_resize 40x12
screen_shows 'Language' "at a small size the selected setting is visible"
screen_start 80x24 C.UTF-8 "$TINCA"
screen_keys m ,
screen_shows 'Symbols +ascii' "the next start uses it"

echo '{"colours": "mono", "hue": 3}' >"$CONFIG"
screen_start 80x24 C.UTF-8 "$TINCA"
screen_shows 'config.json: line 1: "hue"' "an error in the file is reported"
screen_keys m , Enter Down Right
screen_shows 'not saved' "a change does not overwrite the file"
has '"hue": 3' "$CONFIG" "the file does not change"
screen_keys q
quit "and the workbench ends"
has '"hue": 3' "$CONFIG" "the file does not change at the end either"

# --- the forecast of the form and that of the run, with validation ---
# mebibytes PATTERN: the number before MiB on the line of the screen that matches the pattern
mebibytes() { screen_text | sed -n "s/.*$1 *\\([0-9.]*\\) MiB.*/\\1/p" | head -n 1; }
rm -f "$CONFIG"
screen_start 120x40 C.UTF-8 "$TINCA" ui lenet --data digits,limit=1000 --validate digits,split=test --batch 64 \
    --epochs 1 --threads 1
screen_wait 'memory +[0-9.]+ MiB of'
form=$(mebibytes ' memory')
screen_keys r
screen_shows 'top-1 +[0-9.]+ %' "a run with validation"
run=$(mebibytes ' forecast')
if awk -v form="$form" -v run="$run" 'BEGIN { exit !(form > 0 && run > 0.9 * form && run < 1.1 * form) }'; then
    ok "  has the forecast that the form showed"
else
    not_ok "  has the forecast that the form showed" "$form MiB, $run MiB"
fi
screen_wait 'done|100 %'
screen_keys x x q
screen_wait 'What it takes'
quit "and the workbench ends"

status=0
"$TINCA" ui --colours pink </dev/null >out 2>err || status=$?
[ $status = 2 ] && grep -q 'colour-blind' err
if [ $? = 0 ]; then ok "an invalid value on the command line is refused"; else not_ok "an invalid value is refused" "$(cat err)"; fi
done_testing
