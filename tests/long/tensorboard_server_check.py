"""What a TensorBoard server shows of tinca's event files: tensorboard_server_check.py RUNS FOLDER fast|slow. RUNS is the
folder of runs, FOLDER has the event files of all of them. Starts the server (`fast`: with its data server in Rust, which
has a reader of its own), asks its HTTP interface what its web page asks, and ends it. Prints TAP lines without numbers."""
import json
import os
import re
import subprocess
import sys
import time
import urllib.parse
import urllib.request

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import journal_lines  # pylint: disable=wrong-import-position

runs_folder, folder, speed = sys.argv[1:4]
PATIENCE = 120  # seconds
SIZES = (28, 28), (32, 32), (16, 16), (48, 64)  # of digits, shapes, maps, and three by four of the latter


def check(condition, name, why=""):
    name = f"{folder}, {speed}: {name}"
    print(f"{'ok' if condition else 'not ok'} {name}{'' if condition else ': ' + str(why)[:300]}".replace("\n", " "))


def journal(run):
    """Returns {series: {step: float32}} of a run."""
    series = {}
    for line in journal_lines.read(f"{runs_folder}/{run}/journal"):
        validation = line.get("event") == "validation"
        if "event" in line and not validation:
            continue
        for name, value in line.items():
            if name in ("event", "iteration", "epoch", "seconds") or value is None:
                continue
            series.setdefault("validation/" * validation + name, {})[line["iteration"]] = np.float32(value)
    return series


runs = sorted(run for run in os.listdir(runs_folder) if os.path.exists(f"{runs_folder}/{run}/journal"))
log = open("server.log", "w+")
server = subprocess.Popen([sys.executable, "-m", "tensorboard.main", "--logdir", folder, "--host", "127.0.0.1", "--port", "0",
                           "--load_fast", "true" if speed == "fast" else "false", "--samples_per_plugin",
                           "scalars=100000,images=100,histograms=100"],
                          stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)


def output():
    log.seek(0)
    return log.read()


def wait_for(condition, what):
    end = time.time() + PATIENCE
    while time.time() < end and server.poll() is None:
        found = condition()
        if found:
            return found
        time.sleep(0.2)
    raise RuntimeError(f"waited in vain for {what}: {output()[-300:]}")


def fetch(path, body=None, **query):
    """Returns what the server answers: of JSON its value, else the bytes."""
    url = base + path + ("?" + urllib.parse.urlencode(query) if query else "")
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"} if data else {})
    with urllib.request.urlopen(request, timeout=60) as answer:
        content = answer.read()
        return json.loads(content) if "json" in answer.headers["Content-Type"] else content


def plugin(name, path, **query):
    return fetch(f"data/plugin/{name}/{path}", **query)


def check_scalars():
    tags = plugin("scalars", "tags")
    check(sorted(tags) == runs, "scalars of each run", tags.keys())
    for run in runs:
        expected = journal(run)
        found = {tag: {step: np.float32(value) for _, step, value in plugin("scalars", "scalars", run=run, tag=tag)}
                 for tag in tags[run]}
        found = {tag: {step: value for step, value in points.items()} for tag, points in found.items()}
        check(found == expected, f"{run}: every scalar is the journal's",
              [tag for tag in set(found) | set(expected) if found.get(tag) != expected.get(tag)])
    series = fetch("data/plugin/timeseries/tags")
    check(sorted(series["scalars"]["runTagInfo"]) == runs, "the time series page has each run", series["scalars"])


def check_images():
    tags = plugin("images", "tags")
    shown, pictures, others = 0, 0, set()
    for run in tags:
        for tag in tags[run]:
            images = plugin("images", "images", run=run, tag=tag, sample=0)
            for image in images:
                data = plugin("images", "individualImage?" + image["query"])
                good = data[:8] == b"\x89PNG\r\n\x1a\n"
                size = tuple(np.frombuffer(data[16:24], ">u4"))
                pictures += good and size in SIZES
                if size not in SIZES:
                    others.add((run, tag, size))
                shown += 1
    # an export has those that the folders of runs have: of networks that generate pictures
    with_pictures = {run for run in runs if folder != "exported" or "gan" in run}
    check(set(tags) == with_pictures, "pictures of each run", with_pictures ^ set(tags))
    check(shown > 0 and pictures == shown, "which are PNG files of their size", f"{pictures} of {shown}, {others}")


