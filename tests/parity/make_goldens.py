#!/usr/bin/python3
"""Adds the goldens of new operator cases: what PyTorch computes from the same inputs.

    make op_cases && ./op_cases --list | tests/parity/make_goldens.py tests/parity/goldens/ops.safetensors

Needs numpy and PyTorch (Debian: python3-torch, for /usr/bin/python3). For each case the file holds
everything that is given (inputs, parameters, the output's gradient, labels) and everything that must
come out. A case's random numbers depend on its name alone. A case whose given arrays are in the file
already keeps all of its arrays, because another version of PyTorch may round differently; delete the
file to renew all of them.
"""
import json
import os
import struct
import sys
import zlib

import numpy
import torch
import torch.nn.functional as F

RANDOM_DROPOUT = 2  # base/random.h


def philox(seed, purpose, stream, index):
    """Philox4x32-10 for an array of indices: [len(index), 4] words (Salmon et al. 2011)."""
    mask = numpy.uint64(0xFFFFFFFF)
    shift = numpy.uint64(32)
    counter = [index & mask, index >> shift] + [
        numpy.full(index.shape, value, numpy.uint64) for value in (purpose, stream)]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a = counter[0] * numpy.uint64(0xD2511F53)
        b = counter[2] * numpy.uint64(0xCD9E8D57)
        counter = [(b >> shift) ^ counter[1] ^ numpy.uint64(key[0]), b & mask,
                   (a >> shift) ^ counter[3] ^ numpy.uint64(key[1]), a & mask]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return numpy.stack(counter, axis=1)


