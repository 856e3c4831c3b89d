// SPDX-License-Identifier: LGPL-2.1-or-later
// A plane of one-byte samples as rows of bytes: which component the byte at a position belongs to.
// To a kernel that works on bytes, interleaved components are one picture under a mask whose taps
// lie `step` bytes apart.
#pragma once

#include <optional>

#include "kernels/core/base/view.h"

namespace convolve {

inline constexpr int kMaxPeriod = 4;

/// The byte at position p of a row belongs to component[p % period].
struct BytePhases {
  int period = 1;  ///< 1 .. kMaxPeriod bytes.
  int component[kMaxPeriod] = {};
  /// The last bytes of a row belong to no sample (the second luma of an odd YUY2 row), and are
  /// copied.
  bool tail = false;
};

/// Nothing if the plane has wider samples, fewer bits than 8, or bytes of none or of two
/// components.
std::optional<BytePhases> byte_phases(const PlaneFormat& plane);

}  // namespace convolve
