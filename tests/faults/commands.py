"""The commands that write, one row each, for commands_faults.py, which kills them, fills the disk under them and cuts
the power at any of their calls.

A row says what is there before (`before`, command lines), what is tried (`command`), how a user goes on afterwards
(`recover`, a function of the place that gives command lines; without one the same command is repeated), and what must
be there then (`result`, a function of the place; its value must be that of the undisturbed command). `old` names the
outputs that exist before: at every moment they are the old file or the complete new one.

A word that begins with @ is a file below the place. A first word "FAULT=..." runs the line under that fault; after OVER
the run may be complete already."""
import glob
import hashlib
import json
import os
import re
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import journal_lines  # pylint: disable=wrong-import-position

NETWORK = {
    "name": "tiny", "input": [1, 28, 28], "classes": 10, "normalise": "unit",
    "layers": [{"op": "conv", "name": "c", "output": 8, "kernel": 3, "stride": 4}, {"op": "relu"},
               {"op": "conv", "name": "d", "output": 8, "kernel": 3, "stride": 2}, {"op": "relu"},
               {"op": "flatten"}, {"op": "linear", "name": "fc", "output": "classes"}]}
PAIRS = {
    "name": "pair", "input": [3, 16, 16], "normalise": "signed", "loss": "l1_loss",
    "layers": [{"block": "unet", "width": 4, "widest": 8, "steps": 2, "dropout_steps": 1}, {"op": "tanh"}],
    "discriminator": {"layers": [{"op": "conv", "output": 1, "kernel": 4, "stride": 2, "pad": 1}]}}
LINES = "".join('{"step": %d, "loss": %g, "lr": 0.1}\n' % (i, 2 / (i + 1)) for i in range(1, 40))
LOG = "".join("I0101 00:00:%02d.000000 1 solver.cpp:228] Iteration %d, loss = %g\n" % (i % 60, i, 2 / (i + 1))
              for i in range(40))
DATA = "--data digits,limit=40 --batch 8 --seed 3 --threads 1 -q"
OFTEN = " --checkpoint 0.001 --checkpoint-share 100"
JOB = DATA + " --validate digits,split=test,limit=8 --epochs 3" + OFTEN
RUNS = "state/tinca/runs"


class Row:
    def __init__(self, name, command, before=(), recover=None, result=None, old=(), needs=None, launcher=(),
                 caches=False):
        self.name, self.command, self.before = name, command.split(), [line.split() for line in before]
        self.recover, self.result, self.old = recover or (lambda place: [self.command]), result, old
        self.needs = needs          # a program without which the row is skipped
        self.launcher = list(launcher)
        self.caches = caches        # what it writes only saves time: a disk that refuses changes nothing


# --- what is there in the end ---

def written(text):
    """A text as a word of a line that writes a file."""
    return text.replace(" ", "\1").replace("\n", "\2")


def digest(path):
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:16]


def folder_of(*names):
    """The files of folders, also of those in them."""
    return lambda place: {os.path.relpath(path, place.root): digest(path) for name in names
                          for path in glob.glob(place.path(name + "/**"), recursive=True) if os.path.isfile(path)}


def files(*names):
    return lambda place: {name: digest(place.path(name)) for name in names}


def document(path):
    """A JSON document; None if it is missing or not whole."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def curves(folder):
    """The journal's iterations and validations without what a clock measured."""
    with open(os.path.join(folder, "journal"), "rb") as file:
        return hashlib.sha256(repr(journal_lines.curves(file.read())).encode()).hexdigest()[:16]


def run_of(folder):
    """The result of a complete run; None: it is not complete."""
    end = document(os.path.join(folder, "summary.json"))
    if not end or end.get("status") != "done":
        return None
    return [curves(folder)] + [digest(os.path.join(folder, name + ".safetensors")) for name in ("weights", "best")]


def folders(place):
    return sorted(path for path in glob.glob(place.path(RUNS + "/*"))
                  if os.path.exists(path + "/config.json"))


def all_runs(place):
    """The results of the runs, without their names; those that were begun in vain are none."""
    return sorted(filter(None, (json.dumps(run_of(path)) for path in folders(place) if run_of(path))))


def texts(folder):
    """What a user has written about a run."""
    return {name: open(os.path.join(folder, name), encoding="utf-8").read() if
            os.path.exists(os.path.join(folder, name)) else None for name in ("name.txt", "note.txt", "tags.txt")}


