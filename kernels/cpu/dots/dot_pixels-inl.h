// SPDX-License-Identifier: LGPL-2.1-or-later
// Pixels filtered where they lie: the bytes of a row are outputs of the same tiles, whose taps are
// a pixel apart, so that no row is parted into its components and put together again.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_DOT_PIXELS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_DOT_PIXELS_INL_H_
#undef CONVOLVE_DOT_PIXELS_INL_H_
#else
#define CONVOLVE_DOT_PIXELS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/cpu/dots/dot_taps.h"
#include "kernels/cpu/dots/dot_tile-inl.h"
#include "kernels/cpu/dots/macropixel_quads.h"
#include "kernels/cpu/rows/pixel_rows-inl.h"
#include "kernels/cpu/rows/rows_ahead.h"
#include "kernels/cpu/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

#if CONVOLVE_DOT_INSTRUCTION

/// The rows of an area of pixels of kBytes bytes, whose parts share an epilogue. kStep: QuadTile's.
/// kMacropixelStep: pixels are those of RowTask::macropixels(), and `macropixels` is not null.
template <int kBytes, int kStep>
class DotPixels {
 public:
  using Tile = QuadTile<std::uint8_t, kStep>;

  DotPixels(const GroupTask& task, const Area& area, const Workspace& workspace,
            const DotTaps& taps, const MacropixelQuads* macropixels)
      : task_(task),
        area_(area),
        workspace_(workspace),
        taps_(taps),
        macropixels_(macropixels),
        ring_(taps.height() + kMostDotRows - 1),
        top_(area.y - taps.anchor_y()),
        source_(task, area.x - taps.anchor_x(), area.width + taps.width() - 1, Tile::stride(taps),
                macropixels != nullptr ? macropixels->luma_byte : 0),
        ahead_(task.parts[0].task, area, 1) {
    std::uint8_t copied[4] = {};
    for (int k = 0; k < kBytes; ++k)
      copied[k] = task.parts[k].filtered ? 0 : 0xFF;
    std::memcpy(&copied_, copied, sizeof copied_);
  }

  /// Filters rows `y` .. `y` + `rows` - 1 of the area, to the picture.
  void filter(int y, int rows) {
    const ComponentTask& first = task_.parts[0].task;
    const auto lines = reinterpret_cast<const std::uint8_t**>(workspace_.table);
    const int needed = taps_.height() + rows - 1;
    for (; loaded_ < y + needed; ++loaded_)
      source_.load(top_ + loaded_, line(loaded_ % ring_));
    ahead_.next_block(top_ + loaded_, Tile::kRows, area_.y + y + rows);
    const GroupPart& part = *std::find_if(task_.parts, task_.parts + kBytes,
                                          [](const GroupPart& any) { return any.filtered; });
    DotBlock block{lines, 0, {}, rows, part.task.layout, part.task.reciprocals, ahead_, 0, copied_};
    block.macropixels = macropixels_;
    for (int r = 0; r < rows; ++r) {
      block.out[r] = first.dst_row(area_.y + y + r) + std::ptrdiff_t{area_.x} * kBytes;
      block.from[r] = first.src_row(area_.y + y + r) + std::ptrdiff_t{area_.x} * kBytes;
    }
    const int bytes = area_.width * kBytes;
    source_.for_each_run(bytes, [&](int begin, int end, bool in_picture) HWY_ATTR {
      set_table(y, needed, in_picture);
      filter_block<Tile>(taps_, part.digits, block, begin, end, bytes);
    });
  }

 private:
  /// Lines of a workspace that follow each other and hold a line of pixels. Macropixels have half
  /// of their bytes in each of two lines, which are as long as a row of luma.
  static constexpr int kLinesOfRow = kStep == kMacropixelStep ? 2 : kBytes;

  /// Line `at` of the ring.
  HWY_INLINE std::uint8_t* line(int at) const {
    return workspace_.source.at<std::uint8_t>(at * kLinesOfRow);
  }

  /// Points the table to the lines from row `y` on, `needed` of them. Below the last row a tile may
  /// read any line: nobody wants what comes of it.
  void set_table(int y, int needed, bool in_picture) const {
    const auto table = reinterpret_cast<const std::uint8_t**>(workspace_.table);
    for (int i = 0; i < needed; ++i) {
      const std::uint8_t* const loaded = line((y + i) % ring_);
      table[i] = in_picture ? source_.in_picture(top_ + y + i, loaded) : loaded;
    }
    for (int i = needed; i < taps_.height() + Tile::kRows - 1; ++i)
      table[i] = table[needed - 1];
  }

  const GroupTask& task_;
  const Area area_;
  const Workspace& workspace_;
  const DotTaps& taps_;
  const MacropixelQuads* macropixels_;
  int ring_;
  int top_;  ///< Picture row of the first line.
  PixelRows<kBytes, kStep == kMacropixelStep> source_;
  RowsAhead ahead_;
  std::uint32_t copied_;  ///< DotBlock::copied
  int loaded_ = 0;        ///< Lines.
};

/// Filters `area` of pixels of kBytes bytes.
template <int kBytes, int kStep = kBytes>
void filter_pixels_of(const GroupTask& task, const DotTaps& taps, const Area& area,
                      const Workspace& workspace, const MacropixelQuads* macropixels = nullptr) {
  DotPixels<kBytes, kStep> rows(task, area, workspace, taps, macropixels);
  constexpr int kRows = DotPixels<kBytes, kStep>::Tile::kRows;
  for (int y = 0; y < area.height && !task.parts[0].task.stopped(); y += kRows)
    rows.filter(y, std::min(kRows, area.height - y));
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
