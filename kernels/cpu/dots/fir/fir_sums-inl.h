// SPDX-License-Identifier: LGPL-2.1-or-later
// The sums of a fast FIR algorithm (core/weights/fast_fir.h): lines for its subfilters, made of
// rows of the source, and sums of outputs, made of theirs.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_FIR_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_FIR_SUMS_INL_H_
#undef CONVOLVE_FIR_SUMS_INL_H_
#else
#define CONVOLVE_FIR_SUMS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "kernels/core/weights/fast_fir.h"
#include "kernels/cpu/dots/pair_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if CONVOLVE_DOT_PAIRS

/// Rows of the source that a line of each subfilter is made of, after so many levels of rows.
constexpr int fir_source_rows(int levels) {
  return (2 << levels) - 1;
}

/// Makes what a level of columns has in place of a row, `cells` cells of it: with A and B its even
/// and odd ones, B, A + B, and the next A + B.
static HWY_NOINLINE void split_columns(std::int16_t* row, int cells, std::int16_t* const* halves) {
  // Where the number of cells is odd this is the last B. All of its products cancel, but only if it
  // is a code, so that sums of many fit 16 bits: the cell may be a rest of another strip.
  row[cells] = 0;
  const Pairs d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int i = 0; 2 * i < cells; i += lanes) {
    const std::int16_t* const from = row + 2 * i;
    const auto low = hn::LoadU(d, from), high = hn::LoadU(d, from + lanes);
    const auto odd = hn::ConcatOdd(d, high, low);
    const auto next = hn::ConcatEven(d, hn::LoadU(d, from + lanes + 2), hn::LoadU(d, from + 2));
    hn::StoreU(odd, d, halves[0] + i);
    hn::StoreU(hn::Add(hn::ConcatEven(d, high, low), odd), d, halves[1] + i);
    hn::StoreU(hn::Add(next, odd), d, halves[2] + i);
  }
}

/// Stores column `i` of a line of subfilter `first` and of those after it that kLevels more levels
/// make of `rows`.
template <int kLevels>
HWY_INLINE void split_vectors(const hn::Vec<Pairs> (&rows)[fir_source_rows(kLevels)], int first,
                              int i, std::int16_t* const* lines) {
  if constexpr (kLevels == 0) {
    hn::StoreU(rows[0], Pairs(), lines[first] + i);
  } else {
    constexpr int kRows = fir_source_rows(kLevels - 1);
    hn::Vec<Pairs> even[kRows], shared[kRows], odd[kRows];
    HWY_UNROLL(16)
    for (int k = 0; k < kRows; ++k) {
      even[k] = hn::Add(rows[2 * k], rows[2 * k + 1]);
      shared[k] = rows[2 * k + 1];
      odd[k] = hn::Add(rows[2 * k + 2], rows[2 * k + 1]);
    }
    constexpr int kParts = fir_subfilters(kLevels - 1);
    split_vectors<kLevels - 1>(shared, first, i, lines);
    split_vectors<kLevels - 1>(even, first + kParts, i, lines);
    split_vectors<kLevels - 1>(odd, first + 2 * kParts, i, lines);
  }
}

/// Makes a line of each subfilter of fir_source_rows() rows, `cells` cells of each.
template <int kLevels>
HWY_NOINLINE void split_rows(const std::int16_t* const* rows, int cells,
                             std::int16_t* const* lines) {
  constexpr int kRows = fir_source_rows(kLevels);
  const Pairs d;
  for (int i = 0; i < cells; i += static_cast<int>(hn::Lanes(d))) {
    hn::Vec<Pairs> column[kRows];
    HWY_UNROLL(32)
    for (int k = 0; k < kRows; ++k)
      column[k] = hn::LoadU(d, rows[k] + i);
    split_vectors<kLevels>(column, 0, i, lines);
  }
}

/// Tiles side by side that a subfilter sums in turn, while its lines and weights are at hand.
inline constexpr int kFirTiles = kDotVectors / kPairVectors;
using FirSums = PairSums[kFirTiles];

/// What subfilters sum: the lines of subfilter n of `count` from lines[n * `stride`] on, at their
/// column `x`.
struct FirTile {
  const DotPairs& subfilters;
  const std::uint8_t* const* lines;
  int stride;
  int count;
  int x;
};

/// What sums begin with: `number` if `sums` is null, or else `sums`, or `number` less `sums` if
/// they are `subtracted`.
struct FirStart {
  std::int32_t number = 0;
  const FirSums* sums = nullptr;
  bool subtracted = false;
};

/// Asks for most of what kRows rows of tiles read of the lines of subfilter `n`, which have left
/// the first cache since the tiles before these. All of it would be more instructions than it
/// saves.
template <int kRows>
HWY_INLINE void fetch_lines(const FirTile& tile, int n) {
  constexpr int kCacheLine = 64;
  for (int i = 0; i < tile.subfilters.height() + kRows - 1; ++i) {
    const std::uint8_t* const from = tile.lines[n * tile.stride + i] + 2 * tile.x;
    __builtin_prefetch(from);
    __builtin_prefetch(from + kCacheLine);
  }
}

