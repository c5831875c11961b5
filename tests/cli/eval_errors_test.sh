#!/bin/sh
# tinca eval --confusion, --per-class, --predictions and --wrong.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
data="digits,split=test,limit=300"
succeeds "a model" train lenet --data digits,limit=500 --epochs 1 --save "$T/m.safetensors" --threads 2 -q
succeeds "all of them" eval "$T/m.safetensors" --data "$data" --confusion --per-class \
    --predictions "$T/p.csv" --wrong "$T/wrong"
shows 'confidence interval' "the interval of top-1"
shows '^Class  *Images  *Precision' "the figures of each class"
shows '^Class / predicted' "the confusion matrix"
shows 'calibration error' "the calibration error"
[ "$(wc -l <"$T/p.csv")" -eq 301 ] && ok "a row for each image" || not_ok "a row for each image" "$(wc -l <"$T/p.csv")"
columns=$(head -n 1 "$T/p.csv" | tr ',' '\n' | wc -l)
[ "$columns" -eq 27 ] && [ "$(awk -F, '{print NF}' "$T/p.csv" | sort -u)" = 27 ] &&
    ok "  of 27 columns" || not_ok "  of 27 columns" "$columns"
errors=$(awk -F, 'NR > 1 && $3 != $5' "$T/p.csv" | wc -l)
[ "$errors" -gt 0 ] && [ "$(ls "$T/wrong" | wc -l)" -eq "$errors" ] && ok "a picture for each error" ||
    not_ok "a picture for each error" "$errors $(ls "$T/wrong" | wc -l)"
first=$(awk -F, 'NR > 1 && $3 != $5 {printf "%06d_%s_as_%s_%.2f.png", $1, $4, $6, $7; exit}' "$T/p.csv")
[ -s "$T/wrong/$first" ] && ok "  named after image, classes and probability" ||
    not_ok "  named after image, classes and probability" "$first"
succeeds "the matrix in JSON" eval "$T/m.safetensors" --data "$data" --confusion --per-class --json
is "  ten rows" "confusion.#" 10
is "  ten classes" "per_class.#" 10
is "  the first one's images" per_class.0.images 30
is "  15 bins" "calibration.bins.#" 15
right=$(awk -F, 'NR > 1 && $3 == 0 && $5 == 0' "$T/p.csv" | wc -l)
is "  the matrix agrees with the rows" confusion.0.0 "$right"
run eval "$T/m.safetensors" --data "$data" --predictions -
head -n 1 "$T/out" | grep -q '^image,origin,label' && [ "$(wc -l <"$T/out")" -eq 301 ] &&
    ok "rows on standard output, and nothing else" || not_ok "rows on standard output" "$(head -n 3 "$T/out")"
refuses 2 'standard output' "rows and JSON on one output" eval "$T/m.safetensors" --data "$data" --json --predictions -
refuses 1 'nowhere' "a folder that is not there" eval "$T/m.safetensors" --data "$data" --predictions "$T/nowhere/p.csv"
: >"$T/file"
run eval "$T/m.safetensors" --data "$data" --wrong "$T/file"
[ "$status" -eq 1 ] && ok "a file instead of a folder" || not_ok "a file instead of a folder" "$status"
mkdir -p "$T/set/=a,b" "$T/set/c"
for file in "$T/wrong"/*; do cp "$file" "$T/set/=a,b"; cp "$file" "$T/set/c"; done
succeeds "a class with a hostile name" train lenet --data "folder:$T/set" --batch 2 --iterations 1 \
    --save "$T/named.safetensors" -q
succeeds "  is evaluated" eval "$T/named.safetensors" --data "folder:$T/set" --predictions "$T/n.csv"
grep -q ",\"'=a,b\"," "$T/n.csv" && ok "  and is neither a formula nor two fields" ||
    not_ok "  and is neither a formula nor two fields" "$(head -n 2 "$T/n.csv")"
picture_network "$T/p.json" 16 4 8 2
succeeds "a network that makes pictures" train "$T/p.json" --data maps,limit=4 --batch 1 --iterations 1 --save "$T/pix.safetensors" -q
refuses 1 'no classes' "  has no confusion matrix" eval "$T/pix.safetensors" --data maps,limit=2 --confusion
done_testing
