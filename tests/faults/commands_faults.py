"""Every command that writes (commands.py) is disturbed, and repeated or resumed as a user would:

  kill   the process dies at one of its calls of write, fsync, rename, unlink, mkdir or open
  full   the disk is full from one of these calls on (mkdir, rename, fsync and open fail as well)
  power  the power is cut after any of its calls: one of the states that the disk may hold then (disk.py)

Good is: nothing crashes or hangs; a full disk ends with a message and status 1, or changes nothing of the result; an
output that existed is the old file or the complete new one at every moment; when the command was repeated or resumed,
the result is that of the undisturbed command; `runs --check` finds nothing damaged; every folder of runs is listed; no
half-written file and no folder of an interrupted pruning is left.

usage: commands_faults.py TINCA FAULTS.SO FOLDER TRIALS SEED [ROW...]; prints TAP. TRIALS: of each kind, for each row."""
import ctypes
import json
import os
import random
import re
import shutil
import subprocess
import sys

from commands import NETWORK, PAIRS, ROWS, RUNS, digest, run_of
from disk import DATA, NAMES, SYSTEMATIC, Disk, build, read_log, write_state

CALLS = ("write", "fsync", "rename", "unlink", "mkdir", "open")


def adopt_orphans():
    """Makes the processes of a command that dies children of this one (prctl(2), PR_SET_CHILD_SUBREAPER)."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


def wait_for_orphans():
    """A sweep's cells outlive it for a moment, in which they still hold their locks."""
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass


class Place:
    """The folder of a row, at the same path in every trial, since files contain absolute paths."""

    def __init__(self, tinca, faults, folder, row):
        self.tinca, self.faults, self.row, self.folder = tinca, faults, row, folder
        self.root = os.path.join(folder, "root")

    def path(self, name):
        return os.path.join(self.root, name)

    def run(self, words, **environment):
        """Runs a command line of the table."""
        words = list(words)
        if words[0].startswith("FAULT="):
            environment["FAULT"] = words.pop(0)[6:]
            environment["LD_PRELOAD"] = self.faults
        if words[0] == "OVER":
            words.pop(0)
        launcher = list(self.row.launcher) if words[0] in ("train", "resume") else []
        if launcher: # the ranks meet the fault, and not what starts them
            launcher += ["env"] + ["%s=%s" % (name, environment.pop(name)) for name in list(environment)]
        words = [self.path(word[1:]) if word.startswith("@") else word for word in words]
        environment = dict(os.environ, LC_ALL="C.UTF-8", XDG_STATE_HOME=self.path("state"), HOME=self.path("home"),
                           XDG_CONFIG_HOME=self.path("config"), XDG_CACHE_HOME=self.path("cache"), **environment)
        done = subprocess.run(launcher + [self.tinca] + words, cwd=self.root, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, check=False, env=environment)
        wait_for_orphans()
        return done

    def prepare(self):
        os.makedirs(self.root)
        for name in ("state", "home", "config", "cache"):
            os.mkdir(self.path(name), 0o700)
        if self.row.name != "tune": # kernels do not depend on how fast the machine is
            open(self.path("cache/tinca"), "w", encoding="ascii").close()
        for name, network in (("net.json", NETWORK), ("pair.json", PAIRS)):
            with open(self.path(name), "w", encoding="ascii") as file:
                json.dump(network, file)
        for words in self.row.before:
            if words[0] == "WRITE":
                with open(self.path(words[1][1:]), "w", encoding="ascii") as file:
                    file.write(words[2].replace("\1", " ").replace("\2", "\n"))
            elif words[0] == "PICTURES":
                os.mkdir(self.path(words[1][1:]))
                for i in range(5): # PGM is no format of tinca: a picture is a PNG of one colour
                    write_png(os.path.join(self.path(words[1][1:]), "%d.png" % i), 40 * i)
            else:
                done = self.run(words)
                if done.returncode not in (0, -9):
                    raise RuntimeError("%s: %s" % (" ".join(words), done.stderr.decode()))
        shutil.copytree(self.root, os.path.join(self.folder, "before"))

    def restore(self, name="before"):
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(os.path.join(self.folder, name), self.root)


def write_png(path, value):
    import struct
    import zlib

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes([(value + i) % 256] * 28) for i in range(28))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 28, 28, 8, 0, 0, 0, 0)) +
                   chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


# --- judging ---

