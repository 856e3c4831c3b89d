# SPDX-License-Identifier: LGPL-2.1-or-later
"""What bench_cpu measures: masks, formats and sizes, each as our element and the others take them."""

from dataclasses import dataclass

import numpy

SIZES = {"1080p": (1920, 1080), "4k": (3840, 2160)}
# Format -> samples that a pixel has.
FORMATS = {"GRAY8": 1, "GRAY16_LE": 1, "P010_10LE": 1.5, "NV12": 1.5, "I420": 1.5, "YUY2": 2,
           "BGR": 3, "RGBA": 4, "AYUV": 4}


@dataclass(frozen=True)
class Cell:
    """A mask on frames of one format and size. `kind` is what the others are asked for: `filter2d`
    (any weights), `gaussian` (of sigma `value`) or `box` (of side `value`)."""

    kind: str
    name: str
    value: float
    format: str = "GRAY8"
    size: str = "1080p"

    @property
    def label(self):
        return f"{self.name} {self.format} {self.size}"

    @property
    def samples(self):
        width, height = SIZES[self.size]
        return width * height * FORMATS[self.format]

    def weights(self):
        """The mask of `filter2d` as numbers, which sum to about 1, and its text for our element."""
        side = int(self.value)
        random = numpy.random.default_rng(side)
        if self.name.startswith("reals"):
            whole = random.random((side, side))
            weights = whole / whole.sum()
            return weights, _rows(weights, "{:.9f}")
        most = 127 if self.name.startswith("integers") else 30000
        whole = random.integers(-most // 4, most + 1, (side, side))
        divisor = max(1, int(whole.sum()))
        return whole / divisor, _rows(whole, "{}") + f" / {divisor}"

    def mask_text(self):
        """The property `mask`."""
        if self.kind == "gaussian":
            return f"gaussian:{self.value:g}"
        return f"box:{self.value:g}" if self.kind == "box" else self.weights()[1]


def _rows(weights, form):
    return "; ".join(" ".join(form.format(w) for w in row) for row in weights.tolist())


def all_cells():
    """Every cell, most telling first."""
    sides = (3, 5, 7, 9, 15, 31)
    for family in ("integers", "larger-integers", "reals"):
        yield from (Cell("filter2d", f"{family}-{side}", side) for side in sides)
    yield from (Cell("gaussian", f"gaussian:{sigma}", sigma) for sigma in (1, 2, 3, 5, 10, 100))
    yield from (Cell("box", f"box:{side}", side) for side in (3, 5, 15, 31, 101))
    yield from (Cell("box", f"box:{side}", side, size="4k")
                for side in (3, 5, 15, 31, 101, 257, 1001))
    for form in FORMATS:
        if form == "AYUV":  # Of GStreamer's own gaussianblur, whose largest sigma is 20.
            yield from (Cell("gaussian", f"gaussian:{sigma}", sigma, format=form)
                        for sigma in (3, 10, 20))
        elif form != "GRAY8":
            yield Cell("filter2d", "integers-5", 5, format=form)
            yield Cell("gaussian", "gaussian:3", 3, format=form)
    # What video mostly is, which gaussianblur takes by way of conversions; 1.2 is its default.
    yield from (Cell("gaussian", f"gaussian:{sigma}", sigma, format="I420")
                for sigma in (1.2, 10, 20))
