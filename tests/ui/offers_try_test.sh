#!/bin/sh
# Every key that the screens offer for a model, a run's messages and sweeps does something.
. "${srcdir:-.}/tests/ui/offers.sh"

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
