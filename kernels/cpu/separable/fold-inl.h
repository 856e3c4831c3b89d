// SPDX-License-Identifier: LGPL-2.1-or-later
// Sums of lines weighted by a symmetric row or column: taps at the same distance from the middle
// have equal weights, so their cells are added first and share a product, as in the folded form of
// a linear-phase FIR filter. This halves the products, and a product goes through half as many
// additions: pairs are added from the ends of the mask to its middle, so that those of a bell,
// whose ends are small, lose less still (folded_roundings() of weights/arithmetic.h).
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_FOLD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_FOLD_INL_H_
#undef CONVOLVE_FOLD_INL_H_
#else
#define CONVOLVE_FOLD_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/cpu/lanes_from-inl.h"
#include "kernels/cpu/mask_taps.h"
#include "kernels/cpu/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Vectors of a tile of one row: enough independent sums to hide the latency of a multiply-add.
inline constexpr int kFoldedRowVectors = 6;

/// Vectors of each of the kBlockRows rows of a tile of column sums: with their sums and as many
/// lines from either end of the mask they fill the registers.
inline constexpr int kFoldedColumnVectors = HWY_TARGET <= HWY_AVX3 ? 2 : 1;

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

/// kVectors vectors of cells and the one after them.
template <int kVectors, class D>
using RowCells = hn::Vec<D>[kVectors + 1];

template <int kVectors, class D>
HWY_INLINE void load_window(D d, const float* from, RowCells<kVectors, D>& cells) {
  HWY_UNROLL(9)
  for (int v = 0; v <= kVectors; ++v)
    cells[v] = hn::LoadU(d, from + v * static_cast<int>(hn::Lanes(d)));
}

/// Adds pairs kPair .. kPairs - 1 of taps: the first pair's left tap meets the first cell of
/// `left`, and its right tap the cell at `right`; taps meet cells kTurns apart. Left taps are
/// shifted out of the window and right ones loaded: with shifts alone additions would wait for the
/// unit that shifts, and with loads alone for the cache, as nearly all loads lie in two of its
/// lines.
template <int kTurns, int kPairs, int kPair = 0, int kVectors, class D>
HWY_INLINE void fold_pairs(D d, const RowCells<kVectors, D>& left, const float* right,
                           const float* weights, hn::Vec<D> (&sum)[kVectors]) {
  if constexpr (kPair < kPairs) {
    const auto weight = hn::Set(d, weights[kPair]);
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) {
      const auto one = lanes_from<kTurns * kPair>(d, left[v], left[v + 1]);
      const auto other = hn::LoadU(d, right - kTurns * kPair + v * static_cast<int>(hn::Lanes(d)));
      sum[v] = hn::MulAdd(weight, hn::Add(one, other), sum[v]);
    }
    fold_pairs<kTurns, kPairs, kPair + 1, kVectors>(d, left, right, weights, sum);
  }
}

/// Pairs whose left taps are shifted out of one window of cells.
inline constexpr int kWindowPairs = 4;

/// Adds the last kTaps taps, or fewer, whose left taps lie in one window of cells.
template <int kTurns, int kTaps, int kVectors, class D>
HWY_INLINE void fold_last_taps(D d, int taps, const float* cells, const float* weights,
                               hn::Vec<D> (&sum)[kVectors]) {
  if constexpr (kTaps > 1)
    if (taps < kTaps) return fold_last_taps<kTurns, kTaps - 1>(d, taps, cells, weights, sum);
  RowCells<kVectors, D> window;
  load_window<kVectors>(d, cells, window);
  fold_pairs<kTurns, kTaps / 2, 0, kVectors>(d, window, cells + kTurns * (kTaps - 1), weights, sum);
  if constexpr (kTaps % 2 != 0) {
    constexpr int kMiddle = kTurns * (kTaps / 2);
    const auto weight = hn::Set(d, weights[kTaps / 2]);
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v)
      sum[v] = hn::MulAdd(weight, lanes_from<kMiddle>(d, window[v], window[v + 1]), sum[v]);
  }
}

