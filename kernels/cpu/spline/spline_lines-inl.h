// SPDX-License-Identifier: LGPL-2.1-or-later
// The steps of separable_spline.cc along one line, or across some: splines of pixels (analysis)
// and pixels from coefficients (synthesis).
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_SPLINE_LINES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_SPLINE_LINES_INL_H_
#undef CONVOLVE_SPLINE_LINES_INL_H_
#else
#define CONVOLVE_SPLINE_LINES_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/core/weights/spline_mask.h"
#include "kernels/cpu/dots/pair_product-inl.h"
#include "kernels/cpu/rows/byte_codes-inl.h"
#include "kernels/cpu/rows/byte_lines-inl.h"
#include "kernels/cpu/spline/spline_taps.h"
#include "kernels/cpu/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::Rebind<float, Words>;

/// Columns of a vector of sums.
constexpr int kVectorColumns = static_cast<int>(hn::MaxLanes(Words()));

/// `sum` and the products of the two halves of 16 bits in each lane.
HWY_INLINE hn::Vec<Words> add_halves(hn::Vec<Words> sum, hn::Vec<Words> a, hn::Vec<Words> b) {
#if HWY_TARGET == HWY_SCALAR
  const auto low = [](hn::Vec<Words> v) { return hn::ShiftRight<16>(hn::ShiftLeft<16>(v)); };
  return hn::Add(hn::Add(sum, hn::Mul(low(a), low(b))),
                 hn::Mul(hn::ShiftRight<16>(a), hn::ShiftRight<16>(b)));
#else
  return add_pair_products(sum, hn::BitCast(Pairs(), a), hn::BitCast(Pairs(), b));
#endif
}

/// Sums of codes, weighted by whole_analysis(), as weighted means less kMidCode. Exact but for the
/// last rounding to float.
HWY_INLINE hn::Vec<Floats> centred_means(hn::Vec<Words> sums, int spacing) {
  const int whole = spacing * spacing * spacing * spacing;
  return hn::Mul(
      hn::ConvertTo(Floats(), hn::Sub(hn::Add(sums, sums), hn::Set(Words(), 255 * whole))),
      hn::Set(Floats(), 0.5f / static_cast<float>(whole)));
}

/// Splines down some columns, interval after interval. An interval belongs to kSplineOrder splines,
/// of which one ends in it; the sums of the others wait in lines.
class IntervalSums {
 public:
  /// `lines`: kSplineOrder - 1 of them.
  IntervalSums(const SplineTaps& taps, const Lines& lines, int columns)
      : weights_(taps.whole_analysis().data()),
        spacing_(taps.spacing()),
        columns_(columns),
        waiting_{lines.at<std::int32_t>(0), lines.at<std::int32_t>(1), lines.at<std::int32_t>(2)} {
    for (std::int32_t* line : waiting_)
      std::fill_n(line, columns, 0);
  }

  /// Adds the rows of an interval, and writes the spline that ends there, as centred_means(), to
  /// `done`, if that is not null.
  HWY_INLINE void add(const std::uint8_t* const* rows, float* done) const {
    const Words d;
    const hn::Rebind<std::uint8_t, Words> d_codes;
    for (int x = 0; x < columns_; x += kVectorColumns) {
      hn::Vec<Words> sum[kSplineOrder] = {hn::Zero(d), hn::Load(d, waiting_[0] + x),
                                          hn::Load(d, waiting_[1] + x),
                                          hn::Load(d, waiting_[2] + x)};
      for (int t = 0; t < spacing_; t += 2) {
        const auto first = hn::PromoteTo(d, hn::LoadU(d_codes, rows[t] + x));
        const auto second = hn::PromoteTo(d, hn::LoadU(d_codes, rows[t + 1] + x));
        const auto both = hn::Or(first, hn::ShiftLeft<16>(second));
        HWY_UNROLL(4)
        for (int m = 0; m < kSplineOrder; ++m)
          sum[m] = add_halves(sum[m], both, hn::Set(d, weights_of(m, t)));
      }
      hn::Store(sum[0], d, waiting_[0] + x);
      hn::Store(sum[1], d, waiting_[1] + x);
      hn::Store(sum[2], d, waiting_[2] + x);
      if (done != nullptr) hn::StoreU(centred_means(sum[3], spacing_), Floats(), done + x);
    }
  }

 private:
  /// The weights of rows t and t + 1 of the interval in the spline that began m intervals before
  /// it, as two halves of 16 bits.
  HWY_INLINE std::int32_t weights_of(int m, int t) const {
    std::int32_t pair;
    std::memcpy(&pair, weights_ + m * spacing_ + t, sizeof pair);
    return pair;
  }

  const std::int16_t* weights_;
  int spacing_, columns_;
  std::int32_t* waiting_[kSplineOrder - 1];
};

