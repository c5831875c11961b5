#!/bin/sh
# The marks of learning rates, findings and best epochs on the curves of one run and of several: f and M move the
# cursor to them, and marks in the same column are drawn as one, so that none hides another.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "marks are shown"

train() {
    "$TINCA" train mlp --data digits,limit=200 --batch 20 --threads 1 -q "$@" 2>/dev/null
    sleep 1 # IDs are sorted by the second
}
train --iterations 400 --lr 0.01 --schedule step --step-size 2 --gamma 0.98
train --epochs 12 --lr 0.01 --schedule step --step-size 40 --gamma 0.3 --validate digits,split=test,limit=60
train --epochs 12 --lr 0.02 --schedule step --step-size 40 --gamma 0.3 --validate digits,split=test,limit=60
train --epochs 12 --lr 100000

# --- one run ---
screen_start 80x24 C.UTF-8 "$TINCA" ui mlp --data digits
screen_wait 'Set up'
screen_keys o
screen_wait 'Runs'
screen_keys End Enter
screen_shows '[+]{9}' "several marks in one column are drawn as such"
screen_shows 'L new learning rate +[+] several' "which is explained"
screen_keys M
screen_shows 'L learning rate 0.01 -> 0.0098 +L learning rate' "and M names them"

# --- several runs ---
screen_keys q
screen_wait 'Runs'
screen_keys Home c
screen_shows 'Compare 4 runs' "a comparison"
screen_shows '! finding +L new learning rate' "its marks are explained"
screen_keys f
screen_shows '! 1: divergence' "f goes to the finding, and names its run"
screen_keys h # the run that diverged
screen_shows '1 +lr 100000.*hidden' "a run is hidden"
screen_keys f
screen_shows 'Nothing was found so far' "and its marks with it"
screen_keys Down Down Down h
screen_shows '4 +lr 0.01, .*hidden' "the run with many marks is hidden"
screen_shows '[^ +][+][^ +].*[^ ]+[+]' "marks of two runs in the same column are drawn as several"
screen_keys M
screen_shows 'L 2: learning rate 0.02 -> 0.006; L 3: learning rate 0.01 -> 0.003' "M goes to them, and names the runs"
screen_keys M M
screen_shows 'L 2: learning rate 0.006 -> 0.0018; L 3:' "and to the next ones"
screen_keys v M
screen_shows 'This acts on the curves' "in another view M says where it acts"
screen_end
done_testing
