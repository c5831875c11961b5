#!/bin/sh
# libtinca as a user has it: installed into a folder, found by pkg-config, shared and static. Examples and a
# program of the test compute what tinca predict computes, to the bit.
. "${srcdir:-.}/tests/cli/tap.sh"
srcdir=$(cd "${srcdir:-.}" && pwd)
build=$(cd "${builddir:-$(dirname "$TINCA")}" && pwd)
case $TINCA in /*) ;; *) TINCA=$(cd "$(dirname "$TINCA")" && pwd)/tinca ;; esac
if [ ! -f "$build/libtinca.so.1.0.0" ]; then
    echo "1..0 # SKIP this build has no libtinca"
    exit 0
fi
# of: the value of a variable of the Makefile
of() { sed -n "s/^$1 = //p" "$build/Makefile" | head -n 1; }
CC=$(of CC) flags="$(of CFLAGS) $(of TINCA_LDFLAGS)"

# judge NAME COMMAND...: the command succeeds
judge() {
    name=$1
    shift
    if "$@" >"$T/judged" 2>&1; then ok "$name"; else not_ok "$name" "$(tail -n 20 "$T/judged")"; fi
}
# none NAME FILE: the file is empty
none() { if [ -s "$2" ]; then not_ok "$1" "$(head -n 20 "$2")"; else ok "$1"; fi; }

# --- installed ---
I=$T/installed
unset MAKEFLAGS MFLAGS MAKELEVEL
# Other tests use what is built, so nothing is made again: with -o not even where the commit has changed since.
built() { (cd "$build" && ls -lin --full-time tinca tinca-chart build_commit.c lib*.a lib*.so* 2>/dev/null); }
built >"$T/built"
judge "make install" make -s -C "$build" -o build_commit.c AM_MAKEFLAGS='-o build_commit.c' install prefix="$I"
built | cmp "$T/built" - >"$T/others" 2>&1 && ok "  makes nothing again" || not_ok "  makes nothing again" "$(cat "$T/others")"
sed "s|^prefix=.*|prefix=$I|" "$I/lib/pkgconfig/libtinca.pc" >"$T/libtinca.pc"
export PKG_CONFIG_PATH="$T${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
judge "pkg-config finds it" pkg-config --exists libtinca
[ "$(pkg-config --modversion libtinca)" = "$("$TINCA" --version | sed -n '1s/^tinca \([^ ]*\).*/\1/p')" ] &&
    ok "  with the program's version" || not_ok "  with the program's version" "$(pkg-config --modversion libtinca)"

# --- symbols ---
L=$I/lib/libtinca.so.1
nm -D --defined-only "$L" | awk '{ print $3 }' | grep -v '^tinca_[a-z_]*@@TINCA_1$\|^TINCA_1$' >"$T/others"
none "the shared library exports tinca_* with the version TINCA_1 and nothing else" "$T/others"
nm -g --defined-only "$I/lib/libtinca.a" 2>/dev/null | awk 'NF == 3 && $3 !~ /^tinca_/ { print $3 }' >"$T/others"
none "the static one has no other global symbols" "$T/others"
sed -n 's/.*\b\(tinca_[a-z_]*\)(.*/\1/p' "$I/include/tinca.h" | grep -v '^tinca_prepare$' | sort -u >"$T/declared"
echo tinca_prepare >>"$T/declared"
nm -D --defined-only "$L" | sed -n 's/.* \(tinca_[a-z_]*\)@@.*/\1/p' | sort >"$T/defined"
sort -u "$T/declared" | comm -3 - "$T/defined" >"$T/others"
none "  which are what the header declares" "$T/others"
readelf -d "$L" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep 'curses\|tinfo\|png\|jpeg\|cairo\|mpi\|protobuf' >"$T/others"
none "it needs no curses, image formats, charts, MPI or protobuf" "$T/others"
readelf -d "$L" | grep -q 'SONAME.*\[libtinca.so.1\]' && ok "its soname is libtinca.so.1" ||
    not_ok "its soname is libtinca.so.1" "$(readelf -d "$L" | grep SONAME)"