def dropout(case, settings, x):
    rate = numpy.float32(case["attributes"]["rate"])
    if not case["training"] and not case["attributes"]["always"]:
        return x
    drawn = x[:, :, 0, 0] if case["attributes"]["channels"] else x
    blocks = numpy.arange((drawn.numel() + 3) // 4, dtype=numpy.uint64)
    index = (numpy.uint64(settings["iteration"]) << numpy.uint64(32)) | blocks
    words = philox(settings["seed"], RANDOM_DROPOUT, case["node"], index).reshape(-1)[:drawn.numel()]
    unit = (words >> numpy.uint64(8)).astype(numpy.float32) * numpy.float32(2.0 ** -24)
    factor = (unit >= rate) / (numpy.float32(1) - rate)
    factor = torch.from_numpy(factor.astype(numpy.float32).reshape(drawn.shape))
    return x * (factor[:, :, None, None] if case["attributes"]["channels"] else factor)


def batch_norm(case, x, p):
    a = case["attributes"]
    if a["instance"] and not case["training"]:
        return F.instance_norm(x, None, None, p["weight"], p["bias"], True, 0, a["epsilon"])
    return F.batch_norm(x, p["running_mean"], p["running_var"], p["weight"], p["bias"],
                        case["training"], a["momentum"], a["epsilon"])


def channel_shift(x):
    channels, height, width = x.shape[1:]
    group = channels // 9
    padded = F.pad(x, (1, 1, 1, 1))
    parts = []
    for k in range(9):
        dy, dx = k // 3 - 1, k % 3 - 1  # what arrives at (y, x) comes from (y - dy, x - dx)
        parts.append(padded[:, k * group:(k + 1) * group,
                            1 - dy:1 - dy + height, 1 - dx:1 - dx + width])
    return torch.cat(parts + [x[:, 9 * group:]], 1)


def channel_shuffle(x, groups):
    n, c, h, w = x.shape
    return x.view(n, groups, c // groups, h, w).transpose(1, 2).reshape(n, c, h, w)


def binary_cross_entropy(a, inputs):
    target = inputs[1] if len(inputs) > 1 else torch.full_like(inputs[0], a["target"])
    return F.binary_cross_entropy_with_logits(inputs[0], target, reduction="none")


def distillation(a, student, teacher):
    """Each image's loss, as in most implementations of Hinton et al. 2015."""
    t = a["temperature"]
    return t * t * F.kl_div(F.log_softmax(student.flatten(1) / t, 1),
                            F.log_softmax(teacher.flatten(1) / t, 1), reduction="none",
                            log_target=True).sum(1)[:, None]


def forward(case, settings, x, p, labels):
    """The output; of a loss, each image's."""
    op, a = case["op"], case["attributes"]
    losses = {
        "softmax_cross_entropy":
            lambda: F.cross_entropy(x[0].flatten(1), labels.long(), reduction="none",
                                    label_smoothing=a["smoothing"] * case["training"])[:, None],
        "perceptron": lambda: x[0].flatten(1).max(1).values[:, None] -
            x[0].flatten(1).gather(1, labels.long()[:, None]),
        "binary_cross_entropy": lambda: binary_cross_entropy(a, x),
        "l1_loss": lambda: F.l1_loss(x[0], x[1], reduction="none"),
        "distillation": lambda: distillation(a, x[0], x[1]),
        "l2_loss": lambda: F.mse_loss(x[0], x[1], reduction="none"),
    }
    if op in losses:
        return losses[op]().flatten(1).mean(1)[:, None, None, None]
    return {
        "conv": lambda: F.conv2d(x[0], p["weight"], p.get("bias"), a["stride"], a["pad"],
                                 a["dilation"], a["groups"]),
        "conv_transpose": lambda: F.conv_transpose2d(x[0], p["weight"], p.get("bias"), a["stride"],
                                                     a["pad"], 0, a["groups"]),
        "linear": lambda: F.linear(x[0].flatten(1), p["weight"], p.get("bias"))[:, :, None, None],
        "max_pool": lambda: F.max_pool2d(x[0], a["kernel"], a["stride"], a["pad"],
                                         ceil_mode=a["ceil"]),
        "average_pool": lambda: F.avg_pool2d(x[0], a["kernel"], a["stride"], a["pad"],
                                             ceil_mode=a["ceil"], count_include_pad=True),
        "relu": lambda: F.relu(x[0]),
        "leaky_relu": lambda: F.leaky_relu(x[0], a["slope"]),
        "prelu": lambda: F.prelu(x[0], p["weight"]),
        "elu": lambda: F.elu(x[0], a["alpha"]),
        "gelu": lambda: F.gelu(x[0]),
        "silu": lambda: F.silu(x[0]),
        "hardswish": lambda: F.hardswish(x[0]),
        "hardsigmoid": lambda: F.hardsigmoid(x[0]),
        "sigmoid": lambda: torch.sigmoid(x[0]),
        "tanh": lambda: torch.tanh(x[0]),
        "softmax": lambda: F.softmax(x[0].flatten(1), 1).view_as(x[0]) if a["image"] else F.softmax(x[0], 1),
        "batch_norm": lambda: batch_norm(case, x[0], p),
        "lrn": lambda: F.local_response_norm(x[0], a["size"], a["alpha"], a["beta"], a["k"]),
        "dropout": lambda: dropout(case, settings, x[0]),
        "concat": lambda: torch.cat(x, 1),
        "channel_scale": lambda: x[0] * x[1],
        "add": lambda: sum(x[1:], x[0]),
        "channel_shuffle": lambda: channel_shuffle(x[0], a["groups"]),
        "channel_shift": lambda: channel_shift(x[0]),
    }[op]()


def draw_inputs(case, random):
    span = 200.0 if case["large"] else 2.0
    inputs = [random.uniform(-span, span, [case["batch"]] + shape) for shape in case["inputs"]]
    if case["ties"]:
        inputs = [numpy.round(2 * values) / 2 for values in inputs]
    if case["unit_target"]:
        inputs[1] = random.uniform(0, 1, inputs[1].shape)
    return [torch.from_numpy(values.astype(numpy.float32)) for values in inputs]


def draw_parameters(case, random):
    parameters = {}
    for parameter in case["parameters"]:
        low, high = (0.5, 1.5) if parameter["name"] == "running_var" else (-1, 1)
        values = random.uniform(low, high, parameter["dims"]).astype(numpy.float32)
        parameters[parameter["name"]] = torch.from_numpy(values)
    return parameters


def make_case(case, settings):
    """All arrays of one case, by name."""
    random = numpy.random.RandomState(zlib.crc32(case["name"].encode()))
    inputs, parameters = draw_inputs(case, random), draw_parameters(case, random)
    learnable = [p["name"] for p in case["parameters"] if p["learnable"]]
    arrays = {f"input{k}": x.clone() for k, x in enumerate(inputs)}
    arrays.update({name: values.clone() for name, values in parameters.items()})
    labels = None
    if case["labels"]:
        labels = torch.from_numpy(
            random.randint(0, case["inputs"][0][0], case["batch"]).astype(numpy.int32))
        arrays["labels"] = labels
    for values in inputs + [parameters[name] for name in learnable]:
        values.requires_grad_(True)
    output = forward(case, settings, inputs, parameters, labels)
    arrays["output"] = output
    for name, values in parameters.items():
        if name not in learnable:
            arrays[name + "_after"] = values
    if case["training"]:
        if "weight" in case["attributes"]:  # a loss
            (case["attributes"]["weight"] * output.mean()).backward()
        else:
            gradient = random.uniform(-1, 1, output.shape).astype(numpy.float32)
            arrays["output_gradient"] = torch.from_numpy(gradient)
            output.backward(arrays["output_gradient"])
        arrays.update({f"input_gradient{k}": x.grad for k, x in enumerate(inputs)})
        arrays.update({name + "_gradient": parameters[name].grad for name in learnable})
    return {f"{case['name']}.{name}": values.detach().contiguous().numpy()
            for name, values in arrays.items()}


def read_safetensors(path):
    """The arrays of a file; none if it does not exist."""
    if not os.path.exists(path):
        return {}
    with open(path, "rb") as file:
        data = file.read()
    begin = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:begin])
    return {name: numpy.frombuffer(data[begin + entry["data_offsets"][0]:
                                        begin + entry["data_offsets"][1]],
                                   {"F32": numpy.float32, "I32": numpy.int32}[entry["dtype"]]
                                   ).reshape(entry["shape"])
            for name, entry in header.items() if name != "__metadata__"}


