"""Reads the journal of a run (src/runs/folder/journal_record.h) independently of tinca's own code."""
import json
import math
import struct

POINT = ["per_epoch", "epoch", "loss", "loss_caffe", "loss_mean", "loss_discriminator", "loss_l1", "loss_labels",
         "loss_teacher", "lr", "ms_per_image", "seconds", "memory_bytes", "gpu_memory_bytes"]
VALIDATION = ["per_epoch", "epoch", "loss", "top1", "top5", "pixel_accuracy", "loss_error", "seconds"]
KINDS = ((1, POINT), (32, VALIDATION))
RECORD, LAST, ALONE = 32, 1 << 31, 1 << 30
MASK = (1 << 64) - 1


def sum_of(record, before):
    """The checksum of a record after one with the sum `before`."""
    words = struct.unpack("<QQQI", record[:28])
    total = words[3] << 32 | before
    for word in words[:3] + (0,):
        total = (total ^ word) * 0x9e3779b97f4a7c15 & MASK
        total ^= total >> 32
    return total & 0xffffffff


def seal(records):
    """Gives each record the sum that belongs to its contents."""
    before, sealed = 0, []
    for i in range(0, len(records), RECORD):
        before = sum_of(records[i:i + RECORD], before)
        sealed.append(records[i:i + RECORD - 4] + struct.pack("<I", before))
    return b"".join(sealed)


def is_sound(data):
    return data == seal(data)


def row_of(names, state, step, seconds):
    """The entry with the present values; those that are not numbers are None."""
    row = {"iteration": step, "seconds": seconds}
    row.update((name, state[name]) for name in names[1:] if name in state)
    if "epoch" not in state and state.get("per_epoch"):
        row["epoch"] = struct.unpack("<f", struct.pack("<f", step / state["per_epoch"]))[0]
    return {key: value if math.isfinite(value) else None for key, value in row.items()}


def entries(data):
    """The entries up to the first damaged record: objects as tinca train --json prints them, without their order."""
    before, text, states, found = 0, b"", {1: {}, 32: {}}, []
    for i in range(0, len(data) - RECORD + 1, RECORD):
        record = data[i:i + RECORD]
        step, seconds, value, series, check = struct.unpack("<QddII", record)
        if check != sum_of(record, before):
            break
        before, flags, series = check, series & (LAST | ALONE), series & ~(LAST | ALONE)
        if series == 0:
            text += record[:24].rstrip(b"\0")
            if flags & LAST and i > 0:
                found.append(json.loads(text))
            text = text if not flags & LAST else b""
        for first, names in KINDS:
            if not first <= series < first + len(names):
                continue
            if flags & ALONE:
                states[first].clear()
            states[first][names[series - first]] = value
            if flags & LAST:
                row = row_of(names, states[first], step, seconds)
                found.append(row if first == 1 else dict(row, event="validation"))
                states[first].pop("epoch", None)
    return found


def read(path):
    with open(path, "rb") as file:
        return entries(file.read())


def curves(data):
    """The iterations and validations without what a clock measured."""
    measured = ("ms_per_image", "seconds", "memory_bytes", "gpu_memory_bytes")
    return [{key: value for key, value in entry.items() if key not in measured} for entry in entries(data)
            if entry.get("event", "validation") == "validation"]
