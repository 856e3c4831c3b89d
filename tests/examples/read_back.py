#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Filters test pictures, changes the mask while they play, and says what the element did.

    GST_PLUGIN_PATH=build/plugin tests/examples/read_back.py [MASK...]

Prints a line for each mask: the plan that filtered frames with it, how many there were, and where
their time went. Ends with status 1 if a mask is refused, or if a frame is lost.
"""

import sys

import gi

gi.require_version("Gst", "1.0")
from gi.repository import GLib, Gst  # noqa: E402

FRAMES_OF_MASK = 30
LINE = ("videotestsrc num-buffers={} pattern=smpte ! video/x-raw,format=NV12,width=640,height=360 ! "
        "cudaconvolve name=filter ! fakesink name=sink signal-handoffs=true")


class Player:
    """Plays as many frames with each mask as the others have."""

    def __init__(self, masks):
        self.masks = masks
        self.frames = 0
        self.problem = None
        self.loop = GLib.MainLoop()
        self.pipeline = Gst.parse_launch(LINE.format(FRAMES_OF_MASK * len(masks)))
        self.filter = self.pipeline.get_by_name("filter")
        self.pipeline.get_by_name("sink").connect("handoff", self.count)
        self.pipeline.get_bus().add_signal_watch()
        self.pipeline.get_bus().connect("message", self.hear)

    def run(self):
        self.filter.set_property("mask", self.masks[0])
        self.filter.get_property("stats")  # The first look has the stages of later frames timed.
        self.pipeline.set_state(Gst.State.PLAYING)
        self.loop.run()
        self.pipeline.set_state(Gst.State.NULL)
        if self.problem is None and self.frames != FRAMES_OF_MASK * len(self.masks):
            self.problem = f"{self.frames} frames came"
        return self.problem

    def count(self, _sink, _buffer, _pad):
        """Called by the thread of the stream, which may set properties as any other may."""
        self.frames += 1
        if self.frames % FRAMES_OF_MASK == 0:
            self.tell()
            if self.frames < FRAMES_OF_MASK * len(self.masks):
                self.filter.set_property("mask", self.masks[self.frames // FRAMES_OF_MASK])

    def tell(self):
        stats = self.filter.get_property("stats")
        means = {stats.nth_field_name(n): stats.get_value(stats.nth_field_name(n))
                 for n in range(stats.n_fields()) if stats.nth_field_name(n).endswith("-ns-mean")}
        stages = ", ".join(f"{name.removesuffix('-ns-mean')} {time / 1000:.0f} us"
                           for name, time in means.items() if time > 0)
        print(f"{self.filter.get_property('mask')}: {self.filter.get_property('active-plan')}; "
              f"{stats.get_value('frames')} frames so far; {stages}")

    def hear(self, _bus, message):
        if message.type == Gst.MessageType.WARNING:
            self.problem = message.parse_warning()[0].message
        elif message.type == Gst.MessageType.ERROR:
            self.problem = message.parse_error()[0].message
        elif message.type != Gst.MessageType.EOS:
            return
        self.loop.quit()


def main():
    Gst.init(None)
    problem = Player(sys.argv[1:] or ["gaussian:2", "sobel-x", "0 1 0; 1 -4 1; 0 1 0"]).run()
    if problem is not None:
        print(f"read_back: {problem}", file=sys.stderr)
    return 0 if problem is None else 1


if __name__ == "__main__":
    sys.exit(main())
