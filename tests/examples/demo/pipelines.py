# SPDX-License-Identifier: LGPL-2.1-or-later
"""GStreamer for the demo: decoding a source, filtering stills, measuring speed."""

import time

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstApp", "1.0")
from gi.repository import Gst, GstApp  # noqa: E402,F401  (GstApp gives appsrc its methods)

import numpy  # noqa: E402

TIMEOUT = 30 * Gst.SECOND


class PipelineError(Exception):
    """A pipeline that stopped, with GStreamer's own message."""


def raise_error(pipeline):
    """Raises the error on the pipeline's bus, if there is one."""
    message = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
    if message:
        error, debug = message.parse_error()
        raise PipelineError(f"{message.src.get_name()}: {error.message} ({debug})")


def pull_picture(pipeline, sink):
    """The next RGBA frame of an appsink as an array height x width x 4, or None at the end."""
    sample = sink.try_pull_sample(TIMEOUT)
    if sample is None:
        raise_error(pipeline)
        if not sink.get_property("eos"):
            raise PipelineError("no frame came for 30 seconds")
        return None
    structure = sample.get_caps().get_structure(0)
    width, height = structure.get_value("width"), structure.get_value("height")
    buffer = sample.get_buffer()
    data = buffer.extract_dup(0, buffer.get_size())
    return numpy.frombuffer(data, numpy.uint8).reshape(height, width, 4)


def decode(uri, max_width, max_height, max_frames):
    """Yields the first frames of a picture or video, scaled down to fit."""
    pipeline = Gst.parse_launch(
        "uridecodebin name=source ! videoconvert ! videoscale ! video/x-raw,format=RGBA,"
        f"width=[1,{max_width}],height=[1,{max_height}],pixel-aspect-ratio=1/1 ! "
        "appsink name=sink sync=false max-buffers=4")
    pipeline.get_by_name("source").set_property("uri", uri)
    sink = pipeline.get_by_name("sink")
    pipeline.set_state(Gst.State.PLAYING)
    try:
        for _ in range(max_frames):
            picture = pull_picture(pipeline, sink)
            if picture is None:
                return
            yield picture
    finally:
        pipeline.set_state(Gst.State.NULL)


def rgba_caps(picture, rate="0/1"):
    height, width = picture.shape[:2]
    return Gst.Caps.from_string(
        f"video/x-raw,format=RGBA,width={width},height={height},framerate={rate}")


class StillFilter:
    """One playing pipeline that filters a picture with one look after another."""

    def __init__(self, picture):
        self._data = numpy.ascontiguousarray(picture).tobytes()
        self._pipeline = Gst.parse_launch(
            "appsrc name=source format=time ! cudaconvolve name=filter ! "
            "appsink name=sink sync=false")
        self._source = self._pipeline.get_by_name("source")
        self._source.set_property("caps", rgba_caps(picture))
        self.element = self._pipeline.get_by_name("filter")
        self._sink = self._pipeline.get_by_name("sink")
        self._frames = 0
        self._pipeline.set_state(Gst.State.PLAYING)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._pipeline.set_state(Gst.State.NULL)

    def run(self, look):
        """The filtered picture and the plan that made it."""
        look.apply(self.element)
        buffer = Gst.Buffer.new_wrapped(self._data)
        buffer.pts = self._frames * Gst.SECOND
        self._frames += 1
        self._source.push_buffer(buffer)
        result = pull_picture(self._pipeline, self._sink)
        if result is None:
            raise PipelineError("the filter gave no picture")
        return result, self.element.get_property("active-plan")


def frames_per_second(uri, look, width, height, seconds=1.5):
    """Frames that one cudaconvolve filters in a second, I420, with nothing else in the way."""
    pipeline = Gst.parse_launch(
        "uridecodebin name=source ! videoconvert ! videoscale add-borders=false ! "
        f"video/x-raw,format=I420,width={width},height={height},pixel-aspect-ratio=1/1 ! "
        "imagefreeze ! cudaconvolve name=filter ! fakesink sync=false")
    pipeline.get_by_name("source").set_property("uri", uri)
    element = pipeline.get_by_name("filter")
    look.apply(element)
    pipeline.set_state(Gst.State.PLAYING)
    try:
        if pipeline.get_state(TIMEOUT)[0] != Gst.StateChangeReturn.SUCCESS:
            raise_error(pipeline)
            raise PipelineError("the speed measurement did not start")
        count = lambda: element.get_property("stats").get_value("frames")  # noqa: E731
        time.sleep(0.2)
        first, start = count(), time.monotonic()
        time.sleep(seconds)
        rate = (count() - first) / (time.monotonic() - start)
        raise_error(pipeline)
        return rate, element.get_property("active-plan")
    finally:
        pipeline.set_state(Gst.State.NULL)
