#!/bin/sh
# datasets/fetch.sh against a mirror of our own: what is right arrives, what is not is refused.
: "${srcdir:=.}"
fetch=$srcdir/datasets/fetch.sh
data=${TINCA_DATA:-$srcdir/../shared/data}
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
count=0

ok() { # ok NAME COMMAND...
    count=$((count + 1))
    name=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        echo "ok $count - $name"
    else
        echo "not ok $count - $name"
        sed 's/^/# /' "$work/log"
    fi
}
skip() {
    count=$((count + 1))
    echo "ok $count # SKIP $1"
}
# pack: compresses its input, by python3, if it is there, without a search for repetitions, which takes seconds
pack() {
    python3 -c 'import gzip, shutil, sys
with gzip.GzipFile(fileobj=sys.stdout.buffer, mode="wb", compresslevel=0) as packed:
    shutil.copyfileobj(sys.stdin.buffer, packed, 1 << 20)' 2>/dev/null || gzip -1
}
refuses() { ! "$@"; }
lacks() { ! ls "$1"/* >/dev/null 2>&1; }

mkdir "$work/mirror" "$work/bad"
echo "not a data set" | gzip >"$work/mirror/train-images-idx3-ubyte.gz"
echo "not an archive" >"$work/mirror/cifar-10-binary.tar.gz"
cp "$work/mirror/cifar-10-binary.tar.gz" "$work/mirror/cifar-100-binary.tar.gz"
export TINCA_MIRROR="file://$work/mirror"
ok "no arguments are wrong usage" sh -c "sh '$fetch'; test \$? -eq 2"
ok "so is a set that is not there" sh -c "sh '$fetch' imagenet '$work/x'; test \$? -eq 2"
for set in mnist cifar10 cifar100; do
    ok "a false $set is refused" refuses sh "$fetch" $set "$work/bad/$set"
    ok "and nothing of it is left" lacks "$work/bad/$set"
done
ok "a file that is not there is an error" \
    env TINCA_MIRROR=file:///nowhere sh -c "! sh '$fetch' mnist '$work/none'"

if [ -d "$data/mnist" ]; then
    TINCA_MIRROR="file://$(cd "$data/mnist" && pwd)"
    ok "MNIST arrives" sh "$fetch" mnist "$work/mnist"
    ok "complete, and nothing else" sh -c "ls '$work/mnist' | wc -l | grep -qx ' *4'"
    rm "$work/mnist/t10k-labels-idx1-ubyte.gz"
    : >"$work/mnist/train-labels-idx1-ubyte.gz"
    ok "what is missing or spoilt is fetched again" sh "$fetch" mnist "$work/mnist"
    ok "a second call finds all there" env TINCA_MIRROR=file:///nowhere sh "$fetch" mnist "$work/mnist"
else
    skip "no MNIST (set TINCA_DATA)"
fi
if [ -d "$data/cifar10" ]; then
    mkdir "$work/mirror/cifar-10-batches-bin"
    for batch in data_batch_1 data_batch_2 data_batch_3 data_batch_4 data_batch_5 test_batch; do
        gzip -dc "$data/cifar10/$batch.bin.gz" >"$work/mirror/cifar-10-batches-bin/$batch.bin"
    done
    tar -C "$work/mirror" -cf - cifar-10-batches-bin | pack >"$work/mirror/cifar-10-binary.tar.gz"
    TINCA_MIRROR="file://$work/mirror"
    ok "CIFAR-10 arrives" sh "$fetch" cifar10 "$work/cifar10"
    ok "unpacked, and nothing else" sh -c "ls '$work/cifar10' | wc -l | grep -qx ' *6'"
    ok "a second call finds all there" \
        env TINCA_MIRROR=file:///nowhere sh "$fetch" cifar10 "$work/cifar10"
else
    skip "no CIFAR-10 (set TINCA_DATA)"
fi
echo "1..$count"
