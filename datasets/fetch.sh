#!/bin/sh
# Fetches a public data set, checks every file against a checksum, and puts it where tinca reads it.
#
#   datasets/fetch.sh mnist|cifar10|cifar100 DIR
#
# A file appears in DIR only when it is complete and right; a download that was cut off is taken up
# again by the next call; what is there already is checked and left alone. TINCA_MIRROR names
# another place for the same files (a URL up to the file name; file:// works without curl or wget).
set -eu

die() {
    echo "fetch.sh: $*" >&2
    exit 1
}

usage() {
    echo "usage: $0 mnist|cifar10|cifar100 DIR" >&2
    exit 2
}

# --- tools that go by several names ---

have() {
    command -v "$1" >/dev/null 2>&1
}

# sum sha256|md5 < bytes
sum() {
    if have "${1}sum"; then
        "${1}sum" | cut -d ' ' -f 1
    elif have openssl; then
        openssl dgst "-$1" | sed 's/.*= *//'
    elif [ "$1" = sha256 ] && have shasum; then
        shasum -a 256 | cut -d ' ' -f 1
    elif [ "$1" = md5 ] && have md5; then
        md5 -q
    else
        die "no program computes $1 (install coreutils or openssl)"
    fi
}

# download URL FILE: goes on where FILE ends
download() {
    case $1 in
    file://*) cp "${1#file://}" "$2" ;;
    *)
        if have curl; then
            curl --fail --location --retry 3 --continue-at - --output "$2" "$1"
        elif have wget; then
            wget --tries=3 --continue --output-document="$2" "$1"
        else
            die "neither curl nor wget is there (Debian: apt-get install curl)"
        fi
        ;;
    esac
}

# fetch URL FILE: FILE.part grows until it is whole. A connection that broke leaves it for the next
# call. A server that will not go on (curl's 22 and 33, wget's 8) may mean that it is whole already:
# then the caller's checksum decides.
fetch() {
    echo "fetching $1" >&2
    status=0
    download "$1" "$2.part" || status=$?
    case $status in
    0 | 22 | 33 | 8) ;;
    *) die "the download of $1 did not finish; call this again to go on" ;;
    esac
    [ -f "$2.part" ] || die "$1 could not be fetched"
}

# is_right ALGORITHM CHECKSUM FILE: of what the file unpacks to, when it ends in .gz or .gz.part
is_right() {
    [ -f "$3" ] || return 1
    case $3 in
    *.gz | *.gz.part) actual=$(gzip -dc <"$3" 2>/dev/null | sum "$1") ;;
    *) actual=$(sum "$1" <"$3") ;;
    esac
    [ "$actual" = "$2" ]
}

# --- sets of gzip files: NAME and the SHA-256 of what it unpacks to ---

mnist_files='
train-images-idx3-ubyte.gz ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db
train-labels-idx1-ubyte.gz 65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5
t10k-images-idx3-ubyte.gz 0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7
t10k-labels-idx1-ubyte.gz ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2
'

fetch_mnist() {
    base=${TINCA_MIRROR:-https://ossci-datasets.s3.amazonaws.com/mnist}
    echo "$mnist_files" | while read -r name checksum; do
        [ -n "$name" ] || continue
        is_right sha256 "$checksum" "$1/$name" && continue
        is_right sha256 "$checksum" "$1/$name.part" || fetch "$base/$name" "$1/$name"
        if ! is_right sha256 "$checksum" "$1/$name.part"; then
            rm -f "$1/$name.part"
            die "$name is not what was published (its checksum differs); it was removed"
        fi
        mv "$1/$name.part" "$1/$name"
    done
}

# --- sets in one archive ---

# The SHA-256 of each file of CIFAR-10.
cifar10_files='
data_batch_1.bin cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5
data_batch_2.bin a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed
data_batch_3.bin bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67
data_batch_4.bin 014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48
data_batch_5.bin 755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add
test_batch.bin 8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b
'

# unpack DIR FOLDER: the archive on standard input, its FOLDER's files into DIR/unpacked.part
unpack() {
    rm -rf "$1/unpacked.part"
    mkdir "$1/unpacked.part"
    tar -xzf - -C "$1/unpacked.part" "$2"
}

all_right() {
    echo "$2" | while read -r name checksum; do
        [ -n "$name" ] || continue
        is_right sha256 "$checksum" "$1/$name" || exit 1
    done
}

fetch_cifar10() {
    base=${TINCA_MIRROR:-https://www.cs.toronto.edu/~kriz}
    archive=$1/cifar-10-binary.tar.gz inner=$1/unpacked.part/cifar-10-batches-bin
    all_right "$1" "$cifar10_files" && return
    fetch "$base/cifar-10-binary.tar.gz" "$archive"
    if ! unpack "$1" cifar-10-batches-bin <"$archive.part" || ! all_right "$inner" "$cifar10_files"; then
        rm -rf "$1/unpacked.part" "$archive.part"
        die "cifar-10-binary.tar.gz is not what was published (checksums differ); it was removed"
    fi
    mv "$inner"/* "$1"
    rm -rf "$1/unpacked.part" "$archive.part"
}

# The archive's published MD5; there are no published checksums of its files.
cifar100_md5=03b5dce01913d631647c71ecec9e9cb8

fetch_cifar100() {
    base=${TINCA_MIRROR:-https://www.cs.toronto.edu/~kriz}
    archive=$1/cifar-100-binary.tar.gz
    [ -f "$1/train.bin" ] && [ -f "$1/test.bin" ] && return
    fetch "$base/cifar-100-binary.tar.gz" "$archive"
    if [ "$(sum md5 <"$archive.part")" != "$cifar100_md5" ]; then
        rm -f "$archive.part"
        die "cifar-100-binary.tar.gz is not what was published (its MD5 differs); it was removed"
    fi
    unpack "$1" cifar-100-binary <"$archive.part"
    mv "$1/unpacked.part/cifar-100-binary"/* "$1"
    rm -rf "$1/unpacked.part" "$archive.part"
}

[ $# -eq 2 ] || usage
case $1 in
mnist) kind=idx ;;
cifar10 | cifar100) kind=$1 ;;
*) usage ;;
esac
mkdir -p "$2"
"fetch_$1" "$2"
echo "$1 is in $2; use it as --data $kind:$2" >&2
