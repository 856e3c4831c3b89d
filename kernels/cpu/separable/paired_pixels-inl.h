// SPDX-License-Identifier: LGPL-2.1-or-later
// separable-dots on the bytes of pixels where they lie: the column pass does not ask which
// component a byte is of, and the row pass goes on by pixels, or along luma and chroma of
// macropixels by themselves.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_PAIRED_PIXELS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_PAIRED_PIXELS_INL_H_
#undef CONVOLVE_PAIRED_PIXELS_INL_H_
#else
#define CONVOLVE_PAIRED_PIXELS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/cpu/rows/byte_lines-inl.h"
#include "kernels/cpu/rows/pixel_rows-inl.h"
#include "kernels/cpu/rows/row_task.h"
#include "kernels/cpu/rows/rows_ahead.h"
#include "kernels/cpu/separable/pair_codes-inl.h"
#include "kernels/cpu/separable/pair_columns-inl.h"
#include "kernels/cpu/separable/pair_taps.h"
#include "kernels/cpu/separable/pixel_sums-inl.h"
#include "kernels/cpu/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

#if CONVOLVE_PAIRED_PIXELS

/// Masks that read more rows of the picture at once have their pixels parted. Long rows lie in
/// different pages of memory, and a processor keeps the addresses of some 64 pages at hand: on a
/// Xeon BGR of 1080p took 27, 16 and 8 % less time than with parting where 14, 26 and 38 rows are
/// read, and 6 % more with 68. Nothing between these was measured.
inline constexpr int kMostLinesOfPixels = 48;

/// Pixels of kBytes bytes, all of which are filtered with one epilogue. This and Macropixels are
/// what PairedPixels asks for where the two differ.
template <int kBytes>
class WholePixels {
 public:
  using Sums = PixelSums<kBytes>;
  static constexpr int kPixel = kBytes;
  /// Lines of a workspace that follow each other and hold a line of pixels.
  static constexpr int kLinesOfRow = kBytes;

  /// The pixels of each row that are read, kStep bytes at a time.
  using Rows = PixelRows<kBytes>;
  static Rows rows(const GroupTask& group, int x, int count) {
    return Rows(group, x, count, {Sums::kStep, kColumnStep});
  }

  WholePixels(const RowTask& task, const Workspace* workspaces) : group_(task.groups[0]) {
    for (int r = 0; r < kRowsAtOnce; ++r)
      sums_.line[r] = workspaces[0].intermediate.at<std::int16_t>(r * kBytes);
  }

  const GroupTask& group() const { return group_; }
  const Sums& sums() const { return sums_; }

  /// Makes row `y` of `area` of the sums of row `r` of the block.
  HWY_INLINE void finish(const PairTaps& taps, const Area& area, int y, int r) const {
    const GroupPart& part = group_.parts[0];
    finish_row<kBytes>(part.task, sums_.line[r], taps, part.digits.start, area.width * kBytes,
                       part.task.dst_row(y) + std::ptrdiff_t{area.x} * kBytes);
  }

 private:
  const GroupTask& group_;
  Sums sums_;
};

/// Macropixels of two samples of luma and one of each chroma, whose chroma is filtered with one
/// epilogue. The row pass makes luma and chroma by themselves, whose codes are then put together.
template <int kLumaByte>
class Macropixels {
 public:
  using Sums = MacropixelSums<kLumaByte>;
  static constexpr int kPixel = 4;
  static constexpr int kLinesOfRow = 2;

  using Rows = PixelRows<kPixel, true>;
  static Rows rows(const GroupTask& group, int x, int count) {
    return Rows(group, x, count, {Sums::kStep, kColumnStep}, kLumaByte);
  }

  /// A line of sums of luma takes two lines of the first workspace, one of chroma two of the
  /// second; the line behind them all has the codes of a row.
  Macropixels(const RowTask& task, const Workspace* workspaces)
      : task_(task),
        group_(task.macropixels()),
        luma_(workspaces[0].intermediate.at<std::uint8_t>(2 * kRowsAtOnce)),
        chroma_(workspaces[1].intermediate.at<std::uint8_t>(2 * kRowsAtOnce)) {
    for (int r = 0; r < kRowsAtOnce; ++r) {
      sums_.luma[r] = workspaces[0].intermediate.at<std::int16_t>(2 * r);
      sums_.chroma[r] = workspaces[1].intermediate.at<std::int16_t>(2 * r);
    }
  }

  const GroupTask& group() const { return group_; }
  const Sums& sums() const { return sums_; }

  /// Makes row `y` of `area` of the sums of row `r` of the block. The sums begin with a macropixel,
  /// as far from the first output in chroma as the anchor is from the mask's first column: in luma
  /// that is twice as many samples, of which half come before those that the mask reads.
  HWY_INLINE void finish(const PairTaps& taps, const Area& area, int y, int r) const {
    const GroupPart &luma = task_.groups[0].parts[0], &chroma = task_.groups[1].parts[0];
    const int codes = 2 * area.width;
    finish_row<1>(luma.task, sums_.luma[r] + taps.anchor_x(), taps, luma.digits.start, codes,
                  luma_);
    finish_row<2>(chroma.task, sums_.chroma[r], taps, chroma.digits.start, codes, chroma_);
    const std::uint8_t* const turns[] = {kLumaByte == 0 ? luma_ : chroma_,
                                         kLumaByte == 0 ? chroma_ : luma_};
    join_pixels(2, turns, codes, group_.parts[0].task.dst_row(y) + std::ptrdiff_t{area.x} * kPixel);
  }

