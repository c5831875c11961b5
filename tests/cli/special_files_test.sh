#!/bin/sh
# A run folder in which a file is a FIFO, a folder, a device or a sparse file of 3 GiB: every command ends
# soon, with little memory, and with a documented status. make check tries every third command with each FIFO and each
# sparse file, others with the one than with the other and with the next file; WHOLE=1: every command with each.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
BOUNDED=${BOUNDED:-$(dirname "$TINCA")/bounded}
SECONDS_MOST=${SECONDS_MOST:-600} # a long limit: a hanging command would never end, and a busy machine is slow
MEBIBYTES=400
cd "$T" || exit 99
runs=$T/state/tinca/runs
program=$TINCA
printf '#!/bin/sh\nexec "%s" %s %s "%s" "$@"\n' "$BOUNDED" "$SECONDS_MOST" "$MEBIBYTES" "$program" >tinca
chmod +x tinca
TINCA=$T/tinca

run train mlp --data digits,limit=32 --validate digits,limit=16 --batch 8 --iterations 6 --threads 1 -q
[ "$status" = 0 ] || not_ok "a run to begin with" "$(told)"
id=$(ls "$runs")
run measure "$id" --images 4 --threads 1
cp -R "$runs/$id" whole

# put KIND FILE: restores the run and replaces FILE
put() {
    rm -rf "${runs:?}/${id:?}"
    cp -R whole "$runs/$id"
    rm -f "$runs/$id/$2"
    case $1 in
    fifo) mkfifo "$runs/$id/$2" ;;
    folder) mkdir "$runs/$id/$2" ;;
    device) ln -s /dev/zero "$runs/$id/$2" ;;
    sparse)
        case $2 in journal*) size=800M ;; *) size=3G ;; esac # attach reads all of a journal
        if whole_list; then size=3G; fi
        truncate -s $size "$runs/$id/$2"
        ;;
    esac
}

# ends WORDS...: the command ends by itself, in time, and with little memory
ends() {
    run "$@"
    [ "$status" -lt 124 ] && return
    failed="$failed
tinca $*: $(tail -n 2 "$T/err")"
}

# tries WORDS...: as ends, if the command is in the part of the list that is tried with this file
tries() {
    place=$((place + 1))
    if whole_list || [ $((place % 3)) = 0 ]; then ends "$@"; fi
}

every_command() {
    failed= place=$((part = (part + 1) % 3))
    ends runs
    tries runs --json
    tries compare "$id"
    tries explain "$id"
    tries advise "$id"
    tries export "$id" -o session.json
    tries export "$id" --format csv -o tables
    tries measure "$id" --images 4 --threads 1
    tries eval "$id" --data digits,limit=8
    tries attach "$id"
    tries attach "$runs/$id"
    tries resume "$id" --threads 1 --iterations 8 -q
}

files="config.json journal summary.json name.txt lock measurements.json profile.json network.json
data.json best.safetensors weights.safetensors checkpoint.safetensors
checkpoint.previous.safetensors journal.previous"
part=1
for kind in fifo sparse; do
    for file in $files; do
        put "$kind" "$file"
        every_command
        [ -z "$failed" ] && ok "$file: $kind" || not_ok "$file: $kind" "$failed"
    done
    part=0
done
for kind in folder device; do
    for file in $files; do
        put "$kind" "$file"
        failed=
        ends runs
        ends explain "$id"
        ends attach "$id"
        ends resume "$id" --threads 1 --iterations 8 -q
        [ -z "$failed" ] && ok "$file: $kind" || not_ok "$file: $kind" "$failed"
    done
done

# the messages
put fifo journal
refuses 1 'journal: this is not a regular file' "a message about a journal that is a FIFO" explain "$id"
put fifo lock
refuses 1 'lock.*not a regular file' "a message about a lock that is a FIFO" resume "$id" --threads 1 --iterations 8 -q
put sparse config.json
refuses 1 'config.json: the file is larger' "a message about an endless configuration" compare "$id"

# an endless event does not hide the other lines
put none none
rm "$runs/$id/summary.json" # the checkpoint records the length of the journal
{
    journal_lines whole/journal | grep -v '"event":"end"'
    head -c 3000000 /dev/zero | tr '\0' x
    echo
    printf '%s\n' '{"event":"finding","kind":"plateau","iteration":6,"epoch":1,"text":"behind it"}'
} >lines
journal_lines -w "$runs/$id/journal" lines
succeeds "a journal with an event of three megabytes is read" export "$id" -o session.json
is "  up to its end" runs.0.findings.0.text "behind it" session.json
done_testing
