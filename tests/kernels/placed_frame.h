// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames at any address of a device's memory, with any pitch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/kernels/class_frames.h"
#include "tests/kernels/device_bytes.h"

namespace convolve::testing {

/// Where planes lie: so many bytes behind an address that is a multiple of all alignments, and so
/// far from row to row.
struct Placement {
  int offset[kMaxPlanes] = {};
  int pitch[kMaxPlanes] = {};
  bool bottom_up = false;
};

/// Bytes that any placement of `format` takes, if offsets are below kOffsets and pitches no larger
/// than rows by more than kMostPadding.
inline constexpr int kOffsets = 32;
inline constexpr int kMostPadding = 1024;
std::size_t placed_bytes(const FrameFormat& format);

/// A frame in a device's memory, and an image of that memory here.
class PlacedFrame {
 public:
  /// In `bytes`, of which there are placed_bytes() of its format.
  PlacedFrame(const FrameFormat& format, const Placement& placement, DeviceBytes& bytes);

  /// On the device.
  const FrameView& view() const { return view_; }

  /// Writes the rows of `frame`, which is in host memory, and something else all around them.
  bool write(const FrameView& frame, std::uint64_t seed);
  /// Makes all memory poison.
  bool poison();
  /// What is wrong with rows that should be those of `truth` and poison around them; or nothing.
  std::string find_fault_in(const FrameView& truth, const Tolerance& tolerance);

 private:
  DeviceBytes& bytes_;
  FrameView view_;
  FrameView image_view_;  ///< The same frame in image_.
  std::vector<std::uint8_t> image_;
};

}  // namespace convolve::testing
