// SPDX-License-Identifier: LGPL-2.1-or-later
// Sums of a mask of rank 1 whose factors are whole numbers: what a sum is worth, whether it keeps
// the contract, and how it is quantised. separable_digits.h makes such factors for tensor cores,
// separable_integers.h for the CPU.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/weights/digits.h"

namespace convolve {

/// A kernel adds up a whole number T for each output: how to read it.
struct SeparableSums {
  double unit = 1;       ///< With a black level of 0 a filtered sample is T * unit + constant,
  double constant = 0;   ///< before scale.
  double magnitude = 0;  ///< Largest |start + T|, of make_separable_epilogue().
  /// Where T takes all of 32 bits: the filtered value from which T counts, in the middle of the
  /// range.
  std::optional<double> middle;
  double error = 0;  ///< Bound on the error of T, in codes and before scale; 0 if T is exact.
};

/// True if sums keep the contract for every filtered component of `format` with this scale;
/// `rational`: as is_rational() says.
bool separable_sums_serve(const FrameFormat& format, const Mask& mask, const SeparableSums& sums,
                          double scale, bool rational);

/// How T is quantised for `component`, where separable_sums_serve(): with S = start + T as
/// DigitEpilogue says. Its quantiser is never kBits.
DigitEpilogue make_separable_epilogue(const Component& component, const Mask& mask,
                                      const SeparableSums& sums, double scale, double bias,
                                      bool rational);

/// True if all filtered samples are plain bytes.
bool filters_bytes(const FrameFormat& format);

/// Sums over the weights of a factor.
struct FactorTotals {
  double positive = 0;
  double negative = 0;  ///< The magnitude of their sum.
  double largest = 0;   ///< Magnitude.

  double sum() const { return positive - negative; }
  double magnitude() const { return positive + negative; }
};

template <class Number>
FactorTotals factor_totals(const std::vector<Number>& values) {
  FactorTotals totals;
  for (const Number value : values) {
    const auto v = static_cast<double>(value);
    (v < 0 ? totals.negative : totals.positive) += std::fabs(v);
    totals.largest = std::max(totals.largest, std::fabs(v));
  }
  return totals;
}

}  // namespace convolve
