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
    cp "$T/set/cat/1.png" "$T/many/$i.png"
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
    [ "$bytes" -lt 5000 ] ||
        check "  behind the rows that it has" grep -Eq '^[1-9][0-9]* of 90 pictures have their rows already' "$T/err"
done
head -c 5000 "$T/whole.csv" >"$T/part.csv"
refuses 1 'row 1 is not that of picture' "another folder" predict "$T/m.safetensors" "$T/set" --format csv \
    -o "$T/part.csv" --continue
refuses 1 'heading' "other options" predict "$T/m.safetensors" "$T/many" --format csv --top 1 -o "$T/part.csv" --continue

# continues NAME: part.csv and part.npy become those of an uninterrupted prediction
continues() {
    ends 1 "$1" predict "$T/m.safetensors" "$T/many" --format csv -o "$T/part.csv" --raw "$T/part.npy" --continue
    if cmp "$T/whole.csv" "$T/part.csv" && cmp "$T/whole.npy" "$T/part.npy"; then
        ok "  to the same rows and array"
    else
        not_ok "  to the same rows and array" "$(told)"
    fi
    [ -z "$(ls "$T" | grep '\.part$')" ] && ok "  and leaves no .part" || not_ok "  and leaves no .part" "$(ls "$T")"
}
# overwrite FILE OFFSET TEXT: replaces bytes in the middle of a file
overwrite() { printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null; }
# begin_part: a prediction that is complete but for its end, and older results
begin_part() {
    cp "$T/whole.csv" "$T/part.csv.part"
    cp "$T/whole.npy" "$T/part.npy.part"
    echo "an older result" >"$T/part.csv"
    echo "an older array" >"$T/part.npy"
}
begin_part
head -c 300 "$T/whole.npy" >"$T/part.npy.part"
continues "an array that is shorter than the rows"
check "  by what it lacks" grep -q '^21 of 90 pictures' "$T/err"
begin_part
continues "files that lack only their names"
begin_part
head -c 5000 "$T/whole.csv" >"$T/part.csv.part"
head -c 4000 /dev/zero >>"$T/part.csv.part"
continues "zeros behind the rows"
begin_part
truncate -s 200 "$T/part.npy.part"
truncate -s "$(wc -c <"$T/whole.npy")" "$T/part.npy.part"
continues "zeros in the array"
begin_part
overwrite "$T/part.csv.part" 4000 '\0\0\0\0'
continues "zeros in a row"
check "  that is not the first" grep -q '^[1-9][0-9]* of 90 pictures' "$T/err"
begin_part
end=$(head -n 30 "$T/whole.csv" | wc -c)
digit=$(head -c $((end - 1)) "$T/whole.csv" | tail -c 1)
overwrite "$T/part.csv.part" $((end - 2)) $(((digit + 1) % 10))
continues "another digit in a row"
check "  goes on there" grep -Eq '^28 of 90 pictures' "$T/err"
begin_part
: >"$T/part.csv.part"
truncate -s 6000 "$T/part.csv.part"
continues "only zeros"
begin_part
overwrite "$T/part.npy.part" 30 X
refuses 1 'not the array' "an array of something else" predict "$T/m.safetensors" "$T/many" --format csv \
    -o "$T/part.csv" --continue --raw "$T/part.npy"
run train lenet --data "list:$T/all.csv" --batch 1 --iterations 2 --seed 8 --save "$T/other.safetensors" --quiet
begin_part
refuses 1 'not what this model computes' "another model" predict "$T/other.safetensors" "$T/many" --format csv \
    -o "$T/part.csv" --continue
check "  and leaves the older result" grep -q 'an older result' "$T/part.csv"
begin_part
refuses 1 'device and precision' "another device" predict "$T/m.safetensors" "$T/many" --format csv \
    -o "$T/part.csv" --device reference --continue
run predict "$T/m.safetensors" "$T/many" --format csv -o "$T/part.csv" --device reference # computes in bf16 everywhere
mv "$T/part.csv" "$T/part.csv.part"
refuses 1 'device and precision' "another precision" predict "$T/m.safetensors" "$T/many" --format csv \
    -o "$T/part.csv" --device reference --precision bf16 --continue
begin_part
rm "$T/many/170.png"
cp "$T/set/a, dog/2.png" "$T/many/170.png"
touch -d '2001-01-01' "$T/many/170.png" # a file that was copied with its time
ends 1 "a picture that was changed" predict "$T/m.safetensors" "$T/many" --format csv -o "$T/part.csv" \
    --raw "$T/part.npy" --continue
check "  is computed again" grep -q '^70 of 90 pictures' "$T/err"
run predict "$T/m.safetensors" "$T/many" --format csv -o "$T/changed.csv" --raw "$T/changed.npy"
check "  as in an uninterrupted prediction" cmp "$T/changed.csv" "$T/part.csv"
check "  and in the array" cmp "$T/changed.npy" "$T/part.npy"
check "  whose row differs from the old one" test "$(sed -n 72p "$T/changed.csv")" != "$(sed -n 72p "$T/whole.csv")"
rm -f "$T"/part.* "$T"/changed.*

