#!/usr/bin/env python3
"""Writes tests/engine/quantize_golden.h: limits of calibration computed with NumPy and SciPy, and the
grids, rounded values and gradients of PyTorch's quantization.

    python3 make_quantize.py > ../engine/quantize_golden.h
"""
import numpy as np
import scipy.stats
import torch

VALUES, BINS = 20000, 2048


def sample(signed):
    """The values of quantize_test.c: float32 throughout, so that both have the same bits."""
    i = np.arange(VALUES, dtype=np.uint64)
    u = (((i * 2654435761) % 2**32) >> 8).astype(np.float32) / np.float32(16777216)
    v = u / (np.float32(1.0625) - u)  # many small values, few large ones
    return np.where(signed & (i % 2 == 1), v * np.float32(-0.5), v).astype(np.float32)


def histogram(values):
    magnitudes = np.abs(values[values != 0].astype(np.float64))  # every grid has zero
    bins = np.minimum((magnitudes * (BINS / magnitudes.max())).astype(int), BINS - 1)
    return np.bincount(bins, minlength=BINS).astype(np.float64), magnitudes.max()


def percentile(counts):
    wanted = 0.9999 * counts.sum()
    below = np.concatenate([[0], np.cumsum(counts)])
    i = int(np.argmax((below[1:] >= wanted) & (counts > 0)))
    return i + (wanted - below[i]) / counts[i]


def entropy(values, counts, largest):
    best, limit = np.inf, BINS
    for bins in range(1, BINS + 1):
        inside = bins * largest / BINS
        low, high = max(min(values.min(), 0), -inside), min(max(values.max(), 0), inside)
        levels = int(np.rint(256 * max(-low, high) / (high - low)))
        if bins < levels:
            continue
        p = counts[:bins].copy()
        p[-1] += counts[bins:].sum()
        q = np.zeros(bins)
        for level in range(levels):
            part = slice(level * bins // levels, (level + 1) * bins // levels)
            used = counts[part] > 0
            if used.any():
                q[part] = np.where(used, counts[part].sum() / used.sum(), 0)
        if q.sum() == 0:
            continue
        divergence = scipy.stats.entropy(p, q)
        if divergence < best:
            best, limit = divergence, bins
    return limit


def mse(values, counts, largest):
    low, high = min(values.min(), 0), max(values.max(), 0)
    middles = (np.arange(BINS) + 0.5) * largest / BINS
    errors = []
    for i in range(1, 101):
        limit = i * largest / 100
        step = (min(high, limit) - max(low, -limit)) / 255
        beyond = np.maximum(middles - limit, 0)
        errors.append((counts * np.where(beyond > 0, beyond**2, step**2 / 12)).sum())
    return (1 + int(np.argmin(errors))) * BINS / 100


def grid(values):
    observer = torch.ao.quantization.MinMaxObserver(
        dtype=torch.quint8, qscheme=torch.per_tensor_affine, eps=0)
    observer(torch.from_numpy(values))
    scale, zero_point = observer.calculate_qparams()
    return float(scale), int(zero_point)


def numbers(values):
    text = ", ".join(float(v).hex() + "f" for v in values)
    lines, line = [], "   "
    for word in text.split(" "):
        if len(line) + len(word) > 98:
            lines.append(line)
            line = "   "
        line += " " + word
    return "\n".join(lines + [line])


def main():
    print("/* Made by tests/parity/make_quantize.py with PyTorch", torch.__version__.split("+")[0],
          "and SciPy; do not edit. */")
    print("static const struct {\n    double limits[4]; /* in bins, by method */\n"
          "    float scale;\n    int zero_point;\n} golden_ranges[2] = {")
    for signed in (False, True):
        values = sample(signed)
        counts, largest = histogram(values)
        exact = values.astype(np.float64)
        zeros = np.bincount([0], [np.sum(values == 0)], BINS)
        limits = [BINS, percentile(counts + zeros), entropy(exact, counts, largest),
                  mse(exact, counts, largest)]
        scale, zero_point = grid(values)
        print("    {{" + ", ".join(repr(float(x)) for x in limits) + "}, "
              + scale.hex() + "f, " + str(zero_point) + "},")
    print("};")
    scale, zero_point = 0.0371, 113
    x = torch.cat([torch.from_numpy(sample(True))[:60] * 3,
                   torch.tensor([-4.1923, -4.2109, 5.2682, 5.2868, 0.01855, -0.01855, 100, -100])])
    x.requires_grad_()
    y = torch.fake_quantize_per_tensor_affine(x, scale, zero_point, 0, 255)
    gradient = torch.arange(1, len(x) + 1, dtype=torch.float32)
    y.backward(gradient)
    print("enum { GOLDEN_COUNT = %d, GOLDEN_ZERO_POINT = %d };" % (len(x), zero_point))
    print("static const float golden_scale = %sf;" % float(np.float32(scale)).hex())
    for name, array in (("x", x.detach()), ("y", y.detach()), ("gradient", x.grad)):
        print("static const float golden_%s[GOLDEN_COUNT] = {\n%s};" % (name, numbers(array)))


main()
