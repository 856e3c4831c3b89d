#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws docs/alpha.png: a cut-out through one blur in both alpha modes, over a checkerboard.

    meson devenv -C build ../tests/examples/alpha_demo.py [OUTPUT]

The transparent pixels still have colours: green on the left, as a key of a green screen leaves
them, and black on the right, as most programs do.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "demo"))

import numpy  # noqa: E402
from PIL import Image, ImageDraw  # noqa: E402

from pipelines import Gst, StillFilter  # noqa: E402
from sheet import BACKGROUND, TEXT, TITLE, font  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SIDE = 336
ZOOM = 4
DETAIL = (132, 24)  # Left and top of the part that is enlarged.
MARGIN, CAPTION = 24, 64
GREEN, BLACK = (0, 190, 40), (0, 0, 0)
SMOOTH = 4  # Supersampling of the cut-out's edge.


class Blur:
    """A setting of the element and its words."""

    def __init__(self, title, **properties):
        self.title = title
        self.properties = properties
        self.text = " ".join(f"{name}={value}".replace("_", "-")
                             for name, value in properties.items())

    def apply(self, element):
        for name, value in self.properties.items():
            Gst.util_set_object_arg(element, name.replace("_", "-"), value)


LOOKS = [
    Blur("the cut-out", mask="identity"),
    Blur("unseen colours come in", mask="gaussian:5", alpha_mode="straight"),
    Blur("each edge keeps its colour", mask="gaussian:5", alpha_mode="premultiplied"),
]


def cut_out():
    """An orange flower with a light heart and a white ring, RGBA."""
    y, x = (numpy.mgrid[:SIDE * SMOOTH, :SIDE * SMOOTH] + 0.5) / SMOOTH - SIDE / 2
    radius, angle = numpy.hypot(x, y), numpy.arctan2(y, x)
    petals = 86 + 34 * numpy.cos(7 * angle)
    colour = numpy.empty(x.shape + (3,))
    colour[:] = (250, 120, 20)
    colour[radius < 46] = (255, 222, 120)
    ring = (radius > 132) & (radius < 140)
    colour[ring] = (250, 250, 250)
    inside = ring | (radius < petals)

    def shrink(values):
        return values.reshape(SIDE, SMOOTH, SIDE, SMOOTH, -1).mean(axis=(1, 3))

    coverage = shrink(inside.astype(float))
    seen = shrink(colour * inside[..., None]) / numpy.maximum(coverage, 1e-9)
    unseen = numpy.where(numpy.arange(SIDE)[:, None] < SIDE / 2, GREEN, BLACK)
    colour = numpy.where(coverage > 0, seen, unseen)
    return numpy.rint(numpy.concatenate([colour, 255 * coverage], axis=2)).astype(numpy.uint8)


def over_checkerboard(picture):
    y, x = numpy.mgrid[:SIDE, :SIDE] // 14
    board = numpy.where((x + y) % 2 == 0, 236.0, 196.0)[..., None]
    alpha = picture[..., 3:] / 255
    return Image.fromarray(
        numpy.rint(picture[..., :3] * alpha + board * (1 - alpha)).astype(numpy.uint8))


def main(output):
    Gst.init(None)
    step = SIDE + MARGIN
    sheet = Image.new("RGB", (MARGIN + len(LOOKS) * step, 2 * step + CAPTION), BACKGROUND)
    draw = ImageDraw.Draw(sheet)
    part = SIDE // ZOOM
    with StillFilter(cut_out()) as still:
        Gst.util_set_object_arg(still.element, "channels", "luma+alpha")
        for index, look in enumerate(LOOKS):
            picture = over_checkerboard(still.run(look)[0])
            left = MARGIN + index * step
            sheet.paste(picture, (left, MARGIN))
            detail = picture.crop((*DETAIL, DETAIL[0] + part, DETAIL[1] + part))
            sheet.paste(detail.resize((SIDE, SIDE), Image.Resampling.NEAREST),
                        (left, MARGIN + step))
            draw.text((left, 2 * step + 8), look.title, TITLE, font("DejaVuSans-Bold.ttf", 19))
            draw.text((left, 2 * step + 34), look.text, TEXT, font("DejaVuSansMono.ttf", 13))
    sheet.save(output, optimize=True)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "alpha.png")
