#!/bin/sh
# tinca watch beside real trainings of PyTorch (torch.utils.tensorboard, CSV, JSON lines), Keras 3 and PyTorch
# Lightning: every curve is what the Python program recorded itself. `make check-long`; needs Python's packages
# torch, tensorboard, keras and lightning (PYTHON: the interpreter that has them); what is missing is skipped.
#
# Without make: TINCA=./tinca PYTHON=/path/python3 sh tests/long/watch_long.sh
srcdir=$(cd "${srcdir:-.}" && pwd)
. "$srcdir/tests/cli/tap.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
PYTHON=${PYTHON:-python3}
cd "$T" || exit 99

# has PACKAGE...: whether Python has them
has() {
    for package in "$@"; do
        KERAS_BACKEND=torch "$PYTHON" -c "import $package" 2>/dev/null || return 1
    done
}

# matches NAME FOLDER WHAT...: the run that the last watch printed is what the program in FOLDER recorded
matches() {
    name=$1 folder=$2
    shift 2
    run export "$("$JSON_LOOK" "$T/out" runs.0.id)" -o session.json
    "$PYTHON" "$srcdir/tests/long/watch_check.py" session.json "$folder/truth.json" "$@" >lines 2>err ||
        echo "not ok the checks ended: $(tail -n 1 err)" >>lines
    while read -r line; do
        case $line in
        "ok "*) ok "$name, ${line#ok }" ;;
        *) not_ok "$name, ${line#not ok }" "" ;;
        esac
    done <lines
}

train() { "$PYTHON" "$srcdir/tests/long/watch_trainers.py" "$@"; }

if has torch tensorboard; then
    mkdir -p torch/events
    : >torch/log.csv
    : >torch/log.jsonl
    PAUSE=0.05 train torch torch >torch.log 2>&1 &
    trainer=$!
    for source in events log.csv log.jsonl; do
        "$TINCA" watch "torch/$source" --pid $trainer --json >"$source.out" 2>"$source.err" &
        eval "watch_$(echo $source | tr . _)=\$!"
    done
    wait $trainer || not_ok "the training of PyTorch" "$(tail -n 3 torch.log)"
    for source in events log.csv log.jsonl; do
        eval "wait \$watch_$(echo $source | tr . _)"
        [ $? = 0 ] || not_ok "PyTorch's $source, live" "$(tail -n 2 "$source.err")"
        cp "$source.out" "$T/out"
        matches "PyTorch's $source, live" torch points lr val_loss top1
    done
else
    skip "PyTorch" "$PYTHON lacks torch or tensorboard"
fi

if has torch keras; then
    train keras keras1 2>keras1.err | tee keras1.log | "$TINCA" watch - --json >"$T/out" 2>"$T/err"
    matches "Keras 3 through a pipe" keras1 epochs:1e-4 val_loss:1e-4 top1:1e-4
    succeeds "Keras's CSVLogger" watch keras1/log.csv --idle 0.5s --json
    matches "Keras's CSVLogger" keras1 epochs val_loss top1
    VERBOSE=2 train keras keras2 >keras2.log 2>keras2.err
    succeeds "Keras 3 without a bar" watch keras2.log --idle 0.5s --json
    matches "Keras 3 without a bar" keras2 epochs:1e-4 val_loss:1e-4 top1:1e-4
    KERAS_OUTPUTS=2 train keras keras3 >keras3.log 2>keras3.err
    succeeds "two outputs" watch keras3.log --idle 0.5s --json
    matches "two outputs, the first" keras3 epochs:1e-4 val_loss:1e-4 top1:1e-4
    succeeds "  the other one" watch keras3.log --idle 0.5s --json --columns top1=val_parity_accuracy
    matches "two outputs, the other" keras3 parity:1e-4
else
    skip "Keras" "$PYTHON lacks keras or torch"
fi

if has torch lightning tensorboard; then
    train lightning lightning >lightning.log 2>lightning.err
    succeeds "Lightning's TensorBoardLogger" watch lightning/tb --idle 0.5s --json
    matches "Lightning's TensorBoardLogger" lightning points val_loss top1
    succeeds "Lightning's CSVLogger" watch lightning/csv --idle 0.5s --json
    matches "Lightning's CSVLogger" lightning points val_loss top1
else
    skip "Lightning" "$PYTHON lacks lightning, torch or tensorboard"
fi
done_testing
