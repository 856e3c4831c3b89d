#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""scipy.ndimage: rational masks with ties in all five borders, and its own filters with names.

Integer weights over an integer divisor: every sum is exact in a double, and the division is rounded
once, so the element has to give the same code everywhere, ties to even.
"""

import numpy
from scipy import ndimage

import scipy_peer as scipy
from cases import BORDERS, Tally, finish, rational_mask
from element import Filter, mask_text

FORMATS = ["GRAY8", "GRAY16_LE", "RGB"]
SIZES = [(1, 1), (2, 1), (1, 5), (7, 5), (33, 17), (64, 48), (127, 65)]
SHAPES = [(1, 1), (3, 3), (5, 5), (7, 7), (15, 15), (9, 1), (1, 9), (2, 2), (4, 3), (5, 9),
          (31, 31)]

# Our name, SciPy's filter of a plane in double, the bias that shows negative results.
NAMED = [("box:3", lambda plane, mode: ndimage.uniform_filter(plane, 3, mode=mode), 0),
         ("box:9,5", lambda plane, mode: ndimage.uniform_filter(plane, (5, 9), mode=mode), 0),
         ("sobel-x", lambda plane, mode: ndimage.sobel(plane, axis=1, mode=mode), 0.5),
         ("sobel-y", lambda plane, mode: ndimage.sobel(plane, axis=0, mode=mode), 0.5),
         ("prewitt-x", lambda plane, mode: ndimage.prewitt(plane, axis=1, mode=mode), 0.5),
         ("prewitt-y", lambda plane, mode: ndimage.prewitt(plane, axis=0, mode=mode), 0.5),
         ("laplacian", lambda plane, mode: -ndimage.laplace(plane, mode=mode), 0.5)]


def compare_typed(random, tally, element, what, width, height):
    layout = element.layout
    for mask_width, mask_height in SHAPES:
        weights, divisor = rational_mask(random, mask_width, mask_height)
        text = mask_text(weights, divisor)
        picture = layout.random_picture(random, width, height)
        for border in BORDERS:
            got = element.run(picture, mask=text, border=border)
            for letter, codes in picture.items():
                tally.compare(f"{what} {letter} {mask_width}x{mask_height} {border}", got[letter],
                              scipy.filtered(codes, weights, divisor, border, layout.top))


def compare_named(random, tally, element, what, width, height):
    layout = element.layout
    for name, oracle, bias in NAMED:
        picture = layout.random_picture(random, width, height)
        for border, mode in scipy.BORDERS.items():
            got = element.run(picture, mask=name, border=border, bias=bias,
                              normalize="sum" if name.startswith("box") else "none")
            for letter, codes in picture.items():
                values = oracle(codes.astype(numpy.float64), mode)
                tally.compare(f"{what} {letter} {name} {border}", got[letter],
                              scipy.rounded(numpy.rint(bias * layout.top) + values, layout.top))


def main():
    random = numpy.random.default_rng(20240607)
    tally = Tally()
    for name in FORMATS:
        for width, height in SIZES:
            what = f"{name} {width}x{height}"
            with Filter(name, width, height) as element:
                compare_typed(random, tally, element, what, width, height)
                compare_named(random, tally, element, what, width, height)
    tally.figure(f"rational and named masks, {scipy.VERSION} ndimage")
    finish(tally)


if __name__ == "__main__":
    main()
