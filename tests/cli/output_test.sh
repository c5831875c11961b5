#!/bin/sh
# Documents are written to the target that the user names: standard output, file descriptors, FIFOs, devices,
# links and files of any mode and owner. The test creates all of them in its scratch folder.
. "$srcdir/tests/cli/tap.sh"

D=$T/data
mkdir "$D"
TINCA=$(realpath "$TINCA")
JSON_LOOK=$(realpath "$JSON_LOOK")
cd "$T" || exit 99 # "-" must not become a file of that name in any folder
"$TINCA" train mlp --data digits,limit=60 --batch 30 --epochs 1 --threads 1 -q --run-dir "$D/run" ||
    exit 99
"$TINCA" sweep --networks mlp --batches 30 --data digits,limit=60 --epochs 1 --name s -q \
    >"$T/out" || exit 99
picture_network "$D/tiny.json" 16 8 16 3
"$TINCA" train "$D/tiny.json" --data maps,limit=4 --batch 2 --threads 1 --epochs 1 -q \
    --run-dir "$D/tiny" || exit 99
photo=$(echo "$D"/tiny/sample-*.png)

run_export() { # run_export FORMAT TARGET
    case $1 in
    compare) run compare "$D/run" -o "$2" ;;
    sweep) run sweep --name s --report -o "$2" ;;
    sweep-json) run sweep --name s --report --json -o "$2" ;;
    predict) run predict "$D/tiny/weights.safetensors" "$photo" -o "$2" ;;
    save) run train mlp --data digits,limit=60 --batch 30 --epochs 1 --threads 1 --seed 1 \
        --run-dir "$T/r$((runs = runs + 1))" --save "$2" ;;
    session) run train mlp --data digits,limit=60 --batch 30 --epochs 1 --threads 1 --seed 1 \
        --run-dir "$T/r$((runs = runs + 1))" --export "$2" ;;
    *) run export "$D/run" --format "$1" -o "$2" ;;
    esac
}
runs=0
documents="json png predict md compare sweep sweep-json save session"

# resembles DOCUMENT FILE: the file contains the whole document
resembles() {
    case $1 in
    json | session | sweep-json) "$JSON_LOOK" "$2" "" >/dev/null 2>&1 ;;
    png | predict) head -c 8 "$2" | od -An -tx1 | grep -q '89 50 4e 47' && tail -c 8 "$2" | grep -q IEND ;;
    md) grep -q '^# ' "$2" ;;
    csv) grep -q '^#network,mode,batch,step,loss,time' "$2" &&
        grep -q '^#network,mode,batch,avg_time' "$2" ;;
    compare | sweep) grep -q mlp "$2" ;;
    save) head -c 4000 "$2" | grep -aq '"tinca.network":"mlp"' && [ "$(wc -c <"$2")" -gt 10000 ] ;;
    esac
}

# --- the ending of a name chooses the format ---

run export "$D/run" -o "$T/named.csv"
[ "$(head -n 1 "$T/named.csv")" = run,series,step,epoch,time,value ] && ok "a table (.csv)" || not_ok "a table (.csv)" "$(told)"
run export "$D/run" -o "$T/named.md"
grep -q '^# Report' "$T/named.md" && ok "a report (.md)" || not_ok "a report (.md)" "$(told)"
run export "$D/run" -o "$T/named.npz"
[ "$(head -c 2 "$T/named.npz")" = PK ] && ok "arrays (.npz)" || not_ok "arrays (.npz)" "$(told)"
run export "$D/run" -o "$T/named.JSON"
is "a session (.JSON)" format tinca-session "$T/named.JSON"
run export "$D/run" -o "$T/named"
is "a session (no ending)" format tinca-session "$T/named"
run export "$D/run" --format json -o "$T/chosen.csv"
is "a format that is given stays" format tinca-session "$T/chosen.csv"
refuses 2 'give -o FILE.prototxt' "a file of Caffe's weights is not a session" export "$D/run" -o "$T/named.caffemodel"
run compare "$D/run" -o "$T/compared.json"
is "a comparison as JSON" runs.# 1 "$T/compared.json"
run compare "$D/run" -o "$T/compared.md"
grep -q '^|' "$T/compared.md" && ok "  as Markdown" || not_ok "  as Markdown" "$(told)"
run models "$D/run" --only -o "$T/models.csv"
grep -q '^row,\|,' "$T/models.csv" && ok "a table of models" || not_ok "a table of models" "$(told)"
run tables trindade -o "$T/tables.tex"
grep -q 'tabular' "$T/tables.tex" && ok "tables of a study" || not_ok "tables of a study" "$(told)"
run sweep --name s --report -o "$T/sweep.md"
grep -q '^|' "$T/sweep.md" && ok "tables of a sweep" || not_ok "tables of a sweep" "$(told)"

