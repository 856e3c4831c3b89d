// SPDX-License-Identifier: LGPL-2.1-or-later
// The frames that the soak pushes, what must come of each, and the frames that are on their way.
#pragma once

#include <gst/video/video.h>

#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "tests/support/oracle.h"

namespace soak {

using oracle::Bytes;

/// Pictures of one size and format, and what every mask makes of them: the CPU's, whose bits the
/// masks, all rational, have on every backend.
struct Scene {
  GstVideoInfo info;
  std::vector<Bytes> pictures;
  std::vector<std::vector<Bytes>> filtered;  ///< Of a mask and a picture.
};

/// Masks whose results are the same on every backend.
const std::vector<std::string>& masks();

std::vector<Scene> make_scenes(std::mt19937& random);

/// The frames that were pushed and have not come out.
class Pending {
 public:
  explicit Pending(const std::vector<Scene>& scenes) : scenes_(scenes) {}

  struct Frame {
    std::uint64_t number = 0;  ///< In the order in which they were pushed; travels as the time.
    std::size_t scene = 0, picture = 0, mask = 0;
    bool flushed = false;  ///< It may be lost.
  };

  void push(const Frame& frame) { frames_.push_back(frame); }
  /// A flush: whatever is on its way may be dropped.
  void flush();
  /// Checks a frame that came out. Says what is wrong, or nothing.
  std::string check(GstBuffer* buffer);
  /// Nothing more will come. Says what is missing, or nothing.
  std::string finish();

  std::uint64_t right() const { return right_; }
  std::uint64_t dropped() const { return dropped_; }

 private:
  const std::vector<Scene>& scenes_;
  std::deque<Frame> frames_;
  std::uint64_t right_ = 0, dropped_ = 0;
};

/// Between two frames' times.
inline constexpr GstClockTime kFrameTime = GST_SECOND / 25;

}  // namespace soak
