#!/bin/sh
# Runs and sweeps do not depend on the current folder: relative paths of networks and data sets are stored
# as absolute paths.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
mkdir -p "$T/work/sets/train" "$T/work/nets" "$T/elsewhere" && cd "$T/work" || exit 99

# 40 images of 8x8 in two classes, as IDX files
{
    printf '\000\000\010\003\000\000\000\050\000\000\000\010\000\000\000\010'
    head -c 2560 "$TINCA"
} >sets/train/train-images-idx3-ubyte
{
    printf '\000\000\010\001\000\000\000\050'
    printf '\000\001\000\001\001\000\000\001%.0s' 1 2 3 4 5
} >sets/train/train-labels-idx1-ubyte
cp sets/train/train-images-idx3-ubyte sets/train/t10k-images-idx3-ubyte
cp sets/train/train-labels-idx1-ubyte sets/train/t10k-labels-idx1-ubyte
cat >nets/own.json <<'END'
{"input": [1, 8, 8], "classes": 10, "layers": [
  {"op": "flatten"}, {"op": "linear", "name": "fc", "output": "classes"}]}
END
job="nets/own.json --data idx:sets/train,limit=20 --validate idx:./sets/train --batch 4 --threads 1"

# --- a run ---
# shellcheck disable=SC2086 # a list of options
{
    succeeds "a run with relative paths" train $job --epochs 2 --run-dir run -q
    is "the network's path is stored as an absolute path" config.network "$T/work/nets/own.json" run/config.json
    is "  and its data, with the options" config.data "idx:$T/work/sets/train,limit=20" run/config.json
    is "  and its validation set" config.validate "idx:$T/work/sets/train" run/config.json
    is "  also in data.json" training.spec "idx:$T/work/sets/train,limit=20" run/data.json

    # a run that is stopped in the middle
    "$TINCA" train $job --epochs 100000 --checkpoint 0.01 --checkpoint-share 100 -q >out 2>err </dev/null &
    child=$!
    has_checkpoint() { ls "$XDG_STATE_HOME"/tinca/runs/*/checkpoint.safetensors >files 2>/dev/null; }
    wait_until has_checkpoint
    kill -TERM $child
    wait $child
    id=$(basename "$(dirname "$(head -n 1 files)")")
}
cd "$T/elsewhere" || exit 99
rm -f err
"$TINCA" resume "$id" >out 2>err </dev/null &
child=$!
wait_until has_line 'continues after' err
kill -TERM $child 2>/dev/null
wait $child
status=$?
[ $status = 130 ] && ok "it is resumed from another folder" ||
    not_ok "it is resumed from another folder" "exit $status: $(cat err)"
succeeds "its model is evaluated from another folder" eval "$T/work/run/weights.safetensors" \
    --data "idx:../work/sets/train,split=train"

mv "$T/work/run" "$T/elsewhere/moved"
succeeds "a run is exported after its folder was moved" export ./moved -o moved.json
is "  with its configuration" runs.0.config.network "$T/work/nets/own.json" moved.json
rm -r "$XDG_STATE_HOME/tinca/runs"

# --- a sweep ---
cd "$T/work" || exit 99
cat >grid.json <<'END'
{"networks": ["nets/own.json"], "batches": [4], "seed": [1, 2], "data": "idx:sets/train", "epochs": 1,
 "threads": 1, "name": "s"}
END
succeeds "a sweep with relative paths, --dry-run" sweep grid.json --dry-run
succeeds "the sweep is computed" sweep grid.json -q
cd "$T/elsewhere" || exit 99
succeeds "the sweep from another folder, --dry-run" sweep --name s --dry-run --json
is "  its first cell is done" cells.0.state done
is "  and its second" cells.1.state done
second=$("$JSON_LOOK" "$T/out" cells.1.id)
rm -r "$XDG_STATE_HOME/tinca/sweeps/s/$second"
succeeds "a missing cell is computed from there" sweep --name s -q
succeeds "  the sweep, --dry-run" sweep --name s --dry-run --json
is "  is done" cells.1.state done
is "  on the same data" cells.1.id "$second"

# --- errors ---
mkdir gone && cd gone && rmdir "$T/elsewhere/gone"
refuses 1 'the current folder cannot be found' "a relative path in a deleted folder" \
    train nets/own.json --data digits
cd "$T/work" || exit 99
long=$(printf 'sub/%.0s' $(seq 150))
refuses 2 'absolute path has more than 511 characters' "a path that is too long" \
    train nets/own.json --data "idx:$(echo "$long" | head -c 500)"
done_testing