def is_given(name, case):
    """Whether the array is given to PyTorch, and not computed by it."""
    name = name[len(case["name"]) + 1:]
    return name in ("labels", "output_gradient") or name.startswith("input") and "_" not in name \
        or name in [parameter["name"] for parameter in case["parameters"]]


def keep_arrays(case, made, known):
    """The known arrays of a case, if it has the same names and shapes and the given values agree."""
    for name, values in made.items():
        if name not in known or known[name].shape != values.shape or \
                is_given(name, case) and not numpy.array_equal(known[name], values):
            return made
    return {name: known[name] for name in made}


def write_safetensors(path, arrays, metadata):
    header, offset = {"__metadata__": metadata}, 0
    for name, values in arrays.items():
        kind = {"float32": "F32", "int32": "I32"}[str(values.dtype)]
        header[name] = {"dtype": kind, "shape": list(values.shape),
                        "data_offsets": [offset, offset + values.nbytes]}
        offset += values.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for values in arrays.values():
            file.write(values.tobytes())


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    settings = json.load(sys.stdin)
    torch.set_num_threads(1)
    arrays, known = {}, read_safetensors(sys.argv[1])
    for case in settings["cases"]:
        arrays.update(keep_arrays(case, make_case(case, settings), known))
    write_safetensors(sys.argv[1], arrays,
                      {"made_by": f"make_goldens.py with PyTorch {torch.__version__}"})


main()
