#!/bin/sh
# Files and names from strangers: no escape sequence reaches the terminal, false headers and compressed bombs
# are refused, and a run writes to its folder only.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
cd "$T" || exit 99
escape=$(printf '\033')
evil=$(printf 'a\033[2J\nb')

# quiet NAME: the output contains no control characters except line feeds
quiet() {
    if LC_ALL=C tr -d '\n' <"$T/out" | LC_ALL=C grep -q '[[:cntrl:]]' ||
        LC_ALL=C tr -d '\n' <"$T/err" | LC_ALL=C grep -q '[[:cntrl:]]'; then
        not_ok "$1" "$(cat -v "$T/out" "$T/err" | head -c 600)"
    else
        ok "$1"
    fi
}

# --- names ---
refuses 1 'a\?\[2J\?b' "a network whose path has newlines and escapes" info "./$evil.json"
quiet "  is printed without them"
printf '{"input": [1, 2, 2], "layers": [{"op": "\\u001b]0;x\\u0007"}]}' >escape.json
refuses 1 'escape.json: line 1' "an operator whose name has escapes" info ./escape.json
quiet "  is printed without them"
run train mlp --data digits,limit=16 --batch 8 --iterations 1 --threads 1 -q
runs=$T/state/tinca/runs
id=$(ls "$runs")
cp -R "$runs/$id" "$runs/$evil"
run runs
shows 'a\?\[2J\?b' "a run's folder is listed"
quiet "  without the escapes of its names"
sed "s/\"host\": *\"[^\"]*\"/\"host\": \"\\\\u001b[31mhere\"/; s/\"data\": *\"[^\"]*\"/\"data\": \"\\\\u001b[31mdigits\"/" \
    "$runs/$id/config.json" >changed.json && cat changed.json >"$runs/$id/config.json"
for command in "runs" "compare $id" "advise $id"; do
    run $command
    quiet "tinca $command prints no escapes"
done
rm -rf "$runs/${evil:?}"
mkdir -p "pictures/$evil" pictures/b
printf 'not a picture' >"pictures/$evil/x$escape.png"
cp "$srcdir/docs/pix2pix-shift.png" pictures/b/b.png
run train mlp --data folder:pictures,broken=refuse --batch 1 --iterations 1 --threads 1 -q
quiet "a folder of pictures, without escapes"

# --- compressed bombs and false headers ---
mkdir idx cifar
{ printf '\0\0\10\1\0\0\0\1\1'; head -c 50000000 /dev/zero; } | gzip -9 >idx/train-labels-idx1-ubyte.gz
printf '\0\0\10\3\0\0\0\1\0\0\0\1\0\0\0\1x' >idx/train-images-idx3-ubyte
refuses 1 'more than' "labels that unpack to fifty megabytes" \
    train mlp --data idx:idx --batch 1 --iterations 1
printf '\0\0\10\3\377\377\377\377\0\0\0\34\0\0\0\34' >idx/train-images-idx3-ubyte
refuses 1 'announces 4294967295 images' "endless images" \
    train mlp --data idx:idx --batch 1 --iterations 1
printf '\0\0\10\3\0\0\377\377\0\0\0\34\0\0\0\34xx' >idx/train-images-idx3-ubyte
refuses 1 'which makes' "images that are missing" train mlp --data idx:idx --batch 1 --iterations 1
head -c 400000000 /dev/zero | gzip -1 >cifar/train.bin.gz
refuses 1 'more than' "a CIFAR file of four hundred megabytes" \
    train resnet20 --data cifar100:cifar --batch 1 --iterations 1
# a width of 2^31 - 1, with its checksum
mkdir -p wide/a
printf '\211PNG\r\n\032\n\0\0\0\15IHDR\177\377\377\377\177\377\377\377\10\2\0\0\0\172\107\247\365' \
    >wide/a/a.png
refuses 1 '.' "a PNG of four thousand million columns" predict mlp wide/a/a.png
printf '\377\377\377\377\377\377\377\177{}' >huge.safetensors
refuses 1 "header's length" "a safetensors header of an exbibyte" eval huge.safetensors --data digits
mkfifo pipe.json
refuses 1 'not a regular file' "a FIFO in place of a network" info ./pipe.json

# --- permissions, and where a run writes ---
(umask 000 && rm -rf "$runs" && run train mlp --data digits,limit=16 --validate digits,limit=16 \
    --batch 8 --iterations 2 --threads 1 -q)
open=$(find "$T/state" \( -type f ! -perm 600 \) -o \( -type d ! -perm 700 \))
if [ -n "$(find "$runs" -name weights.safetensors)" ] && [ "$open" = "$T/state" -o -z "$open" ]; then
    ok "files of the state folder are 0600, folders 0700"
else
    not_ok "files of the state folder are 0600, folders 0700" "$open"
fi
mkdir mine outside
echo untouched >outside/file
for name in journal summary.json weights.safetensors best.safetensors lock; do
    ln -s ../outside/file "mine/$name"
done
run train mlp --data digits,limit=16 --batch 8 --iterations 1 --threads 1 -q --run-dir mine
[ "$status" = 1 ] && ok "a run whose files are links is refused" || not_ok "a run whose files are links is refused" "$(told)"
rm mine/lock
run train mlp --data digits,limit=16 --batch 8 --iterations 1 --threads 1 -q --run-dir mine
[ "$(cat outside/file)" = untouched ] && [ "$(ls outside)" = file ] &&
    ok "nothing is written through them" || not_ok "nothing is written through them" "$(ls -l mine outside)"
done_testing
