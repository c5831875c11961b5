#!/bin/sh
# TensorBoard's event files, tables of all values, and NumPy's arrays: what a run writes while it trains, what is
# exported of it later, and that all of them have the journal's values. event_look and npz_look read the files without
# the program's code; what TensorBoard, pandas and NumPy read is tests/long/tensorboard_long.sh.
srcdir=$(cd "${srcdir:-.}" && pwd)
. "$srcdir/tests/cli/tap.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
EVENT_LOOK=$(dirname "$JSON_LOOK")/event_look NPZ_LOOK=$(dirname "$JSON_LOOK")/npz_look
cd "$T" || exit 99
job="train lenet --data digits,limit=200 --batch 10 --threads 1 -q"
validate="--validate digits,split=test,limit=40"

# column NAME RUN: the numbers of a member of the journal's iterations, as the journal has them
column() { journal_lines "$2/journal" | grep -a '^{"iteration"' | sed -n "s/.*\"$1\":\\([^,}]*\\).*/\\1/p"; }
# validations NAME RUN: the same of its validations
validations() { journal_lines "$2/journal" | grep -a '"event":"validation"' | sed -n "s/.*\"$1\":\\([^,}]*\\).*/\\1/p"; }
# scalars TAG FILE...: the values of a series in event files
scalars() {
    tag=$1
    shift
    "$EVENT_LOOK" "$@" 2>look.err | sed -n "s|^scalar $tag [0-9]* ||p"
}
# same NAME EXPECTED FOUND: both files are alike, and not empty
same() {
    if [ -s "$2" ] && cmp -s "$2" "$3"; then ok "$1"; else not_ok "$1" "$(diff "$2" "$3" | head -n 6; cat look.err)"; fi
}
# holds NAME PATTERN FILE...: the event files have such a line
holds() {
    name=$1 pattern=$2
    shift 2
    "$EVENT_LOOK" "$@" >looked 2>look.err
    if grep -Eq -- "$pattern" looked; then ok "$name"; else not_ok "$name" "$(head -n 40 looked; cat look.err)"; fi
}
# follows NAME RUN FILE...: the series of the event files are the journal's
follows() {
    name=$1 of=$2
    shift 2
    for series in loss loss_mean lr ms_per_image memory_bytes; do
        column $series "$of" >expected
        scalars $series "$@" >found
        [ $series = memory_bytes ] && awk '{ printf "%.9g\n", $1 }' expected >floats && mv floats expected
        same "$name: $series has the journal's values" expected found
    done
    for series in loss top1; do
        validations $series "$of" >expected
        scalars validation/$series "$@" >found
        same "$name: validation/$series, too" expected found
    done
}

# --- tables and arrays, which need no other library ---
# shellcheck disable=SC2086 # lists of options
succeeds "a run" $job $validate --epochs 2 --run-dir plain --name plain
succeeds "its values as one table" export ./plain --format csv-long -o long.csv
if [ "$(head -n 1 long.csv)" = "run,series,step,epoch,time,value" ]; then ok "  has the columns that it should have"; else
    not_ok "  has the columns that it should have" "$(head -n 1 long.csv)"; fi
succeeds "  beside the session file" export ./plain -o plain.json
# list SERIES PART: the numbers of a list of the session file, which has each in a line; PART is series or validation
list() { sed -n "/^\"$2\":{/,/}/p" plain.json | sed -n "s/^ \"$1\":\[\([^]]*\)\].*/\1/p" | tr , '\n'; }
for series in loss lr ms_per_image memory_bytes; do
    list $series series >expected
    sed -n "s/^[^,]*,$series,.*,//p" long.csv >found
    same "  $series has the values of the session file" expected found
done
list top1 validation >expected
sed -n "s|^[^,]*,validation/top1,.*,||p" long.csv >found
same "  and so has validation/top1" expected found
journal_lines plain/journal | grep -a '^{"iteration"' | sed 's/^{"iteration":\([0-9]*\).*/\1/' >expected
sed -n 's/^[^,]*,loss,\([0-9]*\),.*/\1/p' long.csv >found
same "  at the same steps" expected found
awk -F, 'NF != 6 { exit 1 }' long.csv && ok "  each row has six fields" || not_ok "  each row has six fields"
succeeds "on standard output" export ./plain --format csv-long -o -
same "  it is the same table" long.csv out

