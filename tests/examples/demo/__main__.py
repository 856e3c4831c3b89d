# SPDX-License-Identifier: LGPL-2.1-or-later
"""Filters a photograph or a video through a row of masks with the cudaconvolve element.

    python3 tests/examples/demo [FILE|URI]

Writes demo/contact-sheet.png and demo/clip.webm under the current folder. Without an argument the
photograph is the one that python3-scipy carries. The element must be where GStreamer finds it:
`./bootstrap.sh demo` and `meson devenv` see to that.
"""

import os
import sys
import time

from clip import make_clip
from looks import LOOKS
from photograph import FOCUS, write_photograph
from pipelines import Gst, PipelineError, StillFilter, decode, frames_per_second
from sheet import contact_sheet

OUTPUT = "demo"
SHEET_SIZE = (1280, 960)  # Larger sources are scaled down to fit.
SPEED_SIZE = (1920, 1080)
CENTRE = (0.5, 0.5)


def choose_source(arguments):
    """The URI to decode, and the point of the picture that the sheet should show."""
    if not arguments:
        path = os.path.join(OUTPUT, "photograph.png")
        write_photograph(path)
        return Gst.filename_to_uri(os.path.abspath(path)), FOCUS
    if Gst.uri_is_valid(arguments[0]):
        return arguments[0], CENTRE
    if not os.path.isfile(arguments[0]):
        raise PipelineError(f"no such file: {arguments[0]}")
    return Gst.filename_to_uri(os.path.abspath(arguments[0])), CENTRE


def first_pictures(uri):
    """The liveliest of the first frames (videos often begin black), and whether there are more."""
    best, count = None, 0
    for picture in decode(uri, *SHEET_SIZE, max_frames=60):
        count += 1
        if best is None or picture[::8, ::8].std() > best[::8, ::8].std():
            best = picture
    if best is None:
        raise PipelineError("no picture in there")
    return best, count > 1


def make_sheet(picture, focus, path):
    tiles = []
    with StillFilter(picture) as still:
        for look in LOOKS:
            start = time.monotonic()
            result, plan = still.run(look)
            weights = still.element.get_property("mask-matrix")
            tiles.append((look, result, None if look is LOOKS[0] else weights))
            print(f"  {look.text:<40} {1e3 * (time.monotonic() - start):6.1f} ms  {plan}",
                  flush=True)
    contact_sheet(tiles, focus).save(path, optimize=True)


def main(arguments):
    if len(arguments) > 1 or arguments[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return 2
    Gst.init(None)
    if not Gst.ElementFactory.find("cudaconvolve"):
        raise PipelineError("GStreamer finds no element cudaconvolve; see ./bootstrap.sh demo")
    os.makedirs(OUTPUT, exist_ok=True)
    uri, focus = choose_source(arguments)
    picture, is_video = first_pictures(uri)
    print(f"source: {uri}, shown at {picture.shape[1]} x {picture.shape[0]}")

    sheet = os.path.abspath(os.path.join(OUTPUT, "contact-sheet.png"))
    print("contact sheet, one frame each (the first with a mask includes planning):")
    make_sheet(picture, focus, sheet)

    print(f"speed of one element, {SPEED_SIZE[0]} x {SPEED_SIZE[1]} I420:")
    for look in (LOOKS[4], LOOKS[1], LOOKS[3]):
        rate, plan = frames_per_second(uri, look, *SPEED_SIZE)
        print(f"  {look.text:<20} {rate:7.0f} frames/s  {plan}", flush=True)

    clip = os.path.abspath(os.path.join(OUTPUT, "clip.webm"))
    print("clip, the mask changes every second while playing:")
    rate = make_clip(LOOKS, clip, **({"uri": uri} if is_video else
                                     {"picture": picture, "focus": focus}))
    print(f"  clip: done at {rate:.0f} frames/s, encoding included")
    print(f"contact sheet: {sheet}\nclip:          {clip}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except PipelineError as error:
        sys.exit(f"demo: {error}")