/// The first `count` splines along a line of codes, as centred_means(). A vector more than they
/// cover is read.
HWY_INLINE void analyse_bytes(const SplineTaps& taps, const std::uint8_t* codes, int count,
                              float* out) {
  const int spacing = taps.spacing(), span = kSplineOrder * spacing;
  const int whole = spacing * spacing * spacing * spacing;
  const float scale = 0.5f / static_cast<float>(whole);
  const std::int16_t* const weights = taps.whole_analysis().data();
  for (int i = 0; i < count; ++i, codes += spacing) {
    std::int32_t sum = 0;
#if HWY_TARGET == HWY_SCALAR
    for (int t = 0; t < span; ++t)
      sum += weights[t] * codes[t];
#else
    const Pairs d;
    const hn::Rebind<std::uint8_t, Pairs> d_codes;
    const int lanes = static_cast<int>(hn::Lanes(d));
    auto sums = hn::Zero(Words());
    for (int t = 0; t < span; t += lanes)
      sums = add_pair_products(sums, hn::PromoteTo(d, hn::LoadU(d_codes, codes + t)),
                               hn::LoadU(d, weights + t));
    sum = hn::GetLane(hn::SumOfLanes(Words(), sums));
#endif
    out[i] = static_cast<float>(2 * sum - 255 * whole) * scale;
  }
}

/// The first `count` splines along a line of floats. A vector more than they cover is read, which
/// must be finite.
HWY_INLINE void analyse_floats(const SplineTaps& taps, const float* cells, int count, float* out) {
  const Floats d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const int spacing = taps.spacing(), span = kSplineOrder * spacing;
  const float* const weights = taps.analysis().data();
  for (int i = 0; i < count; ++i, cells += spacing) {
    auto sums = hn::Zero(d);
    for (int t = 0; t < span; t += lanes)
      sums = hn::MulAdd(hn::LoadU(d, cells + t), hn::LoadU(d, weights + t), sums);
    out[i] = hn::GetLane(hn::SumOfLanes(d, sums));
  }
}

/// The coefficient at `coefficients` in the lanes of the interval that it is of, and those after it
/// in the lanes of the next ones, if a vector holds several.
template <int kSpacing>
HWY_INLINE hn::Vec<Floats> spread_over_intervals(const float* coefficients) {
  const Floats d;
  if constexpr (kSpacing >= kVectorColumns) {
    return hn::Set(d, *coefficients);
  } else {
    HWY_ALIGN std::int32_t intervals[kVectorColumns];
    for (int i = 0; i < kVectorColumns; ++i)
      intervals[i] = i / kSpacing;
    return hn::TableLookupLanes(hn::LoadU(d, coefficients), hn::SetTableIndices(d, intervals));
  }
}

/// Adds pixels 0 .. `count` - 1, and up to the next knot or whole vector, from the coefficients
/// from `coefficients` on to `out`. A vector more than the coefficients is read.
template <int kSpacing>
HWY_INLINE void synthesise(const float* weights, const float* coefficients, int count, float* out) {
  const Floats d;
  constexpr int kStep = std::max(kSpacing, kVectorColumns);
  for (int x = 0; x < count; x += kStep, coefficients += kStep / kSpacing) {
    hn::Vec<Floats> spread[kSplineOrder];
    HWY_UNROLL(4)
    for (int m = 0; m < kSplineOrder; ++m)
      spread[m] = spread_over_intervals<kSpacing>(coefficients + m);
    HWY_UNROLL(8)
    for (int p = 0; p < kStep; p += kVectorColumns) {
      auto sum = hn::LoadU(d, out + x + p);
      HWY_UNROLL(4)
      for (int m = 0; m < kSplineOrder; ++m)
        sum = hn::MulAdd(spread[m], hn::LoadU(d, weights + m * kMostSpacing + p), sum);
      hn::StoreU(sum, d, out + x + p);
    }
  }
}

HWY_INLINE void synthesise(const SplineTaps& taps, const float* coefficients, int count,
                           float* out) {
  const float* const weights = taps.synthesis().data();
  switch (taps.spacing()) {
    case 2:
      return synthesise<2>(weights, coefficients, count, out);
    case 4:
      return synthesise<4>(weights, coefficients, count, out);
    case 8:
      return synthesise<8>(weights, coefficients, count, out);
    case 16:
      return synthesise<16>(weights, coefficients, count, out);
    default:
      return synthesise<kMostSpacing>(weights, coefficients, count, out);
  }
}

/// Fills cells `from` .. -1 and `width` .. `end` - 1 of a line of `width` cells.
HWY_INLINE void fill_float_ghosts(Border border, int width, float no_signal, int from, int end,
                                  float* line) {
  for (int x = from; x < end;) {
    if (x == 0) x = width;
    if (x >= end) return;
    const GhostRun run = ghost_run(border, x, width, (x < 0 ? 0 : end) - x);
    for (int i = 0; i < run.length; ++i)
      line[x + i] = run.column == kNoSignal ? no_signal : line[run.column + i * run.step];
    x += run.length;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
