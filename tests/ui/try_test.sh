#!/bin/sh
# The screens Try, Advisor and Study: the real program with tiny runs.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "models are tried out"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
unset COLORTERM TMUX STY
cd "$T" || exit 99
HALF=$(printf '\342\226\200')

# --- empty states ---
screen_start 80x24 C.UTF-8 "$TINCA"
screen_wait 'What it takes'
screen_keys m t Enter
screen_shows 'There is no run yet whose model could be tried' "without runs the screen Try says what to do"
screen_keys Right
screen_shows 'Choose a model first: w' "and so do its keys"
screen_keys m a Enter
screen_shows 'There is no run to read the answer off' "the advisor says so, too"
screen_keys m p Enter
screen_shows 'No run of a network that makes pictures' "and the study says so"
screen_end

# --- two models ---
adversarial_network pair.json
succeeds "a generator is trained" train pair.json --data maps,limit=4 --epochs 1 --batch 1 -q
sleep 1 # runs are sorted by the seconds of their IDs, and the classifier must be the newest
succeeds "and a small classifier" train mlp --widths 16 --data digits,limit=300 \
    --validate digits,limit=120 --epochs 1 --batch 32 --lr 0.1 -q
model=$(ls "$XDG_STATE_HOME"/tinca/runs/*mlp*/best.safetensors)
succeeds "the result of tinca eval" eval "$model" --data digits,limit=120 --json
top1=$("$JSON_LOOK" out top1 | sed 's/^\([0-9]*\.[0-9]\).*/\1/')

# --- one image ---
screen_start 80x24 C.UTF-8 "$TINCA"
screen_wait 'What it takes'
screen_keys m t Enter
screen_shows "top-1 $top1[0-9]* %, top-5 [0-9.]+ %, 120 images" "m t uses the newest model, with the accuracy of eval"
screen_shows "$HALF$HALF$HALF" "the picture in half blocks"
screen_shows 'image 1 of 120' "with its number"
screen_shows '(Right: it is|Wrong: it is) 0' "and whether it was classified correctly"
bars=$(screen_text | grep -c '[0-9.]* %$')
if [ "$bars" = 5 ]; then ok "five bars"; else not_ok "five bars" "$bars: $(screen_text)"; fi
screen_shows '\* 0 .*[0-9.]+ %$' "the true class has a mark"
screen_keys Right
screen_shows 'image 2 of 120' "Right: the next"
screen_keys End
screen_shows 'image 120 of 120' "End: the last"
screen_keys Left
screen_shows 'image 119 of 120' "Left: the previous one"
screen_keys g
screen_wait 'Its number'
screen_keys 7 Enter
screen_shows 'image 7 of 120' "g: an image by its number"
screen_keys g
screen_wait 'Its number'
screen_keys 121 Enter
screen_shows 'from 1 to 120' "an invalid number is refused"
screen_keys Escape

# --- keys before the first result ---
screen_keys u s s
screen_shows 'most often predicted as' "the classes can be opened before an image was shown"
screen_keys v
screen_shows 'image 7 of 120' "and the image is still shown"

# --- images that were classified wrongly ---
wrong=$(awk -v top1="$("$JSON_LOOK" out top1)" 'BEGIN { printf "%.0f", 120 - 1.2 * top1 }')
screen_keys f
screen_shows "of the $wrong misclassified" "f: their number agrees with the accuracy"
screen_shows 'Wrong: it is [0-9], predicted as' "and this image is one of them"
screen_keys f
screen_shows 'step through all images' "f once more: all images"

# --- matrix and classes ---
screen_keys v
screen_shows '^ +0 0 .* 12 +[0-9.]+%$' "the matrix: images and accuracy of each class"
screen_shows '(0 classified correctly: [0-9]+ images?; Enter|0 predicted as 0: never)' "the selected cell in words"
counts=$(screen_text | grep -aE '^ +[0-9] [0-9] .*%$' | awk '{ for (i = 3; i < NF - 1; i++) if ($i != ".") s += $i } END { print s }')
if [ "$counts" = 120 ]; then ok "the sum of its cells is the number of images"; else not_ok "the sum of its cells is the number of images" "$counts: $(screen_text)"; fi
diagonal=$(screen_text | grep -aE '^ +[0-9] [0-9] .*%$' | awk '{ if ($(NR + 2) != ".") s += $(NR + 2) } END { print s }')
if [ "$diagonal" = $((120 - wrong)) ]; then ok "its diagonal gives eval's top-1"; else not_ok "its diagonal gives eval's top-1" "$diagonal, wrong $wrong"; fi
screen_keys v
screen_shows 'most often predicted as' "v: the classes"
screen_keys s
worst_is_first() {
    settled || return 1
    worst=$(screen_text | grep -a '^ > ' | sed 's/.*12 *\([0-9.]*\) %.*/\1/')
    least=$(screen_text | grep -aE ' 12 +[0-9.]+ % ' | sed 's/.* 12 *\([0-9.]*\) %.*/\1/' | sort -n | head -1)
    [ -n "$worst" ] && [ "$worst" = "$least" ]
}
if wait_until worst_is_first; then ok "s: the worst class first"; else not_ok "s: the worst class first" "$worst, $least"; fi
screen_keys Enter
screen_shows '1 of the [0-9]+ of [0-9] misclassified' "Enter shows its images that were classified wrongly"

