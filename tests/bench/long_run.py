#!/usr/bin/env python3
"""Makes a long run from a short one: long_run.py RUN-FOLDER NEW-FOLDER ITERATIONS JOURNAL-LINES.

Copies the folder of a run, and writes a journal with so many iterations, with random losses and a
validation every 10,000 of them, for measurements of how fast long runs are read. JOURNAL-LINES is the
program of this name, which reads and writes journals."""
import json
import os
import random
import shutil
import struct
import subprocess
import sys

source, target, count, program = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
os.makedirs(target, mode=0o700)
for name in os.listdir(source):
    if name != "journal" and not name.endswith(".safetensors"):
        shutil.copy(os.path.join(source, name), os.path.join(target, name))
lines = subprocess.run([program, os.path.join(source, "journal")], check=True, stdout=subprocess.PIPE).stdout
start = json.loads(lines.split(b"\n")[0])
per_epoch = start["iterations"] / start["epochs"]
start["iterations"], start["epochs"] = count, count / per_epoch
random.seed(1)


def number(value):
    return "%.9g" % struct.unpack("<f", struct.pack("<f", value))[0]


journal, text = os.path.join(target, "journal"), os.path.join(target, "lines")
with open(text, "w", encoding="ascii") as file:
    file.write(json.dumps(start, separators=(",", ":")) + "\n")
    for i in range(1, count + 1):
        epoch, seconds = number(i / per_epoch), number(i * 0.0032)
        losses = [number(random.random() * 2.3) for _ in range(3)]
        file.write('{"iteration":%d,"epoch":%s,"loss":%s,"loss_caffe":%s,"loss_mean":%s,"lr":0.0099999998,'
                   '"ms_per_image":%s,"seconds":%s,"memory_bytes":9000000}\n'
                   % (i, epoch, *losses, number(0.1 + 0.01 * random.random()), seconds))
        if i % 10000 == 0:
            file.write('{"event":"validation","iteration":%d,"epoch":%s,"loss":0.5,"top1":%s,"top5":99,'
                       '"seconds":%s}\n' % (i, epoch, number(90 + random.random()), seconds))
    file.write('{"event":"end"}\n')
subprocess.run([program, "-w", journal, text], check=True)
os.remove(text)
with open(journal, "rb") as file:
    total = file.seek(0, os.SEEK_END)
    file.seek(total - 4)
    end = struct.unpack("<I", file.read(4))[0]


def rewrite(name, change):
    """Changes a file of the run, without the checksum of its old text."""
    with open(os.path.join(target, name), encoding="utf-8") as file:
        tree = json.load(file)
    tree.pop("crc32", None)
    change(tree)
    with open(os.path.join(target, name), "w", encoding="utf-8") as file:
        json.dump(tree, file)


rewrite("summary.json", lambda tree: tree.update(
    iteration=count, iterations=count, epoch=count / per_epoch, epochs=count / per_epoch,
    journal=total, journal_sum=end))
rewrite("config.json", lambda tree: tree.update(id=os.path.basename(os.path.normpath(target))))
