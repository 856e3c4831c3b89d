# SPDX-License-Identifier: LGPL-2.1-or-later
"""FFmpeg's `convolution`: border `mirror`, squares of 3, 5 and 7, rows and columns of 3 to 49.

One process for many frames, each with a mask of its own (the `sendcmd` filter). What is known of
5.1 and is kept away from here:

- The divisor is always the sum of the weights: `rdiv` is forgotten. So divisor = sum.
- A 3x3 mask repeats the edge at right and bottom, and mirrors at left and top: `comparable` leaves
  the last row and column out.
- Columns are wrong above 8 bits, and slice threads race there: 8 bits, one thread.
- (int)(sum x (1 / S) + 0.5) in float: half up, and near the top of 16 bits the float can be more
  than 1 / 2S off once S is above 63. `codes_of` is that arithmetic, given the exact sums.
"""

import shutil
import subprocess
import tempfile

from element import missing

try:
    import numpy
except ImportError as error:
    missing(error)

if shutil.which("ffmpeg") is None:
    missing("no ffmpeg in PATH")

VERSION = " ".join(subprocess.run(["ffmpeg", "-version"], check=True, capture_output=True,
                                  text=True).stdout.split()[:3:2])


def mode(weights, depth):
    """The filter's mode for the mask, or None."""
    height, width = weights.shape
    if height == width and height in (3, 5, 7):
        return "square"
    if height == 1 and width % 2 == 1 and 3 <= width <= 49:
        return "row"
    if width == 1 and height % 2 == 1 and 3 <= height <= 49 and depth == 8:
        return "column"
    return None


def comparable(weights, shape):
    """Which samples the filter's border does not spoil."""
    where = numpy.ones(shape, bool)
    if weights.shape == (3, 3):
        where[-1:, :] = where[:, -1:] = False
    return where


def codes_of(sums, divisor, top):
    """What FFmpeg's float32 arithmetic makes of exact sums."""
    product = sums.astype(numpy.float32) * numpy.float32(1.0 / divisor)
    return numpy.clip(numpy.trunc(product + numpy.float32(0.5)), 0, top).astype(int)


def letters(layout):
    """The components in the order of FFmpeg's planes."""
    order = "GBRA" if layout.is_rgb else "YUVA"
    return [letter for letter in order if letter in layout.letters]


def pixel_format(layout):
    """The planar format that has the components of `layout`, however they are packed there."""
    alpha = "a" if "A" in layout.letters else ""
    suffix = "" if layout.depth == 8 else f"{layout.depth}le"
    if layout.is_rgb:
        return f"gbr{alpha}p{suffix}"
    if "U" not in layout.letters:
        return f"gray{suffix}"
    chroma = next(plane for plane in layout.planes if "U" in plane.letters)
    subsampling = {(1, 1): "444", (2, 1): "422", (2, 2): "420", (4, 1): "411", (4, 4): "410"}[
        (chroma.sub_x * chroma.pixels, chroma.sub_y)]
    return f"yuv{alpha}{subsampling}p{suffix}"


def filtered(layout, pictures, masks):
    """One picture for each of `pictures`, dictionaries from letter to codes, filtered with the mask
    of the same place, all components alike. All pictures have one size, all masks a mode()."""
    order = letters(layout)
    sample_type = numpy.dtype(numpy.uint8 if layout.depth == 8 else "<u2")
    height, width = pictures[0][order[0]].shape
    video = ["-f", "rawvideo", "-pix_fmt", pixel_format(layout)]
    with tempfile.NamedTemporaryFile("w", suffix=".cmd") as commands:
        commands.write(_commands(masks, layout.depth, len(order)))
        commands.flush()
        # One frame a second, so that frame i has the time i.
        process = subprocess.run(
            ["ffmpeg", "-v", "error", "-nostdin", "-threads", "1", "-filter_threads", "1", *video,
             "-s", f"{width}x{height}", "-r", "1", "-i", "pipe:0",
             "-vf", f"sendcmd=f={commands.name},convolution", *video, "pipe:1"],
            input=b"".join(picture[letter].astype(sample_type).tobytes()
                           for picture in pictures for letter in order),
            capture_output=True, check=False)
    if process.returncode != 0 or process.stderr:
        raise RuntimeError(f"ffmpeg: {process.stderr.decode().strip()}")
    return _split(numpy.frombuffer(process.stdout, sample_type), pictures, order)


def _commands(masks, depth, planes):
    """The lines of a sendcmd file. Matrix and mode are checked against each other at each command;
    nine taps do in every mode, so they stand in while the mode changes. Not the identity, which
    the filter remembers: a row of sum 1 after it would be a copy."""
    lines = []
    for second, weights in enumerate(masks):
        matrix = " ".join(str(n) for n in weights.ravel())
        settings = [("m", "'1 1 1 1 1 1 1 1 1'"), ("mode", mode(weights, depth)),
                    ("m", f"'{matrix}'")]
        lines.append(f"{second} " + ", ".join(f"convolution {plane}{name} {value}"
                                              for plane in range(planes)
                                              for name, value in settings) + ";\n")
    return "".join(lines)


def _split(samples, pictures, order):
    if samples.size != sum(picture[letter].size for picture in pictures for letter in order):
        raise RuntimeError(f"ffmpeg: {samples.size} samples came for {len(pictures)} pictures")
    place, results = 0, []
    for picture in pictures:
        result = {}
        for letter in order:
            size = picture[letter].size
            result[letter] = samples[place:place + size].reshape(picture[letter].shape)
            place += size
        results.append(result)
    return results
