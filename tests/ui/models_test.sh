#!/bin/sh
# The screen Models: the table of all models, measuring them, and the Pareto front.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "the table of models"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
cd "$T" || exit 99

go() { # go: opens the screen Models
    screen_keys m
    screen_wait 'Go to'
    screen_keys g Enter
}

screen_start 80x24 C.UTF-8 "$TINCA" ui
screen_wait 'Network'
go
screen_shows 'There are no models yet: train one' "without models the screen says so"
screen_keys M
screen_shows 'There are no models yet\.' "  and its keys, too"
screen_end

for network in mlp lenet lenet-shift; do
    "$TINCA" train $network --data digits,limit=60 --validate digits,split=test,limit=20 --batch 20 --epochs 1 \
        --threads 1 -q || exit 99
done
"$TINCA" weights "$XDG_STATE_HOME"/tinca/runs/*lenet-????/best.safetensors --save half.safetensors \
    --save-precision float16 || exit 99

screen_start 80x24 C.UTF-8 "$TINCA" ui
screen_wait 'Network'
go
screen_shows '3 models on cpu, 3 of them not measured' "the models of the runs are read"
screen_shows 'lenet-shift +[0-9.]+ +- ' "  with the accuracy of their validation, and no time"
screen_shows 'from its validation' "  which is said of the selected one"
screen_shows 'Time on' "  as is what was not measured"
screen_keys Up
screen_shows 'This is the first model' "a key that does nothing says why"
screen_keys M
screen_shows '3 models on cpu, 0 of them not measured' "M measures them"
screen_shows 'ms on cpu .median, 95 %:' "  with the interval of the median"
screen_keys M
screen_shows 'All models are measured' "  once"
screen_keys o
screen_shows 'In the order of: name' "o sorts them"
screen_keys End
screen_shows '^ ?c.* mlp' "  by name"
screen_keys Up Up Down
screen_shows 'Against lenet: [+-][0-9.]+' "the gain against the origin is shown"
screen_keys v
screen_shows '\[Pareto front\]' "v shows the Pareto front"
screen_shows 'top-1 \(%\); Pareto front of times in turns; data [a-z]' "  of the accuracy"
screen_shows 'ms/image' "  against the time"
screen_keys x
screen_shows 'bytes of the file' "x takes the next cost"
screen_shows 'the line is the Pareto front; data [a-z]' "  which needs no turns"
screen_keys L
screen_shows 'bytes of the file, log' "L its scale"
screen_keys v Enter
screen_shows 'Done|done' "Enter shows the run"
screen_keys q
go
screen_keys d
screen_shows 'models on [a-z]+' "d takes the next device"
screen_end

# a quantized model, which a sweep has made
"$TINCA" sweep --networks lenet --batches 20 --data digits,limit=60 --validate digits,split=test,limit=20 \
    --epochs 1 --after quantize:minmax --name int8 -q >/dev/null || exit 99
screen_start 80x24 C.UTF-8 "$TINCA" ui
screen_wait 'Network'
go
screen_shows 'quantize:minmax' "a quantized model is in the table"
screen_keys v v
screen_shows '\[Layers in int8\]' "the third view is about its layers"
tries=0
while screen_text | grep -q 'This model is not quantized' && [ $tries -lt 8 ]; do
    screen_keys v # the table, where the next model is selected
    screen_wait '\[Table\]'
    screen_keys Down v v
    screen_wait '\[Layers in int8\]'
    tries=$((tries + 1))
done
screen_shows 'conv1 +int8 +[0-9.]+ +[-+][0-9.]+' "  their noise and what each loses alone"
screen_shows 'alone in int8, [0-9]+ images' "  and how many images say so"
screen_keys Up
screen_shows 'The first layer is shown' "  a key that does nothing says why"
screen_end

# other terminals: narrow, ASCII, without colours
for size in 40x12 132x43; do
    screen_start $size C NO_COLOR=1 "$TINCA" ui
    screen_wait 'Network'
    go
    screen_shows 'models on cpu' "$size, without UTF-8 and colours: the table"
    screen_shows 'lenet' "  with the models"
    screen_keys v
    screen_shows '\[Pareto front\]' "  and the front"
    screen_end
done
done_testing
