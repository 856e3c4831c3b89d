#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every format that the element offers: its components, taken out by hand, beside two peers.

    formats_test.py FORMAT...      default all of the element's template

SciPy answers for all borders and masks, and for each value of `channels` alone: the others have to
be copied, which tells alpha from colour. (U and V have one role, and so have R, G and B: if
they changed places, in and out, the buffers would be the same.) FFmpeg has planar formats only and
gets the components of NV12, YUY2 or RGBA as the planar format of that depth and subsampling.
"""

import sys

import numpy

import ffmpeg_peer as ffmpeg
import scipy_peer as scipy
from cases import BORDERS, Tally, finish, rational_mask, tie_free_mask
from element import Filter, mask_text, offered_formats
from layouts import LAYOUTS

SIZES = [(1, 1), (3, 2), (13, 9), (34, 17)]
FFMPEG_SIZES = [(13, 9), (34, 17)]
TIE_FREE = [(3, 3), (5, 5), (7, 7), (9, 1), (1, 5)]
# FFmpeg's float is exact at 16 bits up to here, see ffmpeg_peer.py.
LARGEST_SUM = 63
TIES = [(3, 3), (4, 2), (9, 9)]
ROLES = {"luma": "YRGB", "chroma": "UV", "alpha": "A"}
EDGES = [("laplacian", [[0, -1, 0], [-1, 4, -1], [0, -1, 0]]),
         ("sobel-x", [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])]


def masks_for(random):
    """Weights, divisor and text."""
    made = [tie_free_mask(random, *shape, LARGEST_SUM) for shape in TIE_FREE] + \
           [rational_mask(random, *shape) for shape in TIES]
    typed = [(weights, divisor, mask_text(weights, divisor)) for weights, divisor in made]
    # Flat chroma stays grey under these, and black stays black.
    return typed + [(numpy.array(rows), 1, text) for text, rows in EDGES]


def compare_scipy(tally, element, what, picture, mask):
    """Returns the element's picture in border `mirror`, for FFmpeg."""
    layout = element.layout
    weights, divisor, text = mask
    for border in BORDERS:
        got = element.run(picture, mask=text, border=border)
        for letter, codes in picture.items():
            expected = codes if letter == "x" else scipy.filtered(
                codes, weights, divisor, border, layout.top, layout.black(letter))
            tally.compare(f"SciPy, {what} {letter} mask {text} {border}", got[letter], expected)
        if border == "mirror":
            mirrored = got
    return mirrored


def compare_roles(tally, element, what, picture, mask):
    layout = element.layout
    weights, divisor, text = mask
    for role, letters in ROLES.items():
        element.select(role)
        got = element.run(picture, mask=text, border="replicate")
        for letter, codes in picture.items():
            expected = codes if letter not in letters else scipy.filtered(
                codes, weights, divisor, "replicate", layout.top, layout.black(letter))
            tally.compare(f"SciPy, {what} {letter}, channels={role}", got[letter], expected)


def compare_ffmpeg(tally, layout, what, pictures, masks, mirrored):
    served = [i for i, (weights, divisor, _) in enumerate(masks)
              if divisor == weights.sum() and divisor % 2 == 1
              and ffmpeg.mode(weights, layout.depth)]
    results = ffmpeg.filtered(layout, [pictures[i] for i in served],
                              [masks[i][0] for i in served])
    for i, result in zip(served, results):
        for letter, codes in result.items():
            where = ffmpeg.comparable(masks[i][0], codes.shape)
            tally.compare(f"FFmpeg, {what} {letter} mask {masks[i][2]}", mirrored[i][letter], codes,
                          where)


def main(names):
    random = numpy.random.default_rng(20240610)
    by_scipy, by_ffmpeg = Tally(), Tally()
    for name in names:
        if name not in LAYOUTS:
            by_scipy.fail(f"{name} is offered and has no row in layouts.py")
            continue
        for width, height in SIZES:
            what = f"{name} {width}x{height}"
            masks = masks_for(random)
            with Filter(name, width, height) as element:
                layout = element.layout
                pictures = [layout.random_picture(random, width, height) for _ in masks]
                mirrored = [compare_scipy(by_scipy, element, what, picture, mask)
                            for picture, mask in zip(pictures, masks)]
                compare_roles(by_scipy, element, what, pictures[0], masks[0])
            if (width, height) in FFMPEG_SIZES:
                compare_ffmpeg(by_ffmpeg, layout, what, pictures, masks, mirrored)
    by_ffmpeg.figure(f"{len(names)} formats, border mirror, {ffmpeg.VERSION}")
    by_scipy.figure(f"{len(names)} formats, {len(BORDERS)} borders, {scipy.VERSION}")
    finish(by_ffmpeg, by_scipy)


if __name__ == "__main__":
    main(sys.argv[1:] or offered_formats())
