#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Real masks: the neighbouring code is allowed near a rounding boundary, and nowhere else.

The exact value is formed here from the definition, in long doubles (64 bits of mantissa) and with
borders of its own: doubles times 16-bit codes, 961 of them, are then right to 10^-12 code. A code
that is not the exact value rounded has to be the next one, with the exact value within
2^-6 x max(1, g) x max(1, 2^(depth - 13)) of the boundary between the two; g is |scale| sum|w|.
The peers sum in double and are held to the same; how often each differs from the element is shown.
"""

import collections
import math

import numpy

import opencv_peer as opencv
import scipy_peer as scipy
import vips_peer as vips
from cases import BORDERS, Tally, finish, real_mask
from element import Filter, mask_text

FORMATS = ["GRAY8", "GBR_10LE", "Y444_12LE", "GRAY16_LE"]
SIZES = [(1, 1), (7, 5), (33, 18), (64, 48)]
SHAPES = [(3, 3), (5, 5), (7, 7), (9, 1), (1, 9), (4, 3), (15, 15), (31, 31)]

if numpy.finfo(numpy.longdouble).nmant < 63:
    raise SystemExit("needs long doubles of 64 bits")


def gaussian(sigma):
    """Sampled, radius ceil(3 sigma), not normalised."""
    radius = math.ceil(3 * sigma)
    row = numpy.exp(-numpy.arange(-radius, radius + 1) ** 2 / (2 * sigma * sigma))
    return numpy.outer(row, row)


def masks_for(random):
    """(weights, scale, properties): whole masks, columns times rows, a real scale, named ones."""
    masks = []
    for width, height in SHAPES:
        weights = real_mask(random, width, height)
        masks.append((weights, 1.0, {"mask": mask_text(weights)}))
    separable = real_mask(random, 1, 9) * real_mask(random, 7, 1)
    separable /= abs(separable).sum()
    masks.append((separable, 1.0, {"mask": mask_text(separable)}))
    whole = random.integers(-4, 9, (5, 5), endpoint=True)
    scale = float(random.uniform(0.5, 1.0)) / max(1, abs(int(whole.sum())))
    masks.append((whole.astype(float), scale, {"mask": mask_text(whole), "scale": scale}))
    for sigma in (0.8, 1.7):
        weights = gaussian(sigma)
        masks.append((weights / weights.sum(), 1.0,
                      {"mask": f"gaussian:{sigma}", "normalize": "sum"}))
    return masks


def cells(size, before, after, border):
    """For each position from -before to size + after - 1 the one whose sample lies there, or -1."""
    i = numpy.arange(-before, size + after)
    if border == "replicate":
        return numpy.clip(i, 0, size - 1)
    if border == "zero":
        return numpy.where((i < 0) | (i >= size), -1, i)
    if border == "reflect":
        return numpy.minimum(i % (2 * size), 2 * size - 1 - i % (2 * size))
    if border == "mirror":
        period = max(1, 2 * size - 2)
        return numpy.minimum(i % period, period - i % period)
    return i % size


def exact(codes, weights, scale, border, black):
    """The value before rounding, a long double."""
    height, width = codes.shape
    mask_height, mask_width = weights.shape
    rows = cells(height, mask_height // 2, (mask_height - 1) // 2, border)
    columns = cells(width, mask_width // 2, (mask_width - 1) // 2, border)
    framed = (codes - black).astype(numpy.longdouble)[rows][:, columns]
    framed[rows < 0, :] = 0
    framed[:, columns < 0] = 0
    total = numpy.zeros(codes.shape, numpy.longdouble)
    for i in range(mask_height):
        for j in range(mask_width):
            total += numpy.longdouble(weights[i, j]) * framed[i:i + height, j:j + width]
    return numpy.longdouble(scale) * total + black


class Account:
    """What was rounded to the neighbour, and how near to a boundary the exact value was there."""

    def __init__(self):
        self.tally = Tally()
        self.samples = collections.Counter()
        self.neighbours = collections.Counter()
        self.farthest = collections.Counter()

    def judge(self, side, depth, what, got, expected, distance):
        """Counts codes that differ from `expected`, and fails those that may not. `distance` is how
        far the exact value lies from the nearest rounding boundary, in zones."""
        neighbour = (abs(got - expected) == 1) & (distance <= 1)
        key = side, depth
        self.samples[key] += got.size
        self.neighbours[key] += int(neighbour.sum())
        if neighbour.any():
            self.farthest[key] = max(self.farthest[key], float(distance[neighbour].max()))
        self.tally.compare(f"{side}, {what}", got, expected, ~neighbour)

    def figures(self):
        for side, depth in sorted(self.samples, key=lambda key: (key[0], key[1])):
            key = side, depth
            print(f"figure: element and {side}, {depth} bit: {self.neighbours[key]} of "
                  f"{self.samples[key]} samples one code apart, at most {self.farthest[key]:.4f} "
                  "of the allowed zone from a rounding boundary")
        self.tally.figure(f"real masks, {scipy.VERSION}, {opencv.VERSION}, {vips.VERSION}")


def peer_values(codes, weights, scale, black):
    """From a peer's name to a dictionary from border to its values. OpenCV and libvips know no
    black level but 0."""
    sums = {"SciPy": {border: scipy.sums(codes, weights, border, black) for border in BORDERS}}
    if black == 0:
        sums["OpenCV"] = {border: opencv.sums(codes.astype(numpy.uint16), weights, border)
                          for border in BORDERS if opencv.serves(weights, border)}
        sums["libvips"] = vips.real(codes, weights, 1)
    return {peer: {border: scale * values + black for border, values in by_border.items()}
            for peer, by_border in sums.items()}


def compare(account, element, what, picture, mask):
    weights, scale, properties = mask
    depth = element.layout.depth
    gain = abs(scale) * float(abs(weights).sum())
    zone = 2.0 ** -6 * max(1.0, gain) * max(1.0, 2.0 ** (depth - 13))
    filtered = {border: element.run(picture, **{"scale": 1.0, "normalize": "none", **properties},
                                    border=border) for border in BORDERS}
    for letter, codes in picture.items():
        black = element.layout.black(letter)
        peers = peer_values(codes, weights, scale, black)
        for border in BORDERS:
            value = exact(codes, weights, scale, border, black)
            distance = abs(value - numpy.floor(value) - 0.5) / zone
            sides = {"the exact value": value, **{peer: by_border[border]
                                                  for peer, by_border in peers.items()
                                                  if border in by_border}}
            for side, values in sides.items():
                account.judge(side, depth, f"{what} {letter} {border}", filtered[border][letter],
                              scipy.rounded(values, element.layout.top), distance)


def main():
    random = numpy.random.default_rng(20240611)
    account = Account()
    for name in FORMATS:
        for width, height in SIZES:
            with Filter(name, width, height) as element:
                for mask in masks_for(random) + masks_for(random):
                    what = f"{name} {width}x{height} mask {mask[2]['mask'][:40]}"
                    picture = element.layout.random_picture(random, width, height)
                    compare(account, element, what, picture, mask)
    account.figures()
    finish(account.tally)


if __name__ == "__main__":
    main()
