# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes the clip: a video, or a slow flight over a picture, whose mask changes every second."""

import math
import os
import time

from PIL import Image

from pipelines import Gst, PipelineError, rgba_caps
from sheet import caption

RATE = 30
SECONDS_PER_LOOK = 1
SIZE = (960, 540)

# Filter, caption and encoder share one streaming thread, so that the caption changes on the frame
# on which the mask does. The encoder has one thread: several wait for each other by spinning, which
# on a busy machine takes ten times as long.
FILTER_TO_FILE = (
    "cudaconvolve name=filter ! videoconvert ! "
    "gdkpixbufoverlay name=caption offset-x=24 offset-y=-24 ! videoconvert ! "
    "vp8enc deadline=1 cpu-used=8 target-bitrate=3000000 keyframe-max-dist=60 ! "
    "webmmux ! filesink name=file")


def flight(picture, focus, count):
    """Yields `count` frames: from the whole picture slowly closer to the focus and back."""
    image = Image.fromarray(picture)
    widest = min(image.width, image.height * SIZE[0] / SIZE[1])
    for n in range(count):
        near = (1 - math.cos(2 * math.pi * n / count)) / 2
        width = widest * (1 - 0.4 * near)
        height = width * SIZE[1] / SIZE[0]
        x = image.width / 2 + (focus[0] - 0.5) * image.width * near
        y = image.height / 2 + (focus[1] - 0.5) * image.height * near
        left = min(max(0.0, x - width / 2), image.width - width)
        top = min(max(0.0, y - height / 2), image.height - height)
        yield image.resize(SIZE, Image.Resampling.BILINEAR,
                           (left, top, left + width, top + height))


class LookChanger:
    """A pad probe that sets the next look, and its caption, when its second begins."""

    def __init__(self, pipeline, looks, folder):
        self._element = pipeline.get_by_name("filter")
        self._overlay = pipeline.get_by_name("caption")
        self._looks = looks
        self._files = []
        self._now = None
        self.frames = 0
        for index, look in enumerate(looks):
            self._files.append(os.path.join(folder, f"caption-{index}.png"))
            caption(look).save(self._files[-1])
        self._element.get_static_pad("sink").add_probe(Gst.PadProbeType.BUFFER, self._on_frame)

    def _on_frame(self, _pad, _info):
        due = min(self.frames // (RATE * SECONDS_PER_LOOK), len(self._looks) - 1)
        if due != self._now:
            self._now = due
            self._looks[due].apply(self._element)
            self._overlay.set_property("location", self._files[due])
        self.frames += 1
        return Gst.PadProbeReturn.OK

    def clean_up(self):
        for file in self._files:
            os.remove(file)


def _wait(pipeline, changer, total, feed):
    """Runs until the end of the stream, feeding frames and printing progress each second."""
    bus = pipeline.get_bus()
    start = last = time.monotonic()
    while True:
        feeding = feed()
        message = bus.timed_pop_filtered(0 if feeding else Gst.SECOND // 5,
                                         Gst.MessageType.EOS | Gst.MessageType.ERROR)
        now = time.monotonic()
        if message and message.type == Gst.MessageType.ERROR:
            error, debug = message.parse_error()
            raise PipelineError(f"{message.src.get_name()}: {error.message} ({debug})")
        if message:
            return changer.frames / (now - start)
        if now - last >= 1:
            last = now
            print(f"  clip: {changer.frames} of {total} frames, "
                  f"{changer.frames / (now - start):.0f} frames/s", flush=True)


def make_clip(looks, path, uri=None, picture=None, focus=(0.5, 0.5)):
    """Writes the clip from the video at `uri`, or else from `picture`; returns frames per second,
    decoding and encoding included."""
    total = len(looks) * RATE * SECONDS_PER_LOOK
    if uri:
        head = (f"uridecodebin name=source ! videoconvert ! videoscale ! videorate ! video/x-raw,"
                f"format=I420,framerate={RATE}/1,width=[16,1280],height=[16,720],"
                f"pixel-aspect-ratio=1/1 ! identity eos-after={total + 1} ! ")
    else:
        head = ("appsrc name=source format=time block=true max-bytes=16000000 ! videoconvert ! "
                "video/x-raw,format=I420 ! ")
    pipeline = Gst.parse_launch(head + FILTER_TO_FILE)
    pipeline.get_by_name("file").set_property("location", path)
    source = pipeline.get_by_name("source")
    frames = iter(())
    if uri:
        source.set_property("uri", uri)
    else:
        frames = enumerate(flight(picture, focus, total))
        source.set_property("caps", rgba_caps(picture[:SIZE[1], :SIZE[0]], f"{RATE}/1"))

    def feed():
        try:
            number, image = next(frames)
        except StopIteration:
            if not uri:
                source.end_of_stream()
            return False
        buffer = Gst.Buffer.new_wrapped(image.tobytes())
        buffer.pts = number * Gst.SECOND // RATE
        buffer.duration = Gst.SECOND // RATE
        source.push_buffer(buffer)
        return True

    changer = LookChanger(pipeline, looks, os.path.dirname(path))
    pipeline.set_state(Gst.State.PLAYING)
    try:
        return _wait(pipeline, changer, total, feed)
    finally:
        pipeline.set_state(Gst.State.NULL)
        changer.clean_up()
