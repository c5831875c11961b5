#!/bin/sh
# Networks written in Caffe's published schema with random weights, text and binary, are imported, and their outputs are
# compared with a forward pass in NumPy: AlexNet (in both formats of layers), GoogLeNet with its heads, SqueezeNet,
# LeNet, and a network of the other layers. `make check-long`; needs Python's packages numpy and protobuf (PYTHON: the
# interpreter that has them).
#
# Without make: TINCA=./tinca PYTHON=/path/python3 sh tests/long/caffe_long.sh [NETWORK...]
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
PYTHON=${PYTHON:-python3}
if ! "$PYTHON" -c 'import google.protobuf, numpy' 2>/dev/null; then
    skip "networks of Caffe" "$PYTHON lacks numpy or protobuf"
    done_testing
fi
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
[ $# != 0 ] || set -- lenet squeezenet alexnet alexnet-v1 googlenet mixed
for network; do
    "$PYTHON" "$srcdir/tests/long/caffe_check.py" "$TINCA" "$T" "$network" >"$T/line" 2>"$T/err"
    if [ $? = 0 ]; then ok "$(cat "$T/line")"; else not_ok "$network" "$(cat "$T/line" "$T/err")"; fi
    rm -f "$T/$network"*
done
done_testing