/// As fold_taps(), for floats in so many vectors that a window reads no more than a line's slack
/// behind its cells.
template <int kTurns, int kVectors, class D>
HWY_INLINE void fold_windows(D d, const float* cells, const float* weights, int taps,
                             hn::Vec<D> (&sum)[kVectors]) {
  for (; taps > 2 * kWindowPairs + 1; taps -= 2 * kWindowPairs) {
    RowCells<kVectors, D> left;
    load_window<kVectors>(d, cells, left);
    fold_pairs<kTurns, kWindowPairs, 0, kVectors>(d, left, cells + kTurns * (taps - 1), weights,
                                                  sum);
    cells += kTurns * kWindowPairs;
    weights += kWindowPairs;
  }
  fold_last_taps<kTurns, 2 * kWindowPairs + 1>(d, taps, cells, weights, sum);
}

#endif

/// Adds the products of `taps` taps, which meet cells kTurns apart, to `sum`.
template <int kTurns, int kVectors, class D, class Real>
HWY_INLINE void fold_taps(D d, const Real* cells, const Real* weights, int taps,
                          hn::Vec<D> (&sum)[kVectors]) {
  const int lanes = static_cast<int>(hn::Lanes(d));
  int j = 0;
  for (; j < taps / 2; ++j) {
    const auto weight = hn::Set(d, weights[j]);
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v)
      sum[v] = hn::MulAdd(weight,
                          hn::Add(hn::LoadU(d, cells + kTurns * j + v * lanes),
                                  hn::LoadU(d, cells + kTurns * (taps - 1 - j) + v * lanes)),
                          sum[v]);
  }
  if (taps % 2 == 0) return;
  const auto weight = hn::Set(d, weights[j]);
  HWY_UNROLL(8)
  for (int v = 0; v < kVectors; ++v)
    sum[v] = hn::MulAdd(weight, hn::LoadU(d, cells + kTurns * j + v * lanes), sum[v]);
}

/// kVectors vectors of the sums of a row from `cells` on, weighted by `taps` taps.
template <int kTurns, int kVectors, class D, class Real = hn::TFromD<D>>
HWY_INLINE void fold_row_tile(D d, const Real* cells, const Real* weights, int taps, Real* sums) {
  hn::Vec<D> sum[kVectors];
  HWY_UNROLL(8)
  for (int v = 0; v < kVectors; ++v)
    sum[v] = hn::Zero(d);
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  if constexpr (kVectors > 1 && sizeof(Real) == sizeof(float))
    fold_windows<kTurns>(d, cells, weights, taps, sum);
  else
    fold_taps<kTurns>(d, cells, weights, taps, sum);
#else
  fold_taps<kTurns>(d, cells, weights, taps, sum);
#endif
  HWY_UNROLL(8)
  for (int v = 0; v < kVectors; ++v)
    hn::StoreU(sum[v], d, sums + v * static_cast<int>(hn::Lanes(d)));
}

/// Fills `sums` with `count` sums of the cells from `cells` on, weighted by the symmetric row
/// `taps`. kTurns components take turns, each of which has sums of its own. Touches at most
/// kLineSlack bytes behind either.
template <int kTurns, class Real>
void fold_row(const Real* cells, const MaskTaps& taps, int count, Real* sums) {
  const hn::ScalableTag<Real> d;
  static_assert(kStripStep % (kFoldedRowVectors * hn::MaxLanes(d)) == 0);
  const int step = kFoldedRowVectors * static_cast<int>(hn::Lanes(d));
  const auto* const weights = taps.weights<Real>();
  int x = 0;
  for (; x + step <= count; x += step)
    fold_row_tile<kTurns, kFoldedRowVectors>(d, cells + x, weights, taps.width(), sums + x);
  for (; x < count; x += static_cast<int>(hn::Lanes(d)))
    fold_row_tile<kTurns, 1>(d, cells + x, weights, taps.width(), sums + x);
}

/// Vectors of kBlockRows lines: a tile of sums, or what it reads.
template <int kVectors, class D>
using FoldedTile = hn::Vec<D>[kBlockRows][kVectors];

template <int kVectors, class D, class Real = hn::TFromD<D>>
HWY_INLINE void load_vectors(D d, const Real* line, hn::Vec<D> (&to)[kVectors]) {
  HWY_UNROLL(2)
  for (int v = 0; v < kVectors; ++v)
    to[v] = hn::LoadU(d, line + v * static_cast<int>(hn::Lanes(d)));
}

