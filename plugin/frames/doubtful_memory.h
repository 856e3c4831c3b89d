// SPDX-License-Identifier: LGPL-2.1-or-later
// Memory of frames that a device may still read or write although nobody waits for it any more.
#pragma once

#include <gst/gst.h>

#include <vector>

namespace cudaconvolve {

/// Never gives a buffer back. With it stays its pool, which frees nothing before it has all of its
/// buffers, and what its memory is of: so nobody asks the driver to free memory of a lost device, a
/// call that may not return (seen where several processes met a fault at once). The pool is
/// flushed, and the leaks tracer told, but not of its other buffers.
void keep_for_good(GstBuffer* buffer);

/// Keeps such memory from being freed or used again. A pool drops a buffer whose memory somebody
/// else still holds.
class DoubtfulMemory {
 public:
  DoubtfulMemory() = default;
  ~DoubtfulMemory() { abandon(); }
  DoubtfulMemory(const DoubtfulMemory&) = delete;
  DoubtfulMemory& operator=(const DoubtfulMemory&) = delete;

  /// Keeps all memory of `buffer`.
  void keep(GstBuffer* buffer);

  bool empty() const { return kept_.empty(); }

  /// The device has come to rest.
  void release();

  /// The device is lost: what it may still write is never freed. The leaks tracer is told.
  void abandon();

 private:
  std::vector<GstMemory*> kept_;
};

}  // namespace cudaconvolve
