"""What a power cut may leave of a run, and what tinca resume makes of it.

Runs are recorded with faults.so (record.h); disk.py says which states the disk may hold then. States are
drawn with a seed; those in which everything or nothing is there come first.

Every state is written into a folder and resumed. Good is: the run ends (or had ended) with the weights,
the best model and the curves of the run that was left alone; or, before config.json was on the disk,
a refusal with a message. A complete run that is not whole, a run that cannot be found or resumed any
more, and a checkpoint that was confirmed but not used are faults.

Further states are none that a sound disk leaves: the journal cut or zeroed where it was synced, or a
checkpoint, with a right checksum, of an iteration that the run does not have. Those may be refused, with
a message and without a change of the journal; but status 0 must mean the same bits.

usage: crash_states.py TINCA FAULTS.SO FOLDER STATES SEED; prints TAP."""
import concurrent.futures
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import zlib

from disk import DATA, NAMES, SYSTEMATIC, Disk, build, changed, read_log, write_state
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import journal_lines  # pylint: disable=wrong-import-position

MODELS = ("weights.safetensors", "best.safetensors")
NETWORK = {
    "name": "tiny", "input": [1, 28, 28], "classes": 10, "normalise": "unit",
    "layers": [{"op": "conv", "name": "c", "output": 2, "kernel": 3, "stride": 4},
               {"op": "flatten"}, {"op": "linear", "name": "fc", "output": "classes"}]}
JOB = ("--data digits,limit=40 --validate digits,split=test,limit=8 --batch 8 --epochs 3 --seed 3 "
       "--threads 1 --checkpoint 0.001 --checkpoint-share 100 -q").split()


def is_left_out(path):
    """Half-written files and the lock tell nothing."""
    return path.endswith(".part") or os.path.basename(path) == "lock"


def lie(checkpoint, key, value):
    """A checkpoint whose metadata say something else, with a checksum that is right."""
    size = struct.unpack("<Q", checkpoint[:8])[0]
    header, rest = json.loads(checkpoint[8:8 + size]), checkpoint[8 + size:]
    header["__metadata__"][key] = value
    header["__metadata__"]["tinca.crc32"] = "00000000"
    body = json.dumps(header, separators=(",", ":")).encode()
    body += b" " * (-len(body) % 8)
    header["__metadata__"]["tinca.crc32"] = "%08x" % zlib.crc32(rest, zlib.crc32(body))
    body = json.dumps(header, separators=(",", ":")).encode().ljust(len(body))
    return struct.pack("<Q", len(body)) + body + rest


