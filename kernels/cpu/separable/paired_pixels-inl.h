// SPDX-License-Identifier: LGPL-2.1-or-later
// separable-dots on the bytes of pixels where they lie: the column pass does not ask which
// component a byte is of, and the row pass goes on by pixels.
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

#include "kernels/cpu/rows/pixel_rows-inl.h"
#include "kernels/cpu/rows/rows_ahead.h"
#include "kernels/cpu/separable/pair_codes-inl.h"
#include "kernels/cpu/separable/pair_columns-inl.h"
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

/// The rows of an area of pixels of kPixel bytes, all of which are filtered with one epilogue.
template <int kPixel>
class PairedPixels {
 public:
  PairedPixels(const GroupTask& task, const Area& area, const Workspace& workspace,
               const PairTaps& taps)
      : part_(task.parts[0]),
        area_(area),
        workspace_(workspace),
        taps_(taps),
        window_(taps.window(kRowsAtOnce)),
        pixels_(area.width + taps.width() - 1),
        top_(area.y - taps.anchor_y()),
        source_(task, area.x - taps.anchor_x(), pixels_, {kPixelColumnStep<kPixel>, kColumnStep}),
        ahead_(part_.task, area, 1) {
    for (int r = 0; r < kRowsAtOnce; ++r)
      sums_[r] = workspace.intermediate.at<std::int16_t>(r * kPixel);
  }

  /// Filters rows `y` .. `y` + `rows` - 1 of the area, to the picture.
  void filter(int y, int rows) {
    const int needed = taps_.height() + rows - 1;
    for (; loaded_ < y + needed; ++loaded_)
      source_.load(top_ + loaded_, line(loaded_));
    ahead_.next_block(top_ + loaded_, kRowsAtOnce, area_.y + y + rows);
    const auto lines = reinterpret_cast<const std::uint8_t**>(workspace_.table);
    source_.for_each_run(pixels_ * kPixel, [&](int begin, int end, bool in_picture) HWY_ATTR {
      for (int i = 0; i < window_; ++i) {
        // Below the last row a sum may read any line: nobody wants what comes of it.
        const int row = y + std::min(i, needed - 1);
        lines[i] = in_picture ? source_.in_picture(top_ + row, line(row)) : line(row);
      }
      sum_columns<kPixel>(
          lines, taps_, begin, end,
          [&](int x)
              HWY_ATTR { ahead_.fetch<FetchTo::kSecondCache>(0, 0, x, kPixelColumnStep<kPixel>); },
          sums_);
    });
    for (int r = 0; r < rows; ++r)
      finish_row<kPixel>(part_.task, sums_[r], taps_, part_.digits.start, area_.width * kPixel,
                         part_.task.dst_row(area_.y + y + r) + std::ptrdiff_t{area_.x} * kPixel);
  }

 private:
  /// A line of pixels takes as many lines of the workspace as they have bytes.
  std::uint8_t* line(int index) const {
    return workspace_.source.at<std::uint8_t>(index % window_ * kPixel);
  }

  const GroupPart& part_;
  const Area area_;
  const Workspace& workspace_;
  const PairTaps& taps_;
  int window_;
  int pixels_;  ///< Of a line, ghost cells included.
  int top_;     ///< Picture row of the first line.
  PixelRows<kPixel> source_;
  RowsAhead ahead_;
  std::int16_t* sums_[kRowsAtOnce];
  int loaded_ = 0;  ///< Lines.
};

/// Filters `area` of pixels of kPixel bytes.
template <int kPixel>
void filter_paired_pixels_of(const GroupTask& task, const Area& area, const Workspace& workspace,
                             const PairTaps& taps) {
  PairedPixels<kPixel> rows(task, area, workspace, taps);
  for (int y = 0; y < area.height && !task.parts[0].task.stopped(); y += kRowsAtOnce)
    rows.filter(y, std::min(kRowsAtOnce, area.height - y));
}

/// Filters `area` of pixels of two or three bytes where they lie.
inline void filter_paired_pixels(const GroupTask& task, const Area& area,
                                 const Workspace& workspace, const PairTaps& taps) {
  if (task.count == 2)
    filter_paired_pixels_of<2>(task, area, workspace, taps);
  else
    filter_paired_pixels_of<3>(task, area, workspace, taps);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
