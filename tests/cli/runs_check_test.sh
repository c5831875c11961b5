# tinca runs --check: sound runs of every kind have no problems, and each of more than a hundred kinds of
# damage to a copy is reported with its file; the advised remedies are tried. A column says whether a
# checksum or the structure shows the damage. Then bits at 76 random positions are flipped, at 210 with WHOLE=1.
. "${srcdir:-.}/tests/cli/tap.sh"
DAMAGE=${DAMAGE:-$(dirname "$TINCA")/damage}
case $DAMAGE in /*) ;; *) DAMAGE=$PWD/$DAMAGE ;; esac
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
home="$T/state/tinca/runs"
bases="$T/bases"
logs=$(cd "${srcdir:-.}/tests/cli/logs" && pwd)
mkdir -p "$bases"

# --- sound runs ---

# keep KIND: makes the newest run the original for copies
keep() {
    for newest in "$home"/*; do :; done
    mv "$newest" "$bases/$1"
}

wait_for() { # wait_for PATTERN: waits at most a minute, while $process lives
    for i in $(seq 3000); do
        ls $1 >/dev/null 2>&1 || ! kill -0 "$process" 2>/dev/null && return
        sleep 0.02
    done
}

mark() { # mark FILE: prints the journal's length when the checkpoint was written
    tr ',' '\n' <"$1" | sed -n 's/.*"tinca.journal":"\([0-9]*\)".*/\1/p' | head -n 1
}

