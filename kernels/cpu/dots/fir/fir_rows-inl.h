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
#include "kernels/cpu/dots/dot_tile-inl.h"
#include "kernels/cpu/dots/fir/fast_fir.h"
#include "kernels/cpu/dots/fir/fir_lines.h"
#include "kernels/cpu/dots/fir/fir_sums-inl.h"
#include "kernels/cpu/dots/fir/near_ties-inl.h"
#include "kernels/cpu/dots/pair_rows-inl.h"
#include "kernels/cpu/rows/row_task.h"
#include "kernels/cpu/rows/rows_ahead.h"
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
  static constexpr int kRowLevels = fir_row_levels(kLevels);
  static constexpr int kTiles = 1 << kRowLevels;
  static constexpr int kRows = kDotPairRows * kTiles;
  static constexpr bool kSplitColumns = fir_splits_columns(kLevels);
  /// Columns from one output of a subfilter to the next one.
  static constexpr int kColumnStep = kSplitColumns ? 2 : 1;
  static constexpr int kTilesAside = kFirTiles * kColumnStep;

  FirRows(const RowTask& task, int group, const Area& area, const Workspace& workspace,
          const DotTaps& taps)
      : task_(task.groups[group]),
        area_(area),
        workspace_(workspace),
        taps_(taps),
        fir_(taps.fir()),
        cells_(area.width + taps.width() - 1),
        lines_(fir_, task_.count),
        smaller_(lines_.smaller_lines(workspace.source)),
        // Samples that are copied, and sums near a tie, read the rows once more.
        ring_(task_.all_filtered() && !fir_.approximate() ? 2 * kTiles : fir_.source_rows()),
        source_(pair_rows_of<Stored>(task_, area.x - taps.anchor_x(), cells_, workspace,
                                     lines_.scratch())),
        ahead_(task, group, area) {}

  void filter(int y, int rows, const Stored* (*samples)[kMaxComponents]) {
    const int tile_rows = divide_up(rows, kTiles);
    for (const int end = y / kTiles + fir_.lines_of(tile_rows); made_ < end; ++made_)
      make_lines();
    ahead_.next_block(top() + loaded_, kRows, area_.y + y + rows);
    for (int k = 0; k < task_.count; ++k) {
      const GroupPart& part = task_.parts[k];
      for (int r = 0; r < rows; ++r) {
        out_[r] = out_of(k, y, r);
        samples[r][k] = reinterpret_cast<const Stored*>(
            part.filtered ? out_[r] : line(k, y + r + taps_.anchor_y()) + taps_.anchor_x());
      }
      if (part.filtered) filter_part(k, y, rows, tile_rows);
    }
  }

 private:
  using Source = decltype(pair_rows_of<Stored>(std::declval<const GroupTask&>(), 0, 0,
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
    return workspace_.source.at<std::uint8_t>(lines_.source(part, y % ring_));
  }

  /// The bytes of that row, where sums are approximate.
  std::uint8_t* byte_line(int part, int y) const {
    return workspace_.source.at<std::uint8_t>(lines_.bytes(part, y % ring_));
  }

  /// Row `y` of the source, or `n` of the three lines that a level of columns makes of it.
  std::int16_t* cells_of(int part, int n, int y) const {
    if constexpr (kSplitColumns) {
      return smaller_.at<std::int16_t>(lines_.half(part, n, y));
    } else {
      return reinterpret_cast<std::int16_t*>(line(part, y));
    }
  }

  void load_row() const {
    std::uint8_t *to[kMaxComponents], *bytes[kMaxComponents];
    for (int k = 0; k < task_.count; ++k)
      to[k] = line(k, loaded_);
    if constexpr (sizeof(Stored) == 1) {
      if (fir_.approximate()) {
        for (int k = 0; k < task_.count; ++k)
          bytes[k] = task_.parts[k].filtered ? byte_line(k, loaded_) : to[k];
        return source_.load(top() + loaded_, to, bytes);
      }
    }
    source_.load(top() + loaded_, to);
  }

  /// Makes of the row that was loaded last what a level of columns has in its place.
  void split_row() const {
    for (int k = 0; k < task_.count; ++k) {
      if (!task_.parts[k].filtered) continue;
      std::int16_t* const halves[] = {cells_of(k, 0, loaded_), cells_of(k, 1, loaded_),
                                      cells_of(k, 2, loaded_)};
      split_columns(reinterpret_cast<std::int16_t*>(line(k, loaded_)), cells_, halves);
    }
  }

  /// Makes the next line of each subfilter, of rows that are loaded where they have not been.
  void make_lines() {
    constexpr int kSources = fir_source_rows(kRowLevels), kLines = fir_subfilters(kRowLevels);
    const int first = made_ * kTiles, row = made_ % fir_.lines();
    for (; loaded_ < first + kSources; ++loaded_) {
      load_row();
      if constexpr (kSplitColumns) split_row();
    }
    for (int k = 0; k < task_.count; ++k) {
      if (!task_.parts[k].filtered) continue;
      for (int n = 0; n < fir_subfilters(kLevels); n += kLines) {
        const std::int16_t* rows[kSources];
        std::int16_t* lines[kLines];
        for (int i = 0; i < kSources; ++i)
          rows[i] = cells_of(k, n / kLines, first + i);
        for (int i = 0; i < kLines; ++i)
          lines[i] = smaller_.at<std::int16_t>(lines_.subfilter(k, n + i, row));
        split_rows<kRowLevels>(rows, divide_up(cells_, kColumnStep), lines);
      }
    }
  }

  /// Filters `rows` rows of part `k` from `y` on, which are `tile_rows` rows of each tile.
  void filter_part(int k, int y, int rows, int tile_rows) {
    const auto table = reinterpret_cast<const std::uint8_t**>(workspace_.table);
    for (int i = 0; i < fir_.lines_of(tile_rows); ++i) {
      const int row = (y / kTiles + i) % fir_.lines();
      for (int n = 0; n < fir_subfilters(kLevels); ++n)
        table[n * fir_.lines() + i] = smaller_.at<std::uint8_t>(lines_.subfilter(k, n, row));
    }
    if constexpr (sizeof(Stored) == 1)
      if (fir_.approximate()) return approximate_part(k, y, rows, tile_rows);
    const ComponentTask& part = task_.parts[k].task;
    const DigitEpilogue& e = task_.parts[k].digits;
    const TileEnd tile = tile_end(taps_, e, part.reciprocals);
    const std::int32_t start = start_of_sums<Tile>(taps_, e, tile, part.layout);
    FirSums sums[1 << kLevels] = {};
    DotBlock block = block_of(k);
    for (int x = 0; x < area_.width; x += step()) {
      sum_tiles(k, x, tile_rows, start, sums);
      for_each_tile(block, x, rows, [&](int i, int t, int at) HWY_ATTR {
        finish_stored_sums<Tile>(tile_of(sums, i, t), e, tile, block, at, area_.width - at);
      });
    }
  }

  /// Filters a part, as filter_part() does, with approximate sums. Where more than half of the
  /// samples of a step are near a tie, whole weights are faster than an exact sum for each. After
  /// two such steps it is likely that the next ones are alike, whose approximate sums are not even
  /// made: of 1, 3, 7 and more.
  void approximate_part(int k, int y, int rows, int tile_rows) {
    // The lines of the subfilters come first in the table, then those of the source, then its
    // bytes.
    const auto lines = reinterpret_cast<const std::uint8_t**>(workspace_.table) +
                       fir_subfilters(kLevels) * fir_.lines();
    const int read = rows + taps_.height() - 1;
    const auto bytes = lines + read + kDotPairRows - 1;
    for (int i = 0, row = y % ring_; i < read; ++i, row = row + 1 < ring_ ? row + 1 : 0) {
      lines[i] = workspace_.source.at<std::uint8_t>(lines_.source(k, row));
      bytes[i] = workspace_.source.at<std::uint8_t>(lines_.bytes(k, row));
    }
    // Below the last row a tile of whole weights may read any line.
    std::fill_n(lines + read, kDotPairRows - 1, lines[read - 1]);
    const NearTies ties(taps_, task_.parts[k].digits, bytes);
    ExactCodes exact(task_.parts[k].task, ties);
    FirSums sums[1 << kLevels] = {};
    DotBlock block = block_of(k);
    NearTieBits<Tile> near_tie[kTiles][kTilesAside];
    for (int x = 0, whole = 0, next_whole = 0; x < area_.width; x += step()) {
      if (whole > 0) {
        filter_whole(k, rows, lines, x);
        --whole;
        continue;
      }
      sum_tiles(k, x, tile_rows, fir_.approximate()->start, sums);
      int count = 0;
      for_each_tile(block, x, rows, [&](int i, int t, int at) HWY_ATTR {
        count += store_nearest_codes<Tile>(tile_of(sums, i, t), ties, block, at, area_.width - at,
                                           near_tie[i][t]);
      });
      if (2 * count > rows * std::min(step(), area_.width - x)) {
        filter_whole(k, rows, lines, x);
        whole = next_whole;
        next_whole = 2 * next_whole + 1;
        continue;
      }
      next_whole = 0;
      for_each_tile(block, x, rows, [&](int i, int t, int at) HWY_ATTR {
        add_exact_codes<Tile>(tile_of(sums, i, t), near_tie[i][t], exact,
                              fir_first_row(i, kRowLevels), kTiles, block, at);
      });
    }
    exact.store();
  }

  /// Filters the `rows` rows of a step of columns by weights that are not taken apart.
  void filter_whole(int k, int rows, const std::uint8_t* const* lines, int x) {
    DotBlock block = block_of(k);
    for (int y = 0; y < rows; y += kDotPairRows) {
      block.lines = lines + y;
      block.rows = std::min(rows - y, kDotPairRows);
      std::copy_n(out_ + y, block.rows, block.out);
      filter_block<Tile>(taps_, task_.parts[k].digits, block, x, std::min(x + step(), area_.width),
                         area_.width);
    }
  }

  /// Columns that are filtered at once.
  int step() const { return kTilesAside * Tile::stride(taps_).step; }

  /// Tile `t` of those side by side that have the outputs of row fir_first_row(i).
  static PairSums& tile_of(FirSums* sums, int i, int t) {
    return sums[i + t / kFirTiles * kTiles][t % kFirTiles];
  }

  /// A block of rows of part `k`, without lines, whose rows for_each_tile() fills in.
  DotBlock block_of(int k) const {
    const ComponentTask& part = task_.parts[k].task;
    return {nullptr, 0, {}, 0, part.layout, part.reciprocals, ahead_, k};
  }

  /// Calls use(i, t, x) for each tile of a step of columns (see tile_of()), where `block` has its
  /// output rows and `x` is its first column.
  template <class Use>
  HWY_INLINE void for_each_tile(DotBlock& block, int x, int rows, const Use& use) const {
    for (int i = 0; i < kTiles; ++i) {
      block.rows = 0;
      for (int r = fir_first_row(i, kRowLevels); r < rows; r += kTiles)
        block.out[block.rows++] = out_[r];
      for (int t = 0, at = x; t < kTilesAside && at < area_.width; ++t, at += step() / kTilesAside)
        use(i, t, at);
    }
  }

  /// The sums, which begin with `start`, of the first `rows` rows of the tiles from column `x` on.
  void sum_tiles(int k, int x, int rows, std::int32_t start, FirSums* sums) const {
    ahead_.fetch(k, area_.width, x, std::min(step(), area_.width - x));
    const auto table = reinterpret_cast<const std::uint8_t**>(workspace_.table);
    const FirTile tile{fir_.subfilters(), table, fir_.lines(), fir_subfilters(kLevels),
                       x / kColumnStep};
    const FirStart first{start};
    static_assert(kDotPairRows == 4, "a case for each number of rows");
    if (rows == 4)
      add_subfilters<kLevels, 4>(tile, 0, first, sums);
    else if (rows == 3)
      add_subfilters<kLevels, 3>(tile, 0, first, sums);
    else if (rows == 2)
      add_subfilters<kLevels, 2>(tile, 0, first, sums);
    else
      add_subfilters<kLevels, 1>(tile, 0, first, sums);
    for (int i = 0; kSplitColumns && i < kTiles; ++i)
      join_columns(sums[i], sums[i + kTiles]);
  }

  const GroupTask& task_;
  const Area area_;
  const Workspace& workspace_;
  const DotTaps& taps_;
  const FastFir& fir_;
  const int cells_;  ///< Of a line.
  const FirLines lines_;
  const Lines smaller_;
  const int ring_;  ///< Lines of a part.
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
