// SPDX-License-Identifier: LGPL-2.1-or-later
// The inner loop of the vector kernels: sums of weighted lines, a register tile at a time.
//
// A tile is kRows rows of kVectors vectors of outputs. Each line that the tile reads is loaded once
// and added to all rows it belongs to, so a load serves kRows multiply-adds and a broadcast weight
// kVectors. A row pass is a mask of height 1, a column pass a mask of width 1.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_ACCUMULATE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_ACCUMULATE_INL_H_
#undef CONVOLVE_ACCUMULATE_INL_H_
#else
#define CONVOLVE_ACCUMULATE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

#include "kernels/cpu/lanes_from-inl.h"
#include "kernels/cpu/mask_taps.h"
#include "kernels/cpu/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Vectors of a tile's row. 4 x 3 sums, 3 loads and a weight fill the 16 registers of AVX2; a
/// single row (the row pass) needs 8 independent sums to hide the latency of a multiply-add.
template <int kRows>
inline constexpr int kTileVectors = kRows == 1 ? 8 : 3;

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

/// Taps whose cells come out of registers, where nearly all loads would lie in two lines of the
/// cache.
inline constexpr int kShiftedTaps = 4;

/// Adds taps kTap .. kShiftedTaps - 1 to a row of sums, whose cells begin in `cell`.
template <int kVectors, int kTap, class D>
HWY_INLINE void add_shifted_taps(D d, const hn::Vec<D> (&cell)[kVectors + 1], const float* weights,
                                 hn::Vec<D> (&sum)[1][kVectors]) {
  const auto weight = hn::Set(d, weights[kTap]);
  HWY_UNROLL(8)
  for (int v = 0; v < kVectors; ++v) {
    const auto cells = lanes_from<kTap>(d, cell[v], cell[v + 1]);
    sum[0][v] = hn::MulAdd(weight, cells, sum[0][v]);
  }
  if constexpr (kTap + 1 < kShiftedTaps)
    add_shifted_taps<kVectors, kTap + 1>(d, cell, weights, sum);
}

/// Adds as many taps from `first` on as this serves, and returns the first of the others.
template <int kVectors, class D>
HWY_INLINE std::ptrdiff_t add_taps_of_row(D d, const float* cells, const float* weights,
                                          std::ptrdiff_t first, std::ptrdiff_t end,
                                          hn::Vec<D> (&sum)[1][kVectors]) {
  const int lanes = static_cast<int>(hn::Lanes(d));
  std::ptrdiff_t j = first;
  for (; j + kShiftedTaps <= end; j += kShiftedTaps) {
    hn::Vec<D> cell[kVectors + 1];
    HWY_UNROLL(9)
    for (int v = 0; v <= kVectors; ++v)
      cell[v] = hn::LoadU(d, cells + j + v * lanes);
    add_shifted_taps<kVectors, 0>(d, cell, weights + j, sum);
  }
  return j;
}

#endif

/// Adds the line `cells` to rows kFirst .. kEnd - 1 of a tile. `weights` are the taps of row 0 on
/// this line; row r uses the mask row above those of row r - 1.
template <int kFirst, int kEnd, int kRows, int kVectors, class D, class Real = hn::TFromD<D>>
HWY_INLINE void add_line(D d, const Real* cells, const Real* weights, std::ptrdiff_t mask_width,
                         TapSpan span, hn::Vec<D> (&sum)[kRows][kVectors]) {
  const int lanes = static_cast<int>(hn::Lanes(d));
  std::ptrdiff_t j = span.begin;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  if constexpr (kRows == 1 && kVectors > 1 && sizeof(Real) == sizeof(float))
    j = add_taps_of_row(d, cells, weights, j, span.end, sum);
#endif
  for (; j < span.end; ++j) {
    hn::Vec<D> cell[kVectors];
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v)
      cell[v] = hn::LoadU(d, cells + j + v * lanes);
    HWY_UNROLL(8)
    for (int r = kFirst; r < kEnd; ++r) {
      const auto weight = hn::Set(d, weights[j - r * mask_width]);
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v)
        sum[r][v] = hn::MulAdd(weight, cell[v], sum[r][v]);
    }
  }
}

