// SPDX-License-Identifier: LGPL-2.1-or-later
// The last step of separable_spline.cc: rows of codes drawn from the grids of both terms.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_SPLINE_CODES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_SPLINE_CODES_INL_H_
#undef CONVOLVE_SPLINE_CODES_INL_H_
#else
#define CONVOLVE_SPLINE_CODES_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/component_task.h"
#include "kernels/cpu/finish_line-inl.h"
#include "kernels/cpu/rows/pack_words-inl.h"
#include "kernels/cpu/spline/spline_lines-inl.h"
#include "kernels/cpu/spline/spline_taps.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Columns that become codes together: a vector of bytes.
constexpr int kCodeColumns = HWY_TARGET == HWY_SCALAR ? 1 : 4 * kVectorColumns;

/// The cross term along a row of pixels, kSpacing of them from knot to knot.
template <int kSpacing>
class CrossRow {
 public:
  /// Columns that begin at a knot again.
  static constexpr int kStep = std::max(kSpacing, kCodeColumns);

  /// `coefficients`: that of the knot of column 0 first. A vector more than they are is read.
  HWY_INLINE CrossRow(const SplineTaps& taps, const float* coefficients)
      : weights_(taps.synthesis().data()), coefficients_(coefficients) {}

  /// `sum` and the cross term of the vector of columns from `x + offset` on: `x` is a multiple of
  /// kStep.
  HWY_INLINE hn::Vec<Floats> add(hn::Vec<Floats> sum, int x, int offset) const {
    const Floats d;
    const float* const from = coefficients_ + x / kSpacing + offset / kSpacing;
    const float* const weights = weights_ + offset % kSpacing;
    HWY_UNROLL(4)
    for (int m = 0; m < kSplineOrder; ++m)
      sum = hn::MulAdd(spread_over_intervals<kSpacing>(from + m),
                       hn::LoadU(d, weights + m * kMostSpacing), sum);
    return sum;
  }

 private:
  const float* weights_;
  const float* coefficients_;
};

/// The main term's four grid lines around a row of pixels, and their weights.
struct GridLines {
  const float* line[kSplineOrder];
  float weight[kSplineOrder];
};

/// Codes of columns 0 .. `columns` - 1 of a row. Lines are read up to a multiple of
/// kCodeColumns.
template <int kSpacing>
HWY_INLINE void draw_codes(const ComponentTask& task, const GridLines& grid,
                           const CrossRow<kSpacing>& cross, int columns, std::uint8_t* out) {
  const Floats d;
  // Copies, as codes are bytes, which may be any of what is pointed at.
  const EpilogueOf<float> epilogue = task.epilogue.narrow;
  const Reciprocal<float> reciprocal = task.reciprocals.narrow;
  const float high = static_cast<float>(task.epilogue.max_code);
  const float *const line0 = grid.line[0], *const line1 = grid.line[1];
  const float *const line2 = grid.line[2], *const line3 = grid.line[3];
  const auto w0 = hn::Set(d, grid.weight[0]), w1 = hn::Set(d, grid.weight[1]);
  const auto w2 = hn::Set(d, grid.weight[2]), w3 = hn::Set(d, grid.weight[3]);
  for (int x = 0; x < columns; x += CrossRow<kSpacing>::kStep)
    for (int first = 0; first < CrossRow<kSpacing>::kStep && x + first < columns;
         first += kCodeColumns) {
      hn::Vec<Words> words[kCodeColumns / kVectorColumns];
      HWY_UNROLL(4)
      for (int v = 0; v < kCodeColumns / kVectorColumns; ++v) {
        const int offset = first + v * kVectorColumns, at = x + offset;
        auto sum = hn::Mul(w0, hn::LoadU(d, line0 + at));
        sum = hn::MulAdd(w1, hn::LoadU(d, line1 + at), sum);
        sum = hn::MulAdd(w2, hn::LoadU(d, line2 + at), sum);
        sum = hn::MulAdd(w3, hn::LoadU(d, line3 + at), sum);
        words[v] = finish_words<Rounding::kLinear>(d, cross.add(sum, x, offset), epilogue,
                                                   reciprocal, high);
      }
#if HWY_TARGET == HWY_SCALAR
      out[x + first] = static_cast<std::uint8_t>(hn::GetLane(words[0]));
#else
      store_codes(Bytes(), pack_words_in_order(words), columns - x - first, out + x + first);
#endif
    }
}

/// The same where the cross term's coefficients, that of the knot of column 0 first, are those at
/// `coefficients`.
HWY_INLINE void draw_codes(const ComponentTask& task, const GridLines& grid,
                           const SplineTaps& cross, const float* coefficients, int columns,
                           std::uint8_t* out) {
  static_assert(kLeastCrossSpacing == 4 && kMostSpacing == 32, "a case for each spacing");
  switch (cross.spacing()) {
    case 4:
      return draw_codes<4>(task, grid, {cross, coefficients}, columns, out);
    case 8:
      return draw_codes<8>(task, grid, {cross, coefficients}, columns, out);
    case 16:
      return draw_codes<16>(task, grid, {cross, coefficients}, columns, out);
    default:
      return draw_codes<kMostSpacing>(task, grid, {cross, coefficients}, columns, out);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
