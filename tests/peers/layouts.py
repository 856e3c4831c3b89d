# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where the samples of a video format lie, written by hand: pictures to buffers and back.

Not taken from GstVideoFormatInfo, from which the element takes it, so that a mistake there shows.
A picture is a dictionary from a component's letter to an array height x width of codes.
"""

import sys

import numpy


class Plane:
    """Rows of pixel groups. `YUYV` is a group of two pixels: Y comes twice, U and V once."""

    def __init__(self, text):
        self.letters, _, subsampling = text.partition("/")
        self.sub_x, self.sub_y = (int(n) for n in (subsampling or "1x1").split("x"))
        self.pixels = max(self.letters.count(letter) for letter in self.letters)

    def rows(self, height):
        return -(-height // self.sub_y)

    def groups(self, width):
        return -(-width // (self.sub_x * self.pixels))

    def size(self, letter, width, height):
        """Rows and columns of a component; what does not divide is rounded up."""
        columns = -(-width // self.sub_x)
        return self.rows(height), -(-columns * self.letters.count(letter) // self.pixels)

    def interleave(self, picture, width, height, sample_type):
        samples = numpy.zeros((self.rows(height), self.groups(width) * len(self.letters)),
                              sample_type)
        for letter in set(self.letters):
            rows, columns = self.size(letter, width, height)
            for place, slot in self._slots(samples, letter):
                part = picture[letter][:, place::self.letters.count(letter)]
                slot[:rows, :part.shape[1]] = part
        return samples

    def separate(self, samples, width, height):
        picture = {}
        for letter in dict.fromkeys(self.letters):
            rows, columns = self.size(letter, width, height)
            whole = numpy.empty((rows, self.groups(width) * self.letters.count(letter)), int)
            for place, slot in self._slots(samples, letter):
                whole[:, place::self.letters.count(letter)] = slot
            picture[letter] = whole[:, :columns]
        return picture

    def _slots(self, samples, letter):
        """For each place of the letter in a group: its number, and a view of its samples."""
        positions = [i for i, other in enumerate(self.letters) if other == letter]
        return [(place, samples[:, position::len(self.letters)])
                for place, position in enumerate(positions)]


class Layout:
    """A format: planes of samples of `depth` bits, above 8 in 16-bit words."""

    def __init__(self, planes, depth, high_bits=False, big_endian=False):
        self.planes = [Plane(text) for text in planes.split()]
        self.depth = depth
        self.shift = 16 - depth if high_bits else 0
        self.sample_type = numpy.dtype(
            numpy.uint8 if depth == 8 else ">u2" if big_endian else "<u2")
        self.letters = list(dict.fromkeys("".join(plane.letters for plane in self.planes)))
        self.is_rgb = "R" in self.letters
        # Grey and RGB in full range, so that black is code 0; YUV in limited range.
        self.colorimetry = "2:4:0:0" if "U" in self.letters else "1:1:0:0" if self.is_rgb \
            else "1:4:0:0"

    @property
    def top(self):
        return (1 << self.depth) - 1

    def black(self, letter):
        """The code of "no signal"."""
        if "U" not in self.letters or letter == "A":
            return 0
        return 16 << self.depth - 8 if letter == "Y" else 1 << self.depth - 1

    def random_picture(self, random, width, height):
        return {letter: random.integers(0, self.top, plane.size(letter, width, height),
                                        endpoint=True)
                for plane in self.planes for letter in dict.fromkeys(plane.letters)}

    def pack(self, picture, info):
        """The bytes of a buffer with the strides and offsets of the GstVideoInfo `info`."""
        data = numpy.zeros(info.size, numpy.uint8)
        for p, plane in enumerate(self.planes):
            samples = plane.interleave(picture, info.width, info.height, self.sample_type)
            rows = (samples << self.shift).astype(self.sample_type).view(numpy.uint8)
            self._rows(data, info.offset[p], info.stride[p], rows.shape)[:] = rows
        return data.tobytes()

    def unpack(self, data, offsets, strides, width, height):
        """The picture in `data`. Bits outside the depth have to be zero."""
        picture = {}
        for p, plane in enumerate(self.planes):
            row_bytes = plane.groups(width) * len(plane.letters) * self.sample_type.itemsize
            rows = self._rows(numpy.frombuffer(data, numpy.uint8), offsets[p], strides[p],
                              (plane.rows(height), row_bytes))
            samples = numpy.ascontiguousarray(rows).view(self.sample_type).astype(int)
            planes = plane.separate(samples, width, height)
            for letter, codes in planes.items():
                if (codes & (1 << self.shift) - 1).any() or (codes >> self.shift > self.top).any():
                    raise RuntimeError(f"component {letter} has bits outside its depth")
                picture[letter] = codes >> self.shift
        return picture

    @staticmethod
    def _rows(data, offset, stride, shape):
        return numpy.lib.stride_tricks.as_strided(data[offset:], shape, (stride, 1))


def _endians(family, planes, depth, high_bits=False):
    """`*` of the family's name is LE and BE."""
    return {family.replace("*", "BE" if big else "LE"): Layout(planes, depth, high_bits, big)
            for big in (False, True)}