def spoil(state, draw):
    """Does what no sound disk does; None where there is nothing to be spoilt."""
    journal = state.get("r/journal") or b""
    last = state.get("r/checkpoint.safetensors")
    if len(journal) < 600 or not last:
        return None
    state = dict(state)
    how = draw.choice(["cut", "zeros", "lie"])
    if how == "cut":
        state["r/journal"] = journal[:draw.randint(0, len(journal) // 2)]
    elif how == "zeros":
        start = draw.randint(300, len(journal) - 300)
        state["r/journal"] = changed(journal, (start, bytes(200)))
    else:
        value = str(draw.choice([2**64 - 1, 2**63, 16, 1000]))
        for path in ("r/checkpoint.safetensors", "r/checkpoint.previous.safetensors"):
            if path in state:
                state[path] = lie(state[path], "tinca.iteration", value)
    return state


# --- runs ---

def result_of(folder):
    result = {}
    for name in MODELS:
        path = os.path.join(folder, name)
        result[name] = open(path, "rb").read() if os.path.exists(path) else None
    path = os.path.join(folder, "journal")
    result["curves"] = journal_lines.curves(open(path, "rb").read()) if os.path.exists(path) else None
    return result


def differences(result, expected):
    return " ".join(key for key in expected if result[key] != expected[key])


class Explorer:
    def __init__(self, tinca, faults, folder, seed):
        self.tinca, self.faults, self.folder = os.path.abspath(tinca), os.path.abspath(faults), folder
        self.draw = random.Random(seed)
        self.network = os.path.join(folder, "tiny.json")
        with open(self.network, "w", encoding="ascii") as file:
            json.dump(NETWORK, file)

    def run(self, arguments, root, **environment):
        return subprocess.run([self.tinca] + arguments, cwd=root, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False,
                              env=dict(os.environ, LC_ALL="C.UTF-8", **environment))

    def record(self, name, *processes):
        """The log of processes after each other in one folder: (arguments, fault) each."""
        root = os.path.join(self.folder, name)
        log = root + ".log"
        os.mkdir(root)
        for arguments, fault in processes:
            self.run(arguments, root, LD_PRELOAD=self.faults, RECORD=log, RECORD_ROOT=root, FAULT=fault)
        return read_log(log)

    def points(self, log):
        """The disk after each operation, with what must hold from there on."""
        disk, points = Disk(), []
        kept = checkpointed = ended = False
        for operation in log:
            disk.take(operation)
            kept |= operation == ("folder", "r") and disk.is_kept("r/config.json")
            checkpointed |= disk.is_kept("r/checkpoint.safetensors")
            ended |= operation[0] == "exit" and disk.find("r/summary.json") is not None
            points.append((disk.copy(), kept, checkpointed, ended))
        return points

    def judge(self, number, state, point, spoilt, expected):
        """What is wrong with what becomes of a state; None: nothing."""
        _, kept, checkpointed, ended = point
        root = os.path.join(self.folder, "state%d" % number)
        os.mkdir(root)
        write_state(state, root)
        run = os.path.join(root, "r")
        try:
            done = self.run(["resume", "./r", "--threads", "1", "-q"], root)
            said = done.stderr.decode(errors="replace").strip()
            result = result_of(run)
        except subprocess.TimeoutExpired:
            return "it hangs"
        finally:
            shutil.rmtree(root)
        wrong = differences(result, expected)
        complete = done.returncode == 2 and "this run is complete" in said
        if done.returncode == 0:
            if wrong:
                return "exit 0, but not the same: " + wrong
            if checkpointed and not spoilt and "begins again" in said:
                return "a confirmed checkpoint was not used: " + said
            return "it was complete, and is computed again" if ended and not spoilt else None
        if complete:
            return "it is called complete, but is not the same: " + wrong if wrong else None
        if done.returncode not in (1, 2) or not said.startswith("tinca: "):
            return "exit %d: %s" % (done.returncode, said)
        if not spoilt:
            return "it cannot be resumed: " + said if kept else None
        if (result["curves"] or []) != kept_curves(state):
            return "it was refused, but its journal is not what it was: " + said
        return None


def kept_curves(state):
    return journal_lines.curves(state.get("r/journal") or b"")


# --- which states ---

def draw_states(explorer, logs, count):
    """Distinct states as (scenario, operation, names, data, state, point, spoilt)."""
    seen, chosen, draw = set(), [], explorer.draw
    places = [(name, points, k) for name, points in logs.items() for k in range(len(points))]
    systematic = [(place, how) for how in SYSTEMATIC for place in places]
    if len(systematic) > count // 2:
        systematic = draw.sample(systematic, count // 2)
    idle = 0
    while len(chosen) < count and idle < 20000:
        if systematic:
            (name, points, k), (names, data) = systematic.pop(0)
        elif draw.random() < 0.03: # the end tells most
            name = draw.choice(list(logs))
            points = logs[name]
            k, names, data = len(points) - 1, draw.choice(NAMES), draw.choice(DATA)
        else:
            name, points, k = draw.choice(places)
            names, data = draw.choice(NAMES), draw.choice(DATA)
        state = build(points[k][0], names, data, draw, is_left_out)
        spoilt = draw.random() < 0.1 and 10 * sum(one[6] for one in chosen) <= len(chosen)
        if spoilt:
            state = spoil(state, draw)
        key = state is not None and (points[k][1:], spoilt, frozenset(
            (path, zlib.crc32(content or b"")) for path, content in state.items()))
        if not key or key in seen:
            idle += 1
            continue
        idle = 0
        seen.add(key)
        chosen.append((name, k, names, data, state, points[k], spoilt))
    return chosen


def main():
    tinca, faults, folder, count, seed = sys.argv[1:6]
    explorer = Explorer(tinca, faults, folder, int(seed))
    train = ["train", explorer.network] + JOB + ["--run-dir", "./r"]
    resume = ["resume", "./r", "--threads", "1", "-q"]
    logs = {"alone": explorer.record("alone", (train, ""))}
    expected = result_of(os.path.join(folder, "alone", "r"))
    logs["resumed"] = explorer.record("resumed", (train, "rename:15:kill"), (resume, ""))
    logs["again"] = explorer.record("again", (train, "rename:4:kill"), (resume, "rename:9:kill"),
                                    (resume, ""))
    for number in (8, 11, 16):
        logs["sync %d fails" % number] = explorer.record("fails%d" % number,
                                                         (train, "fsync:%d:EIO" % number))
    logs = {name: explorer.points(log) for name, log in logs.items()}
    states = draw_states(explorer, logs, int(count))
    print("# seed %s: %d states of %d operations in %d recorded runs" % (
        seed, len(states), sum(map(len, logs.values())), len(logs)), flush=True)
    faults_found = {}
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        verdicts = pool.map(lambda one: explorer.judge(one[0], one[1][4], one[1][5], one[1][6], expected),
                            enumerate(states))
        for (name, k, names, data, state, _, spoilt), wrong in zip(states, verdicts):
            if wrong:
                where = "%s, operation %d, names %s, data %s%s" % (name, k, names, data,
                                                                  ", spoilt" if spoilt else "")
                faults_found.setdefault(re.sub(r"[0-9]+|/\S*", "N", wrong)[:90], []).append(
                    "%s: %s (%s)" % (where, wrong, " ".join(
                        "%s:%s" % (os.path.basename(p), "-" if d is None else len(d))
                        for p, d in sorted(state.items()))))
    for kind, cases in faults_found.items():
        print("# %d times %s" % (len(cases), kind))
        for case in cases[:3]:
            print("#    " + case[:600].replace("\n", " | "))
    total = sum(map(len, faults_found.values()))
    spoilt = sum(one[6] for one in states)
    if len(states) == 0 or expected["curves"] is None or len(expected["curves"]) < 18:
        print("not ok 1 - the runs are recorded")
    else:
        print("ok 1 - the runs are recorded")
    print("%sok 2 - %d states after a power cut and %d spoilt ones: %d wrong" % (
        "not " if total else "", len(states) - spoilt, spoilt, total))
    print("1..2")
    sys.exit(total > 0)


main()
