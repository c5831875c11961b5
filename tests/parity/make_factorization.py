#!/usr/bin/env python3
"""Makes tests/engine/factorization_golden.h: SciPy's singular values, and what PyTorch computes with
the factors of a small network.

The arithmetic here is independent of src/engine/compress: kernels are reordered by numpy and
decomposed by scipy.linalg.svd; Tucker-2 is HOSVD and HOOI in einsum; PyTorch runs the factors, all
in float64. Weights and inputs come from draw(), which the test repeats to the last bit.

usage: make_factorization.py >OUT.h

Needs numpy, SciPy and PyTorch (Debian: python3-numpy, python3-scipy, python3-torch)."""
import numpy as np
import scipy
import scipy.linalg
import torch
import torch.nn.functional as F

ROUNDS, GAIN = 10, 1e-7  # of HOOI
IMAGES, INPUT = 2, (6, 9, 8)
# name, output, input of a group, kernel, options of conv2d; no kernel: linear
LAYERS = [
    ("conv1", 12, 6, (3, 3), dict(stride=(2, 1), padding=(1, 2))),
    ("conv2", 8, 6, (3, 2), dict(padding=(2, 0), dilation=(2, 3), groups=2)),
    ("conv3", 14, 8, (1, 1), dict(stride=2, padding=1)),
    ("fc1", 20, 280, None, {}),
    ("fc2", 5, 20, None, {}),
]


def draw(seed, count):
    """Values in [-0.5, 0.5) that float32 holds exactly, from a hash of seed and number."""
    n = np.arange(count, dtype=np.uint64)
    h = (n + np.uint64(seed) * np.uint64(7919)) * np.uint64(2654435761) & np.uint64(0xFFFFFFFF)
    h = (h ^ (h >> np.uint64(15))) * np.uint64(2246822519) & np.uint64(0xFFFFFFFF)
    h = (h ^ (h >> np.uint64(13))) * np.uint64(3266489917) & np.uint64(0xFFFFFFFF)
    return (h >> np.uint64(8)).astype(np.float64) / 2.0**24 - 0.5


def rank_for(tails, most):
    return next(r for r in range(1, len(tails)) if tails[r] <= most)


def tails_of(spectra):
    """tails[r]: what rank r loses, over all groups."""
    squares = sum(s**2 for s in spectra)
    return [squares[r:].sum() for r in range(len(squares) + 1)]


class Matrix:
    """A linear layer, a 1 x 1 convolution, or the spatial factorization of a convolution."""

    def __init__(self, kernel, groups):
        self.groups = groups
        self.kernel = kernel.reshape(groups, -1, *kernel.shape[1:])  # [g, o, i, y, x]
        _, self.o, self.i, self.y, self.x = self.kernel.shape
        self.svds = [scipy.linalg.svd(k.transpose(0, 3, 1, 2).reshape(self.o * self.x, -1), full_matrices=False)
                     for k in self.kernel]
        self.tails = tails_of([s for _, s, _ in self.svds])

    def choose(self, loss):
        self.ranks = (rank_for(self.tails, loss * self.tails[0]), 0)

    def parts(self):
        r = self.ranks[0]
        first = [(np.diag(s[:r]) @ v[:r]).reshape(r, self.i, self.y, 1) for _, s, v in self.svds]
        second = [u[:, :r].reshape(self.o, self.x, r).transpose(0, 2, 1).reshape(self.o, r, 1, self.x)
                  for u, _, _ in self.svds]
        return [np.concatenate(first), np.concatenate(second)]

    def error(self):
        return np.sqrt(self.tails[self.ranks[0]] / (self.kernel**2).sum())


class Tucker:
    def __init__(self, kernel, groups):
        self.groups = groups
        self.kernel = kernel.reshape(groups, -1, *kernel.shape[1:])
        _, self.o, self.i, y, x = self.kernel.shape
        self.k = y * x
        self.modes = [[self.left(k, mode) for k in self.kernel] for mode in (0, 1)]
        self.tails = [tails_of([s for _, s in mode]) for mode in self.modes]

    @staticmethod
    def left(kernel, mode):
        u, s, _ = scipy.linalg.svd(np.moveaxis(kernel, mode, 0).reshape(kernel.shape[mode], -1), full_matrices=False)
        return u, s

    def choose(self, loss):
        out, into = (rank_for(t, loss / 2 * t[0]) for t in self.tails)
        out = min(out, into * self.k)
        self.ranks = (out, min(into, out * self.k))

    def fit(self, g):
        """A, B and the core of a group."""
        w, (out, into) = self.kernel[g], self.ranks
        a = self.modes[0][g][0][:, :out] if out < self.o else np.eye(self.o)
        b = self.modes[1][g][0][:, :into] if into < self.i else np.eye(self.i)
        kept = 0
        for _ in range(ROUNDS if out < self.o and into < self.i else 0):
            a = self.left(np.einsum("oiyx,ib->obyx", w, b), 0)[0][:, :out]
            b = self.left(np.einsum("oiyx,oa->aiyx", w, a), 1)[0][:, :into]
            before, kept = kept, (np.einsum("oiyx,oa,ib->abyx", w, a, b)**2).sum()
            if before and kept - before < GAIN * (w**2).sum():
                break
        return a, b, np.einsum("oiyx,oa,ib->abyx", w, a, b)

    def parts(self):
        fits = [self.fit(g) for g in range(self.groups)]
        first = np.concatenate([b.T[:, :, None, None] for _, b, _ in fits])
        core = np.concatenate([c for _, _, c in fits])
        last = np.concatenate([a[:, :, None, None] for a, _, _ in fits])
        return [first if self.ranks[1] < self.i else None, core, last if self.ranks[0] < self.o else None]

    def error(self):
        kept = sum((self.fit(g)[2]**2).sum() for g in range(self.groups))
        return np.sqrt(1 - kept / (self.kernel**2).sum())


