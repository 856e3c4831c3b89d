# SPDX-License-Identifier: LGPL-2.1-or-later
"""scipy.ndimage.correlate: all five borders, in double, with the rounding left to the caller.

Integers are summed exactly, and a quotient is rounded once: with weights n over a divisor the codes
below are the exact ones, ties to even, at every depth.
"""

from element import missing

try:
    import numpy
    import scipy
    from scipy import ndimage
except ImportError as error:
    missing(error)

VERSION = f"SciPy {scipy.__version__}"
BORDERS = {"replicate": "nearest", "zero": "constant", "reflect": "reflect", "mirror": "mirror",
           "wrap": "wrap"}


def sums(codes, weights, border, black=0):
    """The sum of weights x (code - black) at each sample, as doubles. The picture that is asked for
    in double: SciPy would wrap an 8-bit result modulo 256."""
    plane = codes.astype(numpy.float64) - black
    taps = weights.astype(numpy.float64)
    reach = max(weights.shape)
    if border == "reflect" and reach >= 4 * min(plane.shape):
        # SciPy 1.10 takes index -1, a cell outside, for index -4n of a picture of n. NumPy's
        # padding does the reflecting there.
        padded = ndimage.correlate(numpy.pad(plane, reach, mode="symmetric"), taps)
        return padded[reach:-reach, reach:-reach]
    return ndimage.correlate(plane, taps, mode=BORDERS[border], cval=0.0)


def rounded(values, top):
    return numpy.clip(numpy.rint(values), 0, top).astype(int)


def filtered(codes, weights, divisor, border, top, black=0):
    return rounded(sums(codes, weights, border, black) / divisor + black, top)