def undated(path):
    """A report without the line that says when it was written."""
    with open(path, encoding="utf-8") as file:
        return hashlib.sha256(re.sub("\nWritten by .*", "", file.read()).encode()).hexdigest()[:16]


def rows_of(path):
    """The number of lines of a table whose values are times."""
    with open(path, "rb") as file:
        return file.read().count(b"\n")


def imported(place):
    """The curves of an imported run. A command that was killed after its run was complete imports it once more."""
    return {"runs": [curves(path) for path in folders(place) if document(path + "/summary.json")][:1]}


def import_again(*words):
    return lambda place: [] if any(document(path + "/summary.json") for path in folders(place)) else [list(words)]


def iterations(path):
    tree = document(path)
    return tree and [len(run["series"]["iteration"]) for run in tree["runs"]]


def listed_models(place):
    path = place.path("state/tinca/model-files")
    return os.path.exists(path) and sorted(os.path.basename(line.split("\t")[0]) for line in open(path))


def scalars(folder, tag):
    """The steps that TensorBoard shows of a series: of each file in turn what is whole, without what a later start has
    made obsolete."""
    steps = []
    for path in sorted(glob.glob(folder + "/*/events.out.tfevents.*")):
        with open(path, "rb") as file:
            data = file.read()
        at = 0
        while at + 12 <= len(data):
            length = struct.unpack("<Q", data[at:at + 8])[0]
            body = data[at + 12:at + 12 + length]
            if at + 16 + length > len(data) or length == 0:
                break
            at += 16 + length
            step = summary = start = None
            for number, value in fields(body):
                step = value if number == 2 else step
                summary = value if number == 5 else summary
                start = value if number == 7 else start
            if start is not None and dict(fields(start)).get(1) == 1:
                steps = [one for one in steps if one < (step or 0)]
            if summary is not None and any(number == 1 and dict(fields(value)).get(1) == tag
                                           for number, value in fields(summary)):
                steps.append(step or 0)
    return steps


def fields(message):
    """The fields of a protobuf message as (number, value)."""
    at, found = 0, []

    def varint():
        nonlocal at
        value = shift = 0
        while at < len(message):
            value |= (message[at] & 127) << shift
            shift += 7
            at += 1
            if message[at - 1] < 128:
                break
        return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            found.append((key >> 3, varint()))
        elif key & 7 == 2:
            length = varint()
            found.append((key >> 3, message[at:at + length]))
            at += length
        else:
            at += 8 if key & 7 == 1 else 4
    return found


# --- how a user goes on ---

def resume(folder, begin, *more):
    """Resumes the run, or begins again what has left none; then does what else the command was to do."""
    def lines(place):
        if not os.path.exists(place.path(folder + "/config.json")):
            return [begin.split()]
        return [["OVER", "resume", "@" + folder, "--threads", "1", "-q"]] + [line.split() for line in more]
    return lines


def resume_listed(begin):
    """Resumes the runs in the folder of runs, or begins again what has left none."""
    def lines(place):
        found = [os.path.basename(path) for path in folders(place)]
        return [["OVER", "resume", one, "--threads", "1", "-q"] for one in found] or [begin.split()]
    return lines


def resume_group(begin):
    def lines(place):
        return [["OVER", "resume", "g@seeds", "-q"]] if folders(place) else [begin.split()]
    return lines


def trained(folder, *outputs):
    def result(place):
        return {"run": run_of(place.path(folder)), **{name: digest(place.path(name)) for name in outputs}}
    return result


def with_runs(*outputs):
    """The outputs, and the weights of all complete runs; of an interrupted command one may have been begun twice."""
    def result(place):
        return {"runs": sorted(set(all_runs(place))), "listed": listed_models(place),
                **{name: digest(place.path(name)) for name in outputs}}
    return result


def trash_of(place):
    return glob.glob(place.path("state/tinca/trash/*/*/config.json"))


def deleted_or_not(place):
    """The run is in one of both places, whole."""
    here = [os.path.dirname(path) for path in trash_of(place)] + folders(place)
    return {"runs": [run_of(path) for path in here]}


