#!/bin/sh
# Prints how long a key takes to reach the screen of the workbench, without and with a run on all cores:
# `make bench-terminal`. KEYS: how many keys are pressed each time. Exit status 1: a key took longer than 30 ms.
TINCA=${TINCA:-./tinca}
T=$(mktemp -d) || exit 99
trap 'rm -rf "$T"' EXIT
export XDG_STATE_HOME="$T/state" XDG_CONFIG_HOME="$T/config" LC_ALL=C.UTF-8
status=0
latency() { # latency NAME OPTION...
    printf '%-44s ' "$1"
    shift
    ./key_latency "${KEYS:-100}" 5 "$TINCA" ui "$@" || status=1
}
latency 'the form' lenet --data digits
latency 'lenet on digits, batch 16, all cores' lenet --data digits --batch 16 --epochs 100 --start
latency 'resnet20 on shapes, batch 128, all cores' resnet20 --data shapes --batch 128 --epochs 100 --start
exit $status
