// SPDX-License-Identifier: LGPL-2.1-or-later
// Where kernels of bytes read the rows of a picture: in a line of cells that a row was copied to,
// ghost cells included, or in the picture itself. A component that lies alone is copied at its two
// ends only.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_SOURCE_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_SOURCE_ROWS_INL_H_
#undef CONVOLVE_SOURCE_ROWS_INL_H_
#else
#define CONVOLVE_SOURCE_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "kernels/core/base/round.h"
#include "kernels/cpu/bytes/byte_lines-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

/// How a kernel goes along a row: it makes `step` results at a time, and for those at column i
/// reads cells i .. i + reach - 1.
struct Stride {
  int step;
  int reach;
};

/// The cells that a kernel reads of each row, `cells` of them from column `x` of the picture on,
/// and which of its steps find all of theirs in the picture.
class SourceRows {
 public:
  SourceRows(const ByteTask& task, int x, int cells, Stride stride)
      : task_(task), x_(x), cells_(cells), stride_(stride) {
    if (!task.lies_alone()) return;
    const int before = round_up(std::max(-x, 0), stride.step);
    const int room = task.parts[0].task.width - x - before - stride.reach;
    if (room < 0) return;
    begin_ = before;
    end_ = before + (room / stride.step + 1) * stride.step;
  }

  /// Copies what is not read in the picture of its row `y` to a line of each part.
  HWY_INLINE void load(int y, std::uint8_t* const* lines) const {
    if (begin_ == end_ || outside(y)) return load_parts(task_, y, x_, cells_, lines);
    if (begin_ > 0) {
      const int left = std::min(begin_ - stride_.step + stride_.reach, cells_);
      load_parts(task_, y, x_, left, lines);
    }
    if (end_ < cells_) {
      std::uint8_t* const right[] = {lines[0] + end_};
      load_parts(task_, y, x_ + end_, cells_ - end_, right);
    }
  }

  /// Calls `use(begin, end, in_picture)` for the steps from `begin` up to `end`, which read all of
  /// their cells in one place, until `count` results are made.
  template <class Use>
  HWY_INLINE void for_each_run(int count, const Use& use) const {
    const int begin = std::min(begin_, count), end = std::min(end_, count);
    if (begin > 0) use(0, begin, false);
    if (begin < end) use(begin, end, true);
    if (end < count) use(end, count, false);
  }

  /// Cell 0 of row `y` for steps in the picture, if there is one, where `line` is what load() has
  /// filled.
  const std::uint8_t* in_picture(int y, const std::uint8_t* line) const {
    const ComponentTask& first = task_.parts[0].task;
    const int row = border_index(first.border, y, first.height);
    return row == kNoSignal ? line : first.src_row(row) + x_;
  }

 private:
  bool outside(int y) const {
    const ComponentTask& first = task_.parts[0].task;
    return border_index(first.border, y, first.height) == kNoSignal;
  }

  const ByteTask& task_;
  int x_, cells_;
  Stride stride_;
  int begin_ = 0, end_ = 0;  ///< Steps in the picture.
};

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
