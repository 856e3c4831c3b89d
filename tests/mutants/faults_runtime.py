# SPDX-License-Identifier: LGPL-2.1-or-later
"""The faults (fault.py) in how frames cross the bus that the test `staging` notices without a GPU.

They show where a stop leaves a frame behind, or where two fields of a frame take different ways:
what the tests on a GPU, whose frames all end, pass.
"""

from fault import Fault

RUNTIME = [
    Fault("second-field-over-rows-that-wait", "kernels/cuda/runtime/frame_slot.cc",
          "  if (begun_ && staging_.has_more()) status = staging_.finish();\n", ""),
    Fault("frame-left-behind-is-written", "kernels/cuda/runtime/frame_slot.cc",
          "  staging_.forget();\n", ""),
    Fault("second-source-over-the-first", "kernels/cuda/runtime/frame_slot.cc",
          "      if (Status status = follow(streams_.upload, streams_.kernels, done_); !status.ok())\n"
          "        return status;\n",
          "      {}\n"),
    Fault("slot-used-while-a-frame-left-behind-works", "kernels/cuda/runtime/frame_slot.cc",
          "  if (status.ok() && in_use && (!begun_ || before.apart() != streams.apart()))\n",
          "  if (false)\n"),
    Fault("second-run-on-other-streams-forgets-the-first", "kernels/cuda/runtime/frame_slot.cc",
          "in_use && (!begun_ || before.apart() != streams.apart())", "in_use && !begun_"),
    Fault("rest-of-other-streams-is-claimed", "kernels/cuda/runtime/frame_slot.cc",
          "for (const FrameStreams& from : {before, streams_})",
          "for (const FrameStreams& from : {streams_})"),
    Fault("kernels-overtake-the-frame-before", "kernels/cuda/runtime/frame_slot.cc",
          "    status = follow(streams.kernels, kernels_before, done_);\n", "    status = {};\n"),
    Fault("uploads-wait-for-owners", "kernels/cuda/runtime/frame_slot.cc",
          "  return follow(streams_.kernels, owner, done_);\n",
          "  (void)follow(streams_.upload, owner, done_);\n"
          "  return follow(streams_.kernels, owner, done_);\n"),
    Fault("kernels-before-an-owner", "kernels/cuda/runtime/frame_slot.cc",
          "  return follow(streams_.kernels, owner, done_);\n", "  (void)owner;\n  return {};\n"),
    Fault("uploads-to-memory-not-cleared-yet", "kernels/cuda/runtime/frame_slot.cc",
          "for (const cudaStream_t to : {streams.upload, streams.kernels})\n      if (status.ok()) status",
          "for (const cudaStream_t to : {streams.kernels})\n      if (status.ok()) status"),
    Fault("kernels-on-memory-not-cleared-yet", "kernels/cuda/runtime/frame_slot.cc",
          "for (const cudaStream_t to : {streams.upload, streams.kernels})\n      if (status.ok()) status",
          "for (const cudaStream_t to : {streams.upload})\n      if (status.ok()) status"),
]
