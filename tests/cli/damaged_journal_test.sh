#!/bin/sh
# A changed journal (cut, zeroed, deleted) is always detected: export reports it, and resume recomputes the
# missing part, to the same bits. A checkpoint with false contents is refused before anything is changed.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/faults/same_run.sh"
needs_faults "damaged journals"
cd "$T" || exit 99
tiny_network tiny.json
job="train tiny.json --data digits,limit=40 --validate digits,split=test,limit=8 --batch 8 --epochs 8
    --seed 3 --threads 1 --checkpoint 0.001 --checkpoint-share 100 -q"

# shellcheck disable=SC2086 # a list of options
succeeds "an undisturbed run" $job --run-dir whole
# A kill between the two renames of a checkpoint leaves one checkpoint; then the next rename is used.
for rename in 12 13 14; do
    rm -rf killed
    # shellcheck disable=SC2086
    FAULT=rename:$rename:kill LD_PRELOAD=$FAULTS "$TINCA" $job --run-dir killed >/dev/null 2>&1
    [ -f killed/checkpoint.safetensors ] && [ -f killed/checkpoint.previous.safetensors ] && break
done
if [ -f killed/checkpoint.safetensors ] && [ -f killed/checkpoint.previous.safetensors ]; then
    ok "another run is killed when it has two checkpoints"
else
    not_ok "another run is killed when it has two checkpoints" "$(ls killed)"
fi

length_at() { # the journal's length as a checkpoint records it
    head -c 4096 "$1" | tr ',' '\n' | sed -n 's/.*"tinca.journal":"\([0-9]*\)".*/\1/p'
}
last=$(length_at killed/checkpoint.safetensors)
previous=$(length_at killed/checkpoint.previous.safetensors)
if [ "$previous" -gt 0 ] && [ "$last" -gt "$previous" ]; then
    ok "the journal was longer at the second checkpoint"
else
    not_ok "the journal was longer at the second checkpoint" "$previous $last"
fi

again() { # again NAME PATTERN: the damage to run r is reported, and resume repairs it
    cp r/journal damaged 2>/dev/null || : >damaged
    run resume ./r
    if [ "$status" = 0 ] && grep -q "$2" err; then ok "$1: resume reports it"; else
        not_ok "$1: resume reports it" "exit $status: $(cat err)"
    fi
    same "  and ends with the same bits" whole r
}

rm -rf r && cp -r killed r && truncate -s $((previous - 10)) r/journal
again "a truncated journal" "begins again with its first iteration"
if cmp -s damaged r/journal.damaged; then ok "  and the rest of the journal is kept"; else
    not_ok "  and the rest of the journal is kept" "$(ls r)"
fi

rm -rf r && cp -r killed r
dd if=/dev/zero of=r/journal bs=1 seek=700 count=300 conv=notrunc 2>/dev/null
again "a journal with zeros in its middle" "begins again with its first iteration"

rm -rf r && cp -r killed r && rm r/journal
again "a deleted journal" "begins again with its first iteration"

rm -rf r && cp -r killed r && truncate -s $((last - 10)) r/journal
again "a journal that matches only the previous checkpoint" "journal: the journal holds"
if [ ! -e r/journal.damaged ]; then ok "  the run continues from there"; else
    not_ok "  the run continues from there" "it began again"
fi

# --- a complete run ---
for how in empty zeros longer; do
    rm -rf r && cp -r whole r
    case $how in
    empty) : >r/journal ;;
    zeros) dd if=/dev/zero of=r/journal bs=1 seek=2000 count=300 conv=notrunc 2>/dev/null ;;
    longer) tail -c 64 whole/journal >>r/journal ;;
    esac
    run export ./r -o r.json
    if [ "$status" = 1 ] && grep -q '^tinca: .*journal' err && grep -q '"kind": *"journal"' r.json; then
        ok "$how: a complete run's export says that its journal is damaged"
    else
        not_ok "$how: a complete run's export says that its journal is damaged" "exit $status: $(cat err)"
    fi
    again "$how" "its journal is damaged"
    run export ./r -o r.json
    if [ "$status" = 0 ]; then ok "  and is exported without a message"; else
        not_ok "  and is exported without a message" "exit $status: $(cat err)"
    fi
done
run export ./whole -o r.json
if [ "$status" = 0 ]; then ok "an intact run is exported without a message"; else
    not_ok "an intact run is exported without a message" "exit $status: $(cat err)"
fi

# --- a checkpoint with false contents and a correct checksum ---
needs_python "checkpoints that lie"
cat >lie.py <<'FILE'
import json, struct, sys, zlib
path, key, value = sys.argv[1:]
data = open(path, "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8 : 8 + size])
if value:
    header["__metadata__"][key] = value
else:
    del header["__metadata__"][key]
def text(crc):
    header["__metadata__"]["tinca.crc32"] = crc
    return json.dumps(header, separators=(",", ":")).encode()
body = text("00000000")
body += b" " * (-len(body) % 8)
crc = zlib.crc32(data[8 + size :], zlib.crc32(body))
body = text("%08x" % crc).ljust(len(body))
open(path, "wb").write(struct.pack("<Q", len(body)) + body + data[8 + size :])
FILE
for lie in iteration:18446744073709551615 iteration:41 journal:99999999 epoch:77; do
    rm -rf r && cp -r killed r && rm r/checkpoint.previous.safetensors
    "$PYTHON" lie.py r/checkpoint.safetensors "tinca.${lie%:*}" "${lie#*:}"
    (cd r && cksum -- journal *.safetensors) >before
    run resume ./r
    (cd r && cksum -- journal *.safetensors) >after
    if [ "${lie%:*}" = journal ]; then
        same "a checkpoint with $lie: the run starts over" whole r
    elif [ "$status" = 1 ] && grep -q '^tinca: .*checkpoint' err && cmp -s before after; then
        ok "a checkpoint with $lie is refused, and nothing is changed"
    else
        not_ok "a checkpoint with $lie" "exit $status: $(cat err)"
    fi
done
rm -rf r && cp -r killed r && rm r/checkpoint.previous.safetensors
head -c "$last" r/journal >part && journal_lines part >r/journal.jsonl && rm r/journal
"$PYTHON" lie.py r/checkpoint.safetensors tinca.journal "$(wc -c <r/journal.jsonl)"
"$PYTHON" lie.py r/checkpoint.safetensors tinca.journal_sum ""
again "a checkpoint of an earlier version" "has no checksum of the journal"
done_testing
