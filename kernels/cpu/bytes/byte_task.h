// SPDX-License-Identifier: LGPL-2.1-or-later
// The task of a kernel that reads lines of bytes: the components of a pixel that it filters in one
// go, so that rows are parted and put together once.
#pragma once

#include "kernels/core/base/round.h"
#include "kernels/core/weights/box.h"
#include "kernels/core/weights/digits.h"
#include "kernels/cpu/component_task.h"

namespace convolve {

/// A component of a group. One that is not filtered is copied.
struct BytePart {
  ComponentTask task;  ///< Its reciprocals are those of the epilogue that is used.
  bool filtered = true;
  DigitEpilogue digits;        ///< `general` is the task's; the rest is of forms of dot products.
  NarrowBoxDivision division;  ///< Of kernel box, in the place of the epilogue if it serves.
};

/// Components of a plane that share step and size (see ComponentGroup): their samples are parted,
/// filtered and put together again in one go.
struct ByteTask {
  BytePart parts[kMaxComponents];  ///< In the order of their bytes.
  int count = 0;

  void add(const BytePart& part);
  /// True if the parts are all samples of a pixel.
  bool whole_pixels() const {
    const int bytes = parts[0].task.sample_bytes;
    return count > 1 && count * bytes == parts[0].task.step &&
           parts[count - 1].task.src - parts[0].task.src == (count - 1) * bytes;
  }
  /// True if the samples of the one part lie side by side.
  bool lies_alone() const { return count == 1 && parts[0].task.step == parts[0].task.sample_bytes; }
};

/// Bytes from a line of the lower bytes of `cells` codes to the line of their upper bytes: whole
/// cache lines.
constexpr int upper_line(int cells) {
  return round_up(cells, 64);
}

/// Columns of the widest group of components of which any is filtered, the most components of such
/// a group, and the most bytes of its samples. At least one of each.
struct GroupExtent {
  int width = 1;
  int parts = 1;
  int sample_bytes = 1;
};
GroupExtent largest_group(const FrameFormat& format);

}  // namespace convolve