TRAIN = "train @net.json " + JOB
TRAIN_R = TRAIN + " --run-dir @r"
ADVERSARIAL = "train @pair.json --data maps,limit=4 --batch 1 --epochs 3 --seed 3 --threads 1 -q --run-dir @r" + OFTEN
MODEL = TRAIN + " --run-dir @r0 --save @m.safetensors"
KILLED = "FAULT=rename:9:kill " + TRAIN_R
PRUNE = "prune @m.safetensors -o @p.safetensors --flops 0.5 --steps 2 --iterations 6 --lr 0.01 " + DATA + " --checkpoint 0.001"
SWEEP = "sweep --networks @net.json --batches 4,8 --data digits,limit=40 --epochs 2 --threads 1 --name s -q" + OFTEN
AFTER = SWEEP.replace("4,8", "8") + " --validate digits,split=test,limit=8 --after prune:0.5 --after-epochs 1"
SEEDS = TRAIN.replace("epochs 3", "epochs 2") + " --seeds 2 --name g --export @g.json"
FORK = "train --fork @r --epochs 4 --threads 1 -q" + OFTEN
QUANTIZE = "quantize @m.safetensors -o @q.safetensors --calibrate digits,limit=16 --threads 1 -q"
FACTORIZE = "factorize @m.safetensors -o @f.safetensors --parameters 0.8 --threads 1 -q"
LISTED = TRAIN + " --name one"
PREDICT = "predict @m.safetensors @pictures -o @out.csv --format csv --raw @out.npy --threads 1"


def swept(place):
    """The cells, the models that were made after them, and the runs. A run whose weights are such a model may be
    interrupted: they were written before it had ended, and nothing more is needed of it."""
    done = place.run(["sweep", "--name", "s", "--dry-run", "--json"])
    tree = json.loads(done.stdout or b"{}")
    after = sorted(digest(path) for path in glob.glob(place.path("state/tinca/sweeps/s/*/after/*/*.safetensors")))
    runs = sorted(set(run for run in all_runs(place) if json.loads(run)[1] not in after))
    return {"cells": [cell["state"] for cell in tree.get("cells", [])], "after": after, "runs": runs}