 private:
  const RowTask& task_;
  const GroupTask group_;
  Sums sums_;
  std::uint8_t *luma_, *chroma_;
};

/// The rows of an area of WholePixels or Macropixels.
template <class Pixels>
class PairedPixels {
 public:
  PairedPixels(const RowTask& task, const Area& area, const Workspace* workspaces,
               const PairTaps& taps)
      : pixels_(task, workspaces),
        area_(area),
        workspace_(workspaces[0]),
        taps_(taps),
        window_(taps.window(kRowsAtOnce)),
        count_(area.width + taps.width() - 1),
        top_(area.y - taps.anchor_y()),
        source_(Pixels::rows(pixels_.group(), area.x - taps.anchor_x(), count_)),
        ahead_(pixels_.group().parts[0].task, area, 1) {}
  PairedPixels(const PairedPixels&) = delete;  ///< source_ and ahead_ refer to pixels_.
  PairedPixels& operator=(const PairedPixels&) = delete;

  /// Filters rows `y` .. `y` + `rows` - 1 of the area, to the picture.
  void filter(int y, int rows) {
    const int needed = taps_.height() + rows - 1;
    for (; loaded_ < y + needed; ++loaded_)
      source_.load(top_ + loaded_, line(loaded_));
    ahead_.next_block(top_ + loaded_, kRowsAtOnce, area_.y + y + rows);
    const auto lines = reinterpret_cast<const std::uint8_t**>(workspace_.table);
    source_.for_each_run(
        count_ * Pixels::kPixel, [&](int begin, int end, bool in_picture) HWY_ATTR {
          for (int i = 0; i < window_; ++i) {
            // Below the last row a sum may read any line: nobody wants what comes of it.
            const int row = y + std::min(i, needed - 1);
            lines[i] = in_picture ? source_.in_picture(top_ + row, line(row)) : line(row);
          }
          sum_columns(
              lines, taps_, begin, end,
              [&](int x) HWY_ATTR { ahead_.fetch<FetchTo::kSecondCache>(0, 0, x, kStep); },
              pixels_.sums());
        });
    for (int r = 0; r < rows; ++r)
      pixels_.finish(taps_, area_, area_.y + y + r, r);
  }

 private:
  static constexpr int kStep = Pixels::Sums::kStep;

  std::uint8_t* line(int index) const {
    return workspace_.source.at<std::uint8_t>(index % window_ * Pixels::kLinesOfRow);
  }

  const Pixels pixels_;
  const Area area_;
  const Workspace& workspace_;
  const PairTaps& taps_;
  int window_;
  int count_;  ///< Pixels of a line, ghost cells included.
  int top_;    ///< Picture row of the first line.
  typename Pixels::Rows source_;
  RowsAhead ahead_;
  int loaded_ = 0;  ///< Lines.
};

/// Filters `area` of pixels.
template <class Pixels>
void walk_pixels(const RowTask& task, const Area& area, const Workspace* workspaces,
                 const PairTaps& taps) {
  PairedPixels<Pixels> rows(task, area, workspaces, taps);
  const ComponentTask& first = task.groups[0].parts[0].task;
  for (int y = 0; y < area.height && !first.stopped(); y += kRowsAtOnce)
    rows.filter(y, std::min(kRowsAtOnce, area.height - y));
}

/// Filters `area` of pixels of two or three bytes, or of macropixels, where they lie; false if they
/// have to be parted.
inline bool filter_paired_pixels(const RowTask& task, const Area& area, const Workspace* workspaces,
                                 const PairTaps& taps) {
  if (taps.window(kRowsAtOnce) > kMostLinesOfPixels) return false;
  const GroupTask &first = task.groups[0], &last = task.groups[task.count - 1];
  if (!first.all_filtered() || !last.one_epilogue_serves()) return false;
  if (task.count == 2) {
    // The last macropixel of an odd number of samples of luma has a byte that is none.
    if (first.parts[0].task.width % 2 != 0) return false;
    const Area chroma = task.area_of(1, area);
    if (first.parts[0].task.src < last.parts[0].task.src)
      walk_pixels<Macropixels<0>>(task, chroma, workspaces, taps);
    else
      walk_pixels<Macropixels<1>>(task, chroma, workspaces, taps);
    return true;
  }
  if (!first.whole_pixels() || first.count > 3) return false;
  if (first.count == 2)
    walk_pixels<WholePixels<2>>(task, area, workspaces, taps);
  else
    walk_pixels<WholePixels<3>>(task, area, workspaces, taps);
  return true;
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