if [ -z "$(of TINCA_LDFLAGS)" ]; then
    nm -D --undefined-only "$L" | awk '{ print $2 }' | sed 's/@.*//' |
        grep -x 'exit\|_exit\|abort\|printf\|puts\|putchar\|perror\|signal\|sigaction\|setenv\|unsetenv\|setlocale\|textdomain\|fork\|execv\|execve\|stdout\|stderr' >"$T/others"
    none "it calls nothing that ends, prints, or changes handlers, environment or locale" "$T/others"
else
    skip "what it calls" "the library is built with a sanitizer"
fi

# --- the header ---
for standard in c99 c11; do
    judge "the header is $standard" sh -c "printf '#include <tinca.h>\nint main(void) { struct tinca_options o = TINCA_OPTIONS; return (int)o.batch; }\n' | \
        $CC -std=$standard -pedantic -Wall -Wextra -Werror -I'$I/include' -fsyntax-only -xc -"
done
if command -v "$(of CXX)" >/dev/null; then
    judge "and C++" sh -c "printf '#include <tinca.h>\nint main() { tinca_options o = TINCA_OPTIONS; return tinca_version() ? (int)o.batch : 1; }\n' | \
        $(of CXX) -std=c++11 -pedantic -Wall -Wextra -Werror -I'$I/include' -fsyntax-only -xc++ -"
else
    skip "and C++" "there is no C++ compiler here"
fi

# --- models and pictures ---
cd "$T" || exit 99
"$TINCA" train resnet20 --width-rate 2 --data shapes,limit=32 --batch 8 --iterations 4 --seed 1 --save model.safetensors -q 2>err &&
    "$TINCA" quantize model.safetensors --calibrate shapes,limit=32 -o int8.safetensors -q >out 2>>err ||
    not_ok "models are trained" "$(cat err)"
"$TINCA" train lenet --data digits,limit=64 --batch 16 --iterations 4 --seed 1 --save grey.safetensors -q 2>err ||
    not_ok "a model of grey pictures is trained" "$(cat err)"
# the same picture as PNM and as PNG
python3 - <<'PYTHON' || not_ok "pictures are made"
import struct, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
def write(name, width, height, channels):
    pixels = bytes((7 * x + 11 * y * (c + 1) + x * y // 3) % 256
                   for y in range(height) for x in range(width) for c in range(channels))
    kind = b"P6" if channels == 3 else b"P5"
    open(name + ".pnm", "wb").write(kind + b"\n%d %d\n255\n" % (width, height) + pixels)
    open(name + ".raw", "wb").write(pixels)
    line = width * channels
    rows = b"".join(b"\0" + pixels[y * line:(y + 1) * line] for y in range(height))
    open(name + ".png", "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(
        ">IIBBBBB", width, height, 8, 2 if channels == 3 else 0, 0, 0, 0)) +
        chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
write("wide", 77, 40, 3)
write("small", 20, 31, 1)
PYTHON

# --- programs ---
# build NAME LINKING SOURCE: compiles a program with what pkg-config says
build_program() {
    # shellcheck disable=SC2046,SC2086 # lists of options
    if [ "$2" = shared ]; then
        $CC $flags -Wall -Wextra -Werror -I. -o "$1" "$3" $(pkg-config --cflags --libs libtinca)
    else
        $CC $flags -Wall -Wextra -Werror -I. -o "$1" "$3" $(pkg-config --cflags libtinca) \
            $(pkg-config --static --libs libtinca | sed 's/-ltinca/-l:libtinca.a/')
    fi
}
export LD_LIBRARY_PATH="$I/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
judge "a model becomes a header" "$TINCA" export model.safetensors --format c -o model.h
for linking in shared static; do
    judge "the example classifies, $linking" build_program classify_$linking $linking "$srcdir/examples/classify.c"
    judge "a program of the test, $linking" build_program scores_$linking $linking "$srcdir/tests/library/scores.c"
    judge "the example with a model in it, $linking" build_program embedded_$linking $linking "$srcdir/examples/embedded.c"
    if ldd classify_$linking | grep -q libtinca; then found=shared; else found=static; fi
    [ $found = $linking ] && ok "  is $linking" || not_ok "  is $linking" "$(ldd classify_$linking)"

    "$TINCA" predict model.safetensors wide.png | sed -n '2,$s/^ *//p' >predicted
    ./classify_$linking model.safetensors wide.pnm 2>err | sed 's/^ *//' >classified
    if [ -s predicted ] && cmp -s predicted classified; then ok "  with the classes of tinca predict"; else
        not_ok "  with the classes of tinca predict" "$(cat err; diff predicted classified)"
    fi
    # MODEL PICTURE HEIGHT WIDTH CHANNELS CLASSES [PRECISION]
    while read -r model picture height width channels classes precision; do
        name="  $model, $picture $precision: the outputs of tinca predict --raw, to the bit"
        "$TINCA" predict $model.safetensors $picture.png --raw raw.npy ${precision:+--precision $precision} >out 2>err ||
            not_ok "$name" "$(cat err)"
        tail -c $((4 * classes)) raw.npy >wanted
        if ./scores_$linking $model.safetensors got $height $width $channels $precision <$picture.raw >out 2>err &&
            [ -s wanted ] && cmp -s wanted got; then ok "$name"; else
            not_ok "$name" "$(cat err; od -f wanted; od -f got)"
        fi
    done <<'CASES'
