#!/usr/bin/python3
"""Makes goldens/gan.json: the losses of five iterations of a small Pix2Pix in PyTorch.

usage: make_gan_trajectories.py GAN_TRAJECTORY_TEST OUT.json

GAN_TRAJECTORY_TEST is the test program, which dumps weights, pairs and the masks of dropout. The
networks are written down here a second time, in double precision. Needs PyTorch (Debian:
apt-get install python3-torch)."""
import json
import subprocess
import sys
import tempfile

import numpy
import torch
import torch.nn.functional as F

STEPS, GROUPS, ITERATIONS, SIDE, L1_WEIGHT = 3, 5, 5, 32, 100


def read_safetensors(path):
    with open(path, "rb") as f:
        length = int.from_bytes(f.read(8), "little")
        header = json.loads(f.read(length))
        data = f.read()
    header.pop("__metadata__", None)
    arrays = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        flat = numpy.frombuffer(data[begin:end], numpy.float32)
        arrays[name] = torch.from_numpy(flat.copy()).double().reshape(entry["shape"])
    return arrays


def norm(w, name, x):
    return F.batch_norm(x, None, None, w[name + ".weight"], w[name + ".bias"], True, 0.1, 1e-5)


def conv(w, name, x, stride=1, pad=0):
    weight = w[name + ".weight"]
    return F.conv2d(x, weight, w.get(name + ".bias"), stride, pad, 1, x.shape[1] // weight.shape[1])


def shift(x):
    """The k-th ninth of the channels moves by the k-th offset, what moves in is zero."""
    group, size, out = x.shape[1] // 9, x.shape[2], x.clone()
    padded = F.pad(x, (1, 1, 1, 1))
    for k in range(9):
        dy, dx = k // 3 - 1, k % 3 - 1
        channels = slice(k * group, (k + 1) * group)
        out[:, channels] = padded[:, channels, 1 - dy:1 - dy + size, 1 - dx:1 - dx + size]
    return out


def shuffle(x, groups):
    n, c, h, w = x.shape
    return x.reshape(n, groups, c // groups, h, w).transpose(1, 2).reshape(n, c, h, w)


def down(w, technique, number, x):
    """The convolution of one step of the encoder."""
    name = f"unet.down{number}"
    if technique == "none" or (technique != "dsc" and number == 1):
        return conv(w, name + ".conv", x, 2, 1)
    if technique == "dsc":
        return conv(w, name + ".pw", conv(w, name + ".dw", x, 2, 1))
    x = F.relu(norm(w, name + ".bn1", conv(w, name + ".pw1", x)))
    if technique == "shift":
        return conv(w, name + ".pw2", shift(x), 2)
    x = shuffle(x, GROUPS)
    return conv(w, name + ".pw2", norm(w, name + ".bn2", conv(w, name + ".dw", x, 2, 1)))


def generator(w, technique, x, mask):
    skips = []
    for i in range(1, STEPS + 1):
        x = down(w, technique, i, F.leaky_relu(x, 0.2) if i > 1 else x)
        if 1 < i < STEPS:
            x = norm(w, f"unet.down{i}.bn", x)
        skips.append(x)
    for i in range(1, STEPS + 1):
        name = f"unet.up{i}"
        x = F.conv_transpose2d(F.relu(x), w[name + ".conv.weight"], w.get(name + ".conv.bias"), 2, 1)
        if i < STEPS:
            x = norm(w, name + ".bn", x)
            x = x * mask.reshape(x.shape) if i == 1 else x
            x = torch.cat([skips[STEPS - 1 - i], x], 1)
    return torch.tanh(x)


def discriminator(w, x, image):
    x = F.leaky_relu(conv(w, "conv1", torch.cat([x, image], 1), 2, 1), 0.2)
    x = F.leaky_relu(norm(w, "bn2", conv(w, "conv2", x, 2, 1)), 0.2)
    return conv(w, "conv3", x, 1, 1)


def against(answers, wanted):
    return F.binary_cross_entropy_with_logits(answers, torch.full_like(answers, wanted))


def adam(weights):
    learnable = [v.requires_grad_() for k, v in weights.items() if "running" not in k]
    return torch.optim.Adam(learnable, 0.0002, (0.5, 0.999), 1e-8)


def trajectory(prefix, technique):
    g = read_safetensors(prefix + ".generator.safetensors")
    d = read_safetensors(prefix + ".discriminator.safetensors")
    batches = read_safetensors(prefix + ".batches.safetensors")
    g_solver, d_solver = adam(g), adam(d)
    losses = {"generator": [], "discriminator": [], "l1": []}
    for i in range(ITERATIONS):
        x, y = (batches[f"{k}.{i}"].reshape(1, 3, SIDE, SIDE) for k in "xy")
        fake = generator(g, technique, x, batches[f"mask.{i}"])
        d_loss = (against(discriminator(d, x, y), 1.0) +
                  against(discriminator(d, x, fake.detach()), 0.0)) / 2
        d_solver.zero_grad()
        d_loss.backward()
        d_solver.step()
        l1 = F.l1_loss(fake, y)
        g_loss = against(discriminator(d, x, fake), 1.0) + L1_WEIGHT * l1
        g_solver.zero_grad()
        g_loss.backward()
        g_solver.step()
        for key, loss in (("generator", g_loss), ("discriminator", d_loss), ("l1", l1)):
            losses[key].append(float(f"{loss.item():.10g}"))
    return losses


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program, out = sys.argv[1:]
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "--dump", folder], check=True)
        goldens = {name: trajectory(f"{folder}/{name}", name)
                   for name in ("none", "dsc", "shuffle", "shift")}
    with open(out, "w") as f:
        json.dump(goldens, f, indent=1)
        f.write("\n")


main()
