// SPDX-License-Identifier: LGPL-2.1-or-later
// How many frames may be in flight, and the latency that comes with it.
#pragma once

#include <gst/base/gstbasetransform.h>
#include <gst/video/video.h>

#include <cstddef>

namespace cudaconvolve {

/// What upstream and the caps say of a stream, as far as it decides how many frames are in flight.
struct StreamKind {
  bool live = false;
  /// Whether it is live is known, and how long a frame lasts.
  bool known = false;
  GstClockTime frame_duration = GST_CLOCK_TIME_NONE;
  std::size_t frame_bytes = 0;
  /// Frames are pushed before they are finished, on the streams of their memory.
  bool handed_over = false;
};

/// Asks upstream, which must not be waiting for this thread.
StreamKind kind_of_stream(GstBaseTransform* trans, const GstCaps* caps);

/// The depth for `async-depth`: -1 means none where frames are awaited at their time, or where it
/// is not known that they are not, or where they are handed over; and else as many as keep both
/// directions of the bus busy: 3, or 2 of large frames.
int chosen_depth(int async_depth, const StreamKind& stream);

/// Adds what frames in flight take to the answer of a LATENCY query.
void add_latency(GstQuery* query, int depth, const StreamKind& stream);

}  // namespace cudaconvolve