# --- devices ---

for document in $documents csv; do
    name="$document into a device, which remains a device"
    rm -f "$T/null"
    if mknod "$T/null" c 1 3 2>"$T/why" && : >"$T/null" 2>"$T/why"; then
        run_export "$document" "$T/null"
        if [ "$status" = 0 ] && [ -c "$T/null" ]; then
            ok "$name"
        else
            not_ok "$name" "exit $status: $(told); $(ls -l "$T/null")"
        fi
    else
        skip "$name" "no device can be made: $(cat "$T/why")"
    fi
done
rm -f "$T/full"
if mknod "$T/full" c 1 7 2>"$T/why" && [ -w "$T/full" ] && : >"$T/full"; then
    run export "$D/run" -o "$T/full"
    if [ "$status" = 1 ] && grep -q 'cannot write.*No space left' "$T/err" && [ -c "$T/full" ]; then
        ok "a device without space is an error"
    else
        not_ok "a device without space is an error" "exit $status: $(told)"
    fi
else
    skip "a device without space is an error" "no device can be made: $(cat "$T/why")"
fi

# --- FIFOs and standard output ---

for document in $documents csv; do
    rm -f "$T/fifo" "$T/got"
    mkfifo "$T/fifo"
    timeout 120 cat "$T/fifo" >"$T/got" &
    reader=$!
    run_export "$document" "$T/fifo"
    [ -p "$T/fifo" ] && stays=yes || stays=no
    [ $stays = yes ] || kill $reader
    wait $reader 2>/dev/null
    if [ "$status$stays" = 0yes ] && resembles "$document" "$T/got"; then
        ok "$document into a FIFO, which remains a FIFO"
    else
        not_ok "$document into a FIFO, which remains a FIFO" "exit $status: $(told); $(ls -l "$T/fifo")"
    fi
    for target in - /proc/self/fd/1 "$T/to-stdout"; do
        ln -sf /proc/self/fd/1 "$T/to-stdout"
        rm -f ./-
        run_export "$document" "$target"
        if [ "$status" = 0 ] && [ ! -e ./- ] && [ -h "$T/to-stdout" ] &&
            resembles "$document" "$T/out"; then
            ok "$document to standard output as ${target##*/}"
        else
            not_ok "$document to standard output as ${target##*/}" \
                "exit $status: $(told): $(head -c 200 "$T/out")"
        fi
        rm -rf ./- "$T/to-stdout"
    done
done
mkfifo "$T/weights" && { timeout 60 cat "$T/weights" >"$T/got" & }
run_export save "$T/weights"
wait
if cmp -s "$T/r$runs/weights.safetensors" "$T/got"; then
    ok "the weights sent through a FIFO are those of the run"
else
    not_ok "the weights sent through a FIFO are those of the run" "$(ls -l "$T/got")"
fi
run_export session -
if grep -q 'stored in' "$T/err" && ! grep -q 'stored in' "$T/out"; then
    ok "with a document on standard output the summary goes to standard error"