# --- files ---
screen_keys i
screen_wait 'PNG or JPEG'
printf 'no picture' >no.png
screen_keys no.png Enter
screen_shows 'neither PNG nor JPEG' "a file that is no picture is refused with a message"
cp "$XDG_STATE_HOME"/tinca/runs/*pair*/sample-0001.png sample.png
screen_keys C-u
screen_keys sam Tab
screen_shows 'sample.png' "Tab completes the name"
screen_keys Enter
screen_shows 'an image file' "an image file is classified"
screen_resize 40x12
screen_shows '[0-9.]+ %$' "in a small terminal, too"
screen_resize 12x4
screen_resize 120x40
screen_shows 'an image file' "and a large one"
screen_keys w
screen_shows 'best +best top-1 [0-9.]+ %, mlp-w16 on' "w lists weights"
screen_keys none.safetensors Enter
screen_shows 'none.safetensors: .*cannot open' "a missing model: a message with the file and the reason"
screen_keys w
screen_wait 'Which weights'
screen_keys pair Down Enter
screen_shows 'input +generated +target' "a generator's three pictures"
screen_shows 'pixel accuracy [0-9.]+ % \(within 16 of 255\), 4 pairs' "with its pixel accuracy"
screen_end
screen_start 80x24 C env NO_COLOR=1 "$TINCA"
screen_wait 'What it takes'
screen_keys m t Enter
screen_shows '[%@#*]+[-=+.:]' "without colours and UTF-8: characters from dark to bright"
screen_end

# --- the advisor ---
screen_start 120x40 C.UTF-8 "$TINCA"
screen_wait 'What it takes'
screen_keys m a Enter
screen_shows '2. Is it to be faster. yes' "the path through the flowchart"
screen_shows '3. Is the device a powerful one. no \(assumed\)' "and its assumptions"
screen_keys Down Down
screen_keys 5 0 Enter
screen_shows '1. Does it meet the requirements as it is. not known yet' "a limit needs a measured time"
screen_keys Down Down Down Right
screen_shows 'mlp-w16 on cpu: try shift' "one network only"
screen_keys Down
screen_shows '> ms of mlp-w16 on cpu' "a missing measurement can be selected"
screen_shows 'tinca measure [0-9-]+-mlp' "with the command for it"
screen_keys Enter
screen_shows 'Measure it' "Enter asks first"
screen_keys n
screen_lacks 'measure it now' "n cancels"
screen_keys Enter
screen_wait 'measure it now'
screen_keys y
screen_shows 'mlp-w16 takes [0-9.e-]+ \+- [0-9.e-]+ ms on cpu' "y measures"
screen_shows 'mlp-w16 on cpu: leave it as it is' "and the answer uses the measurement"
screen_shows '1. Does it meet the requirements as it is. yes' "with its path through the flowchart"
test -s "$XDG_STATE_HOME"/tinca/runs/*mlp*/measurements.json && ok "the measurement is stored with the run" || not_ok "the measurement is stored with the run"
screen_keys Home Left
screen_shows 'faster and smaller' "Left: another need"
screen_keys Left
screen_shows 'Is it to be faster. no' "smaller needs no speed"
screen_keys End
screen_shows '> mlp-w16-shift is not trained' "a missing training"
screen_keys Enter
screen_shows 'Technique +shift' "is put into the form"
screen_shows 'The form holds the training' "with a message"
screen_end

# --- the study ---
screen_start 80x24 C.UTF-8 env LOGNAME=ana "$TINCA"
screen_wait 'What it takes'
screen_keys m p Enter
screen_shows 'Participant +ana' "the study shows the participant"
screen_shows 'pix2pix-shift +published' "and the published results"
screen_keys r
screen_shows 'Choose a run first' "a run must be chosen"
screen_keys Down Enter
screen_keys 5 Enter
screen_shows 'even number' "half of the pictures are real"
screen_keys C-u
screen_keys 6 Enter Down Enter C-u
screen_keys 0.05 Enter End Space
screen_shows '\[\*\] pair' "space chooses a run"
screen_keys r
screen_shows 'The pictures of pair.* are ready' "r makes the pictures"
screen_shows '6 pictures are shown instead of 50' "and reports the differences from the published study"
screen_keys r
screen_wait 'Enter to begin' && screen_keys Enter
for picture in 1 2 3 4 5 6; do
    screen_wait "Perceptual study +$picture of 6" && screen_wait 'Real or generated' && screen_keys g
    [ $picture -le 2 ] || continue
    screen_wait '(Right|Wrong): it was' && screen_keys Enter
    [ $picture = 1 ] || { screen_wait 'Practice is over' && screen_keys Enter; }
done
screen_shows 'vote number 1' "after the session the screen shows the vote"
screen_shows '^ +pair +1 +0/2 +0\.000' "the results include it"
is "the file contains it" studies.0.votes.0.participant ana tinca-study.json
screen_keys Space r
screen_wait 'are ready'
screen_keys r
screen_shows 'once a network' "nobody votes twice"
screen_keys Home Enter C-u
screen_keys eva Enter r
screen_wait 'Enter to begin' && screen_keys q
screen_wait 'Leave the study' && screen_keys y
screen_shows 'not finished saves no vote' "a session that is left leaves no vote"
screen_keys m s Enter
screen_shows 'What it takes' "and the workbench is shown"
screen_end
screen_start 80x24 C "$TINCA"
screen_wait 'What it takes'
screen_keys m p Enter
screen_wait 'Participant'
screen_keys Enter C-u
screen_keys joe Enter End Space r
screen_shows 'This terminal cannot show the pictures' "an unsuitable terminal is reported"
screen_shows 'UTF-8' "and the reason"
screen_keys q q
ended "q q quits"
done_testing
