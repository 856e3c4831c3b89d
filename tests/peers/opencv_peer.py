# SPDX-License-Identifier: LGPL-2.1-or-later
"""cv2.filter2D: four borders (no `wrap`), correlation, anchor in the middle.

It sums in float and rounds half to even. Up to 49 taps it does so directly; above 11 x 11, and from
50 taps on in 16 bits, it changes to a Fourier transform, which is right to one code only.
"""

from element import missing

try:
    import cv2
    import numpy
except ImportError as error:
    missing(error)

cv2.setNumThreads(1)  # The pictures are small.

VERSION = f"OpenCV {cv2.__version__}"
BORDERS = {"replicate": cv2.BORDER_REPLICATE, "zero": cv2.BORDER_CONSTANT,
           "reflect": cv2.BORDER_REFLECT, "mirror": cv2.BORDER_REFLECT_101}
MOST_TAPS = 49


def serves(weights, border):
    return border in BORDERS and weights.size <= MOST_TAPS


def filtered(picture, weights, divisor, border):
    """In OpenCV's own arithmetic. `picture` is uint8 or uint16, of any number of channels. Exact if
    the weights n / 2^k have sum|n| (2^depth - 1) < 2^24."""
    return cv2.filter2D(picture, -1, (weights / divisor).astype(numpy.float32),
                        borderType=BORDERS[border]).reshape(picture.shape)


def sums(picture, weights, border):
    """The same sums in double, not rounded: for masks that a float does not hold."""
    return cv2.filter2D(picture, cv2.CV_64F, weights.astype(numpy.float64),
                        borderType=BORDERS[border]).reshape(picture.shape)
