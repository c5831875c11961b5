#!/bin/sh
# tinca predict on folders and lists; and a run on data of each new kind, with a share held out.
. "${srcdir:-.}/tests/cli/tap.sh"
MAKE_PICTURE=${MAKE_PICTURE:-$(dirname "$TINCA")/make_picture}

# check NAME COMMAND...: the command succeeds
check() {
    name=$1
    shift
    if "$@"; then ok "$name"; else not_ok "$name" "$(told)"; fi
}
# ends STATUS NAME ARGUMENT...: the program ends with STATUS
ends() {
    wanted=$1 name=$2
    shift 2
    run "$@"
    if [ "$status" = "$wanted" ]; then ok "$name"; else not_ok "$name" "exit $status: $(told)"; fi
}
# row NUMBER PATTERN: whether that line of the output matches
row() { sed -n "$1p" "$T/out" | grep -Eq -- "$2"; }

mkdir -p "$T/set/cat" "$T/set/a, dog" "$T/more/deep"
"$MAKE_PICTURE" interlaced 28 28 "$T/set/cat/1.png"
"$MAKE_PICTURE" interlaced 40 31 "$T/set/a, dog/1.png"
for i in 2 3 4 5 6 7 8 9; do
    cp "$T/set/cat/1.png" "$T/set/cat/$i.png"
    cp "$T/set/a, dog/1.png" "$T/set/a, dog/$i.png"
done
cp "$T/set/cat/1.png" "$T/more/b.png"
cp "$T/set/a, dog/2.png" "$T/more/deep/a, c.png"
echo nothing >"$T/more/deep/broken.png"
: >"$T/more/deep/notes.txt"
printf 'path,label\nset/cat/1.png,cat\n"set/a, dog/2.png",dog\nset/cat/gone.png,cat\nset/cat/3.png,cat\n"set/a, dog/4.png",dog\n' >"$T/all.csv"
printf 'set/cat/1.png\n"set/a, dog/2.png"\n' >"$T/ok.csv"

# --- data ---
succeeds "trains on a list, with a share held out" train lenet --data "list:$T/all.csv" --validate auto,share=0.5 \
    --batch 1 --iterations 2 --seed 7 --save "$T/m.safetensors" --export "$T/s.json" --quiet
cp "$T/s.json" "$T/out"
is "  which the configuration has" runs.0.config.validate auto,share=0.5
data=$(ls -t "$XDG_STATE_HOME"/tinca/runs/*/data.json | head -n 1)
cp "$data" "$T/out"
is "  the fingerprint has the share" validation.part.share 0.5
is "  its seed" validation.part.seed 7
is "  and the rest" training.part.of rest
succeeds "describes the list" datasets "list:$T/all.csv"
shows 'gone.png' "the broken picture is named"
shows 'cat' "and the classes are listed"
succeeds "as JSON" datasets "list:$T/all.csv" --json
is "  how many images a class has" classes.0.images 2
is "  and what is left out" left_out 1
refuses 2 'share' "a validation that says nothing" train lenet --data digits --validate auto,part=3 --iterations 1
refuses 2 'divides' "a share of a share" train lenet --data digits,share=0.5 --validate auto --iterations 1
refuses 2 'quotation' "an open quotation" train lenet --data "folder:\"$T/set" --iterations 1
succeeds "a folder with commas, quoted" datasets "folder:\"$T/set\",only=\"a, dog\""

# --- rows ---
ends 1 "a folder with a broken picture" predict "$T/m.safetensors" "$T/more" --format csv
check "has a heading and a row for each picture" test "$(wc -l <"$T/out")" = 4
check "first those of the folder itself" row 2 '/more/b.png,,[0-9]'
check "then those below it, quoted" row 3 '^"[^"]*/deep/a, c.png",,[0-9]'
check "the broken one has the reason" row 4 'broken.png,[^,]*PNG'
check "and is named on standard error" grep -q 'broken.png: neither PNG nor JPEG' "$T/err"
check "where it is counted" grep -q '1 of 3 pictures could not be read' "$T/err"
ends 1 "JSON lines" predict "$T/m.safetensors" "$T/more" --format json --top 1
sed -n 3p "$T/out" >"$T/line"
head -n 1 "$T/out" >"$T/first"
cp "$T/first" "$T/out"
is "  the picture" image "$T/more/b.png"
check "  the reason of the broken one" grep -q '"error"' "$T/line"
succeeds "a list of pictures, as text" predict "$T/m.safetensors" "list:$T/ok.csv"
shows '%' "  with probabilities"
mkdir "$T/empty"
refuses 1 'no pictures' "a folder without pictures" predict "$T/m.safetensors" "$T/empty"
refuses 2 'format json' "--json with --format" predict "$T/m.safetensors" "$T/more" --json --format csv
refuses 2 'only a CSV' "--continue without a file" predict "$T/m.safetensors" "$T/more" --continue

# --- continuing ---
mkdir "$T/many"
i=100
while [ $i -lt 190 ]; do
    ln "$T/set/cat/1.png" "$T/many/$i.png"
    i=$((i + 1))
done
rm "$T/many/150.png"
echo broken >"$T/many/150.png"
ends 1 "many pictures" predict "$T/m.safetensors" "$T/many" --format csv -o "$T/whole.csv" --raw "$T/whole.npy"
check "  a row for each" test "$(wc -l <"$T/whole.csv")" = 91
for bytes in 0 100 5000 9000; do
    head -c "$bytes" "$T/whole.csv" >"$T/part.csv"
    cp "$T/whole.npy" "$T/part.npy"
    ends 1 "continues after $bytes bytes" predict "$T/m.safetensors" "$T/many" --format csv -o "$T/part.csv" \
        --continue --raw "$T/part.npy"
    check "  to the same rows" cmp "$T/whole.csv" "$T/part.csv"
    check "  and the same array" cmp "$T/whole.npy" "$T/part.npy"
    check "  counting the broken one, also before" grep -q '1 of 90 pictures' "$T/err"
done
head -c 5000 "$T/whole.csv" >"$T/part.csv"
refuses 1 'row 1 is not that of picture' "another folder" predict "$T/m.safetensors" "$T/set" --format csv \
    -o "$T/part.csv" --continue
refuses 1 'heading' "other options" predict "$T/m.safetensors" "$T/many" --format csv --top 1 -o "$T/part.csv" --continue
head -c 300 "$T/whole.npy" >"$T/part.npy"
refuses 1 'not the array' "an array that is shorter than the rows" predict "$T/m.safetensors" "$T/many" --format csv \
    -o "$T/part.csv" --continue --raw "$T/part.npy"
logit=$(sed -n 2p "$T/whole.csv" | awk -F, '{ print $NF }')
header=$(($(od -An -tu1 -j8 -N1 "$T/whole.npy") + 10))
number=$(od -An -tf4 -j$((header + 4)) -N4 "$T/whole.npy")
check "the array has the logits: $logit,$number" awk -v a="$logit" -v b="$number" 'BEGIN { exit !(a - b < 1e-6 && b - a < 1e-6) }'

# --- times of single images ---
run_folder=$(dirname "$data")
succeeds "the times of single images" measure "$run_folder" --raw "$T/times.csv"
check "  a row for each image of the validation" test "$(wc -l <"$T/times.csv")" = 3
succeeds "  as an array" measure "$run_folder" --raw "$T/times.npy"
check "  of float64" test "$(wc -c <"$T/times.npy")" = $((128 + 16))
done_testing
