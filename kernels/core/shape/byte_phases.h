// SPDX-License-Identifier: LGPL-2.1-or-later
// A plane of one-byte samples as rows of bytes. Interleaved components repeat with a period: the
// byte at position p of a row has phase p % period, and the phase says which component it belongs
// to. To a kernel that works on bytes, interleaved components are one picture under a mask whose
// taps lie `step` bytes apart.
#pragma once

#include <optional>

#include "kernels/core/base/view.h"

namespace convolve {

/// The longest period, in bytes: that of RGBA and of packed 4:2:2.
inline constexpr int kMaxPeriod = 4;

/// The byte at position p of a row belongs to component[p % period].
struct BytePhases {
  int period = 1;  ///< 1 .. kMaxPeriod bytes.
  int component[kMaxPeriod] = {};
  /// The last bytes of a row belong to no sample (the second luma of an odd YUY2 row), and are
  /// copied.
  bool tail = false;
};

/// The phases of `plane`; nothing if it has wider samples or fewer bits than 8, if a byte belongs
/// to no component or to two, or if the period is above kMaxPeriod.
std::optional<BytePhases> byte_phases(const PlaneFormat& plane);

}  // namespace convolve
