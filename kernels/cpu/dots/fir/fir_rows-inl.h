// SPDX-License-Identifier: LGPL-2.1-or-later
// Rows of an area by a fast FIR algorithm (core/weights/fast_fir.h).
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_FIR_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_FIR_ROWS_INL_H_
#undef CONVOLVE_FIR_ROWS_INL_H_
#else
#define CONVOLVE_FIR_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/core/base/round.h"
#include "kernels/cpu/bytes/byte_task.h"
#include "kernels/cpu/bytes/rows_ahead.h"
#include "kernels/cpu/dots/dot_tile-inl.h"
#include "kernels/cpu/dots/fir/fast_fir.h"
#include "kernels/cpu/dots/fir/fir_sums-inl.h"
#include "kernels/cpu/dots/fir/near_ties-inl.h"
#include "kernels/cpu/dots/pair_rows-inl.h"
#include "kernels/cpu/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if CONVOLVE_DOT_PAIRS

/// See walk_rows(). Each row of the source is loaded once to a ring of lines for each part, and
/// made into lines of the subfilters once.
template <class Tile, int kLevels>
class FirRows {
 public:
  using Stored = typename Tile::Stored;
  static constexpr int kTiles = 1 << kLevels;
  static constexpr int kRows = kDotPairRows * kTiles;

  FirRows(const RowTask& task, int group, const Area& area, const Workspace& workspace,
          const DotTaps& taps)
      : task_(task.groups[group]),
        area_(area),
        workspace_(workspace),
        taps_(taps),
        fir_(taps.fir()),
        cells_(area.width + taps.width() - 1),
        // Samples that are copied, and sums near a tie, read the rows once more.
        ring_(task_.all_filtered() && !fir_.approximate() ? 2 * kTiles : fir_.source_rows()),
        source_(pair_rows_of<Stored>(task_, area.x - taps.anchor_x(), cells_, workspace,
                                     task_.count * fir_.source_rows())),
        ahead_(task, group, area) {}

  void filter(int y, int rows, const Stored* (*samples)[kMaxComponents]) {
    const int tile_rows = divide_up(rows, kTiles);
    for (const int end = y / kTiles + fir_.lines_of(tile_rows); made_ < end; ++made_)
      make_lines();
    ahead_.next_block(top() + loaded_, kRows, area_.y + y + rows);
    for (int k = 0; k < task_.count; ++k) {
      const BytePart& part = task_.parts[k];
      for (int r = 0; r < rows; ++r) {
        out_[r] = out_of(k, y, r);
        samples[r][k] = reinterpret_cast<const Stored*>(
            part.filtered ? out_[r] : line(k, y + r + taps_.anchor_y()) + taps_.anchor_x());
      }
      if (part.filtered) filter_part(k, y, rows, tile_rows);
    }
  }

 private:
  using Source = decltype(pair_rows_of<Stored>(std::declval<const ByteTask&>(), 0, 0,
                                               std::declval<const Workspace&>(), 0));

  /// Picture row of the first line.
  int top() const { return area_.y - taps_.anchor_y(); }

  std::uint8_t* out_of(int k, int y, int r) const {
    const ComponentTask& part = task_.parts[k].task;
    return task_.lies_alone() ? part.dst_row(area_.y + y + r) + area_.x * part.step
                              : workspace_.intermediate.at<std::uint8_t>(k * kRows + r);
  }

  /// The line of row `y` of the source in a part's ring.
  std::uint8_t* line(int part, int y) const {
    return workspace_.source.at<std::uint8_t>(part * fir_.source_rows() + y % ring_);
  }

  /// The line of row `y` of a subfilter of a part.
  std::uint8_t* subfilter_line(int part, int n, int y) const {
    const int before = task_.count * fir_.source_rows() + 1;  // One is scratch.
    const int rings = part * fir_subfilters(kLevels) + n;
    return workspace_.source.at<std::uint8_t>(before + rings * fir_.lines() + y % fir_.lines());
  }

  /// Makes the next line of each subfilter, of rows that are loaded where they have not been.
  void make_lines() {
    constexpr int kSources = fir_source_rows(kLevels), kLines = fir_subfilters(kLevels);
    const int first = made_ * kTiles;
    for (; loaded_ < first + kSources; ++loaded_) {
      std::uint8_t* to[kMaxComponents];
      for (int k = 0; k < task_.count; ++k)
        to[k] = line(k, loaded_);
      source_.load(top() + loaded_, to);
    }
    for (int k = 0; k < task_.count; ++k) {
      if (!task_.parts[k].filtered) continue;
      const std::int16_t* rows[kSources];
      std::int16_t* lines[kLines];
      for (int i = 0; i < kSources; ++i)
        rows[i] = reinterpret_cast<const std::int16_t*>(line(k, first + i));
      for (int n = 0; n < kLines; ++n)
        lines[n] = reinterpret_cast<std::int16_t*>(subfilter_line(k, n, made_));
      split_rows<kLevels>(rows, cells_, lines);
    }
  }

