#!/usr/bin/env python3
"""Writes what tests/cli/torch_test.sh reads: a small ResNet of PyTorch, with the usual names of ResNets for CIFAR, as
its package safetensors saves it, and its logits.

usage: make_torch.py SOURCE_DIR

It writes SOURCE_DIR/tests/cli/torch/: image.png; for each of float32, float16 and bf16 FORMAT.safetensors, and
FORMAT.logits of the image; and option-a.safetensors with its logits, whose shortcuts have no parameters. Needs torch,
safetensors and numpy."""
import struct
import sys
import zlib

import numpy
import torch
from safetensors.torch import save_file
from torch import nn
import torch.nn.functional as F

folder = sys.argv[1] + "/tests/cli/torch"


class Pad(nn.Module):
    """Option A: every second pixel, and zeros for the channels that the input lacks."""

    def forward(self, x):
        return F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, 2, 2))


class Block(nn.Module):
    def __init__(self, i, o, stride, option):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o)
        self.conv2, self.bn2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
        self.shortcut = nn.Sequential()
        if option == "B":
            self.shortcut = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o))
        elif stride > 1:
            self.shortcut = Pad()

    def forward(self, x):
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))) + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self, option):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 4, 3, 1, 1, bias=False), nn.BatchNorm2d(4)
        self.layer1 = nn.Sequential(Block(4, 4, 1, option))
        self.layer2 = nn.Sequential(Block(4, 8, 2, option))
        self.linear = nn.Linear(8, 5)

    def forward(self, x):
        x = self.layer2(self.layer1(F.relu(self.bn1(self.conv1(x)))))
        return self.linear(x.mean((2, 3)))


draw = numpy.random.default_rng(20)
pixels = draw.integers(0, 256, (8, 8, 3)).astype(numpy.uint8)
rows = b"".join(b"\0" + row.tobytes() for row in pixels)
chunk = lambda kind, part: struct.pack(">I", len(part)) + kind + part + struct.pack(">I", zlib.crc32(kind + part))
open(folder + "/image.png", "wb").write(
    b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)) +
    chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
image = torch.tensor(pixels.transpose(2, 0, 1) / 256, dtype=torch.float32)[None]  # normalised as "unit256"

for name, option, kind in (("float32", "B", torch.float32), ("float16", "B", torch.float16),
                           ("bf16", "B", torch.bfloat16), ("option-a", "A", torch.float32)):
    torch.manual_seed(1)
    network = ResNet(option).eval()
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.weight, 1, 0.2)
            nn.init.normal_(module.bias, 0, 0.2)
            nn.init.normal_(module.running_mean, 0, 0.2)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
            module.num_batches_tracked.fill_(7)
    network = network.to(kind)
    save_file(network.state_dict(), f"{folder}/{name}.safetensors")
    with torch.no_grad():
        logits = network.double()(image.double())[0].tolist()
    open(f"{folder}/{name}.logits", "w").write("".join(f"{value:.9g}\n" for value in logits))
