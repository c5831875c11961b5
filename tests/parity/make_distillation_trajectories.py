#!/usr/bin/env python3
"""Makes goldens/distillation.json: the losses of ten iterations of a student beside a teacher in
PyTorch (Hinton et al. 2015), their two parts, and all gradients of the first iteration.

usage: make_distillation_trajectories.py DISTILLATION_TRAJECTORY_TEST OUT.json

DISTILLATION_TRAJECTORY_TEST is the command of the test, which dumps weights and batches. The networks are
written down here a second time, in double precision. Needs PyTorch (Debian: apt-get install
python3-torch)."""
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as F

from make_trajectories import LEAST_MOVE, measure, read_safetensors, write

ITERATIONS, BATCHES = 10, 2


def doubles(path):
    arrays, metadata = read_safetensors(path)
    return {k: v.double() if v.is_floating_point() else v for k, v in arrays.items()}, metadata


def norm(w, name, x, training):
    return F.batch_norm(x, w[name + ".running_mean"], w[name + ".running_var"], w[name + ".weight"],
                        w[name + ".bias"], training, 0.1, 1e-5)


def student(w, x):
    x = F.relu(norm(w, "bn1", F.conv2d(x, w["conv1.weight"], w["conv1.bias"], 1, 1), True))
    return F.linear(F.max_pool2d(x, 2).flatten(1), w["fc.weight"], w["fc.bias"])


def teacher(w, x):
    x = F.relu(norm(w, "bn1", F.conv2d(x, w["conv1.weight"], w["conv1.bias"], 1, 1), False))
    x = F.relu(norm(w, "bn2", F.conv2d(x, w["conv2.weight"], w["conv2.bias"], 2), False))
    return F.linear(F.dropout(x, 0.5, training=False).flatten(1), w["fc.weight"], w["fc.bias"])


class Trial:
    """What the test program dumped, in double precision."""

    def __init__(self, folder):
        self.folder = folder
        self.weights, meta = doubles(f"{folder}/student.safetensors")
        self.teacher, _ = doubles(f"{folder}/teacher.safetensors")
        self.batches, _ = doubles(f"{folder}/batches.safetensors")
        self.temperature, self.weight, self.smoothing, lr = (
            float(meta[k]) for k in ("temperature", "weight", "smoothing", "lr"))
        self.class_weights = self.batches["class_weights"] if meta["weighs"] == "yes" else None
        self.learnable = {k: v.requires_grad_() for k, v in self.weights.items()
                          if "running" not in k}
        self.solver = torch.optim.SGD(self.learnable.values(), lr, 0.9, weight_decay=0.0005)

    def losses(self, i):
        """The loss, and its parts: against the labels and against the teacher."""
        images = self.batches[f"images.{i % BATCHES}"]
        labels = self.batches[f"labels.{i % BATCHES}"].long()
        logits, t = student(self.weights, images), self.temperature
        with torch.no_grad():
            targets = F.softmax(teacher(self.teacher, images) / t, 1)
        of_labels = F.cross_entropy(logits, labels, self.class_weights,
                                    label_smoothing=self.smoothing)
        of_teacher = t * t * F.kl_div(F.log_softmax(logits / t, 1), targets, reduction="batchmean")
        return (1 - self.weight) * of_labels + self.weight * of_teacher, of_labels, of_teacher

    def golden(self):
        """"untrained" is the last loss without updates."""
        directions, _ = read_safetensors(f"{self.folder}/directions.safetensors")
        statistics = {k: v.clone() for k, v in self.weights.items() if "running" in k}
        with torch.no_grad():
            untrained = self.losses(ITERATIONS - 1)[0].item()
        self.weights.update(statistics)
        losses = []
        for i in range(ITERATIONS):
            self.solver.zero_grad()
            parts = self.losses(i)
            parts[0].backward()
            losses.append([v.item() for v in parts])
            if i == 0:
                gradients = {k: measure(v.grad, directions[k]) for k, v in self.learnable.items()}
            self.solver.step()
        short = lambda v: float(f"{v:.10g}")
        return {**{k: [short(v[n]) for v in losses]
                   for n, k in enumerate(("losses", "labels", "teacher"))},
                "untrained": short(untrained), "gradients": gradients}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program, out = sys.argv[1:]
    torch.set_num_threads(1)
    cases = subprocess.run([*program.split(), "--list"], check=True, capture_output=True,
                           text=True).stdout.split()
    goldens = {}
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([*program.split(), "--dump", folder, case], check=True)
            goldens[case] = golden = Trial(folder).golden()
        moved = abs(golden["untrained"] - golden["losses"][-1]) / golden["losses"][-1]
        print(f"{case}: training moves the last loss by {moved:.1e}", flush=True)
        if moved < LEAST_MOVE:
            sys.exit(f"training hardly moves the loss of {case}")
    write(out, goldens)


if __name__ == "__main__":
    main()
