// SPDX-License-Identifier: LGPL-2.1-or-later
// Rows of an area, of which a line of samples meets all rows of the mask that see it.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_DOT_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_DOT_ROWS_INL_H_
#undef CONVOLVE_DOT_ROWS_INL_H_
#else
#define CONVOLVE_DOT_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/cpu/dots/dot_taps.h"
#include "kernels/cpu/dots/dot_tile-inl.h"
#include "kernels/cpu/dots/pair_rows-inl.h"
#include "kernels/cpu/rows/byte_lines-inl.h"
#include "kernels/cpu/rows/rows_ahead.h"
#include "kernels/cpu/rows/source_rows-inl.h"
#include "kernels/cpu/rows/word_lines-inl.h"
#include "kernels/cpu/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

/// The rows of samples of one byte, or of two, as tiles read them.
template <class Stored>
HWY_INLINE auto rows_of(const GroupTask& task, const DotTaps& taps, const Area& area,
                        const Workspace& workspace, std::ptrdiff_t upper, QuadTile<Stored>) {
  const int x = area.x - taps.anchor_x(), cells = area.width + taps.width() - 1;
  if constexpr (sizeof(Stored) == 1)
    return SourceRows(task, x, cells, QuadTile<Stored>::stride(taps));
  else
    return SplitRows(task, x, cells, upper, workspace.samples.at<std::uint16_t>(0));
}

#if CONVOLVE_DOT_PAIRS

/// The line after those of the parts is scratch.
template <class Stored>
HWY_INLINE auto rows_of(const GroupTask& task, const DotTaps& taps, const Area& area,
                        const Workspace& workspace, std::ptrdiff_t, PairTile<Stored>) {
  const int x = area.x - taps.anchor_x(), cells = area.width + taps.width() - 1;
  const int scratch = task.count * (taps.height() + kMostDotRows - 1);
  return pair_rows_of<Stored>(task, x, cells, workspace, scratch);
}

#endif

/// Rows of an area, each loaded once to a ring of lines for each part.
template <class Tile>
class DotRows {
 public:
  using Stored = typename Tile::Stored;
  static constexpr int kRows = Tile::kRows;

  DotRows(const RowTask& task, int group, const Area& area, const Workspace& workspace,
          const DotTaps& taps)
      : task_(task.groups[group]),
        area_(area),
        workspace_(workspace),
        taps_(taps),
        ring_(taps.height() + kMostDotRows - 1),
        top_(area.y - taps.anchor_y()),
        upper_(upper_line(area.width + taps.width() - 1)),
        source_(rows_of(task_, taps, area_, workspace_, upper_, Tile())),
        ahead_(task, group, area) {}

  void filter(int y, int rows, const Stored* (*samples)[kMaxComponents]) {
    const bool direct = task_.lies_alone();
    const auto lines = reinterpret_cast<const std::uint8_t**>(workspace_.table);
    const int needed = taps_.height() + rows - 1;
    load(y + needed);
    ahead_.next_block(top_ + loaded_, kRows, area_.y + y + rows);
    for (int k = 0; k < task_.count; ++k) {
      const ComponentTask& part = task_.parts[k].task;
      DotBlock block{lines, upper_, {}, rows, part.layout, part.reciprocals, ahead_, k};
      for (int r = 0; r < rows; ++r) {
        block.out[r] = direct ? part.dst_row(area_.y + y + r) + area_.x * part.step
                              : workspace_.intermediate.at<std::uint8_t>(k * kMostDotRows + r);
        samples[r][k] = reinterpret_cast<const Stored*>(
            task_.parts[k].filtered
                ? block.out[r]
                : line(k, (y + r + taps_.anchor_y()) % ring_) + taps_.anchor_x());
      }
      if (!task_.parts[k].filtered) continue;
      source_.for_each_run(area_.width, [&](int begin, int end, bool in_picture) HWY_ATTR {
        set_table(k, y, needed, in_picture);
        filter_block<Tile>(taps_, task_.parts[k].digits, block, begin, end, area_.width);
      });
    }
  }

 private:
  using Source = decltype(rows_of(std::declval<const GroupTask&>(), std::declval<const DotTaps&>(),
                                  std::declval<const Area&>(), std::declval<const Workspace&>(),
                                  std::ptrdiff_t{}, Tile()));

  /// Line `at` of a part's ring.
  HWY_INLINE std::uint8_t* line(int part, int at) const {
    return workspace_.source.at<std::uint8_t>(part * ring_ + at);
  }

  /// Points the table to the lines of part `k` from row `y` on, `needed` of them.
  HWY_INLINE void set_table(int k, int y, int needed, bool in_picture) const {
    const auto table = reinterpret_cast<const std::uint8_t**>(workspace_.table);
    const int lines = taps_.height() + kRows - 1, ring = ring_;
    for (int i = 0, at = y % ring; i < needed; ++i) {
      const std::uint8_t* const loaded = line(k, at);
      table[i] = in_picture ? source_.in_picture(top_ + y + i, loaded) : loaded;
      if (++at == ring) at = 0;
    }
    // Below the last row a tile may read any line: nobody wants what comes of it.
    for (int i = needed; i < lines; ++i)
      table[i] = table[needed - 1];
  }

  /// Loads the rows before row `end` of the area and its halo.
  void load(int end) {
    for (; loaded_ < end; ++loaded_) {
      std::uint8_t* to[kMaxComponents];
      for (int k = 0; k < task_.count; ++k)
        to[k] = line(k, loaded_ % ring_);
      source_.load(top_ + loaded_, to);
    }
  }

  const GroupTask& task_;
  const Area area_;
  const Workspace& workspace_;
  const DotTaps& taps_;
  int ring_;
  int top_;  ///< Picture row of the first line.
  std::ptrdiff_t upper_;
  Source source_;
  RowsAhead ahead_;
  int loaded_ = 0;  ///< Lines.
};

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