# --- what the outputs are, and stay ---
# The raw outputs go to a pipe that nobody empties: the prediction stops for good once it is full.
: >"$T/long.csv"
i=0
while [ $i -lt 100 ]; do
    for name in "$T"/set/cat/*; do echo "$name"; done >>"$T/long.csv"
    i=$((i + 1))
done
i=0
while [ $i -lt 5 ]; do
    cat "$T/long.csv"
    i=$((i + 1))
done >"$T/longer.csv"
run predict "$T/m.safetensors" "list:$T/longer.csv" --format csv -o "$T/uninterrupted.csv"
mkfifo "$T/pipe"
exec 9<>"$T/pipe"
echo "an older result" >"$T/old.csv"
"$TINCA" predict "$T/m.safetensors" "list:$T/longer.csv" --format csv -o "$T/old.csv" --raw "$T/pipe" >"$T/log" 2>&1 &
process=$!
full() { [ "$(cat "$T/old.csv.part" 2>/dev/null | wc -l)" -gt 500 ]; }
wait_until full
check "while it runs, the older result is there" grep -q 'an older result' "$T/old.csv"
refuses 2 'another process' "a second one on the same file" predict "$T/m.safetensors" "$T/more" --format csv -o "$T/old.csv"
kill -9 $process
wait $process 2>/dev/null
exec 9<&-
check "after a kill, too" grep -q 'an older result' "$T/old.csv"
chmod 640 "$T/old.csv"
ln -s old.csv "$T/link.csv"
succeeds "goes on, through a link" predict "$T/m.safetensors" "list:$T/longer.csv" --format csv -o "$T/link.csv" --continue
check "  behind what there was" grep -Eq '^[0-9]{3,} of 4500 pictures' "$T/err"
check "  to the same rows" cmp "$T/uninterrupted.csv" "$T/old.csv"
check "  and keeps the mode" test "$(stat -c %a "$T/old.csv")" = 640
check "  and the link" test -L "$T/link.csv"
ln "$T/old.csv" "$T/twin.csv"
succeeds "a file with two names" predict "$T/m.safetensors" "list:$T/ok.csv" --format csv -o "$T/old.csv" --raw "$T/ok.npy"
check "  keeps both" cmp "$T/old.csv" "$T/twin.csv"
check "  and has the new rows" test "$(wc -l <"$T/twin.csv")" = 3
cat "$T/pipe" >"$T/piped" &
process=$!
succeeds "into a FIFO" predict "$T/m.safetensors" "list:$T/ok.csv" --format csv -o "$T/pipe"
wait $process
check "  the same rows" cmp "$T/old.csv" "$T/piped"
check "  and it stays one" test -p "$T/pipe"
succeeds "the array to standard output" predict "$T/m.safetensors" "list:$T/ok.csv" --format csv -o "$T/pipe.csv" --raw -
check "  the same array" cmp "$T/ok.npy" "$T/out"
succeeds "the rows to standard output" predict "$T/m.safetensors" "list:$T/ok.csv" --format csv -o -
check "  the same rows" cmp "$T/old.csv" "$T/out"
refuses 2 'another file' "both to standard output" predict "$T/m.safetensors" "list:$T/ok.csv" --raw -
refuses 2 'another file' "both to one file" predict "$T/m.safetensors" "list:$T/ok.csv" --format csv -o "$T/ok.npy" --raw "$T/ok.npy"
cp "$T/m.safetensors" "$T/m.csv.part"
cp "$T/set/cat/1.png" "$T/cat.jpg"
keeps() { # NAME INPUT ARGUMENT...: the command is refused, and INPUT stays as it is
    name=$1 input=$2
    shift 2
    cp "$input" "$T/input"
    refuses 2 'would overwrite' "$name" "$@"
    check "  which stays" cmp "$T/input" "$input"
}
keeps "rows in place of the model" "$T/m.safetensors" predict "$T/m.safetensors" "$T/more" -o "$T/m.safetensors"
keeps "the array in place of the model" "$T/m.safetensors" predict "$T/m.safetensors" "$T/more" --raw "$T/m.safetensors"
keeps "rows over a model that is named FILE.part" "$T/m.csv.part" predict "$T/m.csv.part" "$T/more" -o "$T/m.csv"
keeps "rows in place of the list" "$T/ok.csv" predict "$T/m.safetensors" "list:$T/ok.csv" --format csv -o "$T/ok.csv"
keeps "rows in place of a picture" "$T/cat.jpg" predict "$T/m.safetensors" "$T/cat.jpg" -o "$T/cat.jpg"
keeps "the rows of eval in place of the model" "$T/m.safetensors" eval "$T/m.safetensors" --data "list:$T/all.csv" \
    --predictions "$T/m.safetensors"
rm "$T/m.csv.part"
refuses 2 'written first' "the array in the rows' FILE.part" predict "$T/m.safetensors" "$T/more" --format csv \
    -o "$T/two.csv" --raw "$T/./two.csv.part"
refuses 2 'written first' "rows in the array's FILE.part" predict "$T/m.safetensors" "$T/more" --format csv \
    -o "$T/two.npy.part" --raw "$T/two.npy"
ends 1 "a full disk" predict "$T/m.safetensors" "list:$T/ok.csv" --format csv -o /dev/full
check "  is named" grep -q 'No space left' "$T/err"
ln -s old.csv "$T/planted.csv.part"
refuses 1 'not a file of yours' "a link in place of FILE.part" predict "$T/m.safetensors" "list:$T/ok.csv" --format csv \
    -o "$T/planted.csv"
check "  is not followed" cmp "$T/old.csv" "$T/twin.csv"
rm "$T/planted.csv.part"
check "nothing is left" test -z "$(ls "$T" | grep '\.part$')"

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
