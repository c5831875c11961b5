#!/usr/bin/env python3
"""Makes goldens/gan.json: the losses of ten iterations of a small Pix2Pix in PyTorch, and the first
image and all gradients of the first iteration.

usage: make_gan_trajectories.py GAN_TRAJECTORY_TEST NETWORKS_DIR OUT.json [--long] [TECHNIQUE...]

GAN_TRAJECTORY_TEST is the command of the test, which dumps weights, pairs and the masks of dropout; --long
takes the real pix2pix, for goldens/gan_long.json. Given TECHNIQUEs, it renews those and keeps the
others of OUT.json. The networks are written down here a second time, in double precision. Needs
PyTorch (Debian: apt-get install python3-torch)."""
import json
import os
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as F

from make_trajectories import LEAST_MOVE, measure, read_safetensors, shift, shuffle, write

ITERATIONS, L1_WEIGHT, SLOPE = 10, 100, 0.2
TECHNIQUES = ("none", "dsc", "shuffle", "shift")
LOSSES = ("generator", "discriminator", "l1")


def read_doubles(path):
    arrays, metadata = read_safetensors(path)
    return {k: v.double() for k, v in arrays.items()}, metadata


def norm(w, name, x):
    """Not that of torch.nn.functional, which refuses a single value a channel: shuffle's innermost
    step normalises one, to nothing but the bias."""
    return torch.batch_norm(x, w[name + ".weight"], w[name + ".bias"], None, None, True, 0.1, 1e-5,
                            False)


