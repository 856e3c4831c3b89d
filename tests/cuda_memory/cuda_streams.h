// SPDX-License-Identifier: LGPL-2.1-or-later
// Memory of CUDA that belongs to streams, as GStreamer has it from 1.24 on, and work that is slow
// on them.
#pragma once

#include <gst/video/video.h>

#include <atomic>
#include <memory>

#include "tests/cuda_memory/cuda_frames.h"

namespace cuda_frames {

/// A pool of `count` frames of `info` and no more, in CUDA memory of one new stream (transfer
/// full). Null before 1.24, or if there is no such pool.
GstBufferPool* new_pool_of_a_stream(const Context& context, const GstVideoInfo& info, guint count);

/// The stream that the memory of `buffer` belongs to; null before 1.24, or if there is none.
gpointer stream_of(GstBuffer* buffer);

/// Asks for a copy of the picture in `from` to `to`, which are frames of `info` in CUDA memory, on
/// the stream that the memory of `of`, one of the two, belongs to, behind all that this stream has
/// been asked for before. False if there is no such stream, or if the driver refuses.
bool copy(GstBuffer* from, GstBuffer* to, const GstVideoInfo& info, GstBuffer* of);
/// The copy begins five milliseconds later than it might.
bool copy_late(GstBuffer* from, GstBuffer* to, const GstVideoInfo& info, GstBuffer* of);

/// Holds up streams until it is let go, or goes.
class Hold {
 public:
  Hold();
  ~Hold() { let_go(); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  /// The stream that the memory of `of` belongs to is held from what it is asked for next on, for
  /// four seconds at most. False if there is no such stream, or if the driver refuses.
  bool up(GstBuffer* of);
  void let_go() { *go_ = true; }

 private:
  std::shared_ptr<std::atomic<bool>> go_;
};

/// Waits for all that the stream of the memory of `buffer` has been asked for.
bool await_stream_of(GstBuffer* buffer);

}  // namespace cuda_frames
