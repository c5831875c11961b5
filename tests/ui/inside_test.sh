#!/bin/sh
# The views of a run's layers, matrix products, arena and weights: live, stored, and never measured.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "the inside of a run is shown"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
cd "$T" || exit 99
case $FAKE in /*) ;; *) FAKE=$OLDPWD/$FAKE ;; esac

# --- a run in progress ---
screen_start 80x24 C.UTF-8 "$FAKE" --start --epochs 1000
screen_shows '1\[Curves\]2 Findings' "the tabs have digits"
screen_keys 5
screen_shows '5\[Layers\]' "5: the layers"
screen_shows 'Iterations 101 to 116' "with the measured iterations"
screen_shows '>conv1.*0.062.*0.125.*30.0' "with milliseconds and share"
screen_shows 'conv fast refused: too few channels' "and the reason why the kernel is not a faster one"
screen_keys Right
screen_shows '>conv2' "Right sorts by a column, the greatest value first"
screen_keys Left
screen_shows '>conv1' "Left returns to the order of the layers"
screen_keys Down
screen_shows '>conv2' "Down selects a layer"
screen_keys v
screen_shows '\[GEMM\]' "v: the next view"
screen_shows 'nn +20 +576 +25 +64 +0.0030' "products by kind and shape"
screen_shows 'tn: 32 calls, 0.0020 s, 10.0 %' "and sums by kind, with their share"
screen_shows 'all: 96 calls' "and their total"
screen_keys 7
screen_shows 'conv1.weight.*0.001' "7: the weights, with the ratio of update to weight"
screen_shows 'conv2.weight +.*0.1 +!' "an unusual ratio is marked"
screen_keys Down
screen_shows 'likely too high' "and explained"
screen_keys 4
screen_shows 'forward .*[|] backward' "4: the arena as a map"
screen_shows 'conv1 \(values\): 4.00 MiB' "the largest array is selected and named"
screen_keys Down
screen_shows 'conv2 \(gradients\): 3.00 MiB' "Down: the next array"
screen_shows 'from backward 3 to backward 2' "and its lifetime"
screen_resize 80x30 # a finding of the run takes a row
screen_keys 3
screen_shows 'Measured over time' "3: memory, also over time"
screen_keys 8
screen_shows 'nothing to show there' "8: a classifier has no samples"
for size in 40x12 20x6 1x1 30x8 200x60; do
    screen_resize $size
    for view in 3 4 5 6 7; do
        screen_keys $view Enter Down Up Left Right End Home PgDn PgUp
    done
done
screen_shows 'conv1.weight' "every view works at every size"
screen_end

# --- a driver that refuses CUDA graphs ---
screen_start 80x24 C.UTF-8 env UI_FAKE_REFUSED=1 "$FAKE" --start --epochs 1000
screen_keys 5
screen_shows 'graphs refused: 2, passes without: 315' "the layers say how many CUDA graphs were refused"
screen_shows 'refuses CUDA graphs: cudaGraphInst' "  and why"
screen_end

# --- a small terminal: Enter shows the details in place of the table ---
screen_start 40x12 C.UTF-8 "$FAKE" --start --epochs 1000
screen_wait 'ms/image'
screen_keys 5
screen_shows ">conv1 " "a small terminal shows the table"
screen_lacks 'refused' "  only"
screen_keys Enter
screen_shows 'conv fast refused' "Enter: the details in place of the table"
screen_end

# --- a run of several processes ---
screen_start 80x24 C.UTF-8 env UI_FAKE_RANKS=5 "$FAKE" --start --epochs 1000
screen_wait '\[Curves\]'
screen_keys R
screen_shows 'R\[Ranks\]' "R: the ranks"
screen_shows '5 ranks, means of the last 250 iterations' "and over which iterations"
screen_shows '^ +1 node0 +20.000 +0.500 +0.000 +0.0 +1001' "with the milliseconds of each"
screen_shows '^ +4 node2 +[?] +[?] +[?] +[?] +1004' "or question marks while a rank has told nothing"
screen_shows 'rank 1, the slowest' "the slowest is named"
screen_keys Right
screen_shows '^> +1 node0' "Right sorts: the slowest first"
for size in 40x12 20x6 1x1 30x8 200x60; do
    screen_resize $size
    screen_keys R Enter Down Up Left Right End Home PgDn PgUp
done
screen_shows 'node2' "the view works at every size"
screen_end
screen_start 80x24 C.UTF-8 "$FAKE" --start --epochs 1000
screen_wait '\[Curves\]'
screen_keys R
screen_shows 'nothing to show there' "a run of one process has no ranks"
screen_end

# --- a generator and a discriminator, without UTF-8 and colours ---
screen_start 100x30 C env NO_COLOR=1 "$FAKE" --start --network pix2pix --epochs 1000
screen_wait 'gen. loss'
screen_keys 5
screen_shows '>G +down1' "the generator's layers"
screen_shows 'D +judge1' "and the discriminator's"
screen_keys 4
screen_shows '< generator >' "the generator's arena"
screen_shows '[.]conv2[.][.][.][.]' "shaded and named in ASCII"
screen_keys Right
screen_shows 'discriminator, trained' "Right: the discriminator's arena"
screen_keys Left Left
screen_shows 'discriminator, frozen' "Left: the generator's other plan"
screen_end

# --- stored runs ---
fake_kept 20261118-101500-lenet-0032 20261119-111500-resnet20-0064
screen_start 80x24 C.UTF-8 "$FAKE"
screen_wait 'What it takes'
screen_keys o Enter
screen_shows 'Run \(earlier\)' "a run of an earlier session"
screen_keys 5
screen_shows 'Not measured' "a run that was never measured has no values"
screen_shows 'tinca bench --batch 64 --device cpu --profile resnet20' "and the command that measures them is shown"
screen_keys q Down Enter
screen_shows 'Iterations 101 to 116' "measured values are stored"
screen_end

# --- the end of a run, of the real program ---
reached() { has_line "\"iteration\":$1," "$XDG_STATE_HOME"/tinca/runs/*-mlp-*/journal; }
train() { # train EPOCHS SIGNAL N: a run that gets the signal after N iterations, unless it ends before; $run: its ID
    "$TINCA" train mlp --data digits,limit=200 --batch 20 --epochs "$1" --threads 1 -q </dev/null \
        2>/dev/null &
    child=$!
    wait_until reached "$3"
    kill -"$2" $child 2>/dev/null
    wait $child 2>/dev/null
    run=$(ls "$XDG_STATE_HOME/tinca/runs" | grep mlp)
}
inside() { # inside KEY: shows a view of the run
    screen_start 100x30 C.UTF-8 "$TINCA" attach "$run"
    screen_wait 'Curves'
    screen_keys "$1"
}
train 60 CONT 600
inside 5
screen_shows 'The last iterations, 585 to 600: ' "a run measures the times of its last iterations"
screen_shows 'hidden.1.fc +[0-9.]+ +[0-9.]+ ' "layer by layer"
screen_keys 4
screen_shows 'forward.*backward' "and has its arena"
screen_shows 'last iterations, 585 to 600' "which says when it was measured"
rm -rf "$XDG_STATE_HOME"/tinca/runs/*-mlp-*
train 100000 KILL 500
inside 5
screen_shows 'process was ended' "a run that was killed has not measured them, and says so"
screen_end
done_testing
