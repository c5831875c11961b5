#!/usr/bin/env python3
"""Makes goldens/augment.json: windows of small images, turned and recoloured by the formulas of
torchvision, which are written here with PyTorch's own functions.

usage: make_augment_goldens.py OUT.json

Turning is torchvision's rotate of tensors (affine_grid and grid_sample with bilinear interpolation
and zeros outside); a window of a larger image is that of the image with a wide black border, turned
about the centre of the window. Brightness, contrast and saturation are torchvision's formulas for
float tensors. Needs PyTorch (Debian: apt-get install python3-torch)."""
import json
import math
import sys

import torch
import torch.nn.functional as F

BORDER = 40  # beyond what any turned window reaches


def window(image, case):
    """The window [C,H,W], with a border as wide as BORDER on each side."""
    x, y, width, height = case["x"], case["y"], case["width"], case["height"]
    padded = F.pad(image, (2 * BORDER,) * 4)
    part = padded[:, 2 * BORDER + y - BORDER:2 * BORDER + y + height + BORDER,
                  2 * BORDER + x - BORDER:2 * BORDER + x + width + BORDER]
    return part.flip(2) if case["flip"] else part


def turn(image, degrees):
    """torchvision.transforms.functional.rotate for a tensor; the grid is in units of half sides."""
    _, height, width = image.shape
    angle = math.radians(degrees)
    cosine, sine = math.cos(angle), math.sin(angle)
    theta = torch.tensor([[[cosine, -sine * height / width, 0],
                           [sine * width / height, cosine, 0]]], dtype=torch.double)
    grid = F.affine_grid(theta, [1, *image.shape], align_corners=False)
    return F.grid_sample(image[None], grid, mode="bilinear", padding_mode="zeros",
                         align_corners=False)[0]


def grey(image):
    if image.shape[0] == 1:
        return image
    return (0.2989 * image[0] + 0.587 * image[1] + 0.114 * image[2])[None]


def blend(image, other, factor):
    return (factor * image + (1 - factor) * other).clamp(0, 255)


def changed(case):
    image = torch.tensor(case["pixels"], dtype=torch.double).reshape(
        case["stored_height"], case["stored_width"], case["channels"]).permute(2, 0, 1)
    out = window(image, case)
    if case["degrees"]:
        out = turn(out, case["degrees"])
    out = out[:, BORDER:-BORDER, BORDER:-BORDER]
    if case["colors"]:
        out = blend(out, torch.zeros(()), case["brightness"])
        out = blend(out, grey(out).mean(), case["contrast"])
        if case["channels"] == 3:
            out = blend(out, grey(out), case["saturation"])
    return [float(f"{v:.8g}") for v in out.flatten()]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    torch.manual_seed(1)
    cases = []
    for name, channels, stored, size, place, flip, degrees, colors in (
            ("turned", 3, (7, 6), (7, 6), (0, 0), False, 30, None),
            ("turned back", 3, (7, 6), (7, 6), (0, 0), False, -77.5, None),
            ("mirrored and turned", 1, (6, 9), (6, 9), (0, 0), True, 15, None),
            ("a window of a larger image", 3, (12, 11), (6, 5), (4, 3), True, 25, None),
            ("beyond the border", 1, (6, 6), (6, 6), (-2, 1), False, 12, None),
            ("darker", 3, (5, 4), (5, 4), (0, 0), False, 0, (0.6, 0.7, 0.8)),
            ("brighter", 3, (5, 4), (5, 4), (0, 0), False, 0, (1.4, 1.3, 1.35)),
            ("grey", 1, (5, 4), (5, 4), (0, 0), False, 0, (1.2, 0.7, 1.3)),
            ("everything", 3, (10, 10), (8, 8), (1, 2), True, -9, (0.9, 1.4, 0.6))):
        pixels = torch.randint(0, 256, (stored[0] * stored[1] * channels,)).tolist()
        b, c, s = colors or (1, 1, 1)
        case = {"name": name, "channels": channels, "stored_height": stored[0],
                "stored_width": stored[1], "height": size[0], "width": size[1], "x": place[0],
                "y": place[1], "flip": flip, "degrees": degrees, "colors": colors is not None,
                "brightness": b, "contrast": c, "saturation": s, "pixels": pixels}
        case["expected"] = changed(case)
        cases.append(case)
    with open(sys.argv[1], "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")


if __name__ == "__main__":
    main()