def crashed(done):
    return done.returncode < 0 or done.returncode > 130 or done.returncode in (128, 129)


def said(done):
    return done.stderr.decode(errors="replace").strip()[-300:]


def outputs_are_whole(place, expected):
    for name in place.row.old:
        with open(os.path.join(place.folder, "before", name), "rb") as file:
            old = file.read()
        path = place.path(name)
        if not os.path.exists(path):
            return "%s is gone" % name
        with open(path, "rb") as file:
            now = file.read()
        if now == old or digest(path) == expected.get(name):
            continue
        if name.endswith(".json") and now.rstrip().endswith(b"}"): # it has times
            continue
        return "%s is neither the old file nor the new one" % name
    return None


def litter(place):
    """Half-written files and folders that the command has left. Those of a run that did not end belong to it: it is
    listed, and resuming or deleting it removes them; the next run deletes a folder in which none began."""
    found = []
    for folder, folders, names in os.walk(place.root):
        is_run = os.path.dirname(folder) == place.path(RUNS)
        if is_run and ("config.json" not in names or not run_of(folder)):
            continue
        found += [os.path.relpath(os.path.join(folder, name), place.root)
                  for name in folders + names if name.endswith((".part", ".prune"))]
    return " ".join(name for name in found if not os.path.exists(os.path.join(place.folder, "before", name)))


def unlisted(place):
    """The folders of runs that tinca runs does not list."""
    home = place.path(RUNS)
    text = place.run(["runs", "--members"]).stdout.decode()
    return " ".join(name for name in (os.listdir(home) if os.path.isdir(home) else []) if name not in text)


def recover(place, expected):
    """What is wrong with what becomes of the place; None: nothing."""
    wrong = outputs_are_whole(place, expected)
    if wrong:
        return wrong
    for words in place.row.recover(place):
        done = place.run(words)
        over = words[0] == "OVER" and done.returncode == 2 and b"this run is complete" in done.stderr
        if done.returncode != 0 and not over:
            return "%s: exit %d: %s" % (" ".join(words), done.returncode, said(done))
    result = place.row.result(place)
    if result != expected:
        return "not the same: " + " ".join("%s is %s, not %s" % (key, result.get(key), expected[key])
                                           for key in expected if result.get(key) != expected[key])[:400]
    # a run that did not end may have a journal with a hole: whoever resumes it computes that again
    checked = json.loads(place.run(["runs", "--check", "--json"]).stdout or b'{"runs":[]}')
    damaged = [run for run in checked["runs"] if run["status"] not in ("interrupted", "none") and
               any(problem["severity"] == "error" for problem in run["problems"])]
    if damaged:
        return "runs --check: " + json.dumps(damaged)[:400]
    left = litter(place)
    if left:
        return "left behind: " + left
    left = unlisted(place)
    return "not listed: " + left if left else None


# --- trials ---

