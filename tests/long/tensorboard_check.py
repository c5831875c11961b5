"""Reads with TensorBoard, NumPy and pandas what tinca has written into the current folder: tensorboard_check.py RUNS.
RUNS is the folder of runs; `board` has the event files that they wrote, `exported` those of tinca export. Prints TAP
lines without numbers."""
import glob
import json
import os
import struct
import sys
import zlib

import numpy as np
import pandas as pd
from tensorboard import context as tensorboard_context
from tensorboard.backend.event_processing import data_provider, event_accumulator, plugin_event_multiplexer
from tensorboard.plugins import base_plugin
from tensorboard.plugins.hparams import api_pb2, backend_context, list_session_groups

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import journal_lines  # pylint: disable=wrong-import-position

runs_folder = sys.argv[1]
POINTS = ["loss", "loss_mean", "loss_caffe", "loss_discriminator", "loss_l1", "loss_labels", "loss_teacher", "lr",
          "ms_per_image", "memory_bytes", "gpu_memory_bytes"]
VALIDATIONS = ["loss", "top1", "top5", "pixel_accuracy", "loss_error"]


def check(condition, name, why=""):
    print(f"{'ok' if condition else 'not ok'} {name}{'' if condition else ': ' + str(why)[:300]}".replace("\n", " "))


def journal(run):
    """Returns the series of a run, {name: {step: float32}}, as its journal has them."""
    series = {}
    for line in journal_lines.read(f"{runs_folder}/{run}/journal"):
        names = VALIDATIONS if line.get("event") == "validation" else POINTS if "event" not in line else []
        for name in names:
            if line.get(name) is not None:
                key = "validation/" + name if "event" in line else name
                series.setdefault(key, {})[line["iteration"]] = np.float32(line[name])
    return series


def accumulate(folder):
    everything = {kind: 0 for kind in ("scalars", "images", "histograms", "tensors", "compressedHistograms")}
    accumulator = event_accumulator.EventAccumulator(folder, size_guidance=everything)
    accumulator.Reload()
    return accumulator


def png_size(data):
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    size, chunk = struct.unpack(">I", data[8:12])[0], data[12:]
    assert zlib.crc32(chunk[:4 + size]) == struct.unpack(">I", chunk[4 + size:8 + size])[0]
    return struct.unpack(">II", chunk[4:12])


names = {run: open(f"{runs_folder}/{run}/name.txt").read().strip()
         for run in os.listdir(runs_folder) if os.path.exists(f"{runs_folder}/{run}/name.txt")}
run_of = {name: run for run, name in names.items()}
runs = sorted(run for run in os.listdir(runs_folder) if os.path.exists(f"{runs_folder}/{run}/journal"))
check(len(runs) == 11, "eleven runs", runs)

# --- TensorBoard's accumulator ---
for folder in ("board", "exported"):
    for run in runs:
        expected, accumulator = journal(run), accumulate(f"{folder}/{run}")
        tags = accumulator.Tags()
        found = {tag: {event.step: np.float32(event.value) for event in accumulator.Scalars(tag)}
                 for tag in tags["scalars"]}
        counts = {tag: len(accumulator.Scalars(tag)) for tag in tags["scalars"]}
        same = found == expected and all(counts[tag] == len(found[tag]) for tag in found)
        check(same, f"{folder}/{run}: every scalar is the journal's, each step once",
              [tag for tag in set(found) | set(expected) if found.get(tag) != expected.get(tag)])
        histograms = [accumulator.Histograms(tag)[-1] for tag in tags["histograms"]]
        good = histograms and all(
            h.histogram_value.num == sum(h.histogram_value.bucket) and
            h.histogram_value.min <= h.histogram_value.sum / h.histogram_value.num <= h.histogram_value.max and
            h.step == max(expected["loss"]) for h in histograms)
        check(good, f"{folder}/{run}: {len(histograms)} histograms of the last step")
        text = accumulator.Tensors("configuration")[0].tensor_proto.string_val[0].decode()
        check("| setting | value |" in text and run.replace("_", "\\_") in text, f"{folder}/{run}: the configuration", text)
        times = [event.wall_time for event in accumulator.Scalars("loss")]
        check(times == sorted(times) and times[0] > 1.6e9, f"{folder}/{run}: times ascend")

plain = accumulate("board/" + run_of["plain"])
check(sorted(plain.Tags()["images"]) == [f"samples/{i}" for i in range(8)], "eight samples")
check(all(png_size(plain.Images(f"samples/{i}")[0].encoded_image_string) == (28, 28) for i in range(8)),
      "which are PNG files of their size")
gan = accumulate("board/" + run_of["gan"])
check([png_size(image.encoded_image_string) for image in gan.Images("generated")] == [(48, 64)] * 3,
      "a generated picture for each epoch")
check(any(tag.startswith("discriminator/") for tag in gan.Tags()["histograms"]), "the discriminator's weights")
weights = np.load("teacher.npz")
last = plain.Histograms("weights/ip1.weight")[-1].histogram_value
check(last.num == weights["ip1.weight"].size and last.min == weights["ip1.weight"].min() and
      last.max == weights["ip1.weight"].max() and
      np.isclose(last.sum, weights["ip1.weight"].astype("f8").sum(), rtol=1e-6), "a histogram is that of the weights")
counts, _ = np.histogram(weights["ip1.weight"].astype("f8"), 64)
check(np.abs(counts - np.array(last.bucket)).sum() <= 4, "bucket by bucket", np.abs(counts - np.array(last.bucket)).sum())
check(len(glob.glob("board/" + run_of["again"] + "/*")) == 2, "a resumed run has two event files")

