#!/bin/sh
# What the pages of a TensorBoard server show of the event files that tinca train and tinca export write: runs,
# scalars, pictures, histograms, texts and hyperparameters, by both of its readers. `make check-long`; needs Python's
# packages tensorboard and numpy (PYTHON: the interpreter that has them).
#
# Without make: TINCA=./tinca PYTHON=/path/python3 sh tests/long/tensorboard_server_long.sh
srcdir=$(cd "${srcdir:-.}" && pwd)
. "$srcdir/tests/cli/tap.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
PYTHON=${PYTHON:-python3}
if ! "$PYTHON" -c 'import tensorboard.main, numpy' 2>/dev/null; then
    skip "a TensorBoard server" "$PYTHON lacks tensorboard or numpy"
    done_testing
fi
cd "$T" || exit 99
job="--threads 1 -q --tensorboard board"
# shellcheck disable=SC2086 # lists of options
{
    succeeds "a run of grey pictures" train lenet --data digits,limit=640 --validate digits,split=test,limit=100 --batch 32 \
        --epochs 3 $job
    succeeds "one of coloured pictures" train resnet20 --data shapes,limit=64 --batch 16 --epochs 2 $job
    adversarial_network gan.json
    succeeds "generated pictures" train gan.json --data maps,limit=4 --epochs 2 --batch 2 $job
    succeeds "seeds" train mlp --data digits,limit=64 --batch 8 --epochs 1 --seeds 2 $job
    succeeds "a sweep" sweep --networks mlp --batches 8,16 --vary lr=0.1,0.01 --data digits,limit=64 --epochs 1 $job
}
succeeds "an export" export --all --format tfevents -o exported
for folder in board exported; do
    for speed in fast slow; do
        if [ $speed = fast ] && ! "$PYTHON" -c 'import tensorboard_data_server' 2>/dev/null; then
            skip "$folder, fast" "$PYTHON lacks tensorboard_data_server"
            continue
        fi
        "$PYTHON" "$srcdir/tests/long/tensorboard_server_check.py" "$XDG_STATE_HOME/tinca/runs" $folder $speed >lines 2>err ||
            echo "not ok the checks ended: $(tail -n 1 err)" >>lines
        while read -r line; do
            case $line in
            "ok "*) ok "${line#ok }" ;;
            *) not_ok "${line#not ok }" "" ;;
            esac
        done <lines
    done
done
done_testing