/// The same for rows `first` .. `end` - 1, of which there is at least one. Lists every case,
/// because a test for each row inside the loop over taps halves the speed of small masks.
template <int kFirst, int kEnd, int kRows, int kVectors, class D, class Real = hn::TFromD<D>>
HWY_INLINE void add_line_to(int first, int end, D d, const Real* cells, const Real* weights,
                            std::ptrdiff_t mask_width, TapSpan span,
                            hn::Vec<D> (&sum)[kRows][kVectors]) {
  if (first == kFirst && end == kEnd)
    return add_line<kFirst, kEnd>(d, cells, weights, mask_width, span, sum);
  if constexpr (kEnd - 1 > kFirst)
    return add_line_to<kFirst, kEnd - 1>(first, end, d, cells, weights, mask_width, span, sum);
  else if constexpr (kFirst + 1 < kRows)
    return add_line_to<kFirst + 1, kRows>(first, end, d, cells, weights, mask_width, span, sum);
}

/// sums[r][x ..] = sum over i, j of weight[i][j] * lines[i + r][x + j ..] for each row r.
template <int kRows, int kVectors, class D, class Real = hn::TFromD<D>>
HWY_INLINE void accumulate_tile(D d, const Real* const* lines, const MaskTaps& taps, int x,
                                const Lines& sums) {
  const int lanes = static_cast<int>(hn::Lanes(d));
  const int height = taps.height();
  const TapSpan* spans = taps.spans(kRows);
  hn::Vec<D> sum[kRows][kVectors];
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v)
      sum[r][v] = hn::Zero(d);
  }

  // The first and the last lines of a block belong to some of its rows only.
  const Real* weights = taps.weights<Real>();
  for (int line = 0; line < height + kRows - 1; ++line, weights += taps.width()) {
    const int first = line < height ? 0 : line - height + 1;
    const int end = line < kRows ? line + 1 : kRows;
    add_line_to<0, kRows>(first, end, d, lines[line] + x, weights, taps.width(), spans[line], sum);
  }

  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v)
      hn::StoreU(sum[r][v], d, sums.at<Real>(r) + x + v * lanes);
  }
}

/// Fills columns `begin` .. `end` - 1 of kRows lines of `sums`. `lines` has height + kRows - 1
/// lines of end + mask width - 1 cells. Touches at most kLineSlack bytes behind either.
template <int kRows, class Real>
void accumulate_columns(const Real* const* lines, const MaskTaps& taps, int begin, int end,
                        const Lines& sums) {
  const hn::ScalableTag<Real> d;
  static_assert(hn::MaxLanes(d) * sizeof(Real) <= kLineSlack);
  static_assert(kStripStep % (kTileVectors<kRows> * hn::MaxLanes(d)) == 0);
  constexpr int kVectors = kTileVectors<kRows>;
  const int lanes = static_cast<int>(hn::Lanes(d));
  int x = begin;
  for (; x + kVectors * lanes <= end; x += kVectors * lanes)
    accumulate_tile<kRows, kVectors>(d, lines, taps, x, sums);
  for (; x < end; x += lanes)
    accumulate_tile<kRows, 1>(d, lines, taps, x, sums);
}

/// Fills kRows lines of `sums` with `width` sums each. `lines` has height + kRows - 1 lines of
/// width + mask width - 1 cells. Touches at most kLineSlack bytes behind either.
template <int kRows, class Real>
void accumulate(const Real* const* lines, const MaskTaps& taps, int width, const Lines& sums) {
  accumulate_columns<kRows>(lines, taps, 0, width, sums);
}

/// Fills kRows lines of `sums` with `width` sums each, a strip of columns at a time, and calls
/// `fetch` with the first column and the width of each strip just before its sums are made. The
/// rows that come next shall arrive in the cache meanwhile: asked for all at once, they would be
/// waited for.
template <int kRows, class Real, class Fetch>
void accumulate_strips(const Real* const* lines, const MaskTaps& taps, int width, const Lines& sums,
                       const Fetch& fetch) {
  for (int x = 0; x < width; x += kStripStep) {
    const int count = std::min(kStripStep, width - x);
    fetch(x, count);
    accumulate_columns<kRows>(lines, taps, x, x + count, sums);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
