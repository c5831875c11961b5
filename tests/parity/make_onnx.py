"""Makes the goldens of tests/cli/onnx_test.sh anew: make_onnx.py FOLDER, with torch, onnx and onnxscript. One small
network with a local response normalisation, ceil pooling, channel shift and channel shuffle, as both exporters of
PyTorch write it; a picture; and PyTorch's logits for it."""
import contextlib
import io
import json
import struct
import sys
import zlib

import torch
import torch.nn as nn
import torch.nn.functional as F


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.norm = nn.Conv2d(3, 18, 3, padding=1, bias=False), nn.BatchNorm2d(18)
        self.b, self.lrn = nn.Conv2d(18, 18, 1, groups=2), nn.LocalResponseNorm(5, 0.5, 0.75, 2.0)
        self.fc = nn.Linear(18 * 4 * 4, 5)

    def shift(self, x):
        n, c, h, w = x.shape
        padded, group, out = F.pad(x, (1, 1, 1, 1)), c // 9, torch.empty_like(x)
        for k in range(9):
            y, z = 2 - k // 3, 2 - k % 3
            out[:, k * group:(k + 1) * group] = padded[:, k * group:(k + 1) * group, y:y + h, z:z + w]
        return out

    def forward(self, x):
        x = self.shift(F.relu(self.norm(self.a(x))))
        x = self.b(x)
        n, c, h, w = x.shape
        x = self.lrn(x.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w))
        return self.fc(F.max_pool2d(x, 3, 2, ceil_mode=True).flatten(1))


def write_png(path, pixels):
    rows = b"".join(b"\0" + bytes(row) for row in pixels.permute(1, 2, 0).reshape(pixels.shape[1], -1).tolist())
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    head = struct.pack(">IIBBBBB", pixels.shape[2], pixels.shape[1], 8, 2, 0, 0, 0)
    open(path, "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 9)) +
                           chunk(b"IEND", b""))


folder = sys.argv[1]
torch.manual_seed(1)
model = Small().eval()
model.norm.running_mean.normal_(0, 0.2)
model.norm.running_var.uniform_(0.5, 1.5)
pixels = torch.randint(0, 256, (3, 8, 8), dtype=torch.uint8)
image = pixels.float()[None] / 256  # normalised as "unit256"
write_png(f"{folder}/picture.png", pixels)
with torch.no_grad():
    json.dump([float(v) for v in model.double()(image.double())[0]], open(f"{folder}/logits.json", "w"))
model.float()
for name, options in (("torchscript", {"dynamo": False, "opset_version": 17, "dynamic_axes": {"x": {0: "n"}}}),
                      ("dynamo", {"dynamo": True, "external_data": False,
                                  "dynamic_shapes": ({0: torch.export.Dim("n")},)})):
    with contextlib.redirect_stdout(io.StringIO()):
        torch.onnx.export(model, (torch.cat([image, image]),), f"{folder}/{name}.onnx", input_names=["x"], **options)
