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
#include <iterator>

#include "kernels/core/base/round.h"
#include "kernels/cpu/rows/byte_lines-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

/// How a kernel goes along a row: it makes `step` results at a time, and for those at column i
/// reads cells i .. i + reach - 1, a step of them or more.
struct Stride {
  int step;
  int reach;
};

/// Results of a row, and whether the two steps of cells that each step of them is made of lie in
/// the picture.
struct StepRun {
  int begin, end;
  bool first_in_picture, last_in_picture;
};

struct StepRuns {
  StepRun runs[5];
  int count = 0;
};

/// The cells that a kernel reads of each row, `cells` of them from column `x` of the picture on,
/// and which of its steps find all of theirs in the picture.
class SourceRows {
 public:
  SourceRows(const GroupTask& task, int x, int cells, Stride stride)
      : task_(task), x_(x), cells_(cells), stride_(stride) {
    if (!task.lies_alone()) return;
    const int before = round_up(std::max(-x, 0), stride.step);
    const int room = task.parts[0].task.width - x - before - stride.reach;
    if (room < 0) return;
    begin_ = before;
    end_ = before + (room / stride.step + 1) * stride.step;
    const int right = cells - picture_end();
    if (x < 0) left_ = ghost_run(border(), x, width(), -x);
    if (right > 0) right_ = ghost_run(border(), width(), width(), right);
    quick_ends_ = (x >= 0 || left_.length == -x) && (right <= 0 || right_.length == right);
  }

  /// Copies what is not read in the picture of its row `y` to a line of each part.
  HWY_INLINE void load(int y, std::uint8_t* const* lines) const {
    const int row = border_index(border(), y, task_.parts[0].task.height);
    if (begin_ == end_ || row == kNoSignal) return load_parts(task_, y, x_, cells_, lines);
    const int left = begin_ > 0 ? std::min(begin_ - stride_.step + stride_.reach, cells_) : 0;
    if (quick_ends_) return load_ends(task_.parts[0].task.src_row(row), left, lines[0]);
    if (left > 0) load_parts(task_, y, x_, left, lines);
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

  /// The first `count` results of a kernel that for those at column i reads a step of cells from
  /// cell i on and one from cell i + `offset` on, with a reach of two steps, as runs that find
  /// each of them in one place.
  StepRuns runs_of_two(int count, int offset) const {
    const auto first_step = [&](int cell) {
      return std::clamp(round_up(std::max(cell, 0), stride_.step), 0, count);
    };
    int ends[] = {first_step(begin_), first_step(end_), first_step(begin_ - offset),
                  first_step(end_ - offset), count};
    std::sort(std::begin(ends), std::end(ends));
    const auto in_picture = [&](int cell) { return begin_ <= cell && cell < end_; };
    StepRuns made;
    int begin = 0;
    for (const int end : ends)
      if (end > begin) {
        made.runs[made.count++] = {begin, end, in_picture(begin), in_picture(begin + offset)};
        begin = end;
      }
    return made;
  }

  /// Cell 0 of row `y` for steps in the picture, if there is one, where `line` is what load() has
  /// filled.
  const std::uint8_t* in_picture(int y, const std::uint8_t* line) const {
    const ComponentTask& first = task_.parts[0].task;
    const int row = border_index(first.border, y, first.height);
    return row == kNoSignal ? line : first.src_row(row) + x_;
  }

 private:
  Border border() const { return task_.parts[0].task.border; }
  int width() const { return task_.parts[0].task.width; }
  /// The first cell behind the picture, if x_ is before that.
  int picture_end() const { return width() - x_; }

  /// Copies the first `left` cells of a row of the picture, and those from end_ on.
  HWY_INLINE void load_ends(const std::uint8_t* row, int left, std::uint8_t* line) const {
    if (left > 0) {
      const int ghosts = std::max(-x_, 0);
      if (ghosts > 0) copy_ghosts(left_, row, line);
      copy_bytes(row + x_ + ghosts, left - ghosts, line + ghosts);
    }
    if (end_ >= cells_) return;
    copy_bytes(row + x_ + end_, std::min(picture_end(), cells_) - end_, line + end_);
    if (picture_end() < cells_) copy_ghosts(right_, row, line + picture_end());
  }

  HWY_INLINE void copy_ghosts(const GhostRun& run, const std::uint8_t* row,
                              std::uint8_t* to) const {
    if (run.column == kNoSignal)
      std::memset(to, task_.parts[0].task.black, static_cast<std::size_t>(run.length));
    else
      copy_run(run, row + run.column, 1, to);
  }

  const GroupTask& task_;
  int x_, cells_;
  Stride stride_;
  int begin_ = 0, end_ = 0;  ///< Steps in the picture.
  /// The ghost cells of each row, if those of either side are one run.
  GhostRun left_ = {}, right_ = {};
  bool quick_ends_ = false;
};

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