succeeds "its series as arrays" export ./plain --format npz -o plain.npz
"$NPZ_LOOK" plain.npz >arrays 2>look.err || not_ok "  the archive is right" "$(cat look.err)"
for array in 'iteration <i8 (40, )' 'loss <f4 (40, )' 'memory_bytes <i8 (40, )' 'validation/iteration <i8 (2, )' \
    'validation/top1 <f4 (2, )'; do
    grep -Fqx "$array" arrays && ok "  has $array" || not_ok "  has $array" "$(cat arrays)"
done
for series in loss lr ms_per_image seconds epoch memory_bytes; do
    column $series plain >expected
    "$NPZ_LOOK" plain.npz $series >found 2>look.err
    same "  $series has the journal's values" expected found
done
validations top5 plain >expected
"$NPZ_LOOK" plain.npz validation/top5 >found
same "  and so has validation/top5" expected found
"$NPZ_LOOK" plain.npz config >config.json
is "  the configuration is there" batch 10 config.json
if grep -q discriminator arrays; then not_ok "  series that the run does not have are not" "$(cat arrays)"; else
    ok "  series that the run does not have are not"; fi

succeeds "a model as arrays" export plain/weights.safetensors --format npz -o model.npz
"$NPZ_LOOK" model.npz >arrays 2>look.err
grep -Fqx 'conv2.weight <f4 (50, 20, 5, 5)' arrays && ok "  under their names" || not_ok "  under their names" "$(cat arrays look.err)"
run weights plain/weights.safetensors --json && cp out weights.json
"$NPZ_LOOK" model.npz conv1.weight | awk '{ s += $1 } END { printf "%.5f\n", s / NR }' >found
awk -v mean="$("$JSON_LOOK" weights.json arrays.0.mean)" 'BEGIN { printf "%.5f\n", mean }' >expected
same "  and with their values" expected found
for format in bf16:f4 float16:f2; do
    run weights plain/weights.safetensors --save-precision ${format%:*} --save half.safetensors
    succeeds "a model in ${format%:*}" export half.safetensors --format npz -o half.npz
    "$NPZ_LOOK" half.npz | grep -Fqx "ip1.weight <${format#*:} (500, 800)" && ok "  has arrays of ${format#*:}" ||
        not_ok "  has arrays of ${format#*:}" "$("$NPZ_LOOK" half.npz)"
done
cp plain/weights.safetensors model.dat
succeeds "a model is known by its content" export model.dat --format npz -o other.npz
same "  whatever its name is" model.npz other.npz
refuses 2 'saved model.*no curves' "a model has no table of values" export model.dat --format csv-long -o x.csv
refuses 2 'saved model' "nor events" export plain/weights.safetensors --format tfevents -o x
refuses 2 'name it alone' "a model beside a run" export ./plain model.dat --format npz -o x.npz
refuses 1 'missing.safetensors' "a model that is not there" export missing.safetensors --format npz -o x.npz
refuses 2 'give -o FILE' "a table needs a place" export ./plain --format csv-long
refuses 2 '\-\-all' "all runs, and some" export --all ./plain -o x.json
refuses 2 'name them' "no run at all" export -o x.json
refuses 1 'no/where' "a folder that is not there" export ./plain --format npz -o no/where/x.npz
printf 'damaged' | dd of=model.dat bs=1 seek=100000 conv=notrunc 2>dd.err
refuses 1 'checksum' "a damaged model" export model.dat --format npz -o x.npz
[ -e x.npz ] && not_ok "  leaves no file" || ok "  leaves no file"

# several runs, and all of them
# shellcheck disable=SC2086
for name in one two; do run $job --epochs 1 --name $name --seed 3; done
succeeds "two runs in one table" export one two --format csv-long -o two.csv
[ "$(sed '1d;s/,.*//' two.csv | sort -u | wc -l)" = 2 ] && ok "  have their IDs" || not_ok "  have their IDs"
succeeds "all runs" export --all --format csv-long -o all.csv
# runs that began in the same second are listed in no particular order
for table in two all; do sort $table.csv >$table.sorted; done
same "  have the same rows" two.sorted all.sorted
succeeds "two runs as arrays" export --all --format npz -o two.npz
[ "$("$NPZ_LOOK" two.npz | grep -c '/loss <f4 (20, )')" = 2 ] && ok "  have names with their IDs" ||
    not_ok "  have names with their IDs" "$("$NPZ_LOOK" two.npz)"

