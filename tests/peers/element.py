# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pictures as arrays through the real cudaconvolve element, and the counting of what came out."""

import os
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
    import numpy
except (ImportError, ValueError) as error:
    missing(error)

Gst.init(None)

TIMEOUT = 20 * Gst.SECOND
BACKEND = os.environ.get("CUDACONVOLVE_TEST_BACKEND", "auto")

# Format -> (sample type, channels, colorimetry). Full range, so that black level is code 0 and the
# element's arithmetic is the plain sum that the oracles form.
FORMATS = {
    "GRAY8": (numpy.uint8, 1, "1:4:0:0"),
    "GRAY16_LE": (numpy.dtype("<u2"), 1, "1:4:0:0"),
    "RGB": (numpy.uint8, 3, "1:1:0:0"),
}


class Filter:
    """A playing pipeline that filters pictures of one format and size."""

    def __init__(self, name, width, height):
        self._type, self._channels, colorimetry = FORMATS[name]
        self._width, self._height = width, height
        self._pipeline = Gst.parse_launch(
            "appsrc name=source format=time ! cudaconvolve name=filter normalize=none ! "
            "appsink name=sink sync=false")
        self._source = self._pipeline.get_by_name("source")
        self._source.set_property("caps", Gst.Caps.from_string(
            f"video/x-raw,format={name},width={width},height={height},framerate=25/1,"
            f"colorimetry={colorimetry}"))
        self._element = self._pipeline.get_by_name("filter")
        self._element.set_property("backend", BACKEND)
        self._sink = self._pipeline.get_by_name("sink")
        self._frames = 0
        self._pipeline.set_state(Gst.State.PLAYING)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._pipeline.set_state(Gst.State.NULL)

    def run(self, picture, **properties):
        """The filtered `picture`, an array height x width x channels."""
        for name, value in properties.items():
            self._element.set_property(name, value)
        buffer = Gst.Buffer.new_wrapped(self._pack(picture))
        buffer.pts = self._frames * Gst.SECOND // 25
        self._frames += 1
        self._source.push_buffer(buffer)
        sample = self._sink.try_pull_sample(TIMEOUT)
        if sample is None:
            message = self._pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
            raise RuntimeError(message.parse_error()[0].message if message else "no frame came")
        plan = self._element.get_property("active-plan")
        if BACKEND != "auto" and not plan.startswith(BACKEND):
            raise RuntimeError(f"asked for {BACKEND}, got {plan}")
        return self._unpack(sample.get_buffer())

    def _row_bytes(self):
        return self._width * self._channels * numpy.dtype(self._type).itemsize

    def _pack(self, picture):
        rows = numpy.zeros((self._height, -(-self._row_bytes() // 4) * 4), numpy.uint8)
        plain = numpy.ascontiguousarray(picture.astype(self._type))
        rows[:, :self._row_bytes()] = plain.view(numpy.uint8).reshape(self._height, -1)
        return rows.tobytes()

    def _unpack(self, buffer):
        meta = GstVideo.buffer_get_video_meta(buffer)
        stride = meta.stride[0] if meta else -(-self._row_bytes() // 4) * 4
        offset = meta.offset[0] if meta else 0
        data = numpy.frombuffer(buffer.extract_dup(0, buffer.get_size()), numpy.uint8)[offset:]
        rows = numpy.stack([data[y * stride:y * stride + self._row_bytes()]
                            for y in range(self._height)])
        return rows.view(self._type).reshape(self._height, self._width, self._channels)


class Tally:
    """Counts pictures that are equal sample for sample; says where the others differ."""

    def __init__(self):
        self.passed = self.failed = self.samples = 0

    def compare(self, what, got, expected):
        self.samples += got.size
        wrong = int((got != expected).sum())
        if wrong == 0:
            self.passed += 1
            return
        self.failed += 1
        if self.failed <= 10:
            y, x, channel = (int(i[0]) for i in numpy.nonzero(got != expected))
            print(f"DIFFERS {what}: {wrong} of {got.size} samples, first at x={x} y={y} "
                  f"channel {channel}: {got[y, x, channel]}, expected {expected[y, x, channel]}")

    def finish(self, oracle):
        print(f"{oracle}: {self.samples} samples compared, backend {BACKEND}")
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(1 if self.failed or not self.passed else 0)


def random_picture(random, name, width, height):
    sample_type, channels, _ = FORMATS[name]
    top = numpy.iinfo(sample_type).max
    return random.integers(0, top, (height, width, channels), endpoint=True)


def mask_text(weights, divisor=1):
    rows = "; ".join(" ".join(str(w) for w in row) for row in weights.tolist())
    height, width = weights.shape
    return f"{width}x{height}: {rows}" + (f" / {divisor}" if divisor != 1 else "")
