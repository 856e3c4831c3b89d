# SPDX-License-Identifier: LGPL-2.1-or-later
"""The photograph that the demo and the gallery show."""

import bz2
import os
import sys

import numpy
from PIL import Image

from pipelines import PipelineError

FOCUS = (0.665, 0.45)  # The face, as parts of width and height.


def write_photograph(path):
    """Writes the photograph of a raccoon (public domain, 1024 x 768) that SciPy carries.

    Read as a file: the module that offers it as a function moves from release to release.
    """
    for folder in sys.path + ["/usr/lib/python3/dist-packages"]:
        file = os.path.join(folder, "scipy", "misc", "face.dat")
        if os.path.exists(file):
            with open(file, "rb") as packed:
                data = bz2.decompress(packed.read())
            picture = numpy.frombuffer(data, numpy.uint8).reshape(768, 1024, 3)
            Image.fromarray(picture).save(path)
            return
    raise PipelineError("this SciPy carries no photograph: name a picture or a video")
