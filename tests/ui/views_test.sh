#!/bin/sh
# Comparisons of runs, also of earlier sessions, and samples of a generator.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "runs are compared and samples shown"
cd "$T" || exit 99
case $FAKE in /*) ;; *) FAKE=$OLDPWD/$FAKE ;; esac
HALF=$(printf '\342\226\200')

# --- the list of runs, and a comparison ---
fake_kept 20261118-101500-lenet-0032 20261119-111500-resnet20-0064 20261120-111500-lenet-0128 broken
screen_start 80x24 C.UTF-8 "$FAKE"
screen_wait 'What it takes'
screen_keys o
screen_shows 'done +resnet20' "o lists runs of earlier sessions"
screen_shows 'unreadable +broken' "also unreadable ones"
screen_keys Enter
screen_shows 'this is no run' "Enter on it shows the reason"
screen_keys Down Down Enter
screen_shows 'Run \(earlier\).*resnet20' "Enter shows an earlier run"
screen_shows "$BRAILLE" "with its curves"
screen_keys q
screen_keys ' ' ' '
screen_shows '\* +done +lenet' "space marks runs"
screen_keys c
screen_shows 'Compare 2 runs' "c compares the marked runs"
screen_shows '1.* resnet20, batch 64.*2.* lenet, batch 32' "each curve has its mark and a label"
screen_keys y y
screen_shows 'top-1 accuracy' "y: another quantity"
screen_keys l
screen_shows 'iteration, log' "l changes the axes as on the run screen"
screen_keys l l l v
screen_shows 'PARAMETERS' "v: the table"
screen_shows 'tinca train resnet20' "a missing measurement has its command"
screen_keys p
screen_shows 'resnet20-shuffle[*]' "p adds published figures"
screen_keys s
screen_shows 'sorted: network' "s sorts by the next column"
screen_keys Right Right
screen_lacks 'BEST TOP-1' "Right scrolls the columns"
screen_keys Left Left p v
screen_shows 'Batch size' "v: the settings that differ"
screen_shows 'The other [0-9]+ settings are the same' "and the number of equal settings"
screen_keys e
screen_shows 'Export the comparison' "e asks for a file"
screen_keys C-u
screen_keys table.txt Enter
screen_shows 'end in .md, .csv or .json' "an unknown extension is refused with a message"
for ending in md csv json; do
    screen_keys C-u
    screen_keys "table.$ending" Enter
    screen_shows "Wrote table.$ending" "the table as $ending"
    [ $ending = json ] || screen_keys e
done
has "the JSON has the runs" runs.1.network table.json
grep -q '^| \\# | NETWORK' table.md && ok "the Markdown is a table" || not_ok "the Markdown is a table"
screen_keys v Enter
screen_shows 'Run \(earlier\)' "Enter shows the selected run"
screen_keys c
screen_shows 'Compare [23] runs' "c also compares from the run screen"
screen_resize 40x12
screen_shows 'Compare [23] runs' "also after a resize"
screen_keys v v
screen_resize 1x1
screen_resize 200x60
screen_shows 'last|PARAMETERS' "a large terminal shows curves and table together"
screen_keys q
screen_end

# --- a run in progress can be compared ---
screen_start 80x24 C.UTF-8 "$FAKE" --start --epochs 1000
screen_wait smoothed
screen_keys c
screen_shows 'Compare 4 runs' "without marks: all finished runs and the run shown last"
screen_shows '1.* lenet, batch 64 +[0-9.]+ ' "which is still running; its label loses whole settings, no part of a number"
screen_keys v
screen_shows 'This run is not done; its state: running' "in the words of the list of runs"
screen_end

# --- samples ---
mkdir made
screen_start 80x24 C.UTF-8 "$FAKE" --start --network pix2pix --epochs 1000 --run-dir made
screen_shows 'gen. loss' "a generator's loss"
screen_shows 'disc. loss' "and a discriminator's"
screen_shows 'within 16' "pixel accuracy is shown with its tolerance"
screen_shows 'G.* generator +D.* discriminator' "both have curves, with letters"
screen_keys y
screen_shows 'Curves: generator loss' "y: one of them"
screen_keys 8
screen_shows '\[Sample\]' "8: a sample"
screen_shows "$HALF$HALF$HALF" "in half blocks"
screen_shows 'epoch [0-9]+ +from example 1 of 2' "with its epoch"
sample_epoch() { screen_text | sed -n 's/^ *epoch \([0-9]*\) .*from example.*/\1/p'; }
epoch=$(sample_epoch)
newer_sample() { [ "$(sample_epoch)" -gt "$epoch" ] 2>/dev/null; }
if wait_until newer_sample; then
    ok "a newer sample is shown when it is saved"
else
    not_ok "a newer sample is shown when it is saved" "still epoch $epoch on: $(screen_text)"
fi
screen_keys Down
screen_shows 'example 2 of 2' "Down: another example"
screen_resize 40x12
screen_shows "$HALF$HALF" "in a small terminal, too"
screen_resize 10x3
screen_resize 120x40
screen_shows 'input +generated +target' "and in a large terminal"
screen_end
screen_start 80x24 C env NO_COLOR=1 "$FAKE" --start --network pix2pix --epochs 1000 --run-dir made
screen_wait 'gen. loss'
screen_keys 8
screen_shows '%%%%%%' "without colours in characters from dark to bright"
screen_shows 'made/sample-[0-9]+.png' "and the path of the file"
done_testing