  /// Filters `rows` rows of part `k` from `y` on, which are `tile_rows` rows of each tile.
  void filter_part(int k, int y, int rows, int tile_rows) {
    const auto table = reinterpret_cast<const std::uint8_t**>(workspace_.table);
    for (int n = 0; n < fir_subfilters(kLevels); ++n)
      for (int i = 0; i < fir_.lines_of(tile_rows); ++i)
        table[n * fir_.lines() + i] = subfilter_line(k, n, y / kTiles + i);
    if constexpr (sizeof(Stored) == 1)
      if (fir_.approximate()) return approximate_part(k, y, rows, tile_rows);
    const ComponentTask& part = task_.parts[k].task;
    const DigitEpilogue& e = task_.parts[k].digits;
    const TileEnd tile = tile_end(taps_, e, part.reciprocals);
    const std::int32_t start = start_of_sums<Tile>(taps_, e, tile, part.layout);
    FirSums sums[kTiles] = {};
    for (int x = 0; x < area_.width; x += step()) {
      sum_tiles(k, x, tile_rows, start, sums);
      for_each_tile(k, x, rows, [&](int i, int t, const DotBlock& block, int at) HWY_ATTR {
        finish_stored_sums<Tile>(sums[i][t], e, tile, block, at, area_.width - at);
      });
    }
  }

  /// Filters a part, as filter_part() does, with approximate sums. Where more than half of the
  /// samples of a step are near a tie, whole weights are faster than an exact sum for each. After
  /// two such steps it is likely that the next ones are alike, whose approximate sums are not even
  /// made: of 1, 3, 7 and more.
  void approximate_part(int k, int y, int rows, int tile_rows) {
    const auto lines = reinterpret_cast<const std::uint8_t**>(workspace_.table) +
                       fir_subfilters(kLevels) * fir_.lines();
    // Below the last row a tile of whole weights may read any line.
    for (int i = 0; i < rows + taps_.height() - 1 + kDotPairRows - 1; ++i)
      lines[i] = line(k, y + std::min(i, rows + taps_.height() - 2));
    const NearTies ties(taps_, task_.parts[k].digits, lines);
    FirSums sums[kTiles] = {};
    NearTieBits<Tile> near_tie[kTiles][kFirTiles];
    for (int x = 0, whole = 0, next_whole = 0; x < area_.width; x += step()) {
      if (whole > 0) {
        filter_whole(k, rows, lines, x);
        --whole;
        continue;
      }
      sum_tiles(k, x, tile_rows, fir_.approximate()->start, sums);
      int count = 0;
      for_each_tile(k, x, rows, [&](int i, int t, const DotBlock& block, int at) HWY_ATTR {
        count += store_nearest_codes<Tile>(sums[i][t], ties, block, at, area_.width - at,
                                           near_tie[i][t]);
      });
      if (2 * count > rows * std::min(step(), area_.width - x)) {
        filter_whole(k, rows, lines, x);
        whole = next_whole;
        next_whole = 2 * next_whole + 1;
        continue;
      }
      next_whole = 0;
      for_each_tile(k, x, rows, [&](int i, int t, const DotBlock& block, int at) HWY_ATTR {
        store_exact_codes<Tile>(sums[i][t], near_tie[i][t], ties, fir_first_row(i, kLevels), kTiles,
                                block, at);
      });
    }
  }

  /// Filters the `rows` rows of a step of columns by weights that are not taken apart.
  void filter_whole(int k, int rows, const std::uint8_t* const* lines, int x) {
    const BytePart& part = task_.parts[k];
    for (int y = 0; y < rows; y += kDotPairRows) {
      DotBlock block{lines + y,
                     0,
                     {},
                     std::min(rows - y, kDotPairRows),
                     part.task.layout,
                     part.task.reciprocals,
                     ahead_,
                     k};
      std::copy_n(out_ + y, block.rows, block.out);
      filter_block<Tile>(taps_, part.digits, block, x, std::min(x + step(), area_.width),
                         area_.width);
    }
  }

  /// Columns that are filtered at once.
  int step() const { return kFirTiles * Tile::stride(taps_).step; }

  /// Calls use(i, t, block, x) for each tile `sums[i][t]` of a step of columns: with its output
  /// rows and its first column.
  template <class Use>
  HWY_INLINE void for_each_tile(int k, int x, int rows, const Use& use) {
    const ComponentTask& part = task_.parts[k].task;
    DotBlock block{nullptr, 0, {}, 0, part.layout, part.reciprocals, ahead_, k};
    for (int i = 0; i < kTiles; ++i) {
      block.rows = 0;
      for (int r = fir_first_row(i, kLevels); r < rows; r += kTiles)
        block.out[block.rows++] = out_[r];
      for (int t = 0, at = x; t < kFirTiles && at < area_.width; ++t, at += step() / kFirTiles)
        use(i, t, block, at);
    }
  }

  /// The sums, which begin with `start`, of the first `rows` rows of the tiles from column `x` on.
  void sum_tiles(int k, int x, int rows, std::int32_t start, FirSums* sums) const {
    ahead_.fetch(k, area_.width, x, std::min(step(), area_.width - x));
    const auto table = reinterpret_cast<const std::uint8_t**>(workspace_.table);
    const FirTile tile{fir_.subfilters(), table, fir_.lines(), x};
    const FirStart first{start};
    static_assert(kDotPairRows == 4, "a case for each number of rows");
    if (rows == 4) return add_subfilters<kLevels, 4>(tile, 0, first, sums);
    if (rows == 3) return add_subfilters<kLevels, 3>(tile, 0, first, sums);
    if (rows == 2) return add_subfilters<kLevels, 2>(tile, 0, first, sums);
    add_subfilters<kLevels, 1>(tile, 0, first, sums);
  }

  const ByteTask& task_;
  const Area area_;
  const Workspace& workspace_;
  const DotTaps& taps_;
  const FastFir& fir_;
  const int cells_;  ///< Of a line.
  const int ring_;   ///< Lines of a part.
  Source source_;
  RowsAhead ahead_;
  int loaded_ = 0;  ///< Rows of the source.
  int made_ = 0;    ///< Lines of each subfilter.
  std::uint8_t* out_[kRows];
};

#endif

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
