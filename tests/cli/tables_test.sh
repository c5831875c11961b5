#!/bin/sh
# tinca tables: the studies' tables from tiny runs, in all formats.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"

succeeds "the tables without any run" tables trindade
shows "not run \[1\]" "  say what was not run"
shows "^\[1\] tinca train alexnet --preset overfit --data tench --batch 1 --device cpu" \
    "  and how to run it"
shows "75264" "  beside the published figures"
succeeds "the other study" tables gondim
shows "272762" "  with its published figures"
shows "tinca train resnet20-shift --preset cifar --data cifar10:FOLDER" "  and commands"
refuses 2 "trindade or gondim" "another study" tables caffe
refuses 1 "cannot be listed" "no folder" tables gondim --runs "$T/nosuch"

# two pictures of class 0 and 1 as CIFAR-10's files
cifar="$T/cifar"
mkdir "$cifar"
for file in data_batch_1 data_batch_2 data_batch_3 data_batch_4 data_batch_5 test_batch; do
    {
        printf '\000'
        head -c 3072 /dev/zero
        printf '\001'
        head -c 3072 /dev/zero | tr '\000' '\200'
    } >"$cifar/$file.bin"
done
succeeds "a tiny run" train resnet20-shift --data "cifar10:$cifar" \
    --validate "cifar10:$cifar,split=test" --batch 2 --iterations 2 --threads 1 -q
run runs --json
id=$("$JSON_LOOK" "$T/out" runs.0.id)
top1=$("$JSON_LOOK" "$T/out" runs.0.best_top1)
succeeds "its row" tables gondim
shows "^resnet20-shift .*$id *$top1.* [0-9.]* *[0-9.]* *35194 " \
    "  has accuracy, interval and parameters"
shows "tinca measure $id --device cpu" "  and the command that measures it"
succeeds "a run that chooses its model on a share of the training data" train resnet56-dsc --data "cifar10:$cifar,validate=0.5" \
    --test auto --batch 2 --iterations 2 --threads 1 -q
run runs test=auto --json
tested=$("$JSON_LOOK" "$T/out" runs.0.id) test_top1=$("$JSON_LOOK" "$T/out" runs.0.test_top1)
succeeds "its row" tables gondim --format csv
shows "^resnet56-dsc,cifar10,$tested,$test_top1" "  has the accuracy on the test set"
succeeds "its time is measured" measure "$id" --threads 1
succeeds "the table" tables gondim
if grep -q "tinca measure $id --device cpu" "$T/out"; then not_ok "  has the time"; else ok "  has the time"; fi

for format in md csv latex; do
    succeeds "format $format" tables gondim --format $format
    shows "35194" "  has the row"
done
succeeds "a table in a file" tables gondim --format csv -o "$T/t.csv"
is_csv() { # every row of a table has as many fields as its headings, and quotes are closed
    awk '
        function fields(line, i, c, n, quoted) {
            n = 1
            for (i = 1; i <= length(line); i++) {
                c = substr(line, i, 1)
                if (c == "\"") quoted = !quoted
                else if (c == "," && !quoted) n++
            }
            return quoted ? -1 : n
        }
        /^$/ { wanted = 0; next }
        { n = fields($0); if (n < 0) exit 1 }
        wanted == 0 && n > 3 { wanted = n }
        wanted > 0 && n != wanted { exit 1 }
    ' "$1"
}
if is_csv "$T/t.csv"; then ok "  and has as many fields in each row as headings"; else not_ok "  and has as many fields in each row as headings"; fi
succeeds "LaTeX" tables gondim --format latex -o "$T/t.tex"
is_latex() { # every row has as many cells as columns, and special characters are escaped
    awk '
        /begin\{tabular\}/ { match($0, /\{[lr]+\}$/); wanted = RLENGTH - 3; next }
        / \\\\$/ { line = $0; gsub(/\\&/, "", line); if (gsub(/&/, "", line) != wanted) exit 1 }
        /[^\\][%_#$]/ { exit 1 }' "$1"
}
name="  has as many cells in each row as columns, and escapes special characters"
if is_latex "$T/t.tex"; then ok "$name"; else not_ok "$name"; fi

# the other study: a run of AlexNet takes long; it is made from the small one's files
# a run is inspected if that takes at most a hundredth of its time: on a fast machine, a longer one
for iterations in 2 16 128; do
    succeeds "a run of AlexNet" train alexnet --data tench,limit=2 --batch 1 --iterations "$iterations" --threads 1 -q
    succeeds "its tables" tables trindade
    if grep -q "^alexnet  *cpu  *nn  *1 " "$T/out"; then break; fi
done
shows "^alexnet  *1  cpu  *[0-9.]*  *[0-9.]* " "  have time and memory"
shows "^alexnet  *cpu  *nn  *1 " "  its matrix products"
shows "tinca export --format png --x epoch --log x -o curves.png " "  and its curve"
succeeds "as CSV" tables trindade --format csv -o "$T/t.csv"
if is_csv "$T/t.csv"; then ok "  has as many fields in each row as headings"; else not_ok "  has as many fields in each row as headings"; fi
done_testing