class Trials:
    def __init__(self, place, count, draw):
        self.place, self.count, self.draw = place, count, draw
        self.done, self.wrong = {}, []

    def note(self, kind, where, wrong):
        self.done[kind] = self.done.get(kind, 0) + 1
        if wrong:
            self.wrong.append("%s, %s: %s" % (kind, where, wrong.replace("\n", " | ")))

    def undisturbed(self):
        """Runs the command with a log and with counted calls. Returns what it makes; None with a message."""
        place = self.place
        place.prepare()
        log = os.path.join(place.folder, "log")
        done = place.run(place.row.command, LD_PRELOAD=place.faults, RECORD=log, RECORD_ROOT=place.root)
        if done.returncode != 0:
            print("# %s: exit %d: %s" % (place.row.name, done.returncode, said(done)))
            return None
        self.log = read_log(log)
        expected = place.row.result(place)
        self.calls = {}
        for call in CALLS:
            place.restore()
            count = os.path.join(place.folder, "count")
            place.run(place.row.command, LD_PRELOAD=place.faults, FAULT=call + ":1000000000", FAULT_COUNT=count)
            with open(count, encoding="ascii") as file:
                self.calls[call] = int(file.read())
        return expected

    def places(self):
        """Draws calls as (call, number), spread over the kinds of calls."""
        every = [(call, i + 1) for call in CALLS for i in range(self.calls[call])]
        if len(every) <= self.count:
            return every
        drawn = []
        for i in range(self.count):
            kinds = [call for call in CALLS if self.calls[call] > 0]
            call = kinds[i % len(kinds)]
            drawn.append((call, self.draw.randint(1, self.calls[call])))
        return sorted(set(drawn))

    def disturb(self, kind, expected):
        for call, number in self.places():
            self.place.restore()
            fault = "%s:%d:%s" % (call, number, "kill" if kind == "kill" else "ENOSPC+")
            try:
                done = self.place.run(self.place.row.command, LD_PRELOAD=self.place.faults, FAULT=fault)
                wrong = None
                if kind == "full" and crashed(done):
                    wrong = "exit %d: %s" % (done.returncode, said(done))
                elif kind == "full" and done.returncode != 0 and b"tinca: " not in done.stderr and \
                        b"mpi_init" not in done.stderr.lower(): # MPI could not make its own files
                    wrong = "exit %d without a message: %s" % (done.returncode, said(done))
                elif kind == "full" and done.returncode == 0 and b"No space left" not in done.stderr + done.stdout and \
                        not self.place.row.caches and self.place.row.result(self.place) != expected:
                    wrong = "exit 0 without a message, but the result is another"
                wrong = wrong or recover(self.place, expected)
            except subprocess.TimeoutExpired:
                wrong = "it hangs"
            self.note(kind, fault, wrong)

    def cut_power(self, expected):
        disk, points = Disk().load(os.path.join(self.place.folder, "before")), []
        for operation in self.log:
            disk.take(operation)
            points.append(disk.copy())
        if not points:
            return
        seen = set()
        for i in range(4 * self.count):
            if len(seen) >= self.count:
                break
            k = self.draw.randrange(len(points))
            names, data = SYSTEMATIC[i % len(SYSTEMATIC)] if i < self.count // 2 else (
                self.draw.choice(NAMES), self.draw.choice(DATA))
            state = build(points[k], names, data, self.draw)
            key = hash(frozenset((path, content) for path, content in state.items()))
            if key in seen:
                continue
            seen.add(key)
            shutil.rmtree(self.place.root)
            os.mkdir(self.place.root)
            write_state(state, self.place.root)
            for name in ("state", "home", "config", "cache"):
                os.makedirs(self.place.path(name), exist_ok=True)
            try:
                wrong = recover(self.place, expected)
            except subprocess.TimeoutExpired:
                wrong = "it hangs"
            self.note("power", "operation %d of %d (%s), names %s, data %s" % (
                k, len(points), " ".join(self.log[k][:2]), names, data), wrong)


def main():
    adopt_orphans()
    tinca, faults, folder, count, seed = sys.argv[1:6]
    wanted, number, failed, totals = sys.argv[6:], 0, False, {}
    for row in ROWS:
        if wanted and row.name not in wanted:
            continue
        number += 1
        if row.needs and not shutil.which(row.needs) and \
                not os.path.exists(os.path.join(os.path.dirname(os.path.abspath(tinca)), row.needs)):
            print("ok %d - %s # SKIP there is no %s" % (number, row.name, row.needs), flush=True)
            continue
        own = os.path.join(folder, re.sub(r"\W", "_", row.name))
        trials = Trials(Place(os.path.abspath(tinca), os.path.abspath(faults), own, row), int(count),
                        random.Random("%s %s" % (seed, row.name)))
        expected = trials.undisturbed()
        if expected is None or not any(expected.values()) and row.name != "runs --empty-trash":
            print("not ok %d - %s: undisturbed it makes %s" % (number, row.name, expected), flush=True)
            failed = True
            continue
        trials.disturb("kill", expected)
        trials.disturb("full", expected)
        trials.cut_power(expected)
        shutil.rmtree(own)
        for kind, done in trials.done.items():
            totals[kind] = totals.get(kind, 0) + done
        failed |= bool(trials.wrong)
        print("%sok %d - %s: %s" % ("not " if trials.wrong else "", number, row.name, ", ".join(
            "%d %s" % (done, kind) for kind, done in trials.done.items())))
        for one in trials.wrong[:8]:
            print("#   " + one[:700])
        if len(trials.wrong) > 8:
            print("#   and %d others" % (len(trials.wrong) - 8))
        sys.stdout.flush()
    print("# seed %s: %s" % (seed, ", ".join("%d %s" % (done, kind) for kind, done in totals.items())))
    print("1..%d" % number)
    sys.exit(failed)


main()