# --- event files ---
# shellcheck disable=SC2086
run $job $validate --epochs 2 --run-dir live --tensorboard board
if [ "$status" != 0 ] && grep -q "without TensorBoard" err; then
    skip "event files" "this tinca is built without protobuf-c"
    done_testing
fi
[ "$status" = 0 ] && ok "a run with --tensorboard" || not_ok "a run with --tensorboard" "$(told)"
follows "the event file" live board/*/events.out.tfevents.*
holds "  it begins with its version" '^version brain.Event:2$' board/*/*
holds "  and a start" '^start 0$' board/*/*
holds "  pictures of the first batch" '^image samples/7 0 28x28x3$' board/*/*
holds "  histograms of the first epoch" '^histogram weights/conv1.weight 20 500 ' board/*/*
holds "  and of the last" '^histogram weights/ip2.bias 40 10 ' board/*/*
holds "  the configuration" '^text configuration 0 text [0-9]' board/*/*
holds "  hyperparameters, numbers" '^hparam batch 10$' board/*/*
holds "  and texts" '^hparam network lenet$' board/*/*
holds "  the end" '^end 1$' board/*/*
if journal_lines live/journal | grep -q '"event":"tensorboard"'; then ok "  and the run knows the file"; else
    not_ok "  and the run knows the file" "$(journal_lines live/journal | head -n 3)"; fi
run export ./live -o live.json
is "  the setting is recorded" runs.0.config.tensorboard "$T/board" live.json
succeeds "  runs --check accepts it" runs --check ./live

: >file
refuses 1 'file' "a folder that cannot be made" $job --epochs 1 --run-dir bad --tensorboard file/board
[ -e bad ] && not_ok "  leaves no run" "$(ls bad)" || ok "  leaves no run"

