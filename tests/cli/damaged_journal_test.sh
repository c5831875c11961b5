#!/bin/sh
# A journal that is not what the run wrote (cut, zeroed, gone) never passes for a good one: export says
# so, and resume computes again what is missing, to the same bits. A checkpoint that lies about its
# place is refused before anything is changed.
srcdir=${srcdir:-.}
. "$srcdir/tests/cli/tap.sh"
. "$srcdir/tests/faults/same_run.sh"
needs_faults "damaged journals"
cd "$T" || exit 99
tiny_network tiny.json
job="train tiny.json --data digits,limit=40 --validate digits,split=test,limit=8 --batch 8 --epochs 8
    --seed 3 --threads 1 --checkpoint 0.001 --checkpoint-share 100 -q"

# shellcheck disable=SC2086 # a list of options
succeeds "a run without trouble" $job --run-dir whole
# A kill between the two renames of a checkpoint leaves one: then the next rename will do.
for rename in 20 21 22; do
    rm -rf killed
    # shellcheck disable=SC2086
    FAULT=rename:$rename:kill LD_PRELOAD=$FAULTS "$TINCA" $job --run-dir killed >/dev/null 2>&1
    [ -f killed/checkpoint.safetensors ] && [ -f killed/checkpoint.previous.safetensors ] && break
done
if [ -f killed/checkpoint.safetensors ] && [ -f killed/checkpoint.previous.safetensors ]; then
    ok "another is killed, with two checkpoints"
else
    not_ok "another is killed, with two checkpoints" "$(ls killed)"
fi

length_at() { # the journal's length as a checkpoint has it
    head -c 4096 "$1" | tr ',' '\n' | sed -n 's/.*"tinca.journal":"\([0-9]*\)".*/\1/p'
}
last=$(length_at killed/checkpoint.safetensors)
previous=$(length_at killed/checkpoint.previous.safetensors)
if [ "$previous" -gt 0 ] && [ "$last" -gt "$previous" ]; then
    ok "the journal was longer at the second"
else
    not_ok "the journal was longer at the second" "$previous $last"
fi

again() { # again NAME PATTERN: what was done to r is noticed, and mended
    cp r/journal.jsonl damaged.jsonl 2>/dev/null || : >damaged.jsonl
    run resume ./r
    if [ "$status" = 0 ] && grep -q "$2" err; then ok "$1: resume says so"; else
        not_ok "$1: resume says so" "exit $status: $(cat err)"
    fi
    same "  and ends with the same bits" whole r
}

rm -rf r && cp -r killed r && truncate -s $((previous - 10)) r/journal.jsonl
again "a journal that is too short" "begins again with its first iteration"
if cmp -s damaged.jsonl r/journal.damaged.jsonl; then ok "  and what was left of it is kept"; else
    not_ok "  and what was left of it is kept" "$(ls r)"
fi

rm -rf r && cp -r killed r
dd if=/dev/zero of=r/journal.jsonl bs=1 seek=700 count=300 conv=notrunc 2>/dev/null
again "a journal with zeros in its middle" "begins again with its first iteration"

rm -rf r && cp -r killed r && rm r/journal.jsonl
again "a journal that is gone" "begins again with its first iteration"

rm -rf r && cp -r killed r && truncate -s $((last - 10)) r/journal.jsonl
again "a journal that only the checkpoint before the last fits" "journal.jsonl: the journal holds"
if [ ! -e r/journal.damaged.jsonl ]; then ok "  goes on from there"; else
    not_ok "  goes on from there" "it began again"
fi

# --- a run that is complete ---
for how in empty zeros longer; do
    rm -rf r && cp -r whole r
    case $how in
    empty) : >r/journal.jsonl ;;
    zeros) dd if=/dev/zero of=r/journal.jsonl bs=1 seek=2000 count=300 conv=notrunc 2>/dev/null ;;
    longer) tail -n 2 whole/journal.jsonl >>r/journal.jsonl ;;
    esac
    run export ./r -o r.json
    if [ "$status" = 1 ] && grep -q '^tinca: .*journal' err && grep -q '"kind": *"journal"' r.json; then
        ok "$how: a complete run's export says that its journal is damaged"
    else
        not_ok "$how: a complete run's export says so" "exit $status: $(cat err)"
    fi
    again "$how" "its journal is damaged"
    run export ./r -o r.json
    if [ "$status" = 0 ]; then ok "  and is exported without complaint"; else
        not_ok "  and is exported without complaint" "exit $status: $(cat err)"
    fi
done
run export ./whole -o r.json
if [ "$status" = 0 ]; then ok "a good one is exported without complaint"; else
    not_ok "a good one is exported without complaint" "exit $status: $(cat err)"
fi

# --- a checkpoint that lies, with a checksum that is right ---
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
    (cd r && cksum -- *.jsonl *.safetensors) >before
    run resume ./r
    (cd r && cksum -- *.jsonl *.safetensors) >after
    if [ "${lie%:*}" = journal ]; then
        same "a checkpoint with $lie: it begins again" whole r
    elif [ "$status" = 1 ] && grep -q '^tinca: .*checkpoint' err && cmp -s before after; then
        ok "a checkpoint with $lie is refused, and nothing is changed"
    else
        not_ok "a checkpoint with $lie" "exit $status: $(cat err)"
    fi
done
rm -rf r && cp -r killed r
"$PYTHON" lie.py r/checkpoint.safetensors tinca.journal_crc32 ""
again "a checkpoint of an earlier version" "has no checksum of the journal"
done_testing
