#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""cv2.filter2D in its own arithmetic: 8 and 16 bits, 1, 3 and 4 channels, four borders.

Dyadic masks of at most 49 taps, so that OpenCV's float sums are exact; ties go to even on both
sides.
"""

import numpy

import opencv_peer as opencv
from cases import Tally, dyadic_mask, finish
from element import Filter, mask_text

# Format, components in the channels of OpenCV's picture, value of `channels`.
PICTURES = [("GRAY8", "Y", "luma"), ("RGB", "RGB", "luma"), ("RGBA", "RGBA", "luma+alpha"),
            ("GRAY16_LE", "Y", "luma"), ("ARGB64", "RGB", "luma"), ("ARGB64", "RGBA", "luma+alpha")]
SIZES = [(1, 1), (7, 5), (16, 16), (33, 17), (64, 48)]
SHAPES = [(1, 1), (3, 3), (5, 5), (7, 7), (9, 1), (1, 9), (2, 2), (4, 3), (5, 9)]
MASKS_A_SHAPE = 3


def main():
    random = numpy.random.default_rng(20240608)
    tally = Tally()
    for name, components, channels in PICTURES:
        for width, height in SIZES:
            with Filter(name, width, height, channels) as element:
                layout = element.layout
                for mask_width, mask_height in SHAPES * MASKS_A_SHAPE:
                    weights, divisor = dyadic_mask(random, mask_width, mask_height,
                                                   (1 << 24) // layout.top)
                    picture = layout.random_picture(random, width, height)
                    native = numpy.dstack([picture[c] for c in components]).astype(
                        layout.sample_type.newbyteorder("="))
                    text = mask_text(weights, divisor)
                    for border in opencv.BORDERS:
                        got = element.run(picture, mask=text, border=border)
                        tally.compare(
                            f"{name} {components} {width}x{height} mask {text} {border}",
                            numpy.dstack([got[c] for c in components]),
                            opencv.filtered(native, weights, divisor, border))
    tally.figure(f"dyadic masks, {opencv.VERSION} filter2D")
    finish(tally)


if __name__ == "__main__":
    main()