def check_histograms():
    tags = plugin("histograms", "tags")
    check(sorted(tags) == runs, "histograms of each run", tags.keys())
    for run in runs:
        last, good, sums = max(journal(run)["loss"]), bool(tags[run]), []
        for tag in tags[run]:
            wall, step, buckets = plugin("histograms", "histograms", run=run, tag=tag)[-1]
            sums.append(sum(bucket[2] for bucket in buckets))
            good &= step == last and sums[-1] > 0 and all(low <= high for low, high, _ in buckets)
            good &= len(plugin("distributions", "distributions", run=run, tag=tag)[-1][2]) > 0
        check(good, f"{run}: {len(tags[run])} histograms and distributions of the last step", sums)


def check_text():
    tags = plugin("text", "tags")
    for run in runs:
        texts = plugin("text", "text", run=run, tag="configuration") if run in tags else []
        html = texts[0]["text"] if texts else ""
        check("<table" in html and run in html and "<td>batch</td>" in re.sub(r"\s+<", "<", html),
              f"{run}: the configuration is a table", html[:200] or tags)


def check_hparams():
    experiment = plugin("hparams", "experiment", body={"experimentName": ""})
    infos = {info["name"]: info for info in experiment["hparamInfos"]}
    check({"network", "batch", "lr", "seed"} <= set(infos), "hyperparameters", list(infos))
    metrics = {info["name"]["tag"] for info in experiment["metricInfos"]}
    check({"loss", "validation/top1", "ms_per_image"} <= metrics, "their metrics", metrics)
    groups = plugin("hparams", "session_groups", body={
        "experimentName": "", "startIndex": 0, "sliceSize": 100, "includeMetrics": True,
        "allowedStatuses": ["STATUS_UNKNOWN", "STATUS_SUCCESS", "STATUS_FAILURE", "STATUS_RUNNING"],
        "colParams": [{"hparam": name} for name in ("batch", "lr")] + [{"metric": {"group": "", "tag": "loss"}}]})["sessionGroups"]
    sessions = {session["name"]: session for group in groups for session in group["sessions"]}
    check(sorted(sessions) == runs, "a session for each run", sessions.keys())
    check(all(session["status"] == "STATUS_SUCCESS" for session in sessions.values()), "which have ended well",
          {name: session["status"] for name, session in sessions.items()})
    for name, session in sessions.items():
        config = json.load(open(f"{runs_folder}/{name}/config.json"))["config"]
        group = next(group for group in groups if session in group["sessions"])
        losses = journal(name)["loss"]
        values = {value["name"]["tag"]: value["value"] for value in session["metricValues"]}
        check(group["hparams"]["batch"] == config["batch"] and np.float32(values["loss"]) == losses[max(losses)],
              f"{name}: the batch and the last loss of its session", (group["hparams"], values))


try:
    base = wait_for(lambda: (re.findall(r"at (http://\S+)", output()) or [None])[0], "the server")
    base = base.rstrip("/") + "/"
    wait_for(lambda: sorted(fetch("data/runs")) == runs and all(
        len(plugin("scalars", "tags").get(run, [])) >= len(journal(run)) for run in runs) and
        len(plugin("histograms", "tags")) == len(runs) and len(plugin("text", "tags")) == len(runs), "the runs")
    check(True, "the server shows each run")
    time.sleep(2)  # until a reload that has begun is over
    active = fetch("data/plugins_listing")
    for name in ("scalars", "images", "histograms", "distributions", "text", "hparams", "timeseries"):
        check(active[name]["enabled"], f"the page {name} is active", active.get(name))
    check_scalars()
    check_images()
    check_histograms()
    check_text()
    check_hparams()
finally:
    server.terminate()
    try:
        server.wait(20)
    except subprocess.TimeoutExpired:
        server.kill()
