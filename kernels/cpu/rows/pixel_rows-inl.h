// SPDX-License-Identifier: LGPL-2.1-or-later
// Where kernels that filter the bytes of pixels where they lie read the rows of a picture: in the
// picture itself, or in a line of pixels, ghost cells included, to which the ends of a row were
// copied.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_PIXEL_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_PIXEL_ROWS_INL_H_
#undef CONVOLVE_PIXEL_ROWS_INL_H_
#else
#define CONVOLVE_PIXEL_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/core/base/round.h"
#include "kernels/cpu/load_line-inl.h"
#include "kernels/cpu/rows/row_task.h"
#include "kernels/cpu/rows/source_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

/// The pixels of kBytes bytes, all of them samples of `task`'s parts, that a kernel reads of each
/// row: `count` of them from column `x` of the picture on; and which of its steps find all of
/// theirs in the picture. Steps and reaches are bytes. kMacropixels: pixels are those of
/// RowTask::macropixels().
template <int kBytes, bool kMacropixels = false>
class PixelRows {
 public:
  /// `luma_byte`: the first byte of luma in a macropixel.
  PixelRows(const GroupTask& task, int x, int count, Stride stride, int luma_byte = 0)
      : task_(task), first_(task.parts[0].task), x_(x), count_(count), luma_byte_(luma_byte) {
    const int before = round_up(std::max(-x, 0) * kBytes, stride.step);
    const int room = (first_.width - x) * kBytes - before - stride.reach;
    if (room < 0) return;
    begin_ = before;
    end_ = before + (room / stride.step + 1) * stride.step;
    // Steps in the picture read it directly; a row is copied only as far as the steps at its left
    // end reach, and from the first pixel that the steps at its right end read.
    left_ =
        begin_ > 0 ? std::min(divide_up(begin_ - stride.step + stride.reach, kBytes), count) : 0;
    right_ = std::min(end_ / kBytes, count);
  }

  /// Copies what is not read in the picture of its row `y` to `line`.
  HWY_INLINE void load(int y, std::uint8_t* line) const {
    const int row = border_index(first_.border, y, first_.height);
    if (row == kNoSignal) return fill_black(0, count_, line);
    const std::uint8_t* const pixels = first_.src_row(row);
    if (begin_ == end_) return copy(pixels, 0, count_, line);
    copy(pixels, 0, left_, line);
    copy(pixels, right_, count_, line);
  }

  /// Calls `use(begin, end, in_picture)` for the steps from `begin` up to `end`, which read all of
  /// their bytes in one place, until `bytes` results are made.
  template <class Use>
  HWY_INLINE void for_each_run(int bytes, const Use& use) const {
    const int begin = std::min(begin_, bytes), end = std::min(end_, bytes);
    if (begin > 0) use(0, begin, false);
    if (begin < end) use(begin, end, true);
    if (end < bytes) use(end, bytes, false);
  }

  /// Pixel 0 of row `y` for steps in the picture, if there is one, where `line` is what load() has
  /// filled.
  const std::uint8_t* in_picture(int y, const std::uint8_t* line) const {
    const int row = border_index(first_.border, y, first_.height);
    return row == kNoSignal ? line : first_.src_row(row) + std::ptrdiff_t{x_} * kBytes;
  }

 private:
  /// Pixels `begin` .. `end` - 1 of a line without signal.
  void fill_black(int begin, int end, std::uint8_t* line) const {
    for (int i = begin; i < end; ++i)
      for (int k = 0; k < kBytes; ++k)
        line[i * kBytes + k] = static_cast<std::uint8_t>(task_.parts[k].task.black);
  }

  /// Pixels `begin` .. `end` - 1 of a line, from a row of the picture.
  void copy(const std::uint8_t* pixels, int begin, int end, std::uint8_t* line) const {
    const int inside = std::clamp(-x_, begin, end);
    const int after = std::clamp(first_.width - x_, inside, end);
    copy_ghosts(pixels, begin, inside, line);
    std::memcpy(line + inside * kBytes, pixels + std::ptrdiff_t{x_ + inside} * kBytes,
                static_cast<std::size_t>(after - inside) * kBytes);
    copy_ghosts(pixels, after, end, line);
  }

  void copy_ghosts(const std::uint8_t* pixels, int begin, int end, std::uint8_t* line) const {
    for (int i = begin; i < end;) {
      const GhostRun run = ghost_run(first_.border, x_ + i, first_.width, end - i);
      if (run.column == kNoSignal) {
        fill_black(i, i + run.length, line);
      } else {
        for (int j = 0; j < run.length; ++j)
          std::memcpy(line + (i + j) * kBytes,
                      pixels + std::ptrdiff_t{run.column + run.step * j} * kBytes, kBytes);
      }
      i += run.length;
    }
    if (kMacropixels && first_.border != Border::kZero) copy_luma_ghosts(pixels, begin, end, line);
  }

  /// The luma of macropixels `begin` .. `end` - 1 outside of the picture: borders repeat its
  /// samples in another order than macropixels.
  void copy_luma_ghosts(const std::uint8_t* pixels, int begin, int end, std::uint8_t* line) const {
    for (int i = 2 * begin; i < 2 * end;) {
      const GhostRun run = ghost_run(first_.border, 2 * x_ + i, 2 * first_.width, 2 * end - i);
      for (int j = 0; j < run.length; ++j)
        line[2 * (i + j) + luma_byte_] =
            pixels[std::ptrdiff_t{2} * (run.column + run.step * j) + luma_byte_];
      i += run.length;
    }
  }

  const GroupTask& task_;
  const ComponentTask& first_;
  int x_, count_;
  int luma_byte_;
  int begin_ = 0, end_ = 0;  ///< Steps in the picture.
  /// A line holds copies of the pixels before left_ and of those from right_ on.
  int left_ = 0, right_ = 0;
};

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