/// Adds pairs kPair .. kPairs - 1 of lines to a tile at column `x`. `upper` holds the line of the
/// first pair's upper tap, first[0], and those below it, one for each row of the tile; `lower`
/// holds that of its lower tap, last[0], and those below. A pair needs one new line of either,
/// which takes the place of one that is not needed again: line i of `upper` lies at
/// i % kBlockRows, and `lower` goes the other way round.
template <int kPairs, int kPair = 0, int kVectors, class D, class Real = hn::TFromD<D>>
HWY_INLINE void fold_line_pairs(D d, const Real* const* first, const Real* const* last, int x,
                                const Real* weights, FoldedTile<kVectors, D>& upper,
                                FoldedTile<kVectors, D>& lower, FoldedTile<kVectors, D>& sum) {
  const auto weight = hn::Set(d, weights[kPair]);
  HWY_UNROLL(4)
  for (int r = 0; r < kBlockRows; ++r) {
    HWY_UNROLL(2)
    for (int v = 0; v < kVectors; ++v)
      sum[r][v] = hn::MulAdd(weight,
                             hn::Add(upper[(r + kPair) % kBlockRows][v],
                                     lower[(r + kBlockRows - kPair) % kBlockRows][v]),
                             sum[r][v]);
  }
  load_vectors(d, first[kPair + kBlockRows] + x, upper[kPair]);
  load_vectors(d, last[-kPair - 1] + x, lower[kBlockRows - 1 - kPair]);
  if constexpr (kPair + 1 < kPairs)
    fold_line_pairs<kPairs, kPair + 1>(d, first, last, x, weights, upper, lower, sum);
}

/// The sums of a tile at column `x`, of whose rows row r reads `height` lines from lines[r] on.
template <int kVectors, class D, class Real = hn::TFromD<D>>
HWY_INLINE void fold_column_tile(D d, const Real* const* lines, const Real* weights, int height,
                                 int x, const Lines& sums) {
  static_assert(kBlockRows == 4, "a case for each number of pairs that are left");
  const Real* const* first = lines;
  const Real* const* last = lines + height - 1;
  FoldedTile<kVectors, D> upper, lower, sum;
  HWY_UNROLL(4)
  for (int r = 0; r < kBlockRows; ++r) {
    load_vectors(d, first[r] + x, upper[r]);
    load_vectors(d, last[r] + x, lower[r]);
    HWY_UNROLL(2)
    for (int v = 0; v < kVectors; ++v)
      sum[r][v] = hn::Zero(d);
  }
  int pairs = height / 2;
  for (; pairs >= kBlockRows; pairs -= kBlockRows) {
    fold_line_pairs<kBlockRows>(d, first, last, x, weights, upper, lower, sum);
    first += kBlockRows;
    last -= kBlockRows;
    weights += kBlockRows;
  }
  if (pairs == 3) fold_line_pairs<3>(d, first, last, x, weights, upper, lower, sum);
  if (pairs == 2) fold_line_pairs<2>(d, first, last, x, weights, upper, lower, sum);
  if (pairs == 1) fold_line_pairs<1>(d, first, last, x, weights, upper, lower, sum);
  if (height % 2 != 0) {
    const auto weight = hn::Set(d, weights[pairs]);
    HWY_UNROLL(4)
    for (int r = 0; r < kBlockRows; ++r) {
      load_vectors(d, first[pairs + r] + x, upper[r]);
      HWY_UNROLL(2)
      for (int v = 0; v < kVectors; ++v)
        sum[r][v] = hn::MulAdd(weight, upper[r][v], sum[r][v]);
    }
  }
  HWY_UNROLL(4)
  for (int r = 0; r < kBlockRows; ++r) {
    HWY_UNROLL(2)
    for (int v = 0; v < kVectors; ++v)
      hn::StoreU(sum[r][v], d, sums.at<Real>(r) + x + v * static_cast<int>(hn::Lanes(d)));
  }
}

/// Fills kBlockRows lines of `sums` with `count` sums each, weighted by the symmetric column
/// `taps`: row r reads taps.height() lines from lines[r] on. Touches at most kLineSlack bytes
/// behind a line.
template <class Real>
void fold_columns(const Real* const* lines, const MaskTaps& taps, int count, const Lines& sums) {
  const hn::ScalableTag<Real> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto* const weights = taps.weights<Real>();
  int x = 0;
  for (; x + kFoldedColumnVectors * lanes <= count; x += kFoldedColumnVectors * lanes)
    fold_column_tile<kFoldedColumnVectors>(d, lines, weights, taps.height(), x, sums);
  for (; x < count; x += lanes)
    fold_column_tile<1>(d, lines, weights, taps.height(), x, sums);
}

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