# a copy of a file that is cut, or changed, is noticed by the reader of this test
file=$(echo board/*/events.out.tfevents.*)
head -c 5000 "$file" >torn
"$EVENT_LOOK" torn >/dev/null 2>&1 && not_ok "the reader notices a torn record" || ok "the reader notices a torn record"
{ head -c 300 "$file" && printf x && tail -c +302 "$file"; } >changed
"$EVENT_LOOK" changed >/dev/null 2>&1 && not_ok "the reader notices a changed byte" || ok "the reader notices a changed byte"

# resuming: another file in the same folder, no step twice
# shellcheck disable=SC2086
run train lenet --data digits,limit=400 --batch 10 --threads 1 $validate --epochs 10 --max-time 0.2 --checkpoint 0.05 \
    --checkpoint-share 100 -q --run-dir again --tensorboard again_board
succeeds "a run that was stopped goes on" resume ./again --max-time '' -q
[ "$(echo again_board/*/events* | wc -w)" = 2 ] && ok "  with a second event file" || not_ok "  with a second event file" "$(ls again_board/*)"
follows "both together" again again_board/*/events*
holds "  the second one starts behind the checkpoint" '^start [1-9]' again_board/*/events*
succeeds "a run without --tensorboard" $job --epochs 2 --run-dir late --max-time 0.000001
succeeds "  has one when it is resumed with it" resume ./late --max-time '' --tensorboard late_board -q
holds "  from there on" '^scalar loss 40 ' late_board/*/events*
run export ./late -o late.json
is "  and that is recorded" runs.0.config.tensorboard "$T/late_board" late.json
# shellcheck disable=SC2086
run $job --epochs 2 --run-dir gone --max-time 0.000001 --tensorboard lost
rm -rf lost && : >lost
run resume ./gone --max-time '' -q
[ "$status" = 1 ] && has_line 'lost' err && ok "a folder that is lost when the run is resumed is reported" ||
    not_ok "a folder that is lost when the run is resumed is reported" "$status: $(told)"
run export ./gone -o gone.json
is "  the run is complete all the same" runs.0.status done gone.json
has_line '"kind":"tensorboard"' gone.json && ok "  and has a finding" || not_ok "  and has a finding"

# of finished runs
succeeds "the event file of a finished run" export ./plain --format tfevents -o exported
follows "the exported file" plain exported/*/events*
holds "  it has the weights at the end" '^histogram weights/ip1.weight 40 400000 ' exported/*/events*
holds "  and the configuration" '^text configuration 0 text [0-9]' exported/*/events*
cp exported/*/events* first
succeeds "  once more" export ./plain --format tfevents -o exported
[ "$(echo exported/*/* | wc -w)" = 1 ] && ok "  it replaces the file" || not_ok "  it replaces the file" "$(ls exported/*)"
same "  by the same bytes" first "$(echo exported/*/events*)"
run export ./plain --format tfevents -o - && cp out stream
same "  which standard output has, too" first stream
refuses 1 'already' "where the run has written itself" export ./live --format tfevents -o board
refuses 2 'name a folder' "two runs on standard output" export ./plain ./live --format tfevents -o -

# networks that make pictures
adversarial_network gan.json
# shellcheck disable=SC2086
succeeds "a network that makes pictures" train gan.json --data maps,limit=4 --epochs 2 --batch 2 --threads 1 -q --run-dir gan \
    --tensorboard gan_board
holds "  the generated ones" '^image generated 4 48x64x3$' gan_board/*/*
holds "  the discriminator's loss" '^scalar loss_discriminator 4 ' gan_board/*/*
holds "  and its weights" '^histogram discriminator/' gan_board/*/*
succeeds "  exported" export ./gan --format tfevents -o gan_exported
holds "  with the pictures" '^image generated 4 48x64x3$' gan_exported/*/*

# a sweep, and seeds
succeeds "a sweep" sweep --networks mlp --batches 8,16 --data digits,limit=32 --epochs 1 --threads 1 --tensorboard sweep -q
[ "$(echo sweep/*/events* | wc -w)" = 2 ] && ok "  has an event file for each run" || not_ok "  has an event file for each run" "$(ls sweep)"
succeeds "a group of seeds" train mlp --data digits,limit=32 --batch 8 --epochs 1 --threads 1 --seeds 2 --tensorboard seeds -q
"$EVENT_LOOK" seeds/*/* | grep '^group' | sort -u >groups
[ "$(wc -l <groups)" = 1 ] && ok "  is one group of hyperparameters" || not_ok "  is one group of hyperparameters" "$(cat groups)"
succeeds "fine-tuning" prune plain/weights.safetensors --flops 0.7 --data digits,limit=64 --epochs 1 --batch 16 \
    --threads 1 -o pruned.safetensors --tensorboard tuning -q
[ -e "$(echo tuning/*/events*)" ] && ok "  has its event file" || not_ok "  has its event file" "$(ls tuning 2>&1; told)"

# a disk that refuses
FAULTS=$(dirname "$JSON_LOOK")/faults.so
if [ -f "$FAULTS" ]; then
    status=0
    # shellcheck disable=SC2086
    FAULT=write:3:ENOSPC+ FAULT_ONLY=tfevents LD_PRELOAD=$FAULTS "$TINCA" $job $validate --epochs 4 --run-dir full \
        --tensorboard full_board >out 2>err </dev/null || status=$?
    [ "$status" = 1 ] && has_line 'full_board.*space' err && ok "a full disk under the event file is reported" ||
        not_ok "a full disk under the event file is reported" "$status: $(told)"
    run export ./full -o full.json
    is "  the run is complete all the same" runs.0.status done full.json
    [ "$(column loss full | wc -l)" = 80 ] && ok "  with all iterations" || not_ok "  with all iterations"
    has_line '"kind":"tensorboard".*ends with iteration' full.json &&
        ok "  and a finding that says where the event file ends" ||
        not_ok "  and a finding that says where the event file ends" "$(grep findings full.json)"
    holds "  what is in the file is whole" '^version' full_board/*/*
    status=0
    # shellcheck disable=SC2086
    FAULT=write:3:ENOSPC+2 FAULT_ONLY=tfevents LD_PRELOAD=$FAULTS "$TINCA" $job $validate --epochs 4 --run-dir short \
        --tensorboard short_board >out 2>err </dev/null || status=$?
    [ "$status" = 0 ] && ok "a disk that is full for a while" || not_ok "a disk that is full for a while" "$status: $(told)"
    follows "  nothing is lost" short short_board/*/*
else
    skip "a disk that refuses" "the program is built with a sanitizer"
fi
done_testing