def _native(planes):
    return Layout(planes, 16, big_endian=sys.byteorder == "big")


LAYOUTS = {
    "GRAY8": Layout("Y", 8), **_endians("GRAY16_*", "Y", 16),
    # Planar YUV.
    "I420": Layout("Y U/2x2 V/2x2", 8), "YV12": Layout("Y V/2x2 U/2x2", 8),
    "Y41B": Layout("Y U/4x1 V/4x1", 8), "Y42B": Layout("Y U/2x1 V/2x1", 8),
    "YUV9": Layout("Y U/4x4 V/4x4", 8), "YVU9": Layout("Y V/4x4 U/4x4", 8),
    "Y444": Layout("Y U V", 8), "A420": Layout("Y U/2x2 V/2x2 A", 8),
    **_endians("I420_10*", "Y U/2x2 V/2x2", 10), **_endians("I420_12*", "Y U/2x2 V/2x2", 12),
    **_endians("I422_10*", "Y U/2x1 V/2x1", 10), **_endians("I422_12*", "Y U/2x1 V/2x1", 12),
    **_endians("Y444_10*", "Y U V", 10), **_endians("Y444_12*", "Y U V", 12),
    **_endians("Y444_16*", "Y U V", 16),
    **_endians("A420_10*", "Y U/2x2 V/2x2 A", 10), **_endians("A422_10*", "Y U/2x1 V/2x1 A", 10),
    **_endians("A444_10*", "Y U V A", 10),
    # Semi-planar YUV.
    "NV12": Layout("Y UV/2x2", 8), "NV21": Layout("Y VU/2x2", 8), "NV16": Layout("Y UV/2x1", 8),
    "NV61": Layout("Y VU/2x1", 8), "NV24": Layout("Y UV", 8), "AV12": Layout("Y UV/2x2 A", 8),
    **_endians("P010_10*", "Y UV/2x2", 10, True), **_endians("P012_*", "Y UV/2x2", 12, True),
    **_endians("P016_*", "Y UV/2x2", 16),
    # Packed YUV.
    "YUY2": Layout("YUYV", 8), "UYVY": Layout("UYVY", 8), "YVYU": Layout("YVYU", 8),
    "VYUY": Layout("VYUY", 8), "v308": Layout("YUV", 8), "IYU2": Layout("UYV", 8),
    "AYUV": Layout("AYUV", 8), "VUYA": Layout("VUYA", 8), "AYUV64": _native("AYUV"),
    "Y210": Layout("YUYV", 10, True), **_endians("Y212_*", "YUYV", 12, True),
    "v216": Layout("UYVY", 16), **_endians("Y412_*", "UYVA", 12, True),
    # RGB.
    **{name: Layout(name, 8) for name in (
        "RGB", "BGR", "RGBx", "BGRx", "xRGB", "xBGR", "RGBA", "BGRA", "ARGB", "ABGR")},
    "ARGB64": _native("ARGB"),
    **_endians("ARGB64_*", "ARGB", 16), **_endians("RGBA64_*", "RGBA", 16),
    **_endians("BGRA64_*", "BGRA", 16), **_endians("ABGR64_*", "ABGR", 16),
    "RGBP": Layout("R G B", 8), "BGRP": Layout("B G R", 8),
    "GBR": Layout("G B R", 8), "GBRA": Layout("G B R A", 8),
    **_endians("GBR_10*", "G B R", 10), **_endians("GBRA_10*", "G B R A", 10),
    **_endians("GBR_12*", "G B R", 12), **_endians("GBRA_12*", "G B R A", 12),
}
