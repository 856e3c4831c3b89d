# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws the contact sheet and the captions of the clip."""

import numpy
from PIL import Image, ImageDraw, ImageFont

FONTS = "/usr/share/fonts/truetype/dejavu/"
BACKGROUND = (17, 19, 23)
TITLE = (240, 242, 245)
TEXT = (140, 176, 214)

COLUMNS = 4
TILE = (420, 315)  # 4:3
MARGIN = 28
CAPTION = 72
INSET = 72  # Side of the drawing of the mask in a tile's corner.


def font(name, size):
    try:
        return ImageFont.truetype(FONTS + name, size)
    except OSError:
        return ImageFont.load_default()


def crop(picture, focus):
    """The part of a picture that a tile shows, pixel for pixel where the picture is large enough."""
    image = Image.fromarray(picture[:, :, :3])
    width = min(TILE[0], image.width, image.height * TILE[0] // TILE[1])
    height = max(1, width * TILE[1] // TILE[0])
    left = min(max(0, round(focus[0] * image.width - width / 2)), image.width - width)
    top = min(max(0, round(focus[1] * image.height - height / 2)), image.height - height)
    return image.crop((left, top, left + width, top + height)).resize(TILE, Image.Resampling.LANCZOS)


def draw_mask(weights):
    """Weights as a small picture: white for zero, blue below, orange above."""
    values = numpy.array(weights, dtype=float)
    values /= max(abs(values).max(), 1e-300)
    strength = abs(values)[:, :, None] ** 0.6
    ends = numpy.where(values[:, :, None] > 0, (235, 110, 20), (20, 95, 200))
    colours = (250 + (ends - 250) * strength).astype(numpy.uint8)
    image = Image.fromarray(colours)
    scale = INSET / max(image.size)
    size = tuple(max(2, round(side * scale)) for side in image.size)
    return image.resize(size, Image.Resampling.NEAREST)


def contact_sheet(tiles, focus):
    """`tiles` are (look, picture, weights); weights of None draw no inset."""
    rows = -(-len(tiles) // COLUMNS)
    sheet = Image.new("RGB", (MARGIN + COLUMNS * (TILE[0] + MARGIN),
                              MARGIN + rows * (TILE[1] + CAPTION)), BACKGROUND)
    draw = ImageDraw.Draw(sheet)
    title_font, text_font = font("DejaVuSans-Bold.ttf", 21), font("DejaVuSansMono.ttf", 17)
    for index, (look, picture, weights) in enumerate(tiles):
        left = MARGIN + index % COLUMNS * (TILE[0] + MARGIN)
        top = MARGIN + index // COLUMNS * (TILE[1] + CAPTION)
        sheet.paste(crop(picture, focus), (left, top))
        if weights is not None:
            inset = draw_mask(weights)
            x = left + TILE[0] - inset.width - 10
            y = top + TILE[1] - inset.height - 10
            draw.rectangle((x - 2, y - 2, x + inset.width + 1, y + inset.height + 1),
                           fill=BACKGROUND)
            sheet.paste(inset, (x, y))
        draw.text((left, top + TILE[1] + 8), look.title, TITLE, title_font)
        draw.text((left, top + TILE[1] + 36), look.text, TEXT, text_font)
    return sheet


def caption(look):
    """A caption for the clip: light text on a dark strip with rounded ends."""
    text_font = font("DejaVuSansMono.ttf", 22)
    text = look.text
    left, top, right, bottom = text_font.getbbox(text)
    image = Image.new("RGBA", (right - left + 36, 44))
    draw = ImageDraw.Draw(image)
    draw.rounded_rectangle((0, 0, image.width - 1, image.height - 1), 12, BACKGROUND + (205,))
    draw.text((18, 22 - (top + bottom) / 2), text, TITLE + (255,), text_font)
    return image
