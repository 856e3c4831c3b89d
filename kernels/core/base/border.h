// SPDX-License-Identifier: LGPL-2.1-or-later
// What ghost cells hold. One definition for the reference and every backend.
#pragma once

#include "kernels/core/base/host_device.h"

namespace convolve {

enum class Border : int {
  kReplicate,  ///< aaa|abcd|ddd  clamp, nearest, edge
  kZero,       ///< 000|abcd|000  no signal: the component's black level, the chapter's ghost cells
  kReflect,    ///< cba|abcd|dcb  symmetric, SciPy reflect
  kMirror,     ///< dcb|abcd|cba  reflect-101, SciPy mirror
  kWrap,       ///< bcd|abcd|abc  tile, periodic
};

inline constexpr int kBorderCount = 5;

/// The index that a ghost cell reads, or this for a cell without signal (Border::kZero).
inline constexpr int kNoSignal = -1;

/// Maps position `i` (any value) on an axis of `n` >= 1 cells to the cell whose value it takes:
/// 0 .. n - 1, or kNoSignal. Reflections repeat as often as the distance needs.
CONVOLVE_HD constexpr int border_index(Border border, int i, int n) {
  if (i >= 0 && i < n) return i;
  if (border == Border::kReplicate) return i < 0 ? 0 : n - 1;
  if (border == Border::kZero) return kNoSignal;
  // The others repeat: reflect shows every cell twice in a period, mirror all but the two ends.
  // One division for all three keeps kernels small, which inline this.
  const int mirrored = n > 1 ? 2 * n - 2 : 1;
  const int period = border == Border::kWrap ? n : border == Border::kReflect ? 2 * n : mirrored;
  const int remainder = i % period;
  const int m = remainder < 0 ? remainder + period : remainder;
  if (m < n) return m;
  return (border == Border::kReflect ? period - 1 : period) - m;
}

}  // namespace convolve