def axis(options, key, default, i):
    value = options.get(key, default)
    return value if isinstance(value, int) else value[i]


def steps(layer, parts, method):
    """The convolutions that the parts become, as (weight, options)."""
    _, _, _, kernel, options = layer
    if kernel is None:
        return [(parts[0][:, :, 0, 0], None), (parts[1][:, :, 0, 0], None)]
    g = dict(groups=options.get("groups", 1))
    if kernel == (1, 1):
        return [(parts[0], options), (parts[1], g)]
    if method == "tucker":
        return [(p, o) for p, o in zip(parts, (g, options, g)) if p is not None]
    split = [dict(g, **{k: tuple(axis(options, k, d, i) if i == a else d for i in (0, 1))
                        for k, d in (("stride", 1), ("padding", 0), ("dilation", 1))}) for a in (0, 1)]
    return [(parts[0], split[0]), (parts[1], split[1])]


def apply(x, convolutions, bias):
    """The output, the parameters without the bias, and the FLOPs of an image."""
    parameters = flops = 0
    for i, (weight, options) in enumerate(convolutions):
        b = bias if i == len(convolutions) - 1 else None
        w = torch.from_numpy(np.ascontiguousarray(weight))
        x = F.linear(x, w, b) if options is None else F.conv2d(x, w, b, **options)
        parameters += weight.size
        flops += 2 * weight[0].size * x[0].numel()
    return x, parameters, flops


def run(method, energy):
    """Returns (rank, rank, replaced, error) of each layer, and the logits."""
    x = torch.from_numpy(draw(1000, IMAGES * int(np.prod(INPUT))).reshape(IMAGES, *INPUT))
    rows = []
    for number, layer in enumerate(LAYERS):
        name, output, inputs, kernel, options = layer
        weight = draw(2 * number, output * inputs * int(np.prod(kernel or 1))).reshape(output, inputs, *(kernel or (1, 1)))
        bias = torch.from_numpy(draw(2 * number + 1, output))
        if kernel is None:
            x = x.flatten(1)
        tucker = method == "tucker" and kernel not in (None, (1, 1))
        factor = (Tucker if tucker else Matrix)(weight, options.get("groups", 1))
        factor.choose(1 - energy)
        whole = apply(x, [(weight if kernel else weight[:, :, 0, 0], options if kernel else None)], bias)
        made = apply(x, steps(layer, factor.parts(), method), bias)
        smaller = made[1] < whole[1] and made[2] <= whole[2]
        rows.append((*factor.ranks, int(smaller), factor.error() if smaller else 0.0))
        x = made[0] if smaller else whole[0]
        if number < len(LAYERS) - 1:
            x = F.relu(x)
    return rows, x


def numbers(values):
    return ", ".join(f"{v:.17g}" for v in values)


def main():
    print(f"/* Generated by make_factorization.py from SciPy {scipy.__version__} and PyTorch "
          f"{torch.__version__.split('+')[0]}. */\n/* clang-format off */")
    for rows, columns in ((7, 5), (4, 9), (6, 6)):
        s = scipy.linalg.svd(draw(rows, rows * columns).reshape(rows, columns), compute_uv=False)
        print(f"static const double singular_{rows}x{columns}[] = {{{numbers(s)}}};")
    print("static const struct golden_network golden_networks[] = {")
    for method in ("spatial", "tucker"):
        for energy in (0.3, 0.5, 0.7):
            rows, logits = run(method, energy)
            layers = ", ".join("{{%d, %d}, %d, %.17g}" % row for row in rows)
            print(f"    {{CONVOLUTIONS_{method.upper()}, {energy}, {{{layers}}},\n     {{{numbers(logits.flatten().tolist())}}}}},")
    print("};")


if __name__ == "__main__":
    main()