model wide 40 77 3 10
model small 31 20 1 10
grey small 31 20 1 10
grey wide 40 77 3 10
int8 wide 40 77 3 10
int8 wide 40 77 3 10 float32
CASES
    ./scores_$linking int8.safetensors got 40 77 3 <wide.raw 2>err
    python3 -c "open('black.raw', 'wb').write(bytes(32 * 32 * 3))"
    ./scores_$linking model.safetensors black 32 32 3 <black.raw 2>err
    ./embedded_$linking >embedded 2>err
    python3 -c "
import struct
wanted = struct.unpack('10f', open('black', 'rb').read())
got = [struct.unpack('f', struct.pack('f', float(line)))[0] for line in open('embedded')]
exit(list(wanted) != got)" && ok "  a model in the program has the outputs of its file" ||
        not_ok "  a model in the program has the outputs of its file" "$(cat err embedded)"
done
if grep -q '^HAVE_VNNI\|avx2\|avx512' /proc/cpuinfo && grep -q int8 err; then ok "int8 where the processor has it"; fi

# --- errors ---
for damage in "head -c 1000" "head -c 9" "tail -c +9" "tr e f" "head -c 0"; do
    $damage <model.safetensors >damaged.safetensors
    ./classify_shared damaged.safetensors wide.pnm >out 2>err
    status=$?
    [ $status = 1 ] && [ "$(wc -l <err)" = 1 ] && [ ! -s out ] && grep -q 'damaged.safetensors: ' err &&
        ok "a model after $damage is an error: $(cut -c1-100 <err)" ||
        not_ok "a model after $damage is an error" "exit $status: $(cat out err)"
done

# --- the array of C ---
judge "a model becomes a source file" "$TINCA" export model.safetensors --format c -o my-net.c
grep -q '^TINCA_ALIGNED const unsigned char my_net\[' my-net.c && ok "  whose array has the file's name" ||
    not_ok "  whose array has the file's name" "$(grep -n 'my' my-net.c)"
cat >main.c <<'C'
#include <stdint.h>
#include <stdio.h>
extern const unsigned char my_net[];
extern const size_t my_net_size;
int main(void) { return (uintptr_t)my_net % 64 ? 2 : fwrite(my_net, 1, my_net_size, stdout) != my_net_size; }
C
# shellcheck disable=SC2086
judge "  it compiles" $CC -Wall -Wextra -Werror -std=c11 -o array main.c my-net.c
./array >back && cmp back model.safetensors && ok "  and has the bytes of the model, aligned" || not_ok "  and has the bytes of the model, aligned"
head -c 5000 model.safetensors >damaged.safetensors
run export damaged.safetensors --format c -o damaged.c
[ "$status" = 1 ] && [ ! -e damaged.c ] && ok "a damaged model becomes none" || not_ok "a damaged model becomes none" "$status: $(cat err)"

# --- the end ---
cd "$srcdir" || exit 99
judge "make uninstall" make -s -C "$build" uninstall prefix="$I"
find "$I" ! -type d >"$T/others" 2>/dev/null
none "  leaves nothing behind" "$T/others"
done_testing