ROWS = [
    Row("train", TRAIN_R + " --save @s.safetensors --export @s.json", ["WRITE @s.safetensors old", "WRITE @s.json old"],
        resume("r", TRAIN_R + " --save @s.safetensors --export @s.json", "export @r -o @s.json"),
        lambda place: {**trained("r", "s.safetensors")(place), "session": iterations(place.path("s.json"))},
        ["s.safetensors", "s.json"]),
    Row("train with texts", TRAIN_R + " --name n --tag a --tag b --note x", [],
        resume("r", TRAIN_R + " --name n --tag a --tag b --note x"),
        lambda place: {**trained("r")(place), "texts": texts(place.path("r"))}),
    Row("train adversarial", ADVERSARIAL, [], resume("r", ADVERSARIAL),
        lambda place: {**trained("r")(place), **{
            os.path.basename(path): digest(path) for pattern in ("r/discriminator.*", "r/*.png")
            for path in glob.glob(place.path(pattern))}}),
    Row("seeds", SEEDS, [], resume_group(SEEDS),
        lambda place: {"runs": all_runs(place), "session": iterations(place.path("g.json"))}),
    Row("fork", FORK, [KILLED], resume_listed(FORK), lambda place: {"runs": all_runs(place)}),
    Row("fork-weights", FORK.replace("@r ", "@r0@final ").replace("epochs 4", "epochs 2"), [MODEL],
        resume_listed(FORK.replace("@r ", "@r0@final ").replace("epochs 4", "epochs 2")),
        lambda place: {"runs": all_runs(place)}),
    Row("resume", "resume @r --threads 1 -q", [KILLED], lambda place: [["OVER", "resume", "@r", "--threads", "1", "-q"]],
        trained("r")),
    Row("tensorboard", TRAIN_R + " --tensorboard @tb", [], resume("r", TRAIN_R + " --tensorboard @tb"),
        lambda place: {**trained("r")(place), "steps": scalars(place.path("tb"), b"loss")}),
    Row("sweep", SWEEP, result=swept),
    Row("sweep --after", AFTER, result=swept),
    Row("prune", PRUNE, [MODEL, "WRITE @p.safetensors old"], None, with_runs("p.safetensors"), ["p.safetensors"]),
    Row("quantize", QUANTIZE, [MODEL, "WRITE @q.safetensors old"], None, with_runs("q.safetensors"), ["q.safetensors"]),
    Row("factorize", FACTORIZE, [MODEL, "WRITE @f.safetensors old"], None, with_runs("f.safetensors"), ["f.safetensors"]),
    Row("export json", "export @r0 -o @e.json", [MODEL, "WRITE @e.json old"], None,
        lambda place: {"session": iterations(place.path("e.json"))}),
    Row("export csv", "export @r0 --format csv -o @csv", [MODEL], None,
        lambda place: {os.path.basename(path): digest(path) for path in glob.glob(place.path("csv/*"))}),
    Row("export onnx", "export @m.safetensors --format onnx -o @m.onnx", [MODEL, "WRITE @m.onnx old"], None,
        files("m.onnx"), ["m.onnx"]),
    Row("export torch", "export @m.safetensors --format torch -o @t.safetensors", [MODEL, "WRITE @t.safetensors old"],
        None, files("t.safetensors"), ["t.safetensors"]),
    Row("export caffe", "export @m.safetensors --format caffe -o @c.prototxt",
        [MODEL, "WRITE @c.prototxt old", "WRITE @c.caffemodel old"], None, files("c.prototxt", "c.caffemodel"),
        ["c.prototxt", "c.caffemodel"]),
    Row("export c", "export @m.safetensors --format c -o @m.c", [MODEL, "WRITE @m.c old"], None, files("m.c"), ["m.c"]),
    Row("export prototxt", "export @r0 --format prototxt -o @s.prototxt", [MODEL, "WRITE @s.prototxt old"], None,
        files("s.prototxt"), ["s.prototxt"]),
    Row("export csv-long", "export @r0 --format csv-long -o @l.csv", [MODEL, "WRITE @l.csv old"], None, files("l.csv"),
        ["l.csv"]),
    Row("export svg", "export @r0 --format svg -o @c.svg", [MODEL, "WRITE @c.svg old"], None, files("c.svg"), ["c.svg"],
        needs="tinca-chart.so"),
    Row("export png", "export @r0 --format png -o @c.png", [MODEL, "WRITE @c.png old"], None, files("c.png"), ["c.png"],
        needs="tinca-chart.so"),
    Row("report", "export @r0 --format md -o @r.md --picture @r.svg", [MODEL, "WRITE @r.svg old"], None,
        lambda place: {**files("r.svg")(place), "report": undated(place.path("r.md"))}, ["r.svg"], needs="tinca-chart.so"),
    Row("export --all", "export --all -o @e.json", [LISTED, "WRITE @e.json old"], None,
        lambda place: {"session": iterations(place.path("e.json"))}),
    Row("sweep --report", "sweep --name s --report -o @t.txt --csv @csv", [SWEEP, "WRITE @t.txt old"], None,
        lambda place: {**files("t.txt")(place), **folder_of("csv")(place)}, ["t.txt"]),
    Row("tables", "tables gondim --format md -o @t.md", [LISTED, "WRITE @t.md old"], None, files("t.md"), ["t.md"]),
    Row("compare", "compare @r0 one --format json -o @c.json", [MODEL, LISTED, "WRITE @c.json old"], None, files("c.json"),
        ["c.json"]),
    Row("weights --save", "weights @m.safetensors --rename c.*=first.* --save @w.safetensors",
        [MODEL, "WRITE @w.safetensors old"], None, files("w.safetensors"), ["w.safetensors"]),
    Row("export npz", "export @r0 --format npz -o @n.npz", [MODEL, "WRITE @n.npz old"], None, files("n.npz"), ["n.npz"]),
    Row("export tfevents", "export @r0 --format tfevents -o @tb", [MODEL], None,
        lambda place: {"steps": scalars(place.path("tb"), b"loss"),
                       "files": len(glob.glob(place.path("tb/*/*")))}),
    Row("import onnx", "import @m.onnx -o @i.safetensors", [MODEL, "export @m.safetensors --format onnx -o @m.onnx",
                                                           "WRITE @i.safetensors old"], None,
        files("i.safetensors", "i.json"), ["i.safetensors"]),
    Row("import torch", "import @t.safetensors --network @net.json -o @i.safetensors",
        [MODEL, "export @m.safetensors --format torch -o @t.safetensors", "WRITE @i.safetensors old"], None,
        files("i.safetensors"), ["i.safetensors"]),
    Row("import caffe", "import @c.prototxt @c.caffemodel -o @i.safetensors",
        [MODEL, "export @m.safetensors --format caffe -o @c.prototxt", "WRITE @i.safetensors old", "WRITE @i.json old"],
        None, files("i.safetensors", "i.json"), ["i.safetensors"]),
    Row("import log", "import @log.txt --name caffe", ["WRITE @log.txt " + written(LOG)],
        import_again("import", "@log.txt", "--name", "caffe"), imported),
    Row("import lines", "import @log.jsonl --name lines", ["WRITE @log.jsonl " + written(LINES)],
        import_again("import", "@log.jsonl", "--name", "lines"), imported),
    Row("import events", "import @tb", [MODEL, "export @r0 --format tfevents -o @tb"], import_again("import", "@tb"),
        imported),
    Row("watch", "watch @log.jsonl --idle 0.2s -q", ["WRITE @log.jsonl " + written(LINES)],
        import_again("watch", "@log.jsonl", "--idle", "0.2s", "-q"), imported),
    Row("predict", "predict @m.safetensors @pictures -o @out.csv --format csv --threads 1",
        [MODEL, "PICTURES @pictures", "WRITE @out.csv old"], None, files("out.csv"), ["out.csv"]),
    Row("predict --continue", PREDICT, [MODEL, "PICTURES @pictures", "WRITE @out.csv old"],
        lambda place: [(PREDICT + " --continue").split()], files("out.csv", "out.npy"), ["out.csv"]),
    Row("eval --predictions", "eval @m.safetensors --data digits,limit=8 --predictions @p.csv --threads 1",
        [MODEL, "WRITE @p.csv old"], None, files("p.csv"), ["p.csv"]),
    Row("eval --wrong", "eval @m.safetensors --data digits,limit=24 --wrong @wrong --threads 1", [MODEL], None,
        folder_of("wrong")),
    Row("predict pictures", "predict @p.safetensors @pictures -o @made/ --threads 1",
        [ADVERSARIAL.replace("@r ", "@r0 ") + " --save @p.safetensors", "PICTURES @pictures"], None, folder_of("made")),
    Row("runs --delete", "runs --delete --yes name=one", [LISTED], lambda place: [], deleted_or_not),
    Row("runs --undelete", "runs --undelete", [LISTED, "runs --delete --yes name=one"], lambda place: [], deleted_or_not),
    Row("runs --empty-trash", "runs --empty-trash", [LISTED, "runs --delete --yes name=one"], None,
        lambda place: {"trash": len(trash_of(place)), "runs": len(folders(place))}),
    Row("runs --prune", "runs --prune --keep none --yes name=one", [LISTED], None,
        lambda place: {"models": glob.glob(place.path(RUNS + "/*/*.safetensors")),
                       "curves": [curves(path) for path in folders(place)]}),
    Row("measure", "measure @r0 --data digits,limit=8 --images 8 --threads 1", [MODEL], None,
        lambda place: {"devices": [device.get("device") for device in
                                   (document(place.path("r0/measurements.json")) or {}).get("devices", [])]}),
    Row("measure --raw", "measure @r0 --data digits,limit=8 --images 8 --threads 1 --raw @t.csv", [MODEL], None,
        lambda place: {"rows": rows_of(place.path("t.csv"))}),
    Row("compare --measure", "compare @r0 one --measure --threads 1", [MODEL, LISTED], None,
        lambda place: {"turns": [bool(document(path + "/measurements.json"))
                                 for path in [place.path("r0")] + folders(place)]}),
    Row("models", "models @m.safetensors --only --threads 1", [MODEL], None,
        lambda place: {"figures": [bool(document(path)) for path in glob.glob(place.path("state/tinca/model-figures/*.json"))]},
        caches=True),
    Row("tune", "devices --tune", [], None,
        lambda place: {"machines": len((document(place.path("cache/tinca/machines.json")) or {}).get("machines", []))}),
    Row("two ranks", TRAIN_R + " --blocks 2", [], resume("r", TRAIN_R + " --blocks 2"), trained("r"), needs="mpirun",
        launcher=["mpirun", "-n", "2"]),
]
