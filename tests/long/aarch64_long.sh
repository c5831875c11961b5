#!/bin/sh
# The program and libtinca for aarch64: cross-compiled, and run under QEMU with models that this machine has
# trained. `make check-long`; needs aarch64-linux-gnu-gcc, qemu-user, and Debian's libraries for arm64: either a
# folder with them, AARCH64_ROOT, or an apt that knows arm64 (dpkg --add-architecture arm64; apt-get update), from
# which packages are unpacked into a scratch folder. AARCH64_CC: another compiler, such as "ccache
# aarch64-linux-gnu-gcc"; AARCH64_BUILD: a folder for the build that is kept.
#
# Without make: TINCA=./tinca sh tests/long/aarch64_long.sh
srcdir=$(cd "${srcdir:-.}" && pwd)
. "$srcdir/tests/cli/tap.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
CC=${AARCH64_CC:-aarch64-linux-gnu-gcc} R=${AARCH64_ROOT:-$T/root} B=${AARCH64_BUILD:-$T/build} L=lib/aarch64-linux-gnu
unset MAKEFLAGS MFLAGS MAKELEVEL
jobs=$(getconf _NPROCESSORS_ONLN)

give_up() {
    skip "aarch64" "$1"
    done_testing
}
# judge NAME COMMAND...: the command succeeds
judge() {
    name=$1
    shift
    if "$@" >"$T/judged" 2>&1; then ok "$name"; else
        not_ok "$name" "$(tail -n 20 "$T/judged")"
        return 1
    fi
}

# --- tools ---
$CC -dumpmachine >"$T/machine" 2>/dev/null || give_up "$CC is missing (Debian: apt-get install gcc-aarch64-linux-gnu)"
QEMU=$(command -v qemu-aarch64-static || command -v qemu-aarch64) ||
    give_up "QEMU is missing (Debian: apt-get install qemu-user-static)"
if [ -z "${AARCH64_ROOT-}" ]; then
    command -v apt-get >/dev/null && apt-cache show libcjson-dev:arm64 >/dev/null 2>&1 ||
        give_up "there are no libraries for it: set AARCH64_ROOT, or dpkg --add-architecture arm64; apt-get update"
    mkdir "$T/packages" "$R"
    (cd "$T/packages" && for package in libc6 libc6-dev linux-libc-dev libcrypt1 libgcc-s1 libgfortran5 \
        libopenblas0-pthread libopenblas-pthread-dev libcjson1 libcjson-dev zlib1g zlib1g-dev libncurses-dev \
        libncursesw6 libncurses6 libtinfo6 libpng-dev libpng16-16 libjpeg62-turbo-dev libjpeg62-turbo; do
        apt-get download "$package:arm64" || exit 1
    done) >"$T/downloads" 2>&1 || give_up "packages cannot be downloaded: $(tail -n 1 "$T/downloads")"
    for package in "$T"/packages/*.deb; do dpkg -x "$package" "$R"; done
fi
export PKG_CONFIG_SYSROOT_DIR="$R" \
    PKG_CONFIG_LIBDIR="$R/usr/$L/pkgconfig:$R/usr/$L/openblas-pthread/pkgconfig:$R/usr/share/pkgconfig"

# --- the build ---
mkdir -p "$B"
# shellcheck disable=SC2016
judge "configure --host=aarch64-linux-gnu" sh -c 'cd "$1" && { [ -f Makefile ] || "$2/configure" -q --host=aarch64-linux-gnu \
    --without-cuda --without-mpi --without-cairo --without-onnx --without-tensorboard --enable-werror \
    CC="$3 --sysroot=$4" CXX=false CFLAGS="-O2"; }' sh "$B" "$srcdir" "$CC" "$R" || done_testing
judge "make" make -s -j"$jobs" -C "$B" all || done_testing
judge "make install" make -s -C "$B" install prefix="$T/installed"
file=$(readelf -h "$T/installed/lib/libtinca.so.1" | sed -n 's/.*Machine: *//p')
[ "$file" = AArch64 ] && ok "  the library is for aarch64" || not_ok "  the library is for aarch64" "$file"

# arm COMMAND...: runs a program for aarch64
arm() { "$QEMU" -L "$R" -E LD_LIBRARY_PATH="$T/installed/lib:/usr/$L/openblas-pthread" "$@"; }

