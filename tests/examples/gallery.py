#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws docs/masks.png: every named mask, and what it makes of the demo's photograph.

    meson devenv -C build ../tests/examples/gallery.py [OUTPUT]

The weights are read back from the element, the pictures are its own. Fails if a named mask of the
element is missing from the gallery.
"""

import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "demo"))

import numpy  # noqa: E402
from PIL import Image, ImageDraw  # noqa: E402

from looks import Look  # noqa: E402
from photograph import FOCUS, write_photograph  # noqa: E402
from pipelines import Gst, PipelineError, StillFilter, decode  # noqa: E402
from sheet import BACKGROUND, TEXT, TITLE, font  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COLUMNS = 4
PHOTO = (204, 153)
DRAWING = 120  # Side of the drawing of a mask.
GAP = 12       # Between drawing and photograph.
MARGIN = 28
CAPTION = 66
HEADER = 72
NEGATIVE, ZERO, POSITIVE = (38, 120, 224), (246, 246, 244), (238, 112, 20)
GRID = (196, 198, 202)
INK = (24, 26, 30)

LOOKS = [
    Look("the picture as it is", "identity"),
    Look("mean of a rectangle", "box:7"),
    Look("a bell", "gaussian:2.5"),
    Look("a bell of whole numbers", "binomial:9"),
    Look("a lens out of focus", "disk:6"),
    Look("a camera in motion", "motion:21,30"),
    Look("identity + laplacian", "sharpen:1"),
    Look("identity + what a blur takes", "unsharp:2,1.5"),
    Look("relief", "emboss"),
    Look("against 4 neighbours", "laplacian", bias=0.5),
    Look("against 8 neighbours", "laplacian8", scale=0.6, bias=0.5),
    Look("laplacian of a bell", "log:1.4", scale=5, bias=0.5),
    Look("difference of two blurs", "dog:1,3", scale=2.5, bias=0.5),
    Look("slope to the right", "sobel-x", scale=0.7, bias=0.5),
    Look("slope downwards", "sobel-y", scale=0.7, bias=0.5),
    Look("slope, rows count alike", "prewitt-x", scale=0.9, bias=0.5),
    Look("slope, columns count alike", "prewitt-y", scale=0.9, bias=0.5),
    Look("slope, alike in all directions", "scharr-x", scale=0.18, bias=0.5),
    Look("slope, alike in all directions", "scharr-y", scale=0.18, bias=0.5),
]


def known_names(element):
    """The names that the element lists when it is asked for one that it does not know."""
    bus = Gst.Bus.new()
    element.set_bus(bus)
    element.set_property("mask", "?")
    element.set_state(Gst.State.PAUSED)
    message = bus.pop_filtered(Gst.MessageType.ERROR)
    element.set_state(Gst.State.NULL)
    return message.parse_error()[0].message.partition("Known: ")[2].split()


def crop(picture):
    image = Image.fromarray(picture[:, :, :3])
    left = round(FOCUS[0] * image.width - PHOTO[0] / 2)
    top = round(FOCUS[1] * image.height - PHOTO[1] / 2)
    return image.crop((left, top, left + PHOTO[0], top + PHOTO[1]))


def colours(values):
    """Weights from -1 to 1 as colours; the power shows small ones too."""
    strength = numpy.abs(values)[..., None] ** 0.45
    ends = numpy.where(values[..., None] > 0, POSITIVE, NEGATIVE)
    return (ZERO + (ends - numpy.array(ZERO)) * strength).astype(numpy.uint8)


def number_text(value):
    return f"{value:g}".replace("-", "\u2212")


def draw_mask(weights):
    """The weights as a map of squares: numbers in small masks, a grid while there is room."""
    weights = numpy.array(weights, dtype=float)
    rows, columns = weights.shape
    cell = max(1, DRAWING // max(rows, columns))
    size = (columns * cell, rows * cell)
    image = Image.fromarray(colours(weights / abs(weights).max())).resize(
        size, Image.Resampling.NEAREST)
    draw = ImageDraw.Draw(image)
    if cell >= 5:
        for x in range(0, size[0], cell):
            draw.line((x, 0, x, size[1]), GRID)
        for y in range(0, size[1], cell):
            draw.line((0, y, size[0], y), GRID)
    if cell >= 36:
        text_font = font("DejaVuSans.ttf", 16)
        for y in range(rows):
            for x in range(columns):
                draw.text(((x + 0.5) * cell, (y + 0.5) * cell), number_text(weights[y][x]), INK,
                          text_font, anchor="mm")
    return image


def draw_cell(sheet, left, top, look, picture, weights):
    draw = ImageDraw.Draw(sheet)
    drawing = draw_mask(weights)
    sheet.paste(drawing, (left + (DRAWING - drawing.width) // 2,
                          top + (PHOTO[1] - 22 - drawing.height) // 2))
    rows, columns = len(weights), len(weights[0])
    draw.text((left + DRAWING // 2, top + PHOTO[1] - 8), f"{columns} x {rows}", TEXT,
              font("DejaVuSans.ttf", 14), anchor="ms")
    photo_left = left + DRAWING + GAP
    sheet.paste(crop(picture), (photo_left, top))
    draw.text((left, top + PHOTO[1] + 8), look.text, TITLE, font("DejaVuSansMono-Bold.ttf", 15))
    draw.text((left, top + PHOTO[1] + 29), look.title, TEXT, font("DejaVuSans.ttf", 14))


def draw_legend(sheet, left, top):
    """What the colours mean, in the cell behind the last mask."""
    draw = ImageDraw.Draw(sheet)
    width, height = DRAWING + GAP + PHOTO[0], 22
    bar = colours(numpy.linspace(-1, 1, width)[None, :].repeat(height, 0))
    sheet.paste(Image.fromarray(bar), (left, top))
    text_font = font("DejaVuSans.ttf", 14)
    for at, text, anchor in ((0, "negative weights", "lt"), (0.5, "0", "mt"),
                             (1, "positive weights", "rt")):
        draw.text((left + at * width, top + height + 8), text, TEXT, text_font, anchor=anchor)
    draw.multiline_text((left, top + 64),
                        "Small weights are drawn stronger than\n"
                        "they are. Edge masks sum to 0, which\n"
                        "bias=0.5 shows as grey.", TEXT, text_font,
                        spacing=6)


def gallery(cells):
    rows = len(cells) // COLUMNS + 1
    cell_width = DRAWING + GAP + PHOTO[0]
    sheet = Image.new("RGB", (MARGIN + COLUMNS * (cell_width + MARGIN),
                              HEADER + rows * (PHOTO[1] + CAPTION) + 6), BACKGROUND)
    ImageDraw.Draw(sheet).text((MARGIN, 22), "The named masks of cudaconvolve", TITLE,
                               font("DejaVuSans-Bold.ttf", 25))

    def place(index):
        return (MARGIN + index % COLUMNS * (cell_width + MARGIN),
                HEADER + index // COLUMNS * (PHOTO[1] + CAPTION))

    for index, cell in enumerate(cells):
        draw_cell(sheet, *place(index), *cell)
    draw_legend(sheet, *place(len(cells)))
    return sheet


def main(arguments):
    Gst.init(None)
    element = Gst.ElementFactory.make("cudaconvolve")
    if element is None:
        raise PipelineError("GStreamer finds no element cudaconvolve: run inside meson devenv")
    shown = {look.mask.partition(":")[0] for look in LOOKS}
    if missing := set(known_names(element)) - shown:
        raise PipelineError(f"not in the gallery: {', '.join(sorted(missing))}")
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / "photograph.png")
        write_photograph(path)
        picture = next(decode(Gst.filename_to_uri(path), 1024, 768, max_frames=1))
    cells = []
    with StillFilter(picture) as still:
        for look in LOOKS:
            result, _ = still.run(look)
            cells.append((look, result, still.element.get_property("mask-matrix")))
    output = pathlib.Path(arguments[0]) if arguments else ROOT / "docs" / "masks.png"
    # 256 colours are a third of the bytes, and the pictures small.
    sheet = gallery(cells)
    palette = sheet.quantize(256, Image.Quantize.MEDIANCUT, kmeans=4)
    sheet.quantize(palette=palette, dither=Image.Dither.FLOYDSTEINBERG).save(output, optimize=True)
    print(f"{output}: {output.stat().st_size // 1024} KiB, {len(cells)} masks")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except PipelineError as error:
        sys.exit(f"gallery: {error}")
