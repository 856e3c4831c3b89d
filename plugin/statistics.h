// SPDX-License-Identifier: LGPL-2.1-or-later
// The numbers of property `stats`: counters, and times of the stages of a frame.
#pragma once

#include <gst/gst.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "kernels/convolver.h"

namespace cudaconvolve {

/// Counters that start() sets to 0.
struct Statistics {
  guint64 frames = 0;              ///< Passed on, filtered or not.
  guint64 passthrough_frames = 0;  ///< Of these not filtered.
  guint64 backend_switches = 0;    ///< From CUDA to the CPU while running.
  guint64 bytes_in = 0;
  guint64 bytes_out = 0;
  guint64 kernel_ns_last = 0;  ///< Of the last frame whose kernels were timed; 0 = unknown.
};

/// A new structure, owned by the caller, with the counters by the names that users see.
GstStructure* stats_structure(const Statistics& statistics, std::size_t frames_in_flight);

/// Where the time of the last frames went. Any thread. Nothing is measured until somebody asks.
class StageTimes {
 public:
  /// True once describe() has been called.
  bool wanted() const { return wanted_.load(std::memory_order_relaxed); }

  /// A frame has been finished that was sent when they were wanted.
  void add(const convolve::FrameTimes& times);

  /// Forgets all frames. Who has asked once will ask again.
  void reset();

  /// Adds to `stats` mean, p50 and p99 of each stage, in nanoseconds, over the last kFrames frames;
  /// 0 at the first call, which begins the measurement.
  void describe(GstStructure* stats);

 private:
  static constexpr std::size_t kStages = 5;
  static constexpr std::size_t kFrames = 256;

  std::atomic<bool> wanted_{false};
  std::mutex mutex_;
  std::array<std::array<std::uint64_t, kFrames>, kStages> times_{};
  std::uint64_t count_ = 0;  ///< Frames added.
};

}  // namespace cudaconvolve