else
    not_ok "with a document on standard output the summary goes to standard error" "$(told)"
fi
"$TINCA" export "$D/run" -o /proc/self/fd/7 7>"$T/seven" && is "a file descriptor of the caller" format \
    tinca-session "$T/seven"
{
    echo before
    "$TINCA" export "$D/run" --format md -o -
    echo after
} >"$T/mixed"
if [ "$(head -n 1 "$T/mixed")$(tail -n 1 "$T/mixed")" = beforeafter ]; then
    ok "a redirected standard output is appended to, not replaced"
else
    not_ok "a redirected standard output is appended to, not replaced" "$(head -c 300 "$T/mixed")"
fi
status=0
"$TINCA" export "$D/run" -o - >&- 2>"$T/err" || status=$?
if [ "$status" = 1 ] && grep -q '^tinca: ' "$T/err"; then
    ok "a closed standard output is an error"
else
    not_ok "a closed standard output is an error" "exit $status: $(told)"
fi
mkfifo "$T/gone"
timeout 60 true <"$T/gone" &
status=0
timeout 60 "$TINCA" train mlp --data digits,limit=60 --batch 30 --epochs 1 --threads 1 -q \
    --run-dir "$T/broken" --save "$T/gone" 2>"$T/err" || status=$?
wait
if [ "$status" = 1 ] && grep -q 'Broken pipe' "$T/err" &&
    "$TINCA" runs --json >/dev/null && grep -q '"failed"' "$T/broken/summary.json"; then
    ok "a closed pipe is an error, and the run remains"
else
    not_ok "a closed pipe is an error, and the run remains" "exit $status: $(told)"
fi
refuses 2 "cannot both" "weights and session to standard output" train mlp --data digits \
    --save - --export /proc/self/fd/1
refuses 2 "cannot both" "report and picture to standard output" export "$D/run" --format md \
    --picture - -o -
refuses 2 "already" "CSV and tables to standard output" sweep --name s --report --csv -
refuses 1 "not open" "a file descriptor that is not open" export "$D/run" -o /proc/self/fd/77
if command -v script >/dev/null; then
    script -qec "'$TINCA' export '$D/run' --format png -o -" "$T/typescript" >"$T/typed" 2>&1 </dev/null
    if grep -q 'this is a terminal' "$T/typed" && ! grep -q PNG "$T/typed"; then
        ok "a picture is not sent to a terminal"
    else
        not_ok "a picture is not sent to a terminal" "$(head -c 300 "$T/typed" | od -c | head)"
    fi
else
    skip "a picture is not sent to a terminal" "no script(1)"
fi

# --- links ---

for document in $documents; do
    rm -rf "$T/place"
    mkdir -p "$T/place/deep"
    echo old >"$T/place/deep/file"
    ln -s deep/file "$T/place/link"
    ln -s "$T/place/link" "$T/place/chain"
    ln -s deep/new "$T/place/dangling"
    run_export "$document" "$T/place/chain"
    first=$status
    run_export "$document" "$T/place/dangling"
    if [ "$first$status" = 00 ] && [ -h "$T/place/chain" ] && [ -h "$T/place/link" ] &&
        [ -h "$T/place/dangling" ] && resembles "$document" "$T/place/deep/file" &&
        resembles "$document" "$T/place/deep/new"; then
        ok "$document through links"
    else
        not_ok "$document through links" "exit $first $status: $(told); $(ls -lR "$T/place")"
    fi
done
ln -s round "$T/round"
refuses 1 "round in a circle|Too many levels" "a circle of links" export "$D/run" -o "$T/round"
ln -s nowhere/x "$T/lost"
refuses 1 "does not exist" "a link to a missing folder" export "$D/run" -o "$T/lost"

# --- mode and owner ---

