// SPDX-License-Identifier: LGPL-2.1-or-later
// The task of a kernel that filters all components of a row at once, so that rows are parted and
// put together once.
#pragma once

#include "kernels/core/base/round.h"
#include "kernels/core/weights/box.h"
#include "kernels/core/weights/digits.h"
#include "kernels/cpu/component_task.h"

namespace convolve {

/// A component of a group. One that is not filtered is copied.
struct GroupPart {
  ComponentTask task;  ///< Its reciprocals are those of the epilogue that is used.
  bool filtered = true;
  DigitEpilogue digits;  ///< `general` is the task's; the rest is of forms of dot products.
  /// True if what makes codes of this component's sums and of those of the plane's first filtered
  /// one that has the same step serve each other; in coarsened-dots of the first one of all.
  bool shares_epilogue = false;
  /// Of kernel box, in the place of the epilogue: the first that serves, the last one where it is
  /// direct, has no ties and takes less time.
  NarrowBoxDivision narrow_division;
  FloatBoxDivision float_division;
  BoxDivision division;
};

/// Components of a plane that share step and size (see ComponentGroup): their samples are parted
/// and filtered in one go.
struct GroupTask {
  GroupPart parts[kMaxComponents];  ///< In the order of their bytes.
  int count = 0;

  void add(const GroupPart& part);
  bool any_filtered() const;
  bool all_filtered() const;
  /// True if all parts are filtered, and the epilogue of one serves all.
  bool one_epilogue_serves() const;
  /// True if the parts are all samples of a pixel.
  bool whole_pixels() const {
    const int bytes = parts[0].task.sample_bytes;
    return count > 1 && count * bytes == parts[0].task.step &&
           parts[count - 1].task.src - parts[0].task.src == (count - 1) * bytes;
  }
  /// True if the parts are the two samples of a pixel, and what is made of one serves the other.
  bool pixels_of_two() const;
  /// The samples of pixels_of_two() as those of one part, twice as wide, which lies alone.
  GroupTask in_turn() const;
  /// True if the samples of the one part lie side by side.
  bool lies_alone() const { return count == 1 && parts[0].task.step == parts[0].task.sample_bytes; }
};

/// The tasks of a plane whose samples are put together row by row: one, or those of luma and chroma
/// that take turns in a row, as in YUY2, so that each byte of the output is written once and none
/// is read.
struct RowTask {
  GroupTask groups[2];  ///< Luma comes first.
  int count = 0;

  /// The columns of group `g` below `area` of the first group, which begins at an even column.
  Area area_of(int g, const Area& area) const;

  /// Two groups as one of macropixels, whose four parts are two neighbours in luma and a sample of
  /// each chroma between or around them. The width of all parts is that of chroma; that of luma
  /// must be twice as large.
  GroupTask macropixels() const;
};

/// True if a sample of `luma` follows each of `chroma`, or the other way round, so that their
/// samples are all there is in a row.
bool take_turns(const FrameFormat& format, const ComponentGroup& luma,
                const ComponentGroup& chroma);

/// Bytes from a line of the lower bytes of `cells` codes to the line of their upper bytes: whole
/// cache lines.
constexpr int upper_line(int cells) {
  return round_up(cells, 64);
}

/// Columns of the widest group of components that a row task may have, the most components of such
/// a group, the most bytes of its samples, and the most groups of a task. At least one of each.
struct GroupExtent {
  int width = 1;
  int parts = 1;
  int sample_bytes = 1;
  int groups = 1;
};
GroupExtent largest_group(const FrameFormat& format);

}  // namespace convolve
