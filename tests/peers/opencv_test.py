#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""cv2.filter2D as an oracle, in the four borders that it has.

It sums in float, so the masks are such that this is exact: weights n / 2^k with
sum|n| (2^depth - 1) < 2^24, and at most 49 taps, since it changes to a Fourier transform above.
"""

from element import FORMATS, Filter, Tally, mask_text, missing, random_picture

try:
    import cv2
    import numpy
except ImportError as error:
    missing(error)

BORDERS = {"replicate": cv2.BORDER_REPLICATE, "zero": cv2.BORDER_CONSTANT,
           "reflect": cv2.BORDER_REFLECT, "mirror": cv2.BORDER_REFLECT_101}
SIZES = [(7, 5), (16, 16), (33, 17), (64, 48), (127, 65)]
MASKS = [(1, 1), (3, 3), (5, 5), (7, 7), (9, 1), (1, 9), (2, 2), (4, 3), (5, 9)]


def dyadic_weights(random, width, height, top):
    """Integers whose magnitudes sum to less than 2^24 / top."""
    weights = random.integers(-4, 9, (height, width), endpoint=True)
    limit = (1 << 24) // top
    while int(abs(weights).sum()) >= limit:
        weights //= 2
    return weights


def main():
    random = numpy.random.default_rng(20240608)
    tally = Tally()
    for name, (sample_type, _, _) in FORMATS.items():
        top = int(numpy.iinfo(sample_type).max)
        for width, height in SIZES:
            with Filter(name, width, height) as element:
                for mask_width, mask_height in MASKS:
                    weights = dyadic_weights(random, mask_width, mask_height, top)
                    divisor = 1 << max(0, int(weights.sum())).bit_length()  # Gain 1/2 .. 1.
                    text = mask_text(weights, divisor)
                    picture = random_picture(random, name, width, height)
                    for border, mode in BORDERS.items():
                        got = element.run(picture, mask=text, border=border)
                        expected = cv2.filter2D(
                            picture.astype(sample_type), -1,
                            (weights / divisor).astype(numpy.float32), borderType=mode)
                        tally.compare(f"{name} {width}x{height} {mask_width}x{mask_height} {border}",
                                      got, expected.reshape(picture.shape))
    tally.finish(f"OpenCV {cv2.__version__} filter2D")


if __name__ == "__main__":
    main()
