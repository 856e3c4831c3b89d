# SPDX-License-Identifier: LGPL-2.1-or-later
"""libvips' vips_conv, integer and float: correlation, on a picture padded with vips_embed.

vips_conv itself repeats the edge. Here the picture is given a frame as wide as the mask reaches, in
one of four borders (no `mirror`: what vips_embed calls so repeats the edge sample, our `reflect`),
and the frame is cut off again. Integer: (sum + divisor / 2) / divisor, that is half up. Float: in
double here, since the picture goes in as doubles, and rounded by the caller.
"""

import os

from element import missing

# The vector path of 8.14 uses fixed-point weights and is off by one code.
os.environ["VIPS_NOVECTOR"] = "1"
os.environ["VIPS_CONCURRENCY"] = "1"

try:
    import gi
    import numpy

    gi.require_version("Vips", "8.0")
    from gi.repository import Vips
except (ImportError, ValueError) as error:
    missing(error)

Vips.init("cudaconvolve peers")
Vips.cache_set_max(0)

VERSION = f"libvips {Vips.version(0)}.{Vips.version(1)}.{Vips.version(2)}"
BORDERS = {"replicate": Vips.Extend.COPY, "zero": Vips.Extend.BLACK,
           "reflect": Vips.Extend.MIRROR, "wrap": Vips.Extend.REPEAT}
FORMATS = {"uint8": Vips.BandFormat.UCHAR, "uint16": Vips.BandFormat.USHORT,
           "float64": Vips.BandFormat.DOUBLE}


def integer(codes, weights, divisor):
    """From border to codes, rounded by libvips. `codes` is uint8 or uint16; whole weights."""
    return _convolve(codes, weights, divisor, Vips.Precision.INTEGER)


def real(codes, weights, divisor):
    """From border to doubles, not rounded."""
    return _convolve(codes.astype(numpy.float64), weights, divisor, Vips.Precision.FLOAT)


def _convolve(plane, weights, divisor, precision):
    """The borders are bands of one picture: an operation takes longer to set up than to run."""
    height, width = plane.shape
    mask_height, mask_width = weights.shape
    left, above = mask_width // 2, mask_height // 2
    image = Vips.Image.new_from_memory_copy(plane.tobytes(), width, height, 1,
                                            FORMATS[plane.dtype.name])
    mask = Vips.Image.new_matrix_from_array(mask_width, mask_height,
                                            weights.astype(float).ravel().tolist())
    mask.set_double("scale", divisor)
    framed = [_call("embed", **{"in": image, "x": left, "y": above, "extend": extend,
                                "width": width + mask_width - 1,
                                "height": height + mask_height - 1})
              for extend in BORDERS.values()]
    bands = _call("bandjoin", **{"in": Vips.ArrayImage.new(framed)})
    result = _call("conv", **{"in": bands, "mask": mask, "precision": precision})
    samples = numpy.frombuffer(bytes(result.write_to_memory()), plane.dtype).reshape(
        result.get_height(), result.get_width(), result.get_bands())
    whole = samples[above:above + height, left:left + width]
    return {border: whole[:, :, band] for band, border in enumerate(BORDERS)}


def _call(operation, **arguments):
    build = Vips.Operation.new(operation)
    for name, value in arguments.items():
        setattr(build.props, name, value)  # Vips.Object.set_property hides GObject's own.
    return Vips.cache_operation_build(build).props.out
