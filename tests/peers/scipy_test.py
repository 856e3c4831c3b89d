#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""scipy.ndimage.correlate as an oracle: in double, then rounded to nearest even and clamped.

Integer weights over an integer divisor: every sum is exact in a double, and the division is rounded
once, so the element has to give the same code everywhere, in all five borders.
"""

from element import FORMATS, Filter, Tally, mask_text, missing, random_picture

try:
    import numpy
    from scipy import ndimage
except ImportError as error:
    missing(error)

BORDERS = {"replicate": "nearest", "zero": "constant", "reflect": "reflect", "mirror": "mirror",
           "wrap": "wrap"}
SIZES = [(1, 1), (2, 1), (1, 5), (7, 5), (33, 17), (64, 48), (127, 65)]
MASKS = [(1, 1), (3, 3), (5, 5), (7, 7), (15, 15), (9, 1), (1, 9), (2, 2), (4, 3), (5, 9), (31, 31)]


def correlate(plane, weights, mode):
    """As SciPy, but where its `reflect` goes wrong: 1.10 takes index -1 for -4n, a cell outside a
    picture of n. NumPy's padding does the reflecting there."""
    reach = max(weights.shape)
    if mode != "reflect" or reach < 4 * min(plane.shape):
        return ndimage.correlate(plane, weights, mode=mode, cval=0.0)
    padded = ndimage.correlate(numpy.pad(plane, reach, mode="symmetric"), weights)
    return padded[reach:-reach, reach:-reach]


def oracle(picture, weights, divisor, mode, top):
    planes = [correlate(picture[:, :, c].astype(numpy.float64), weights.astype(numpy.float64), mode)
              for c in range(picture.shape[2])]
    return numpy.clip(numpy.rint(numpy.stack(planes, axis=2) / divisor), 0, top)


def main():
    random = numpy.random.default_rng(20240607)
    tally = Tally()
    for name, (sample_type, _, _) in FORMATS.items():
        top = numpy.iinfo(sample_type).max
        for width, height in SIZES:
            with Filter(name, width, height) as element:
                for mask_width, mask_height in MASKS:
                    weights = random.integers(-4, 9, (mask_height, mask_width), endpoint=True)
                    # A gain near 1 keeps most codes from being clamped; an even divisor makes ties.
                    divisor = 2 * max(1, int(weights.sum()) // 2)
                    text = mask_text(weights, divisor)
                    picture = random_picture(random, name, width, height)
                    for border, mode in BORDERS.items():
                        got = element.run(picture, mask=text, border=border)
                        tally.compare(f"{name} {width}x{height} {mask_width}x{mask_height} {border}",
                                      got, oracle(picture, weights, divisor, mode, top))
    tally.finish("SciPy ndimage.correlate")


if __name__ == "__main__":
    main()
