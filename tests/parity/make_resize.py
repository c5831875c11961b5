#!/usr/bin/env python3
"""Prints the table `resizes` of tests/data/image_test.c: the checksums of pictures that Pillow has resized.

    python3 make_resize.py
"""
import zlib
from PIL import Image

CASES = [  # channels, from, to: enlarged, reduced by less than two, by much, in one direction, one pixel
    (3, (13, 7), (30, 21)), (3, (40, 33), (27, 21)), (3, (97, 61), (14, 9)), (3, (50, 20), (50, 7)),
    (3, (31, 22), (5, 22)), (3, (64, 64), (1, 1)), (1, (40, 33), (27, 21)), (1, (9, 9), (61, 40)), (1, (200, 150), (13, 11)),
]


def noise(count):
    """The same numbers as noise() of image_test.c."""
    state, values = 1, bytearray()
    for _ in range(count):
        state = (state * 1664525 + 1013904223) % 2**32
        values.append(state >> 24)
    return bytes(values)


for name, filter in ("BILINEAR", Image.BILINEAR), ("BICUBIC", Image.BICUBIC):
    for channels, size, to in CASES:
        picture = Image.frombytes("RGB" if channels == 3 else "L", size, noise(size[0] * size[1] * channels))
        crc = zlib.crc32(picture.resize(to, filter).tobytes())
        print("    {IMAGE_%s, %d, %d, %d, %d, %d, 0x%08x}," % (name, channels, *size, *to, crc))
