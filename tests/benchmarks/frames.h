// SPDX-License-Identifier: LGPL-2.1-or-later
// How the frames of a benchmark lie in memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/core/base/view.h"

namespace convolve::benchmarks {

/// Bytes of a frame that hold samples.
std::size_t packed_bytes(const FrameFormat& format);

/// The planes of a packed frame: one after the other, without padding. Views know no const: whoever
/// reads through this one must not write.
FrameView packed_view(const FrameFormat& format, const std::uint8_t* data);

/// Planes below each other with one pitch, as GStreamer lays frames out in CUDA memory.
struct StackedSize {
  int row_bytes = 0;
  int rows = 0;
};
StackedSize stacked_size(const FrameFormat& format);
FrameView stacked_view(const FrameFormat& format, std::uint8_t* data, std::ptrdiff_t pitch);

}  // namespace convolve::benchmarks
