#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The element and four peers on the same pictures, each compared with each other one bit for bit.

    tie_free_test.py FORMAT...      GRAY8, GRAY16_LE; default both

The masks are tie-free (see cases.py), so the peers' ways to round make no difference. Each pair is
compared in the borders that both have.
"""

import collections
import itertools
import sys

import numpy

import ffmpeg_peer as ffmpeg
import opencv_peer as opencv
import scipy_peer as scipy
import vips_peer as vips
from cases import BORDERS, Tally, finish, tie_free_mask
from element import Filter, mask_text
from layouts import LAYOUTS

# Eight have samples left once FFmpeg's 3x3 has lost a row and a column.
SIZES = [(1, 1), (5, 1), (2, 3), (9, 2), (4, 4), (7, 5), (16, 16), (17, 13), (33, 18), (64, 48)]
# Width and height, and how many masks: first those that FFmpeg takes, the others for the rest.
SHAPES = {(3, 3): 80, (5, 5): 80, (7, 7): 80, (3, 1): 8, (9, 1): 8, (25, 1): 8, (49, 1): 8,
          (1, 3): 8, (1, 9): 8, (1, 25): 8, (1, 49): 8, (2, 2): 8, (4, 3): 8, (6, 8): 8, (9, 9): 4,
          (15, 15): 4}
LARGEST_SUM = 255


class Case:
    """One mask on one picture, and what was computed for all its borders at once."""

    def __init__(self, random, layout, width, height, mask):
        self.weights, self.divisor = mask
        self.text = mask_text(self.weights, self.divisor)
        self.codes = layout.random_picture(random, width, height)["Y"]
        self.native = self.codes.astype(layout.sample_type.newbyteorder("="))
        self.vips = vips.integer(self.native, self.weights, self.divisor)
        self.vips_float = vips.real(self.native, self.weights, self.divisor)
        self.ffmpeg = None  # FFmpeg's codes in its one border.

    def ask(self, element, border, top):
        """From the name of a side to its codes."""
        sums = scipy.sums(self.codes, self.weights, border)
        said = {"element": element.run_plane(self.codes, mask=self.text, border=border),
                "SciPy": scipy.rounded(sums / self.divisor, top)}
        if opencv.serves(self.weights, border):
            # A float holds n / divisor well enough for 8 bits: 51 x 2^-24 x 510 < 1 / (2 x 255).
            said["OpenCV"] = opencv.filtered(self.native, self.weights, self.divisor, border) \
                if top == 255 else scipy.rounded(
                    opencv.sums(self.native, self.weights, border) / self.divisor, top)
        if border in vips.BORDERS:
            said["libvips"] = self.vips[border]
            said["libvips float"] = scipy.rounded(self.vips_float[border], top)
        if border == "mirror" and self.ffmpeg is not None:
            said["FFmpeg"] = self.ffmpeg
            said["FFmpeg's float"] = ffmpeg.codes_of(sums, self.divisor, top)
        return said


def ask_ffmpeg(layout, cases):
    """All cases of a size at once."""
    served = [case for case in cases if ffmpeg.mode(case.weights, layout.depth)]
    results = ffmpeg.filtered(layout, [{"Y": case.codes} for case in served],
                              [case.weights for case in served])
    for case, result in zip(served, results):
        case.ffmpeg = result["Y"]


class Pairs:
    """The tally of all pairs together, and of each pair alone."""

    def __init__(self):
        self.tally = Tally()
        self.pictures = collections.Counter()
        self.float_samples = self.float_neighbours = 0

    def compare(self, what, case, said):
        where = {}
        if "FFmpeg" in said:
            inside = ffmpeg.comparable(case.weights, case.codes.shape)
            right = said["FFmpeg's float"] == said["SciPy"]
            self.float_samples += int(inside.sum())
            self.float_neighbours += int((inside & ~right).sum())
            where = {"FFmpeg": inside & right, "FFmpeg's float": inside}
        for one, other in itertools.combinations(said, 2):
            # FFmpeg's own arithmetic is compared with FFmpeg alone.
            if "FFmpeg's float" in (one, other) and "FFmpeg" not in (one, other):
                continue
            counts = where.get(other)
            if counts is not None and not counts.any():
                continue
            self.pictures[one, other] += 1
            self.tally.compare(f"{one} and {other}, {what}", said[one], said[other], counts)

    def figures(self, formats):
        for (one, other), pictures in sorted(self.pictures.items()):
            print(f"{one} and {other}: {pictures} pictures")
        print(f"FFmpeg's float rounds {self.float_neighbours} of {self.float_samples} samples to "
              "the neighbour, all of them as modelled")
        masks, versions = sum(SHAPES.values()), ", ".join(
            peer.VERSION for peer in (scipy, opencv, ffmpeg, vips))
        self.tally.figure(f"{masks} tie-free masks x {len(SIZES)} sizes in {' '.join(formats)}, "
                          f"{len(self.pictures)} pairs, {versions}")


def main(formats):
    random = numpy.random.default_rng(20240609)
    masks = [tie_free_mask(random, *shape, LARGEST_SUM)
             for shape, count in SHAPES.items() for _ in range(count)]
    pairs = Pairs()
    for name in formats:
        layout = LAYOUTS[name]
        for width, height in SIZES:
            cases = [Case(random, layout, width, height, mask) for mask in masks]
            ask_ffmpeg(layout, cases)
            with Filter(name, width, height) as element:
                for border, case in itertools.product(BORDERS, cases):
                    mask_height, mask_width = case.weights.shape
                    what = f"{name} {width}x{height} mask {mask_width}x{mask_height} {border}"
                    pairs.compare(what, case, case.ask(element, border, layout.top))
    pairs.figures(formats)
    finish(pairs.tally)


if __name__ == "__main__":
    main(sys.argv[1:] or ["GRAY8", "GRAY16_LE"])
