#!/usr/bin/env python3
"""Makes goldens/trajectories.json: the losses of ten iterations of training in PyTorch, and the
output and all gradients of the first.

usage: make_trajectories.py TRAJECTORY_TEST NETWORKS_DIR OUT.json [--long] [CASE...]

TRAJECTORY_TEST is the command of the test, which dumps weights and batches; --long takes its large cases,
for goldens/trajectories_long.json. Given CASEs, it renews those and keeps the others of OUT.json; a
case that the program no longer has is dropped in any event. The networks are interpreted from their
JSON files with
torch.nn.functional in double precision, so that what is compared is the mathematics. Needs
PyTorch (Debian: apt-get install python3-torch)."""
import fnmatch
import json
import os
import subprocess
import sys
import tempfile

import numpy
import torch
import torch.nn.functional as F
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

ROUNDING = 3e-7  # what float32 does to a layer's output, relative to its mean size
LOSS_LIMIT = 5e-5  # the test asks for 1e-4: a case whose losses are more sensitive is too chaotic
LEAST_MOVE = 0.005  # a case whose last loss training moves by less could hardly fail
OWN_NETWORKS = ("branches", "gates")  # in tests/parity/networks
ACTIVATIONS = {"relu": F.relu, "tanh": torch.tanh, "sigmoid": torch.sigmoid, "gelu": F.gelu,
               "silu": F.silu, "hardswish": F.hardswish, "hardsigmoid": F.hardsigmoid}
DTYPES = {"F32": numpy.float32, "I32": numpy.int32}


def read_safetensors(path):
    with open(path, "rb") as f:
        length = int.from_bytes(f.read(8), "little")
        header = json.loads(f.read(length))
        data = f.read()
    metadata = header.pop("__metadata__", {})
    arrays = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        flat = numpy.frombuffer(data[begin:end], DTYPES[entry["dtype"]])
        arrays[name] = torch.from_numpy(flat.copy()).reshape(entry["shape"])
    return arrays, metadata


def shift(x):
    """Channel shift, kernel 3: the k-th ninth of the channels moves by the k-th offset; what is left
    over stays."""
    n, c, h, w = x.shape
    padded, out = F.pad(x, (1, 1, 1, 1)), x.clone()
    group = c // 9
    for k in range(9):
        dy, dx = k // 3 - 1, k % 3 - 1
        part = slice(k * group, (k + 1) * group)
        out[:, part] = padded[:, part, 1 - dy:1 - dy + h, 1 - dx:1 - dx + w]
    return out