for document in $documents; do
    echo old >"$T/private"
    chmod 600 "$T/private"
    run_export "$document" "$T/private"
    if [ "$status" = 0 ] && [ "$(stat -c %a "$T/private")" = 600 ] &&
        resembles "$document" "$T/private"; then
        ok "$document keeps the mode of its file"
    else
        not_ok "$document keeps the mode of its file" "exit $status: $(told); $(ls -l "$T/private")"
    fi
    rm -f "$T/private"
done
(umask 027 && "$TINCA" export "$D/run" -o "$T/new.json")
if [ "$(stat -c %a "$T/new.json")" = 640 ]; then
    ok "a new file follows the umask"
else
    not_ok "a new file follows the umask" "$(ls -l "$T/new.json")"
fi
echo old >"$T/one"
ln "$T/one" "$T/other"
run export "$D/run" -o "$T/one"
if cmp -s "$T/one" "$T/other" && resembles json "$T/one"; then
    ok "both names of a hard link have the document"
else
    not_ok "both names of a hard link have the document" "$(ls -l "$T/one" "$T/other")"
fi
mkdir "$T/foreign"
echo old >"$T/foreign/file"
if chown 4242:4343 "$T/foreign/file" 2>"$T/why"; then
    run export "$D/run" -o "$T/foreign/file"
    if [ "$status" = 0 ] && [ "$(stat -c %u:%g "$T/foreign/file")" = 4242:4343 ] &&
        resembles json "$T/foreign/file"; then
        ok "the owner of the file remains"
    else
        not_ok "the owner of the file remains" "exit $status: $(told); $(ls -l "$T/foreign")"
    fi
    # another user, who can write to the file but can neither change its owner nor write to the folder
    cp -R "$D/run" "$T/theirs"
    chown -R 4444:4444 "$T/theirs"
    for folder in 777 755; do
        name="another user's file in a folder of mode $folder is written in place"
        printf '%0200000d' 0 >"$T/foreign/file"
        chmod 666 "$T/foreign/file"
        chmod $folder "$T/foreign"
        chmod 755 "$T"
        inode=$(stat -c %i "$T/foreign/file")
        if command -v setpriv >/dev/null &&
            setpriv --reuid 4444 --regid 4444 --clear-groups test -x "$TINCA"; then
            status=0
            HOME=$T XDG_STATE_HOME=$T/none setpriv --reuid 4444 --regid 4444 --clear-groups \
                "$TINCA" export "$T/theirs" -o "$T/foreign/file" 2>"$T/err" || status=$?
            if [ "$status" = 0 ] && [ "$(stat -c '%u:%g %i' "$T/foreign/file")" = "4242:4343 $inode" ] &&
                resembles json "$T/foreign/file"; then
                ok "$name"
            else
                not_ok "$name" "exit $status: $(told); $(ls -l "$T/foreign")"
            fi
        else
            skip "$name" "no other user can run the program here"
        fi
    done
else
    skip "the owner of the file remains" "no file can be given away: $(cat "$T/why")"
fi

# --- targets that are refused before the run ---

refuses 1 "folder" "a folder" export "$D/run" -o "$T/place"
refuses 1 "does not exist" "a file in a missing folder" export "$D/run" -o "$T/nowhere/x.json"
refuses 2 "output" "an empty name" export "$D/run" -o ""
refuses 2 "does not exist" "a link to a missing folder, before training" train mlp --data digits \
    --save "$T/lost"
refuses 1 "does not exist" "a sweep's table in a missing folder, before the sweep" sweep --networks mlp \
    --batches 30 --data digits,limit=60 --epochs 1 --name unwritten -o "$T/nowhere/table"
if [ -e "$T/state/tinca/sweeps/unwritten" ]; then
    not_ok "and the sweep was not started" "$(ls "$T/state/tinca/sweeps/unwritten")"
else
    ok "and the sweep was not started"
fi
left=$(find "$T" -name '*.part')
if [ -z "$left" ]; then ok "no temporary file is left"; else not_ok "no temporary file is left" "$left"; fi
done_testing