def conv(w, name, x, stride=1, pad=0):
    weight = w[name + ".weight"]
    return F.conv2d(x, weight, w.get(name + ".bias"), stride, pad, 1, x.shape[1] // weight.shape[1])


def down(w, technique, groups, name, x):
    """The convolution of one step of the encoder; the one that reads the image may have stayed."""
    if name + ".conv.weight" in w:
        return conv(w, name + ".conv", x, 2, 1)
    if technique == "dsc":
        return conv(w, name + ".pw", conv(w, name + ".dw", x, 2, 1))
    x = F.relu(norm(w, name + ".bn1", conv(w, name + ".pw1", x)))
    if technique == "shift":
        return conv(w, name + ".pw2", shift(x), 2)
    x = conv(w, name + ".dw", shuffle(x, groups), 2, 1)
    return conv(w, name + ".pw2", norm(w, name + ".bn2", x))


def generator(w, technique, groups, x, masks):
    skips, steps = [], sum(k.startswith("unet.up") and k.endswith(".conv.weight") for k in w)
    for i in range(1, steps + 1):
        x = down(w, technique, groups, f"unet.down{i}", F.leaky_relu(x, SLOPE) if i > 1 else x)
        if 1 < i < steps:
            x = norm(w, f"unet.down{i}.bn", x)
        skips.append(x)
    for i in range(1, steps + 1):
        name = f"unet.up{i}"
        x = F.conv_transpose2d(F.relu(x), w[name + ".conv.weight"], w.get(name + ".conv.bias"), 2, 1)
        if i < steps:
            x = norm(w, name + ".bn", x)
            if name + ".dropout" in masks:
                x = x * masks[name + ".dropout"].reshape(x.shape)
            x = torch.cat([skips[steps - 1 - i], x], 1)
    return torch.tanh(x)


def discriminator(w, layers, x, image):
    x = torch.cat([x, image], 1)
    for layer in layers:
        name = layer["name"]
        if layer["op"] == "conv":
            x = conv(w, name, x, layer.get("stride", 1), layer.get("pad", 0))
        else:
            x = norm(w, name, x) if layer["op"] == "batch_norm" else F.leaky_relu(x, layer["slope"])
    return x


def against(answers, wanted):
    return F.binary_cross_entropy_with_logits(answers, torch.full_like(answers, wanted))


def adam(weights, lr):
    learnable = [v.requires_grad_() for k, v in weights.items() if "running" not in k]
    return torch.optim.Adam(learnable, lr, (0.5, 0.999), 1e-8)


class Trial:
    """What the test program dumped: both networks, in double precision."""

    def __init__(self, folder, technique, spec):
        self.folder, self.technique = folder, technique
        self.input, self.judge = spec["input"], spec["discriminator"]["layers"]
        self.g, meta = read_doubles(f"{folder}/generator.safetensors")
        self.d, _ = read_doubles(f"{folder}/discriminator.safetensors")
        self.batches, _ = read_doubles(f"{folder}/batches.safetensors")
        self.name, self.groups = meta["full_name"], int(meta["groups"])
        self.g_solver, self.d_solver = (adam(w, float(meta["lr"])) for w in (self.g, self.d))

    def iterate(self, i, learns=True):
        """The losses of iteration i, and the image."""
        x, y = (self.batches[f"{k}.{i}"].reshape(1, *self.input) for k in "xy")
        masks = {k.rsplit(".", 1)[0]: v for k, v in self.batches.items() if k.endswith(f".{i}")}
        judge = lambda image: discriminator(self.d, self.judge, x, image)
        fake = generator(self.g, self.technique, self.groups, x, masks)
        d_loss = (against(judge(y), 1.0) + against(judge(fake.detach()), 0.0)) / 2
        if learns:
            self.d_solver.zero_grad()
            d_loss.backward()
            self.d_solver.step()
        l1 = F.l1_loss(fake, y)
        g_loss = against(judge(fake), 1.0) + L1_WEIGHT * l1
        if learns:
            self.g_solver.zero_grad()
            of_judge = {k: v.grad.clone() for k, v in self.d.items() if v.requires_grad}
            g_loss.backward()
            for k, v in of_judge.items():
                self.d[k].grad = v
            self.g_solver.step()
        return [v.item() for v in (g_loss, d_loss, l1)], fake.detach()

    def gradients(self, weights, kind):
        directions, _ = read_safetensors(f"{self.folder}/{kind}_directions.safetensors")
        return {k: measure(v.grad, directions[k]) for k, v in weights.items() if v.requires_grad}

    def golden(self):
        """"untrained" are the last losses without updates."""
        with torch.no_grad():
            untrained, _ = self.iterate(ITERATIONS - 1, learns=False)
        losses = []
        for i in range(ITERATIONS):
            values, image = self.iterate(i)
            losses.append(values)
            if i == 0:
                first = {"image": measure(image, self.batches["direction.0"]),
                         "discriminator_gradients": self.gradients(self.d, "discriminator"),
                         "gradients": self.gradients(self.g, "generator")}
        moved = [abs(a - b) / b for a, b in zip(untrained, losses[-1])]
        print(f"{self.name}: training moves the last losses by",
              ", ".join(f"{m:.1e}" for m in moved), flush=True)
        short = lambda v: float(f"{v:.10g}")
        golden = {"network": self.name,
                  **{k: [short(v[n]) for v in losses] for n, k in enumerate(LOSSES)},
                  "untrained": {k: short(v) for k, v in zip(LOSSES, untrained)}, **first}
        return golden, min(moved) >= LEAST_MOVE


def make(program, networks, suite, technique):
    network = "pix2pix" if suite else "small"
    beside = os.path.dirname(os.path.abspath(__file__))
    folder = f"{beside}/networks" if network == "small" else networks
    with open(f"{folder}/{network}.json") as f:
        spec = json.load(f)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*program.split(), "--dump", folder, technique, *suite], check=True)
        return Trial(folder, technique, spec).golden()


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    program, networks, out = sys.argv[1:4]
    suite = [a for a in sys.argv[4:] if a == "--long"]
    only = [a for a in sys.argv[4:] if a != "--long"]
    torch.set_num_threads(1)
    goldens, still = {}, []
    if only:
        with open(out) as f:
            goldens = json.load(f)
    for technique in only or TECHNIQUES:
        goldens[technique], moves = make(program, networks, suite, technique)
        still += [] if moves else [technique]
    if still:
        sys.exit("training hardly moves the losses of " + ", ".join(still))
    write(out, goldens)


if __name__ == "__main__":
    main()