def shuffle(x, groups):
    n, c, h, w = x.shape
    return x.reshape(n, groups, c // groups, h, w).transpose(1, 2).reshape(n, c, h, w)


def pair(value):
    return tuple(value) if isinstance(value, list) else (value, value)


class Net:
    """Interprets a network file; `w` is the state dict, which knows the widths."""

    def __init__(self, spec, w, technique, groups, smoothing):
        self.spec, self.w, self.technique, self.groups = spec, w, technique, groups
        self.smoothing, self.rounding = smoothing, 0

    def disturb(self, x):
        if not self.rounding:
            return x
        size = x.detach().square().mean().sqrt()
        return x + self.rounding * size * torch.randn_like(x)

    def bn(self, name, x):
        w = self.w
        return self.disturb(F.batch_norm(x, w[name + ".running_mean"], w[name + ".running_var"],
                                         w[name + ".weight"], w[name + ".bias"], True, 0.1, 1e-5))

    def conv(self, name, x, stride=1, pad=None, dilation=1):
        """The groups follow from the weight's shape."""
        weight = self.w[name + ".weight"]
        pad = weight.shape[2] // 2 if pad is None else pad
        return self.disturb(F.conv2d(x, weight, self.w.get(name + ".bias"), stride, pad, dilation,
                                     x.shape[1] // weight.shape[1]))

    def conv_bn(self, name, suffix, x, stride=1):
        return self.bn(f"{name}.bn{suffix}", self.conv(f"{name}.conv{suffix}", x, stride))

    def separable_bn(self, name, suffix, x, stride=1):
        x = self.conv(f"{name}.dw{suffix}", x, stride)
        return self.bn(f"{name}.bn{suffix}", self.conv(f"{name}.pw{suffix}", x))

    def plain(self, name, x, kernel, stride, pad, dilation=1):
        """A convolution outside of blocks by the general rule; those that stayed have a weight."""
        if name + ".weight" in self.w:
            return self.conv(name, x, stride, pad, dilation)
        if self.technique == "dsc":
            return self.conv(name + ".pw", self.conv(name + ".dw", x, stride, pad, dilation))
        if self.technique == "shuffle":
            whole = name + ".dw.weight" not in self.w
            x = self.conv(name + ".pw", x, stride if whole else 1, 0)
            x = shuffle(x, self.groups)
            return x if whole else self.conv(name + ".dw", x, stride, pad, dilation)
        window = tuple(k - 2 * p for k, p in zip(pair(kernel), pair(pad)))
        pointwise = name + ".pw.weight" in self.w
        x = shift(x)
        if window != (1, 1) or not pointwise:
            x, stride = F.avg_pool2d(x, window, stride), 1
        return self.conv(name + ".pw", x, stride) if pointwise else x

    def residual(self, name, layer, x):
        stride, y = layer.get("stride", 1), x
        if self.technique == "dsc":
            y = F.relu(self.separable_bn(name, "1", y, stride))
            y = self.separable_bn(name, "2", y)
        elif self.technique == "shuffle":
            y = shuffle(F.relu(self.conv_bn(name, "1", y)), self.groups)
            y = self.conv_bn(name, "3", self.conv_bn(name, "2", y, stride))
        elif self.technique == "shift":
            y = shift(F.relu(self.conv_bn(name, "1", y)))
            y = F.relu(self.conv_bn(name, "2", y, stride))
        elif self.technique == "bottleneck":
            y = F.relu(self.conv_bn(name, "1", y))
            y = F.relu(self.conv_bn(name, "2", y, stride))
            y = self.conv_bn(name, "3", y)
        else:
            y = F.relu(self.conv_bn(name, "1", y, stride))
            y = self.conv_bn(name, "2", y)
        if f"{name}.conv_shortcut.weight" in self.w:
            x = self.conv_bn(name, "_shortcut", x, stride)
        return y + x if self.technique == "shift" else F.relu(y + x)

    def fire(self, name, layer, x):
        x = F.relu(self.conv_bn(name, "_squeeze", x))
        one = self.conv_bn(name, "1x1", x)
        if self.technique == "dsc":
            three = self.separable_bn(name, "3x3", x)
        else:
            x = shift(x) if self.technique == "shift" else x
            x = shuffle(x, self.groups) if self.technique == "shuffle" else x
            three = self.conv_bn(name, "3x3", x)
        x = torch.cat([one, three], 1)
        return F.relu(self.bn(name + ".bn", x) if self.technique == "shuffle" else x)

    def linear(self, name, x):
        return self.disturb(F.linear(x.flatten(1), self.w[name + ".weight"],
                                     self.w[name + ".bias"]))

    def squeeze_excitation(self, name, layer, x):
        activation, gate = layer.get("activation", "relu"), layer.get("gate", "sigmoid")
        y = ACTIVATIONS[activation](self.linear(name + ".fc1", F.adaptive_avg_pool2d(x, 1)))
        y = ACTIVATIONS[gate](self.linear(name + ".fc2", y))
        return x * y[:, :, None, None]

    def inception(self, name, layer, x):
        conv = lambda part, k, v: F.relu(self.plain(f"{name}.{part}", v, k, 1, k // 2))
        return torch.cat([conv("1x1", 1, x), conv("3x3", 3, conv("3x3_reduce", 1, x)),
                          conv("5x5", 5, conv("5x5_reduce", 1, x)),
                          conv("pool", 1, F.max_pool2d(x, 3, 1, 1))], 1)

    def layer(self, name, layer, inputs, masks):
        w, op, x = self.w, layer.get("op"), inputs[0]
        if "block" in layer:
            return getattr(self, layer["block"])(name, layer, x)
        stride, pad = layer.get("stride", 1), layer.get("pad", 0)
        if op == "conv":
            return self.plain(name, x, layer["kernel"], stride, pad, layer.get("dilation", 1))
        if op == "linear":
            return self.linear(name, x)
        if op == "prelu":
            return F.prelu(x, w[name + ".weight"])
        if op == "elu":
            return F.elu(x, layer.get("alpha", 1))
        if op == "max_pool":
            return F.max_pool2d(x, layer["kernel"], stride, pad, ceil_mode=layer.get("ceil", False))
        if op == "average_pool":
            if layer.get("global"):
                return F.adaptive_avg_pool2d(x, 1)
            return F.avg_pool2d(x, layer["kernel"], stride, pad, layer.get("ceil", False))
        if op == "lrn":
            return F.local_response_norm(x, layer.get("size", 5), layer.get("alpha", 1e-4),
                                         layer.get("beta", 0.75), layer.get("k", 1))
        if op == "dropout":
            return x * masks[name].reshape(x.shape)
        if op == "batch_norm":
            return self.bn(name, x)
        if op == "concat":
            return torch.cat(inputs, 1)
        op = self.spec["activation"] if op == "activation" else op
        return {**ACTIVATIONS, "flatten": lambda v: v.flatten(1)}[op](x)

    def layers(self, layers, prefix, x):
        for layer in layers:
            repeat = layer.get("repeat")
            if repeat == "widths":
                repeat = len(self.spec["widths"])
            for i in range(repeat or 1):
                name = prefix + layer.get("name", "")
                if "layers" in layer:
                    x = self.layers(layer["layers"], f"{name}.{i + 1}.", x)
                    continue
                name = f"{name}.{i + 1}" if repeat else name
                sources = layer.get("from", [])
                sources = [sources] if isinstance(sources, str) else sources
                inputs = [self.values[s] for s in sources] or [x]
                if layer.get("op") == "softmax_cross_entropy":
                    self.loss = self.loss + layer.get("weight", 1) * self.criterion(inputs[0])
                else:
                    x = self.values[name] = self.layer(name, layer, inputs, self.masks)
        return x

    def criterion(self, output):
        """PyTorch's loss; of mixed images s CE(a) + (1 - s) CE(b), as in the papers, in which the
        shares s and 1 - s weigh the classes' weights, too."""
        weight = self.extras.get("class_weights")
        weight = None if weight is None else weight.double()
        if "shares" not in self.extras:
            return F.cross_entropy(output, self.labels, weight, label_smoothing=self.smoothing)
        shares, total, loss = self.extras["shares"].double(), 0, 0
        for labels, share in ((self.labels, shares), (self.extras["partners"].long(), 1 - shares)):
            losses = F.cross_entropy(output, labels, weight, reduction="none",
                                     label_smoothing=self.smoothing)
            loss = loss + (share * losses).sum()
            total = total + (share if weight is None else share * weight[labels]).sum()
        return loss / total

    def forward(self, images, labels, masks):
        """The network's output and the sum of its losses."""
        self.values, self.masks, self.labels, self.loss = {}, masks, labels, 0
        self.extras = masks
        output = self.layers(self.spec["layers"], "", images)
        return output, self.loss + self.criterion(output)


def optimizer(meta, parameters):
    lr, momentum = float(meta["lr"]), float(meta["momentum"])
    decay = float(meta["weight_decay"])
    beta2 = float(meta["beta2"])
    if meta["solver"] == "rmsprop":
        return torch.optim.RMSprop(parameters, lr, beta2, 1e-8, decay, momentum)
    if meta["solver"] in ("adam", "adamw"):
        kind = torch.optim.Adam if meta["solver"] == "adam" else torch.optim.AdamW
        return kind(parameters, lr, (momentum, beta2), 1e-8, decay)
    return torch.optim.SGD(parameters, lr, momentum, weight_decay=decay,
                           nesterov=meta["solver"] == "nesterov")


def measure(value, direction):
    """Two numbers that tell a tensor from others: its length, and that along a random direction."""
    value, direction = value.double().flatten(), direction.double().flatten()
    return [float(f"{v:.8g}") for v in (value.norm().item(), (value @ direction).item())]


class Case:
    """What the test program dumped of a case, in double precision."""

    def __init__(self, prefix, networks):
        self.start, self.meta = read_safetensors(prefix + ".weights.safetensors")
        self.directions, _ = read_safetensors(prefix + ".directions.safetensors")
        self.batches, _ = read_safetensors(prefix + ".batches.safetensors")
        name = self.meta["network"]
        beside = os.path.dirname(os.path.abspath(__file__))
        folder = f"{beside}/networks" if name in OWN_NETWORKS else networks
        with open(f"{folder}/{name}.json") as f:
            self.spec = json.load(f)
        self.reset()

    def reset(self):
        self.weights = {k: torch.nn.Parameter(v.double(), "running" not in k)
                        for k, v in self.start.items()}
        self.learnable = {k: v for k, v in self.weights.items() if v.requires_grad}
        self.net = Net(self.spec, self.weights, self.meta["variant"], int(self.meta["groups"]),
                       float(self.meta["smoothing"]))
        self.solver = optimizer(self.meta, self.groups())

    def forward(self, i):
        """The output and the loss of batch i."""
        batch = int(float(self.meta["batch"]))
        images = self.batches[f"images.{i}"].double().reshape(batch, *self.spec["input"])
        masks = {k.rsplit(".", 1)[0]: v for k, v in self.batches.items() if k.endswith(f".{i}")}
        return self.net.forward(images, self.batches[f"labels.{i}"].long(), masks)

    def pass_through(self, i):
        """Forward and backward of iteration i: the output and the loss."""
        self.solver.zero_grad()
        output, loss = self.forward(i)
        loss.backward()
        return output.detach(), loss.item()

    def gradients(self):
        return {k: measure(v.grad, self.directions[k]) for k, v in self.learnable.items()}

    def is_frozen(self, name):
        patterns = self.meta["frozen"].split(",")
        return any(fnmatch.fnmatch(name.rsplit(".", 1)[0], p) for p in patterns)

    def groups(self):
        """PyTorch's parameter groups, by rate."""
        rates = dict(r.split("=") for r in self.meta["rates"].split(",") if r)
        lr = float(self.meta["lr"])
        return [{"params": [v], "lr": lr * float(rates.get(k.rsplit(".", 1)[0], 1))}
                for k, v in self.learnable.items()]

    def clear_frozen(self, step):
        """Takes the gradients of frozen weights away, so that solver and norm leave them out."""
        frozen_steps = int(float(self.meta["frozen_steps"]))
        for name, value in self.learnable.items():
            if self.is_frozen(name) and (not frozen_steps or step < frozen_steps):
                value.grad = None

    def clip(self):
        norm, value = float(self.meta["clip_norm"]), float(self.meta["clip_value"])
        if norm:
            torch.nn.utils.clip_grad_norm_(self.learnable.values(), norm)
        if value:
            torch.nn.utils.clip_grad_value_(self.learnable.values(), value)

    def average(self):
        """PyTorch's exponential moving average of the weights, or None."""
        decay = float(self.meta["decay"])
        self.holder = torch.nn.ParameterList(self.learnable.values())
        return AveragedModel(self.holder, multi_avg_fn=get_ema_multi_avg_fn(decay)) if decay else None

    def averaged_loss(self, average, i):
        weights = self.net.w
        self.net.w = {**weights, **dict(zip(self.learnable, average.module))}
        with torch.no_grad():
            loss = self.forward(i)[1].item()
        self.net.w = weights
        return loss

    def run(self, rounding=0):
        """The losses of ten iterations; with a decay those of the averaged weights, before each step."""
        self.reset()
        self.net.rounding = rounding
        losses, average = [], self.average()
        for i in range(10):
            loss = self.pass_through(i)[1]
            losses.append(self.averaged_loss(average, i) if average else loss)
            self.clear_frozen(i)
            self.clip()
            self.solver.step()
            if average:
                average.update_parameters(self.holder)
        return losses

    def golden(self):
        """With what is wrong with the case, or None. "untrained" is the last loss without updates."""
        torch.manual_seed(1)
        with torch.no_grad():
            untrained = self.forward(9)[1].item()
        output, _ = self.pass_through(0)
        gradients = self.gradients()
        losses = self.run()
        moved = abs(untrained - losses[-1]) / losses[-1]
        change = max(abs(a - b) / b for a, b in zip(self.run(ROUNDING), losses))
        print(f"{self.meta['full_name']}: training moves the last loss by {moved:.1e}, rounding "
              f"errors by {change:.1e}", flush=True)
        wrong = ("too chaotic, lower its learning rate" if change > LOSS_LIMIT else
                 "hardly moves, raise its learning rate" if moved < LEAST_MOVE else None)
        return {"network": self.meta["full_name"],
                "losses": [float(f"{v:.9g}") for v in losses],
                "untrained": float(f"{untrained:.9g}"),
                "output": measure(output, self.batches["direction.0"]),
                "gradients": gradients}, wrong


def write(path, goldens):
    """A line a tensor, so that the file can be read and compared."""
    with open(path, "w") as f:
        cases = []
        for name, golden in sorted(goldens.items()):
            members = []
            for key, value in golden.items():
                text = json.dumps(value)
                if key.endswith("gradients"):
                    lines = ",\n".join(f"    {json.dumps(k)}: {v}" for k, v in value.items())
                    text = f"{{\n{lines}\n   }}"
                members.append(f'   "{key}": {text}')
            cases.append(f'  "{name}": {{\n' + ",\n".join(members) + "\n  }")
        f.write("{\n" + ",\n".join(cases) + "\n}\n")


def make(program, networks, case):
    """The golden of a case, and what is wrong with it."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*program.split(), "--dump", folder, case], check=True)
        return Case(f"{folder}/{case}", networks).golden()


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    program, networks, out = sys.argv[1:4]
    suite = [a for a in sys.argv[4:] if a == "--long"]
    only = [a for a in sys.argv[4:] if a != "--long"]
    torch.set_num_threads(1)
    cases = subprocess.run([*program.split(), "--list", *suite], check=True, capture_output=True,
                           text=True).stdout.split()
    goldens, wrong = {}, []
    if only:
        with open(out) as f:
            goldens = {k: v for k, v in json.load(f).items() if k in cases}
    for case in only or cases:
        goldens[case], reason = make(program, networks, case)
        wrong += [f"{case}: {reason}"] if reason else []
    if wrong:
        sys.exit("\n".join(wrong))
    write(out, goldens)


if __name__ == "__main__":
    main()
