#!/usr/bin/env python3
"""Makes a long run from a short one: long_run.py RUN-FOLDER NEW-FOLDER ITERATIONS.

Copies the folder of a run, and writes a journal with so many iterations, with random losses and a
validation every 10,000 of them, for measurements of how fast long runs are read."""
import json
import os
import random
import shutil
import sys
import zlib

source, target, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
os.makedirs(target, mode=0o700)
for name in os.listdir(source):
    if name not in ("journal.jsonl", "journal.columns") and not name.endswith(".safetensors"):
        shutil.copy(os.path.join(source, name), os.path.join(target, name))
with open(os.path.join(source, "journal.jsonl")) as file:
    start = json.loads(file.readline())
per_epoch = start["iterations"] / start["epochs"]
start["iterations"], start["epochs"] = count, count / per_epoch
random.seed(1)


def number(value):
    return "%.9g" % value


total, crc = 0, 0
with open(os.path.join(target, "journal.jsonl"), "wb") as file:

    def put(line):
        global total, crc
        data = (line + "\n").encode()
        crc = zlib.crc32(data, crc)
        total += file.write(data)

    put(json.dumps(start, separators=(",", ":")))
    for i in range(1, count + 1):
        epoch, seconds = number(i / per_epoch), number(i * 0.0032)
        losses = [number(random.random() * 2.3) for _ in range(3)]
        put('{"iteration":%d,"epoch":%s,"loss":%s,"loss_caffe":%s,"loss_mean":%s,"lr":0.0099999998,'
            '"ms_per_image":%s,"seconds":%s,"memory_bytes":9000000}'
            % (i, epoch, *losses, number(0.1 + 0.01 * random.random()), seconds))
        if i % 10000 == 0:
            put('{"event":"validation","iteration":%d,"epoch":%s,"loss":0.5,"top1":%s,"top5":99,'
                '"seconds":%s}' % (i, epoch, number(90 + random.random()), seconds))
    put('{"event":"end"}')


def rewrite(name, change):
    """Changes a file of the run, without the checksum of its old text."""
    with open(os.path.join(target, name)) as file:
        tree = json.load(file)
    tree.pop("crc32", None)
    change(tree)
    with open(os.path.join(target, name), "w") as file:
        json.dump(tree, file)


rewrite("summary.json", lambda tree: tree.update(
    iteration=count, iterations=count, epoch=count / per_epoch, epochs=count / per_epoch,
    journal=total, journal_crc32=crc))
rewrite("config.json", lambda tree: tree.update(id=os.path.basename(os.path.normpath(target))))
