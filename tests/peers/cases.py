# SPDX-License-Identifier: LGPL-2.1-or-later
"""Masks that the peers can be asked about, and the counting of what came out."""

import sys
import time

import numpy

from element import BACKEND

BORDERS = ("replicate", "zero", "reflect", "mirror", "wrap")


def tie_free_mask(random, width, height, largest_sum):
    """Integers with an odd positive sum, the divisor: no quotient is a tie, so that rounding half
    up, half to even and half away from zero are the same. Gains (sum of magnitudes over sum) up to
    2 keep most codes inside the range."""
    divisor = 2 * int(random.integers(0, (largest_sum + 1) // 2)) + 1
    negative = int(random.integers(0, divisor // 2, endpoint=True))
    even = numpy.full(width * height, 1 / (width * height))
    weights = random.multinomial(divisor + negative, even) - random.multinomial(negative, even)
    return weights.reshape(height, width), divisor


def dyadic_mask(random, width, height, largest):
    """Integers whose magnitudes sum to less than `largest`, over a power of two: every weight and
    every product is exact in a float, and ties are frequent. Gain 1/2 to 1 of the plain sum."""
    weights = random.integers(-4, 9, (height, width), endpoint=True)
    while int(abs(weights).sum()) >= largest:
        weights //= 2
    return weights, 1 << max(0, int(weights.sum())).bit_length()


def rational_mask(random, width, height):
    """Small integers over an even divisor, which makes ties; a gain near 1."""
    weights = random.integers(-4, 9, (height, width), endpoint=True)
    return weights, 2 * max(1, int(weights.sum()) // 2)


def real_mask(random, width, height):
    """Doubles with a sum near 1. None is a ratio p/q of small q but by a chance of 1 in 10^4."""
    weights = random.uniform(-0.5, 1.0, (height, width))
    return weights / max(1.0, abs(weights.sum()))


class Tally:
    """Counts pictures that are equal sample for sample; says where the others differ."""

    def __init__(self):
        self.passed = self.failed = self.samples = 0
        self._start = time.monotonic()

    def compare(self, what, got, expected, where=None):
        """Counts one picture. `where` selects the samples that count, all if None."""
        differs = got != expected
        if where is not None:
            differs &= where
        self.samples += got.size if where is None else int(numpy.count_nonzero(where))
        if not differs.any():
            self.passed += 1
            return
        first = tuple(int(i[0]) for i in numpy.nonzero(differs))
        self.fail(f"{what}: {int(differs.sum())} of {got.size} samples, first at row and column "
                  f"{first}: {got[first]}, expected {expected[first]}")

    def fail(self, what):
        self.failed += 1
        if self.failed <= 10:
            print(f"DIFFERS {what}")

    def figure(self, what):
        print(f"figure: {what}: {self.passed + self.failed} pictures, {self.samples} samples, "
              f"{self.failed} pictures that differ, backend {BACKEND}, "
              f"{time.monotonic() - self._start:.1f} s")


def finish(*tallies):
    """Ends the program, which is one test: each tally has pictures and none differs. Their number
    stands beside it."""
    passed, failed = (sum(getattr(tally, name) for tally in tallies)
                      for name in ("passed", "failed"))
    good = failed == 0 and all(tally.passed for tally in tallies)
    print(f"beside: {passed + failed} peer pairs")
    print("1 passed, 0 failed" if good else "0 passed, 1 failed")
    sys.exit(0 if good else 1)