# --- programs ---
cd "$T" || exit 99
libraries=$(pkg-config --libs libcjson openblas zlib)
for program in examples/classify tests/library/scores; do
    short=${program##*/}
    # shellcheck disable=SC2086 # lists of options
    judge "$short, shared" $CC --sysroot="$R" -Wall -Wextra -Werror -I"$T/installed/include" -o "$short" "$srcdir/$program.c" \
        -L"$T/installed/lib" -ltinca -Wl,-rpath-link,"$R/usr/$L:$R/$L:$R/usr/$L/openblas-pthread"
    # shellcheck disable=SC2086
    judge "$short, static" $CC --sysroot="$R" -Wall -Wextra -Werror -I"$T/installed/include" -o "${short}_static" "$srcdir/$program.c" \
        "$T/installed/lib/libtinca.a" $libraries -lm -Wl,-rpath-link,"$R/usr/$L:$R/$L:$R/usr/$L/openblas-pthread"
done
python3 - <<'PYTHON'
import struct, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
width, height = 77, 40
pixels = bytes((7 * x + 11 * y * (c + 1) + x * y // 3) % 256
               for y in range(height) for x in range(width) for c in range(3))
open("wide.pnm", "wb").write(b"P6\n%d %d\n255\n" % (width, height) + pixels)
open("wide.raw", "wb").write(pixels)
rows = b"".join(b"\0" + pixels[y * width * 3:(y + 1) * width * 3] for y in range(height))
open("wide.png", "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(
    ">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
PYTHON
for network in resnet20 resnet20-shift resnet20-dsc lenet; do
    data=shapes
    [ $network = lenet ] && data=digits
    "$TINCA" train $network --data $data,limit=64 --batch 16 --iterations 4 --seed 1 --save $network.safetensors -q 2>err ||
        not_ok "$network is trained" "$(cat err)"
done
"$TINCA" quantize resnet20.safetensors --calibrate shapes,limit=64 -o int8.safetensors -q >out 2>err ||
    not_ok "a model is quantized" "$(cat err)"

# --- outputs ---
# near FILE FILE LIMIT: prints max|a-b| / max(1, max|b|) of two arrays of float32; fails above LIMIT
near() {
    python3 -c '
import array, sys
a, b = (array.array("f", open(name, "rb").read()) for name in sys.argv[1:3])
far = max(abs(x - y) for x, y in zip(a, b)) / max(1, max(map(abs, b)))
print("%.2g" % far)
sys.exit(len(a) != len(b) or not far <= float(sys.argv[3]))' "$@"
}
# Other instructions sum in another order. In int8 that may move a value to the next integer.
for case in resnet20:1e-5 resnet20-shift:1e-5 resnet20-dsc:1e-5 lenet:1e-5 int8:0.05; do
    model=${case%:*} limit=${case#*:}
    "$TINCA" predict $model.safetensors wide.png --raw raw.npy >out 2>err || not_ok "$model is computed here" "$(cat err)"
    tail -c 40 raw.npy >here
    for program in scores scores_static; do
        rm -f there
        arm ./$program $model.safetensors there 40 77 3 <wide.raw >out 2>err
        if [ -s there ] && far=$(near there here $limit); then ok "$model, $program: the outputs of this machine ($far)"; else
            not_ok "$model, $program: the outputs of this machine" "${far-}: $(cat err)"
        fi
    done
    if arm "$T/installed/bin/tinca" predict $model.safetensors wide.png --raw raw.npy >out 2>err && tail -c 40 raw.npy | cmp -s - there; then
        ok "  which are those of tinca predict there, to the bit"
    else
        not_ok "  which are those of tinca predict there, to the bit" "$(cat err)"
    fi
done
arm ./classify resnet20.safetensors wide.pnm | awk '{ print $3 }' >there 2>err
"$TINCA" predict resnet20.safetensors wide.png | sed -n '2,$p' | awk '{ print $3 }' >here
if [ -s there ] && cmp -s here there; then ok "the example names the same classes"; else
    not_ok "the example names the same classes" "$(cat err; diff here there)"
fi
head -c 1000 resnet20.safetensors >damaged.safetensors
arm ./classify damaged.safetensors wide.pnm >out 2>err
[ $? = 1 ] && grep -q 'damaged.safetensors: ' err && ok "a damaged model is an error there" ||
    not_ok "a damaged model is an error there" "$(cat err)"
done_testing