# killed KIND ARGUMENT...: makes a run that is killed when it has two checkpoints. If the kill falls between the
# two renames of a checkpoint, another run is made.
killed() {
    kind=$1
    shift
    for i in 1 2 3 4 5; do
        "$TINCA" train "$@" $often -q &
        process=$!
        wait_for "$home/*/checkpoint.previous.safetensors"
        for j in $(seq 500); do # until the checkpoints cover some lines of the journal
            length=$(mark "$home"/*/checkpoint.previous.safetensors 2>/dev/null)
            [ "${length:-0}" -gt 4000 ] || ! kill -0 "$process" 2>/dev/null && break
            sleep 0.02
        done
        kill -9 "$process" 2>/dev/null
        wait "$process" 2>/dev/null
        rm -rf "${bases:?}/$kind"
        keep "$kind"
        rm -f "$bases/$kind"/*.part # the tests below refer to them
        [ -f "$bases/$kind/checkpoint.safetensors" ] && break
    done
}

small="mlp --widths 8 --data digits,limit=64 --batch 32 -q"
often="--checkpoint 0.01 --checkpoint-share 100"

"$TINCA" train $small --epochs 3 --validate digits,split=test,limit=32 2>/dev/null
keep complete
"$TINCA" train $small --epochs 1000000 --validate digits,split=test,limit=32 $often &
process=$!
wait_for "$home/*/checkpoint.previous.safetensors"
kill "$process"
wait "$process" 2>/dev/null
keep stopped
killed killed $small --epochs 1000000 --solver adam
killed averaged $small --epochs 1000000 --ema 0.9
cp -a "$bases/killed" "$home/again" # twice; the second time the run is stopped
for i in 1 2; do
    "$TINCA" resume again -q &
    process=$!
    sleep 0.5
    kill "$process"
    wait "$process" 2>/dev/null
done
mv "$home/again" "$bases/resumed"
cat >"$T/tiny.json" <<'JSON'
{"name": "tiny", "input": [3, 16, 16], "normalise": "signed", "loss": "l1_loss",
 "layers": [{"block": "unet", "name": "unet", "width": 8, "widest": 16, "steps": 3,
   "dropout_steps": 1}, {"op": "tanh", "name": "tanh"}],
 "discriminator": {"layers": [
  {"op": "conv", "output": 8, "kernel": 4, "stride": 2, "pad": 1}, {"op": "leaky_relu", "slope": 0.2},
  {"op": "conv", "output": 1, "kernel": 4, "stride": 2, "pad": 1}]}}
JSON
"$TINCA" train "$T/tiny.json" --data maps,limit=2 --validate maps,split=test,limit=1 --epochs 2 \
    --batch 1 --solver adam -q
keep pictures
killed pictures-killed "$T/tiny.json" --data maps,limit=2 --epochs 100000 --batch 1 --solver adam
"$TINCA" import "$logs/caffe.txt" --images 1000 >/dev/null 2>&1
keep imported
"$TINCA" sweep --networks lenet --batches 16 --data digits,limit=32 --epochs 1 >/dev/null 2>&1
keep cell
"$TINCA" train $small --epochs 20 --lr 100000 --momentum 0 2>/dev/null
keep diverged
"$TINCA" train --fork "$bases/stopped" --batch 16 --epochs 2 -q
keep fork
killed fork-killed --fork "$bases/complete@best" --epochs 100000 -q
cp -a "$bases/stopped" "$home/measured"
"$TINCA" measure measured -q >/dev/null 2>&1 || "$TINCA" measure measured >/dev/null 2>&1
mv "$home/measured" "$bases/measured"
echo 'my run' >"$bases/measured/name.txt"
echo 'good fast' >"$bases/measured/tags.txt"
echo 'a note' >"$bases/measured/note.txt"

# a run of an early version: no network.json, no data.json, models and journal without checksums
cp -a "$bases/complete" "$bases/old"
rm -f "$bases/old/network.json" "$bases/old/data.json"
sed -i '/"crc32":/d' "$bases/old"/*.json
sed -i -e '/"journal":/d' -e '/"journal_sum":/d' -e '/"energy_/d' -e 's/\("has_validation":.*\),$/\1/' \
    "$bases/old/summary.json"
for file in weights best; do "$DAMAGE" old "$bases/old/$file.safetensors"; done

# a run of a network file that an early version began, which called it by the name inside of the file
cp -a "$bases/pictures" "$bases/renamed"
(cd "$bases/renamed" && edit_journal sed 's/"network":"tiny"/"network":"tina"/')
sed -i '/"crc32":/d' "$bases/renamed"/*.json
sed -i -e '/"journal":/d' -e '/"journal_sum":/d' -e '/"energy_/d' -e 's/\("has_validation":.*\),$/\1/' \
    "$bases/renamed/summary.json"

# runs with the journal of an earlier version
mkdir "$T/unpacked"
for ends in done stopped; do
    packed=${srcdir:-.}/tests/cli/old_runs/2026-11-30-$ends.run
    awk -v to="$T/unpacked" -f "${srcdir:-.}/tests/cli/old_runs/unpack.awk" "$packed"
    mv "$T/unpacked"/* "$bases/earlier-$ends"
    chmod 700 "$bases/earlier-$ends"
done
mv "$bases/earlier-done" "$bases/earlier"

for kind in complete stopped killed averaged resumed pictures pictures-killed imported cell diverged measured \
    fork fork-killed old renamed earlier earlier-stopped; do
    [ -f "$bases/$kind/config.json" ] || not_ok "a run of the kind $kind" "it was not made"
    run runs --check "$bases/$kind"
    if [ "$status" = 0 ] && [ "$(wc -l <"$T/out")" = 1 ] && [ ! -s "$T/err" ]; then
        ok "no problems: $kind"
    else
        not_ok "no problems: $kind" "exit $status: $(cat "$T/out" "$T/err")"
    fi
done

for log in keras.txt tensorflow.txt loss_titan_caffe.csv times_titan_tensorflow.csv; do
    "$TINCA" import "$logs/$log" >/dev/null 2>&1
done
"$TINCA" train $small --epochs 1000000 --validate digits,split=test,limit=32 $often &
process=$!
alarms=0
for i in $(seq 8); do
    "$TINCA" runs --check >"$T/all" 2>&1 || alarms=$((alarms + 1))
    [ "$(wc -l <"$T/all")" = 1 ] || alarms=$((alarms + 1))
    [ "$alarms" = 0 ] || break
done
[ "$alarms" = 0 ] && grep -q 'runs checked, 0 damaged, 0 with warnings' "$T/all" &&
    ok "no problems: all runs, one of them being written, 8 times" ||
    not_ok "no problems: all runs, one of them being written" "$(cat "$T/all")"
kill "$process"
wait "$process" 2>/dev/null
rm -rf "$home"/*

# --- damage ---

kinds=0 by_checksum=0 by_structure=0

# Corrects the checksums of all files.
seal() {
    find . -maxdepth 1 -type f \( -name '*.json' -o -name '*.safetensors' \) -exec "$D" seal {} +
}

# damage BASE FILE HOW SEVERITY PATTERN COMMAND: the command damages a copy of the run, in its folder; the check
# must name the file ("." is the folder) and match PATTERN. HOW is "checksum" if a checksum shows the damage,
# or "structure" if all checksums are correct.
damage() {
    kinds=$((kinds + 1))
    case $3 in checksum) by_checksum=$((by_checksum + 1)) ;; *) by_structure=$((by_structure + 1)) ;; esac
    chmod -R u+rwX "$T/run" 2>/dev/null
    rm -rf "$T/run"
    cp -a "$bases/$1" "$T/run"
    name=$(printf '%s: %s: %s: %s' "$3" "$1" "$2" "$6" | tr -d '\\' | tr '\n' ';')
    (cd "$T/run" && eval "$6") || {
        not_ok "$name" "the damage could not be made"
        return
    }
    [ "$3" = checksum ] || (cd "$T/run" && seal 2>/dev/null)
    run runs --check "$T/run"
    file=$2 expected=1 word=
    [ "$file" = . ] && file='its folder'
    [ "$4" = warning ] && expected=0 word='warning: '
    if [ "$status" = "$expected" ] && grep -Eq -- "^run: $file: $word.*($5).*: ." "$T/out"; then
        ok "$name"
    else
        not_ok "$name" "exit $status, not $expected with '$5': $(cat "$T/out" "$T/err")"
    fi
}

has_root=$(id -u)
D=$DAMAGE
iteration() { grep -ao '"tinca.iteration":"[0-9]*"' checkpoint.safetensors; }
NAN=7fc00000 INFINITY=7f800000

# the folder and its files
damage complete config.json structure error 'missing' 'rm config.json'
damage complete journal structure error 'missing' 'rm journal'
damage killed journal structure warning 'before its first' 'rm [d-kn-z]* checkpoint*'
damage killed journal structure warning 'is empty' 'rm checkpoint*; : >journal'
damage complete weights.safetensors structure error 'missing' 'rm weights.safetensors'
damage complete best.safetensors structure error 'missing' 'rm best.safetensors'
damage complete summary.json structure warning 'missing' 'rm summary.json'
damage imported summary.json structure error 'missing' 'rm summary.json'
damage pictures discriminator.safetensors structure error 'missing' 'rm discriminator.safetensors'
damage stopped checkpoint.safetensors structure error 'missing' 'rm checkpoint.safetensors'
damage killed checkpoint.safetensors structure error 'missing' 'rm checkpoint*'
damage killed checkpoint.safetensors structure warning 'missing' 'rm checkpoint.safetensors'
damage complete lock structure warning 'missing' 'rm lock'
damage complete config.json structure error 'symbolic link' 'mv config.json a; ln -s a config.json'
damage complete journal structure error 'symbolic link' 'ln -sf /etc/passwd journal'
damage complete weights.safetensors structure error 'symbolic link' \
    'rm weights.safetensors; ln -s nowhere weights.safetensors'
damage complete journal structure error 'FIFO' 'rm journal; mkfifo journal'
damage complete summary.json structure error 'FIFO' 'rm summary.json; mkfifo summary.json'
damage complete lock structure error 'FIFO' 'rm lock; mkfifo lock'
damage complete weights.safetensors structure error 'folder' \
    'rm weights.safetensors; mkdir weights.safetensors'
damage complete best.safetensors structure error 'folder' 'rm best.safetensors; mkdir best.safetensors'
damage complete notes.txt structure warning 'did not write' 'echo mine >notes.txt'
damage complete 'sub' structure warning 'did not write' 'mkdir sub'
damage complete pipe structure warning 'did not write' 'mkfifo pipe'
damage complete config.json.123.part structure warning 'half written' 'echo { >config.json.123.part'
damage complete weights.safetensors.9.part structure warning 'half written' \
    'echo >weights.safetensors.9.part'
damage complete . structure error 'other users' 'chmod go+w .'
damage complete journal structure warning 'other users' 'chmod 0666 journal'
damage complete . structure warning 'no run is in it' 'rm -f ./*; touch -t 202601010000 .'
damage complete . structure warning 'no run is in it' \
    'rm -f [a-k]* [m-z]*; touch -t 202601010000 .'
if [ "$has_root" != 0 ]; then
    damage complete config.json structure error 'ermission' 'chmod 0 config.json'
    damage complete journal structure error 'ermission' 'chmod 0 journal'
    damage complete . structure error 'listed' 'chmod 0 .'
fi

# config.json
damage complete config.json structure error 'empty|JSON|expected' ': >config.json'
damage complete config.json structure error 'JSON|line|expected' '"$D" cut config.json 200'
damage complete config.json structure error 'JSON|line|expected' '"$D" zero config.json 40 16'
damage complete config.json structure error 'not a run of tinca' 'sed -i s/tinca-run/tinca-ran/ config.json'
damage complete config.json structure error 'version' "sed -i 's/version\":.*1/version\": 7/' config.json"
damage complete config.json structure error '"id"' "sed -i '/\"id\"/d' config.json"
damage complete config.json structure error 'not a time' "sed -i 's/\(created.*\)Z/\1/' config.json"
damage complete config.json structure error 'host' "sed -i '/\"host\"/d' config.json"
damage complete config.json structure error '"batch" is missing' "sed -i '/\"batch\"/d' config.json"
damage complete config.json structure error 'batch' "sed -i 's/\(batch\":.*\)32/\10/' config.json"
damage complete config.json structure error 'batch is 16' "sed -i 's/\(batch\":.*\)32/\116/' config.json"
damage complete config.json structure error 'asks for' "sed -i 's/\(epochs\":.*\)3/\12/' config.json"
damage complete config.json structure error 'whole number' "sed -i 's/\(batch\":\).*/\1 \"x\",/' config.json"
damage complete config.json structure error 'no such setting' "sed -i 's/\"momentum\"/\"momentun\"/' config.json"
damage complete config.json structure error 'solver' "sed -i 's/\"sgd\"/\"sgq\"/' config.json"
damage complete config.json structure warning 'not known' "sed -i 's/\(.\"host\"\)/\"colour\": 1,\1/' config.json"
damage complete config.json structure error 'large|limit|bytes' 'head -c 2000000 /dev/zero >>config.json'

damage complete config.json checksum error 'was changed after tinca wrote it' \
    "sed -i 's/\"host\":.*/\"host\": \"h\",/' config.json"
damage complete config.json checksum error 'was changed' 'echo >>config.json'
damage complete config.json checksum error 'was changed' "sed -i 's/crc32/crc33/' config.json"

# small files
damage measured name.txt structure error 'name' 'printf "a/b\n" >name.txt'
damage measured name.txt structure error 'name' ': >name.txt'
damage measured tags.txt structure error 'tags' 'printf "a:b\n" >tags.txt'
damage measured note.txt structure error 'note' ': >note.txt'
damage measured measurements.json structure error '.' '"$D" cut measurements.json 50'
damage measured measurements.json structure error '.' 'echo "[]" >measurements.json'
damage complete profile.json structure error '.' 'echo "{" >profile.json'
damage complete lock structure warning 'process' 'echo nobody >lock'
damage complete data.json structure error 'JSON|line|expected' '"$D" cut data.json 30'
damage complete data.json structure error 'describe data' 'echo "{}" >data.json'
damage complete data.json structure error 'images' "sed -i '0,/images\":.*64/s/\(images\":.*\)64/\165/' data.json"
damage complete network.json structure error '.' '"$D" cut network.json 30'
damage complete network.json structure error 'parameters|not the network' \
    "sed -i '0,/output\":.*8/s/\(output\":.*\)8/\19/' network.json"
damage measured measurements.json checksum error 'was changed' "sed -i '0,/top1/s/top1/topl/' measurements.json"
damage complete data.json checksum error 'was changed' "sed -i 's/digits/digit5/' data.json"
damage complete network.json checksum error 'was changed' "sed -i 's/\"title\":.*/\"title\": \"t\",/' network.json"

# killed.json
kill='{"format": "tinca-killed", "version": 1, "cause": "other", "what": "run", "why": "killed", "advice": ""}'
damage killed killed.json structure error 'JSON|line|expected' "echo '{' >killed.json"
damage killed killed.json structure error 'not a JSON object' "echo '[]' >killed.json"
damage killed killed.json structure error 'does not say why' "echo '$kill' | sed s/tinca-killed/tinca-x/ >killed.json"
damage killed killed.json structure error 'does not say why' "echo '$kill' | sed 's/: 1,/: 2,/' >killed.json"
damage killed killed.json structure error 'checksum' \
    "echo '$kill' | sed 's/{/{\"crc32\": \"00000000\", /' >killed.json"

# summary.json
damage complete summary.json structure error 'JSON|empty|expected' ': >summary.json'
damage complete summary.json structure error 'JSON|line|expected' '"$D" cut summary.json 300'
damage complete summary.json structure error 'not a summary' 'sed -i s/tinca-summary/tinca-x/ summary.json'
damage complete summary.json structure error '"status"' "sed -i 's/\"done\"/\"dome\"/' summary.json"
damage complete summary.json structure error '"status"' "sed -i 's/\"done\"/\"running\"/' summary.json"
damage complete summary.json structure error '"iteration"' "sed -i '/\"iteration\"/d' summary.json"
damage complete summary.json structure error 'wrong type' "sed -i 's/\(\"loss\":\).*/\1 \"x\",/' summary.json"
damage complete summary.json structure error 'iteration is 5' "sed -i 's/\(\"iteration\":.*\)6/\15/' summary.json"
damage complete summary.json structure error 'loss is' "sed -i 's/\(\"loss\":\).*/\1 0.5,/' summary.json"
damage complete summary.json structure error 'best_top1' "sed -i 's/\(\"best_top1\":\).*/\1 99.5,/' summary.json"
damage complete summary.json structure error 'best_validation_loss' "sed -i 's/\(\"best_validation_loss\":\).*/\1 0.001,/' summary.json"
damage complete summary.json structure error 'validation_loss' "sed -i 's/\(\"validation_loss\":\).*/\1 9,/' summary.json"
damage complete summary.json structure error 'has_validation' "sed -i 's/\(\"has_validation\":\).*true/\1 false/' summary.json"
damage complete summary.json structure warning 'not known' "sed -i 's/\"format\"/\"colour\": 1, &/' summary.json"
damage complete summary.json checksum error 'was changed' "sed -i 's/\(\"elapsed_seconds\":\).*/\1 7,/' summary.json"
damage complete journal checksum error 'checksum' "sed -i 's/\(journal_sum\":\).*/\1 1/' summary.json"

# the journal
damage complete journal structure error 'end is lost' ': >journal'
damage complete journal structure error 'end is lost' '"$D" cut journal -1'
damage complete journal structure error 'end is lost' '"$D" cut journal -300'
damage killed journal structure error 'end is lost' '"$D" cut journal 500'
damage complete journal structure error 'damaged' '"$D" zero journal 700 40'
damage complete journal structure error 'checksum|end is lost|damaged|after the end' 'edit_journal sed "3s/.$//"'
damage complete journal structure error 'checksum|end is lost|damaged|after the end' 'edit_journal sed "2s/^/x/"'
damage complete journal structure error 'checksum|end is lost|damaged|after the end' 'edit_journal sed 3,4d'
damage complete journal structure error 'checksum|end is lost|damaged|after the end' 'edit_journal sed 3p'
damage complete journal structure error 'checksum|end is lost|damaged|after the end' 'edit_journal sed "3{h;d};4{G}"'
damage complete journal structure error 'checksum|end is lost|damaged|after the end' 'edit_journal sed 1d'
damage complete journal structure error 'checksum|end is lost|damaged|after the end' 'edit_journal sed 1p'
damage complete journal structure error 'checksum|end is lost|damaged|after the end' 'edit_journal sed "1s/\"memory\"/\"memery\"/"'
damage complete journal structure error 'checksum|end is lost|damaged|after the end' 'edit_journal sed "3s/\"lr\"/\"lq\"/"'
damage complete journal structure error 'checksum|end is lost|damaged|after the end' 'edit_journal sed "3s/\"seconds\":[^,]*/\"seconds\":null/"'
damage complete journal structure error 'checksum|end is lost|damaged|after the end' 'edit_journal sed "3s/\"epoch\":[^,]*/\"epoch\":7/"'
damage complete journal structure error 'checksum|end is lost|damaged|after the end' 'edit_journal sed "3s/\"seconds\":[^,]*/\"seconds\":1e9/"'
damage complete journal structure error 'checksum|end is lost|damaged|after the end' 'edit_journal sed "3s/\"lr\":/\"lr\":-/"'
damage complete journal checksum error 'checksum|end is lost|damaged|after the end' 'edit_journal sed "3s/\"loss\":2/\"loss\":1/"'
damage complete journal checksum error 'checksum|end is lost|damaged|after the end' 'edit_journal sed "3s/\"memory_bytes\":/&1/"'
damage complete journal structure error 'checksum|end is lost|damaged|after the end' 'edit_journal sed "s/\"top1\":[^,]*/\"top1\":101/"'
damage complete journal structure error 'checksum|end is lost|damaged|after the end' 'edit_journal sed "s/\"top5\":/\"topp\":/"'
damage complete journal structure error 'checksum|end is lost|damaged|after the end' 'edit_journal sed "4s/\"iteration\":2/\"iteration\":1/"'
damage complete journal structure error 'checksum|end is lost|damaged|after the end' 'edit_journal sed "s/\"event\":\"end\"/\"event\":\"emd\"/"'
damage complete journal structure error 'checksum|end is lost|damaged|after the end' 'edit_journal sed "\$p"'
damage killed journal structure error 'damaged' 'printf "%032d" 0 >>journal'
damage killed journal checksum error 'damaged' '"$D" flip journal 900 1'
damage stopped journal checksum error 'damaged' '"$D" flip journal 900 1'
damage imported journal structure error 'checksum|end is lost|damaged|after the end' 'edit_journal sed 2p'
damage imported journal structure error 'checksum|end is lost|damaged|after the end' 'edit_journal sed "2s/,/;/"'
damage killed journal.previous structure warning 'damaged' 'cp journal journal.previous; "$D" flip journal.previous 900 1'
damage old journal structure warning 'torn' 'printf "{\"it" >>journal'
damage old journal structure warning 'ended' 'edit_journal sed \$d'

# the journal of earlier versions: lines of JSON
damage earlier journal.jsonl structure error 'missing|end is lost' ': >journal.jsonl'
damage earlier journal structure error 'missing' 'rm journal.jsonl'
damage earlier journal.jsonl structure error 'end is lost' '"$D" cut journal.jsonl -1'
damage earlier journal.jsonl structure error 'end is lost' '"$D" cut journal.jsonl 500'
damage earlier journal.jsonl structure error 'damaged' '"$D" zero journal.jsonl 900 40'
damage earlier journal.jsonl structure error 'checksum|end is lost|damaged|after the end' 'sed -i "3s/.$//" journal.jsonl'
damage earlier journal.jsonl structure error 'checksum|end is lost|damaged|after the end' 'sed -i 3,4d journal.jsonl'
damage earlier journal.jsonl structure error 'checksum|end is lost|damaged|after the end' 'sed -i 3p journal.jsonl'
damage earlier journal.jsonl structure error 'checksum|end is lost|damaged|after the end' 'sed -i "3s/\"lr\"/\"lq\"/" journal.jsonl'
damage earlier journal.jsonl structure error 'checksum|end is lost|damaged|after the end' 'sed -i "s/\"event\":\"end\"/\"event\":\"emd\"/" journal.jsonl'
damage earlier journal.jsonl checksum error 'checksum|end is lost|damaged|after the end' 'sed -i "3s/\"loss\":2/\"loss\":1/" journal.jsonl'
damage earlier journal.jsonl structure error 'FIFO' 'rm journal.jsonl; mkfifo journal.jsonl'
damage earlier-stopped journal.jsonl checksum error 'checksum|end is lost|damaged|after the end' 'sed -i "2s/\"memory_bytes\":/&1/" journal.jsonl'
damage earlier-stopped journal.previous.jsonl structure warning 'damaged' \
    'sed "2s/,/;/" journal.jsonl >journal.previous.jsonl'

# models
damage complete weights.safetensors structure error 'shorter' ': >weights.safetensors'
damage complete weights.safetensors structure error 'exceeds' '"$D" flip weights.safetensors 5 7'
damage complete weights.safetensors structure error 'inside the file|exceeds' '"$D" cut weights.safetensors -4'
damage complete weights.safetensors structure error 'cover' 'printf x >>weights.safetensors'
damage complete weights.safetensors structure error 'JSON|line|damaged|expected' '"$D" flip weights.safetensors 8 1'
damage complete weights.safetensors checksum error 'checksum' '"$D" flip weights.safetensors -5 3'
damage complete weights.safetensors checksum error 'checksum' '"$D" zero weights.safetensors 4096 512'
damage complete weights.safetensors checksum error 'checksum' \
    '"$D" replace weights.safetensors "\"tinca.groups\":\"0\"" "\"tinca.groups\":\"1\""'
damage complete weights.safetensors structure error 'tinca.technique' \
    '"$D" replace weights.safetensors "\"tinca.technique\":\"none\"" "\"tinca.technique\":\"nine\""'
damage complete weights.safetensors structure error 'NaN' \
    '"$D" value weights.safetensors output.weight 3 $NAN'
damage complete best.safetensors structure error 'infinite' \
    '"$D" value best.safetensors output.bias 1 $INFINITY'
damage complete best.safetensors checksum error 'checksum' '"$D" value best.safetensors output.bias 1 0'
damage complete best.safetensors structure error 'model of|parameters' \
    'cp "$bases/cell/weights.safetensors" best.safetensors'
damage complete weights.safetensors structure error 'missing' \
    '"$D" replace weights.safetensors "\"output.bias\"" "\"outprt.bias\""'
damage complete weights.safetensors structure error 'shape' \
    '"$D" replace weights.safetensors "[10,8]" "[8,10]"'
damage complete weights.safetensors structure error '.' 'cp journal weights.safetensors'
damage old weights.safetensors structure error 'NaN' '"$D" value weights.safetensors output.weight 3 $NAN'
damage old weights.safetensors structure error 'inside' '"$D" cut weights.safetensors -1'
damage fork ancestor.safetensors checksum error 'checksum' \
    '"$D" flip ancestor.safetensors -5 3'
damage fork ancestor.safetensors structure error 'missing' \
    '"$D" replace ancestor.safetensors "\"output.bias\"" "\"outprt.bias\""'
damage fork-killed ancestor.safetensors structure error 'begins with these weights' \
    'rm ancestor.safetensors checkpoint*'
damage pictures discriminator.safetensors checksum error 'checksum' '"$D" flip discriminator.safetensors -9 0'
damage pictures discriminator.safetensors structure error 'missing|shape' \
    'cp weights.safetensors discriminator.safetensors'
damage pictures sample-0002.png checksum error 'picture' '"$D" flip sample-0002.png 60 0'
damage pictures sample-0002.png structure error 'picture' '"$D" cut sample-0002.png -20'
damage pictures sample-0002.png structure error 'picture' ': >sample-0002.png'

# checkpoints
damage stopped checkpoint.safetensors checksum error 'checksum' '"$D" flip checkpoint.safetensors -5 0'
damage stopped checkpoint.previous.safetensors checksum error 'checksum' '"$D" flip checkpoint.previous.safetensors -5 0'
damage killed checkpoint.safetensors structure error 'shorter' ': >checkpoint.safetensors'
damage killed checkpoint.safetensors structure error 'inside' '"$D" cut checkpoint.safetensors -64'
damage killed checkpoint.safetensors checksum error 'checksum' '"$D" zero checkpoint.safetensors 8192 4096'
damage killed checkpoint.safetensors structure error 'format' \
    '"$D" replace checkpoint.safetensors tinca-checkpoint-1 tinca-checkpoint-9'
damage killed checkpoint.safetensors structure error 'solver_step' \
    '"$D" replace checkpoint.safetensors tinca.solver_step tinca.solver_stop'
damage killed checkpoint.safetensors structure error 'solver.1.output.bias' \
    '"$D" replace checkpoint.safetensors \"solver.1.output.bias\" \"solver.1.outprt.bias\"'
damage averaged checkpoint.safetensors structure error 'average.output.bias' \
    '"$D" replace checkpoint.safetensors \"average.output.bias\" \"average.outprt.bias\"'
damage averaged checkpoint.safetensors structure error 'arrays, but the run needs' \
    'sed -i "s/\"ema\":.*/\"ema\": 0,/" config.json'
damage killed checkpoint.safetensors structure error 'window' \
    '"$D" replace checkpoint.safetensors loss_window lost_window'
damage killed checkpoint.safetensors structure error 'NaN' \
    '"$D" value checkpoint.safetensors output.bias 0 $NAN'
damage killed checkpoint.safetensors structure error 'checksum' '"$D" old checkpoint.safetensors'
damage killed journal structure error 'iterations where' \
    '"$D" replace checkpoint.safetensors "$(iteration)" "$(iteration | tr 0-9 1-91)"'
damage stopped checkpoint.safetensors structure error '.' 'cp weights.safetensors checkpoint.safetensors'
damage pictures-killed checkpoint.safetensors structure error 'discriminator' \
    '"$D" replace checkpoint.safetensors \"discriminator.solver \"discriminator.silver'
damage stopped checkpoint.safetensors structure warning 'no longer' \
    'n=$(sed -n "s/.*\"iteration\":[^0-9]*\([0-9]*\),/\1/p" summary.json)
    sed -i -e "s/\"stopped\"/\"done\"/" -e "s/\(\"iterations\":\).*/\1 $n,/" summary.json'

for i in $(seq 250); do echo "mine$i=1"; done >"$T/many" # more problems than the report lists
damage complete weights.safetensors checksum error 'checksum' \
    'split -l 1 -a 3 "$T/many" note; "$D" flip weights.safetensors -5 3'
damage complete noteaaa structure warning 'did not write' 'split -l 1 -a 3 "$T/many" note'

echo "# $kinds kinds of damage: $by_checksum are shown by a checksum, $by_structure by structure"
[ "$kinds" -ge 100 ] && ok "a hundred kinds of damage were tried ($kinds)" ||
    not_ok "a hundred kinds of damage were tried" "$kinds"

# --- flipped bits ---

# flips BASE FILE TIMES: flips one bit at a time at seeded random positions; counts those reported in $shown
flips() {
    shown=0
    rm -rf "$T/run"
    cp -a "$bases/$1" "$T/run"
    for seed in $(seq "$3"); do
        "$DAMAGE" random "$T/run/$2" "$seed"
        run runs --check --json "$T/run"
        grep -q severity "$T/out" && shown=$((shown + 1))
        "$DAMAGE" random "$T/run/$2" "$seed" # flipping the same bit restores the file
    done
}

flips_of() { # flips_of BASE FILE TIMES: all of them must be reported
    if whole_list; then times=$3; else times=$((($3 + 2) / 3)); fi
    flips "$1" "$2" $times
    if [ "$shown" = "$times" ]; then
        ok "each of $times flipped bits is reported: $2"
    else
        not_ok "each of $times flipped bits is reported: $2" "only $shown"
    fi
}
flips_of stopped weights.safetensors 25
flips_of stopped best.safetensors 20
flips_of stopped checkpoint.safetensors 25
flips_of stopped checkpoint.previous.safetensors 20
flips_of stopped journal 30
flips_of pictures discriminator.safetensors 10
flips_of pictures sample-0002.png 10
flips_of stopped config.json 20
flips_of stopped summary.json 20
flips_of stopped network.json 10
flips_of stopped data.json 10
flips_of measured measurements.json 10

# --- remedies ---

# A run that was killed shortly before its end, and the same run undisturbed. If it ends before it is killed,
# a longer run is made.
for epochs in 40 150 600 2400; do
    short="mlp --widths 8 --data digits,limit=64 --batch 32 -q --epochs $epochs"
    killed short $short
    [ -f "$bases/short/checkpoint.safetensors" ] && [ ! -f "$bases/short/summary.json" ] && break
done
"$TINCA" train $short
keep reference

# advises BASE PATTERN NAME COMMAND: after the damage the report gives the advice PATTERN; the copy is in the
# folder of runs
advises() {
    rm -rf "$home/run"
    mkdir -p "$home"
    cp -a "$bases/$1" "$home/run"
    sed -i 's/"id":.*/"id": "run",/' "$home/run/config.json"
    "$D" seal "$home/run/config.json"
    (cd "$home/run" && eval "$4")
    run runs --check "$home/run"
    grep -Eq -- "$2" "$T/out" && ok "$3" || not_ok "$3" "no '$2': $(cat "$T/out")"
}

# resumes NAME: resume completes the run, which is then sound and equal to the undamaged run
resumes() {
    run resume run --checkpoint 60 -q
    if [ "$status" = 0 ] && cmp -s "$home/run/weights.safetensors" "$bases/reference/weights.safetensors"
    then
        ok "$1"
    else
        not_ok "$1" "exit $status: $(told)"
    fi
    run runs --check "$home/run"
    [ "$status" = 0 ] && ok "$1, and is sound" || not_ok "$1, and is sound" "$(cat "$T/out")"
}

advises short 'checkpoint.safetensors: .*resume run goes on from checkpoint.previous.safetensors' \
    'a damaged checkpoint: resume goes on from the one before it' \
    '"$D" flip checkpoint.safetensors -5 0'
resumes 'it does'
advises short 'checkpoint.safetensors: .*delete both checkpoints' \
    'two damaged checkpoints: both are to be deleted' \
    '"$D" flip checkpoint.safetensors -5 0; "$D" flip checkpoint.previous.safetensors -5 0'
rm "$home/run"/checkpoint*
resumes 'then resume begins again'
advises short 'journal: .*goes on from checkpoint.safetensors' \
    'a journal that is damaged behind the checkpoint: resume goes back to it' \
    'printf "%064d" 0 >>journal'
resumes 'it does'
advises short 'journal: .*goes on from checkpoint.previous.safetensors' \
    'a journal that is damaged between the checkpoints: resume goes back to the one before' \
    '"$D" flip journal $(($(mark checkpoint.safetensors) - 30)) 1'
resumes 'it does'
advises short 'journal: .*computes it again from its first iteration' \
    'a journal that is damaged before both checkpoints: resume begins again' \
    '"$D" flip journal 900 1'
resumes 'it does'
advises short 'checkpoint.safetensors: .*delete checkpoint.safetensors, then tinca resume run goes on from checkpoint.prev' \
    'a checkpoint with NaN: it is to be deleted' \
    '"$D" value checkpoint.safetensors output.bias 0 $NAN; "$D" seal checkpoint.safetensors'
rm "$home/run/checkpoint.safetensors"
resumes 'then resume goes on from the one before it'
advises short 'journal: .*nothing need be done: tinca resume run' \
    'a run that was killed before its journal was made begins' 'rm journal checkpoint*'
resumes 'it does'
advises short 'data.json: .*delete it: tinca resume then goes on' 'a damaged data.json is to be deleted' \
    '"$D" cut data.json 20'
rm "$home/run/data.json"
resumes 'then resume goes on'
advises short 'config.json: .*was changed .*if the change is meant, delete its line "crc32"' \
    'config.json was changed by hand: its checksum is to be deleted' \
    "sed -i 's/\"checkpoint\":.*/\"checkpoint\": 120,/' config.json"
refuses 1 'config.json: it was changed after tinca wrote it.*crc32' 'resume refuses it' resume run
sed -i '/"crc32":/d' "$home/run/config.json"
resumes 'without its checksum the run goes on'
for file in summary network data; do
    advises stopped "$file.json: .*was changed" "$file.json was changed" \
        "sed -i '/crc32/s/[0-9a-f]\",/x\",/' $file.json"
    refuses 1 "$file.json: it was changed after tinca wrote it" '  resume refuses it' resume run
    succeeds '  it is listed' runs
done
advises reference 'summary.json: .*delete it, then tinca resume run computes it again' \
    'a complete run with a damaged summary: it is to be deleted' '"$D" cut summary.json 300'
refuses 1 'summary.json: line' '  until then resume refuses it' resume run
rm "$home/run/summary.json"
resumes '  then it is computed once more'
advises reference 'journal: .*computes it again from its first iteration' \
    'a complete run with a damaged journal can be computed once more' '"$D" flip journal 900 1'
resumes 'it is'
advises reference 'summary.json: .*computes it again from its first iteration' \
    'a complete run without a summary can be computed once more' 'rm summary.json'
resumes 'it is'
advises stopped 'weights.safetensors: .*resume run goes on from .*saves its models again' \
    'a stopped run saves its models again when it is resumed' '"$D" flip weights.safetensors -5 0'
advises complete 'weights.safetensors: .*tinca eval .*/best.safetensors --data' \
    'of a damaged model, the best one is intact' '"$D" flip weights.safetensors -5 0'
command=$(sed -n 's/.*\(eval .*best.safetensors --data [^ ]*\)$/\1/p' "$T/out")
succeeds "the advised command works: tinca $command" $command
advises complete 'config.json: .*tinca eval .*/weights.safetensors --data SPEC' \
    'without config.json the model can be used' 'rm config.json'
succeeds 'it can' eval "$home/run/weights.safetensors" --data digits,split=test,limit=32
advises measured 'measurements.json: .*delete it, then measure again: tinca measure run' \
    'damaged measurements are to be deleted' '"$D" cut measurements.json 50'
rm "$home/run/measurements.json"
succeeds 'and measured again' measure run
advises complete 'journal: .*chmod u.rX,go-w [^ ]*$' 'permissions are to be taken back' \
    'chmod 666 journal'
$(sed -n 's/.*\(chmod .*\)$/\1/p' "$T/out")
run runs --check "$home/run"
[ "$status" = 0 ] && [ "$(wc -l <"$T/out")" = 1 ] && ok 'then nothing is wrong' ||
    not_ok 'then nothing is wrong' "$(cat "$T/out")"

# An advised command can be pasted into a shell, whatever the names of the folder and the files are.
odd="$T/it's \$HOME"
mkdir -p "$odd"
cp -a "$bases/complete" "$odd/a run"
"$D" flip "$odd/a run/weights.safetensors" -5 0
run runs --check "$odd/a run"
command=$(sed -n 's/.*: tinca \(eval .*\)$/\1/p' "$T/out")
eval "run $command"
[ -n "$command" ] && [ "$status" = 0 ] && ok "for a folder with an unusual name: tinca $command" ||
    not_ok 'a model in a folder with an odd name' "$command: $(told)"
chmod 666 "$odd/a run/journal"
run runs --check "$odd/a run"
eval "$(sed -n 's/.*\(chmod .*\)$/\1/p' "$T/out")"
[ "$(stat -c %a "$odd/a run/journal")" = 644 ] && ok 'permissions there' ||
    not_ok 'permissions there' "$(cat "$T/out")"
rm -rf "$odd/a run"
cp -a "$bases/short" "$odd/a run"
rm "$odd/a run/journal"
run runs --check "$odd/a run"
command=$(sed -n 's/.*: tinca \(resume .*\) computes it again.*/\1/p' "$T/out")
eval "run $command -q"
[ -n "$command" ] && [ "$status" = 0 ] && ok "for a run outside the folder of runs: tinca $command" ||
    not_ok 'a run that lies elsewhere is named by its folder' "$command: $(told)"

# --- the report ---

rm -rf "$home"/*
cp -a "$bases/complete" "$home/good"
sed -i 's/"id":.*/"id": "good",/' "$home/good/config.json"
"$D" seal "$home/good/config.json"
cp -a "$home/good" "$home/bad"
mkdir "$home/empty" "$home/new" # a run may be about to start in the second one
touch -t 202601010000 "$home/empty"
: >"$home/stray"
"$DAMAGE" flip "$home/bad/weights.safetensors" -5 0
run runs --check
[ "$status" = 1 ] && [ "$(tail -n 1 "$T/out")" = '5 runs checked, 1 damaged, 2 with warnings' ] &&
    ok 'the last line counts' || not_ok 'the last line counts' "exit $status: $(cat "$T/out")"
shows '^bad: weights.safetensors: its checksum is' 'a line a problem'
shows '^bad: config.json: warning: it says that the run is good' 'a folder that was renamed'
shows '^empty: its folder: warning: no run is in it' 'a folder without a run'
shows '^stray: its folder: warning: it is not a folder' 'a file among the runs'
run runs --check --json
[ "$status" = 1 ] && ok 'the same status with --json' || not_ok 'the same status with --json' "$status"
is 'the document counts' damaged 1
is 'its runs have names' runs.0.id bad
is 'and how they ended' runs.0.status done
is 'and problems with a severity' runs.0.problems.0.severity warning
is 'and a file' runs.0.problems.1.file weights.safetensors
is 'a sound run has none' 'runs.2.problems.#' 0
is 'nor has a folder that was made just now' 'runs.3.problems.#' 0
before=$(cd "$home" && find . -type f -exec cksum {} + | sort)
run runs --check
[ "$before" = "$(cd "$home" && find . -type f -exec cksum {} + | sort)" ] &&
    ok 'nothing is changed' || not_ok 'nothing is changed'
printf '\033[31m' >"$home/$(printf 'a\033[2Jb')"
run runs --check
grep -q "$(printf '\033')" "$T/out" && not_ok 'names send nothing to the terminal' ||
    ok 'names send nothing to the terminal'
refuses 2 'no such run' 'a run that is not there' runs --check nowhere
refuses 2 'no such run' 'nor is the folder of all runs one' runs --check .
refuses 2 'no such run' 'nor the one above it' runs --check ..
refuses 2 'its name is empty' 'nor nothing' runs --check ''
refuses 2 'cannot be combined' 'two runs with --check' runs --check good cell
done_testing
