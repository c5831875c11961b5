#!/bin/sh
# Networks that both PyTorch and tinca have, in both directions and in float32, float16 and bf16: the logits of one image,
# with random weights. `make check-long`; needs Python's packages torch, safetensors and numpy, for some networks also
# torchvision and timm (PYTHON: the interpreter that has them).
#
# Without make: TINCA=./tinca PYTHON=/path/python3 sh tests/long/torch_long.sh [NETWORK...]
srcdir=$(cd "${srcdir:-.}" && pwd)
. "$srcdir/tests/cli/tap.sh"
PYTHON=${PYTHON:-python3}
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
if ! "$PYTHON" -c 'import torch, safetensors, numpy' 2>/dev/null; then
    skip "PyTorch" "$PYTHON lacks torch, safetensors or numpy"
    done_testing
fi
"$PYTHON" "$srcdir/tests/long/torch_check.py" "$TINCA" "$T" "$srcdir" "$@" >"$T/lines" 2>"$T/compared"
compared=$?
while IFS= read -r line; do
    case $line in
    "ok "*"# SKIP"*) skip "$(echo "$line" | sed 's/^ok //; s/ # SKIP.*//')" "${line##*# SKIP }" ;;
    "ok "*) ok "${line#ok }" ;;
    "not ok "*) not_ok "${line#not ok }" ;;
    *) echo "# $line" ;; # what a package says when it is loaded
    esac
done <"$T/lines"
# --- the lines of docs/interoperability.md ---
if [ $# = 0 ]; then
    cd "$T" || exit 99
    docs=$srcdir/docs/interoperability.md
    sed '/^# Watching/,$d' "$docs" | sed -n '/^```python$/,/^```$/p' | grep -v '^```' >docs.py
    sed -n '/^## From tinca to PyTorch/,/^## From PyTorch/s/^    tinca \(train\|export\)/"$TINCA" \1/p' "$docs" >docs.sh
    TINCA=$TINCA sh -e docs.sh >docs.log 2>&1 && "$PYTHON" docs.py >docs.out 2>>docs.log && [ -s trained.safetensors ] &&
        ok "the documentation's lines load a state dict and save it" ||
        not_ok "the documentation's lines load a state dict and save it" "$(tail -n 5 docs.log)"
    succeeds "  and tinca reads it back" import trained.safetensors -o back.safetensors
    "$TINCA" weights model.safetensors >one
    "$TINCA" weights back.safetensors >two
    cmp -s one two && ok "  the weights are the same" || not_ok "  the weights are the same" "$(diff one two)"
    cd "$srcdir" || exit 99
fi
[ $compared = 0 ] || not_ok "the comparison ends" "$(tail -n 5 "$T/compared")"
done_testing