/// The sums of kRows rows of tiles of subfilter `n`.
template <int kRows>
HWY_NOINLINE void add_subfilter(const FirTile& tile, int n, const FirStart& start, FirSums& to) {
  const auto number = hn::Set(Words(), start.number);
  if (n + 1 < tile.count) fetch_lines<kRows>(tile, n + 1);
  for (int t = 0; t < kFirTiles; ++t) {
    hn::Vec<Words> sum[kRows][kPairVectors];
    const auto begin_with = [&](const auto& first) HWY_ATTR {
      HWY_UNROLL(4)
      for (int r = 0; r < kRows; ++r) {
        HWY_UNROLL(4)
        for (int k = 0; k < kPairVectors; ++k)
          sum[r][k] = first(r, k);
      }
    };
    if (start.sums == nullptr) {
      begin_with([&](int, int) HWY_ATTR { return number; });
    } else if (start.subtracted) {
      begin_with([&](int r, int k) HWY_ATTR { return hn::Sub(number, (*start.sums)[t][r][k]); });
    } else {
      begin_with([&](int r, int k) HWY_ATTR { return (*start.sums)[t][r][k]; });
    }
    const int x = tile.x + t * kPairVectors * static_cast<int>(hn::Lanes(Words()));
    add_part(tile.subfilters, n, tile.lines + n * tile.stride, x, sum);
    HWY_UNROLL(4)
    for (int r = 0; r < kRows; ++r) {
      HWY_UNROLL(4)
      for (int k = 0; k < kPairVectors; ++k)
        to[t][r][k] = sum[r][k];
    }
  }
}

/// The sums of the first kRows rows of 2^kLevels tiles, of which tile i has the outputs of row
/// fir_first_row(i) and every 2^kLevels-th after it. With a level of columns the first half of the
/// tiles has even columns of so many rows, and the second half odd ones. `first` is the first of
/// their subfilters.
template <int kLevels, int kRows>
void add_subfilters(const FirTile& tile, int first, const FirStart& start, FirSums* to) {
  if constexpr (kLevels == 0) {
    add_subfilter<kRows>(tile, first, start, *to);
  } else {
    constexpr int kHalf = 1 << (kLevels - 1), kParts = fir_subfilters(kLevels - 1);
    FirSums shared[kHalf];
    if (start.sums == nullptr) {
      // Twice the number, as `shared` has it once.
      const auto twice = static_cast<std::int32_t>(2 * static_cast<std::uint32_t>(start.number));
      add_subfilters<kLevels - 1, kRows>(tile, first, start, shared);
      add_subfilters<kLevels - 1, kRows>(tile, first + kParts, {twice, shared, true}, to);
      add_subfilters<kLevels - 1, kRows>(tile, first + 2 * kParts, {0, shared}, to + kHalf);
      return;
    }
    add_subfilters<kLevels - 1, kRows>(tile, first, {}, shared);
    const auto add_shared = [&](const auto& first_of) HWY_ATTR {
      for (int i = 0; i < kHalf; ++i)
        for (int t = 0; t < kFirTiles; ++t)
          for (int r = 0; r < kRows; ++r)
            for (int k = 0; k < kPairVectors; ++k) {
              const auto sum = shared[i][t][r][k];
              to[i][t][r][k] = hn::Sub(first_of(start.sums[i][t][r][k]), sum);
              to[i + kHalf][t][r][k] = hn::Add(first_of(start.sums[i + kHalf][t][r][k]), sum);
            }
    };
    if (start.subtracted) {
      const auto number = hn::Set(Words(), start.number);
      add_shared([&](const hn::Vec<Words>& sum) HWY_ATTR { return hn::Sub(number, sum); });
    } else {
      add_shared([](const hn::Vec<Words>& sum) HWY_ATTR { return sum; });
    }
    add_subfilters<kLevels - 1, kRows>(tile, first + kParts, {0, to}, to);
    add_subfilters<kLevels - 1, kRows>(tile, first + 2 * kParts, {0, to + kHalf}, to + kHalf);
  }
}

/// Brings sums of even columns and those of odd columns, which are as many, in their order: to the
/// first half of all columns, and to the second.
HWY_INLINE void join_columns(FirSums& even, FirSums& odd) {
  constexpr int kPairsOfRow = kPairVectors / 2, kHalves = kFirTiles * kPairsOfRow;
  static_assert(kHalves == 2, "one for each of the two results");
  const Words d;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(d));
  for (int r = 0; r < kDotPairRows; ++r) {
    HWY_ALIGN std::int32_t in_order[kHalves][2][2 * kLanes];
    for (int half = 0; half < kHalves; ++half) {
      const int t = half / kPairsOfRow, k = half % kPairsOfRow * 2;
      hn::StoreInterleaved2(even[t][r][k], even[t][r][k + 1], d, in_order[half][0]);
      hn::StoreInterleaved2(odd[t][r][k], odd[t][r][k + 1], d, in_order[half][1]);
    }
    for (int n = 0; n < kFirTiles; ++n)
      for (int k = 0; k < kPairVectors; ++k) {
        const int at = (n * kPairsOfRow + k / 2) * kLanes;
        even[n][r][k] = hn::Load(d, in_order[0][k % 2] + at);
        odd[n][r][k] = hn::Load(d, in_order[1][k % 2] + at);
      }
  }
}

/// The first row of outputs in tile `i` of 2^levels: its bits in reverse, as each level has its
/// even rows before its odd ones.
constexpr int fir_first_row(int i, int levels) {
  return levels == 0 ? 0
                     : 2 * fir_first_row(i % (1 << (levels - 1)), levels - 1) + (i >> (levels - 1));
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