# --- its plugins ---
for folder in ("board", "exported"):
    multiplexer = plugin_event_multiplexer.EventMultiplexer()
    multiplexer.AddRunsFromDirectory(folder)
    multiplexer.Reload()
    check(sorted(multiplexer.Runs()) == runs, f"{folder}: TensorBoard shows each run", multiplexer.Runs())
    provider = data_provider.MultiplexerDataProvider(multiplexer, folder)
    asked = tensorboard_context.RequestContext()
    context = backend_context.Context(base_plugin.TBContext(logdir=folder, multiplexer=multiplexer, data_provider=provider))
    content = context.hparams_metadata(asked, "")
    experiment = context.experiment_from_metadata(asked, "", True, content,
                                                  context.hparams_from_data_provider(asked, "", limit=10000))
    hparams = {info.name: info for info in experiment.hparam_infos}
    check({"network", "batch", "lr", "seed"} <= set(hparams) and hparams["batch"].type == api_pb2.DATA_TYPE_FLOAT64 and
          hparams["network"].type == api_pb2.DATA_TYPE_STRING, f"{folder}: hyperparameters with their types", list(hparams))
    metrics = {info.name.tag for info in experiment.metric_infos}
    check({"loss", "validation/top1", "ms_per_image", "memory_bytes"} <= metrics, f"{folder}: metrics", metrics)
    request = api_pb2.ListSessionGroupsRequest(
        experiment_name="", start_index=0, slice_size=100, include_metrics=True,
        allowed_statuses=[api_pb2.STATUS_UNKNOWN, api_pb2.STATUS_SUCCESS, api_pb2.STATUS_FAILURE, api_pb2.STATUS_RUNNING],
        col_params=[api_pb2.ColParams(hparam="batch"), api_pb2.ColParams(metric=api_pb2.MetricName(tag="loss"))])
    answer = list_session_groups.Handler(asked, context, "", request).run()
    groups = {group.name: group for group in answer.session_groups}
    check(len(groups) == 10, f"{folder}: ten groups of sessions, as two runs are seeds of one", list(groups))
    seeds = [group for group in groups.values() if len(group.sessions) == 2]
    check(len(seeds) == 1, f"{folder}: the group of seeds has two sessions")
    check(all(session.status == api_pb2.STATUS_SUCCESS for group in groups.values() for session in group.sessions),
          f"{folder}: all sessions have ended well")
    group = groups[run_of["plain"]]
    values = {value.name.tag: value.value for value in group.metric_values}
    check(group.hparams["batch"].number_value == 32 and
          np.float32(values["loss"]) == list(journal(run_of["plain"])["loss"].values())[-1],
          f"{folder}: a session has its hyperparameters and the last value of its metrics", values)

# --- pandas ---
table = pd.read_csv("long.csv")
check(list(table.columns) == ["run", "series", "step", "epoch", "time", "value"], "the table's columns", table.columns)
check(table.step.dtype == np.int64 and all(table[c].dtype == np.float64 for c in ("epoch", "time", "value")) and
      not table.isna().any().any(), "their types, without a hint", table.dtypes)
check(sorted(table.run.unique()) == runs, "the table has each run")
for run in runs:
    part = table[table.run == run]
    found = {name: dict(zip(rows.step, rows.value.astype(np.float32))) for name, rows in part.groupby("series")}
    check(found == journal(run), f"{run}: the table has every value of the journal, and no other")
wide = table.pivot_table(index=["run", "step"], columns="series", values="value")
check(wide.loc[run_of["plain"]]["loss"].notna().sum() == 60, "a pivot table of it", wide)

# --- NumPy ---
arrays = np.load("runs.npz")
for run in runs:
    expected = journal(run)
    same = all(dict(zip(arrays[f"{run}/validation/iteration" if "/" in name else f"{run}/iteration"].tolist(),
                        arrays[f"{run}/{name}"].astype(np.float32))) == values for name, values in expected.items())
    check(same, f"{run}: the arrays are the journal's")
    config = json.loads(arrays[f"{run}/config"].item())
    check(config == {**json.load(open(f"{runs_folder}/{run}/config.json")), **config} or config["batch"] > 0,
          f"{run}: the configuration is JSON")
single = np.load("plain.npz")
check(single["loss"].dtype == np.float32 and single["iteration"].tolist() == list(range(1, 61)), "one run's arrays")


def tensors(path):
    data = open(path, "rb").read()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        yield name, entry["dtype"], entry["shape"], data[8 + length + begin:8 + length + end]


TYPES = {"F32": "<f4", "F16": "<f2", "I8": "|i1", "I32": "<i4", "I64": "<i8", "U8": "|u1"}
for model in ("teacher", "bf16", "float16", "int8"):
    arrays, good, seen = np.load(model + ".npz"), True, []
    for name, dtype, shape, raw in tensors(model + ".safetensors"):
        if dtype == "BF16":
            values = (np.frombuffer(raw, "<u2").astype("<u4") << 16).view("<f4").reshape(shape)
        else:
            values = np.frombuffer(raw, TYPES[dtype]).reshape(shape)
        seen.append(name)
        good &= arrays[name].dtype == values.dtype and np.array_equal(arrays[name], values)
    check(good and sorted(arrays.files) == sorted(seen), f"{model}: each array of the model, bit by bit", seen)
