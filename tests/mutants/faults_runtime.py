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
          "      if (status.ok()) status = wait_across(to, done_);\n", "      (void)to;\n"),
    Fault("second-run-on-other-streams-forgets-the-first", "kernels/cuda/runtime/frame_slot.cc",
          "    if (!before.are(streams))\n", "    if (false)\n"),
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
    Fault("memory-is-used-before-it-is-cleared", "kernels/cuda/runtime/frame_slot.cc",
          "  if (status.ok()) status = wait_for(done_.get(), device_, stop_);\n", ""),
    Fault("memory-on-one-stream-is-used-on-another", "kernels/cuda/runtime/frame_slot.cc",
          "fresh_on_ == streams.kernels && fresh_on_ == streams.upload",
          "fresh_on_ == streams.kernels || fresh_on_ == streams.upload"),
    Fault("source-owner-does-not-wait", "kernels/cuda/runtime/frame_slot.cc",
          "  if (owners_[0] != streams_.kernels) status = wait_across(owners_[0], done_);\n", ""),
    Fault("destination-owner-does-not-wait", "kernels/cuda/runtime/frame_slot.cc",
          "owners_[1] != owners_[0] && owners_[1] != streams_.kernels)",
          "owners_[1] != owners_[0] && owners_[1] == streams_.kernels)"),
    Fault("fields-without-owners-are-handed-over", "kernels/cuda/runtime/frame_slot.cc",
          "  if (!run_owned_ || !runs_before_owned_) return {};\n",
          "  if (!run_owned_) return {};\n"),
    Fault("frames-are-handed-over-unasked", "kernels/cuda/runtime/frame_slot.cc",
          "begun && may_hand_over ?", "begun ?"),
]
