# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pictures through the real cudaconvolve element: appsrc, the element, appsink."""

import os
import re
import sys

SKIPPED = 77


def missing(error):
    """A module is not there: a skip for a user, a failure where nothing may be skipped."""
    print(f"cannot run: {error}")
    strict = os.environ.get("CI") or os.environ.get("CUDACONVOLVE_REQUIRE_GPU")
    sys.exit(1 if strict else SKIPPED)


try:
    import gi

    gi.require_version("Gst", "1.0")
    gi.require_version("GstApp", "1.0")
    gi.require_version("GstVideo", "1.0")
    from gi.repository import Gst, GstApp, GstVideo  # noqa: F401
    import numpy  # noqa: F401
except (ImportError, ValueError) as error:
    missing(error)

from layouts import LAYOUTS

Gst.init(None)

TIMEOUT = 20 * Gst.SECOND
BACKEND = os.environ.get("CUDACONVOLVE_TEST_BACKEND", "auto")


def offered_formats():
    """The formats of the element's sink template, in its order."""
    factory = Gst.ElementFactory.find("cudaconvolve")
    if factory is None:
        missing("no element cudaconvolve")
    template = next(t for t in factory.get_static_pad_templates()
                    if t.direction == Gst.PadDirection.SINK)
    lists = re.findall(r"format=\(string\)\{([^}]*)\}", template.get_caps().to_string())
    return list(dict.fromkeys(name.strip() for names in lists for name in names.split(",")))


class Filter:
    """A playing pipeline that filters pictures of one format and size, all their components."""

    def __init__(self, name, width, height, channels="luma+chroma+alpha"):
        self.layout = LAYOUTS[name]
        self._width, self._height = width, height
        caps = Gst.Caps.from_string(
            f"video/x-raw,format={name},width={width},height={height},framerate=25/1,"
            f"colorimetry={self.layout.colorimetry}")
        self._info = GstVideo.VideoInfo.new_from_caps(caps)
        self._pipeline = Gst.parse_launch(
            f"appsrc name=source format=time ! cudaconvolve name=filter normalize=none "
            f"backend={BACKEND} channels={channels} ! appsink name=sink sync=false")
        self._source = self._pipeline.get_by_name("source")
        self._source.set_property("caps", caps)
        self._element = self._pipeline.get_by_name("filter")
        self._sink = self._pipeline.get_by_name("sink")
        self._frames = 0
        self._pipeline.set_state(Gst.State.PLAYING)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._pipeline.set_state(Gst.State.NULL)

    def select(self, channels):
        """Sets the property `channels`, such as "luma+alpha"."""
        Gst.util_set_object_arg(self._element, "channels", channels)

    def run(self, picture, **properties):
        """The filtered `picture`; both are dictionaries from letter to codes."""
        for name, value in properties.items():
            self._element.set_property(name, value)
        buffer = Gst.Buffer.new_wrapped(self.layout.pack(picture, self._info))
        buffer.pts = self._frames * Gst.SECOND // 25
        self._frames += 1
        self._source.push_buffer(buffer)
        sample = self._sink.try_pull_sample(TIMEOUT)
        self._check(sample)
        filtered = sample.get_buffer()
        place = GstVideo.buffer_get_video_meta(filtered) or self._info
        return self.layout.unpack(filtered.extract_dup(0, filtered.get_size()), place.offset,
                                  place.stride, self._width, self._height)

    def run_plane(self, codes, **properties):
        """As run(), for a format of one component."""
        letter = self.layout.letters[0]
        return self.run({letter: codes}, **properties)[letter]

    def _check(self, sample):
        """Neither an error nor a warning: a mask that is refused leaves the last one in place."""
        message = self._pipeline.get_bus().pop_filtered(
            Gst.MessageType.ERROR | Gst.MessageType.WARNING)
        if message is not None:
            parse = message.parse_error if message.type == Gst.MessageType.ERROR \
                else message.parse_warning
            raise RuntimeError(parse()[0].message)
        if sample is None:
            raise RuntimeError("no frame came")
        plan = self._element.get_property("active-plan")
        if BACKEND != "auto" and not plan.startswith(BACKEND):
            raise RuntimeError(f"asked for {BACKEND}, got {plan}")


def mask_text(weights, divisor=1):
    """The mask as the property takes it; a double is written so that it is read back the same."""
    rows = "; ".join(" ".join(repr(w) for w in row) for row in weights.tolist())
    height, width = weights.shape
    return f"{width}x{height}: {rows}" + (f" / {divisor}" if divisor != 1 else "")
