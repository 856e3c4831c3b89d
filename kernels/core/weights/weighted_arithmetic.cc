// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/weights/weighted_arithmetic.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/core/weights/alpha_weighting.h"

namespace convolve {
namespace {

/// Up to these every whole number is a float, or a double.
constexpr double kFloatWhole = 0x1p24;
constexpr double kDoubleWhole = 0x1p53;

/// The error that factors may have, as a share of sum|w|: a sixteenth of the sum that counts as
/// transparent.
constexpr double kFactorShare = kTransparentShare / 16;

double precise_sum(const std::vector<double>& values) {
  DoubleDouble sum;
  for (const double value : values)
    sum.add_product(value, 1);
  return sum.high + sum.low;
}

template <class Number>
bool same_signs(const std::vector<Number>& values) {
  const auto positive = [](Number v) { return v > 0; };
  const auto negative = [](Number v) { return v < 0; };
  return std::none_of(values.begin(), values.end(), positive) ||
         std::none_of(values.begin(), values.end(), negative);
}

std::int64_t sum_of(const std::vector<std::int64_t>& values) {
  std::int64_t sum = 0;
  for (const std::int64_t value : values)
    sum += value;
  return sum;
}

double magnitude_of(const std::vector<std::int64_t>& values) {
  double magnitude = 0;
  for (const std::int64_t value : values)
    magnitude += std::fabs(static_cast<double>(value));
  return magnitude;
}

double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double value : values)
    most = std::max(most, std::fabs(value));
  return most;
}

/// Bound on the relative error of a sum of products of one sign: a rounding for each addition, one
/// for the product where it is not fused with the addition, one for the weight, and as many again
/// between two passes. The last per cent is for products of roundings.
double growth(const Mask& mask, Passes passes, Accumulator accumulator) {
  const double steps = passes == Passes::kDirect
                           ? static_cast<double>(mask.taps()) + 3
                           : static_cast<double>(mask.width) + mask.height + 6;
  const double rounding = accumulator == Accumulator::kFloat32 ? 0x1p-24 : 0x1p-53;
  return 1.01 * steps * rounding;
}

/// sum|w| in units of the encoded weights.
double encoded_magnitude(const Mask& mask, bool rational) {
  return rational ? mask.integer_magnitude : mask.magnitude;
}

/// True if floats hold and multiply the weights without leaving their range. Weights too small for
/// a float are far below what counts as transparent.
bool in_float_range(const Mask& mask, const WeightTotals& totals, Passes passes) {
  const auto fits = [](double most) { return most > 0x1p-40 && most < 0x1p60; };
  if (passes == Passes::kRowColumn) return fits(totals.largest_row) && fits(totals.largest_column);
  return fits(mask.max_weight) && mask.magnitude < 0x1p60;
}

bool float_serves(const Component& component, int alpha_max, const Mask& mask,
                  const WeightTotals& totals, double scale, bool rational, Passes passes) {
  const double cell = static_cast<double>(alpha_max) * component.max_code();
  const double magnitude = encoded_magnitude(mask, rational);
  if (rational) return magnitude * cell < kFloatWhole;
  // Sums of weights of both signs might not decide too often.
  if ((!totals.one_sign && !totals.zero_sum) || cell > kFloatWhole ||
      !in_float_range(mask, totals, passes))
    return false;
  const double error = 2 * std::fabs(scale) * magnitude * component.max_code() *
                       growth(mask, passes, Accumulator::kFloat32);
  return error <= std::min(zone(mask, scale, component.depth), 0.25) / 2;
}

/// True if the row sums that the first of two passes makes for `component`, with a row of whole
/// weights that add up to `magnitude`, are without error in double.
bool row_sums_exact(const Component& component, int alpha_max, double magnitude,
                    const WeightedSums& sums) {
  return sums.rational && sums.passes == Passes::kRowColumn &&
         sums.accumulator == Accumulator::kFloat64 &&
         magnitude * alpha_max * component.max_code() < kDoubleWhole;
}

/// True if `format` has alpha and serve(component, alpha_max) is true for all of its weighted
/// components.
template <class Serve>
bool for_weighted(const FrameFormat& format, Serve&& serve) {
  const std::optional<AlphaLocation> location = find_alpha(format);
  if (!location) return false;
  const int alpha_max = format.planes[location->plane].components[location->component].max_code();
  for (int p = 0; p < format.plane_count; ++p)
    for (int c = 0; c < format.planes[p].component_count; ++c) {
      const Component& component = format.planes[p].components[c];
      if (component.weightable() && !serve(component, alpha_max)) return false;
    }
  return true;
}

/// True if ExactSums use the factors of `mask`. Those of a rational mask are whole numbers whose
/// products are its weights.
bool exact_by_factors(const Mask& mask, const WeightedSums& sums) {
  return !mask.dense() || (sums.rational && sums.passes == Passes::kRowColumn);
}

}  // namespace

WeightTotals weight_totals(const Mask& mask) {
  WeightTotals totals;
  if (mask.dense()) {
    totals.sum = precise_sum(mask.weights);
    totals.one_sign = same_signs(mask.weights);
  } else {
    totals.sum = precise_sum(mask.column) * precise_sum(mask.row);
    totals.one_sign = same_signs(mask.column) && same_signs(mask.row);
  }
  totals.largest_row = largest(mask.row);
  totals.largest_column = largest(mask.column);
  totals.row_integer_magnitude = magnitude_of(mask.row_integers);
  totals.zero_sum = std::fabs(totals.sum) <= kZeroSumShare * mask.magnitude;
  if (mask.rational) {
    totals.integer_sum = mask.dense() ? sum_of(mask.integers)
                                      : sum_of(mask.column_integers) * sum_of(mask.row_integers);
    totals.zero_sum = totals.integer_sum == 0;
  }
  return totals;
}

bool factors_serve(const Mask& mask) {
  return mask.rank1 && mask.factor_error <= kFactorShare * mask.magnitude;
}

bool weighted_sums_serve(const FrameFormat& format, const Mask& mask, const WeightTotals& totals,
                         double scale, const WeightedSums& sums) {
  if (sums.rational != is_rational(format, mask, scale)) return false;
  return sums.accumulator != Accumulator::kFloat32 ||
         for_weighted(format, [&](const Component& component, int alpha_max) {
           return float_serves(component, alpha_max, mask, totals, scale, sums.rational,
                               sums.passes);
         });
}

Accumulator choose_weighted_accumulator(const FrameFormat& format, const Mask& mask,
                                        const WeightTotals& totals, double scale, bool rational,
                                        Passes passes) {
  return weighted_sums_serve(format, mask, totals, scale, {rational, passes, Accumulator::kFloat32})
             ? Accumulator::kFloat32
             : Accumulator::kFloat64;
}

bool row_sums_exact(const FrameFormat& format, const Mask& mask, const WeightedSums& sums) {
  const double magnitude = magnitude_of(mask.row_integers);
  return for_weighted(format, [&](const Component& component, int alpha_max) {
    return row_sums_exact(component, alpha_max, magnitude, sums);
  });
}

WeightedEpilogue make_weighted_epilogue(const Component& component, int alpha_max, const Mask& mask,
                                        const WeightTotals& totals, double scale, double bias,
                                        const WeightedSums& sums) {
  WeightedEpilogue e;
  e.base = component.black + bias_code(component, bias);
  e.max_code = component.max_code();
  e.alpha_max = alpha_max;
  e.zero_sum = totals.zero_sum;
  e.rational = sums.rational;

  const double magnitude = encoded_magnitude(mask, sums.rational);
  const double most_sum = magnitude * alpha_max;
  const double most_product = most_sum * e.max_code;
  const double error = growth(mask, sums.passes, sums.accumulator);
  if (sums.rational) {
    const Ratio gain = total_gain(mask, scale).value_or(Ratio{0, 1});
    e.orientation = totals.integer_sum < 0 ? -1 : 1;
    e.numerator = gain.num * (e.zero_sum ? 1 : std::abs(totals.integer_sum));
    e.denominator = gain.den;
    e.factor = static_cast<double>(e.numerator) / static_cast<double>(e.denominator);
    const double whole = sums.accumulator == Accumulator::kFloat32 ? kFloatWhole : kDoubleWhole;
    e.exact_sums = most_product < whole;
    e.exact_rows = row_sums_exact(component, alpha_max, totals.row_integer_magnitude, sums);
    if (!e.exact_sums && totals.one_sign) {
      e.relative_error = error;
    } else if (!e.exact_sums) {
      e.sum_error = most_sum < whole ? 0 : error * most_sum;
      e.product_error = error * most_product;
    }
    return e;
  }
  e.exact_sums = false;
  e.orientation = totals.sum < 0 ? -1 : 1;
  e.factor = scale * (e.zero_sum ? 1 : std::fabs(totals.sum));
  e.floor = kTransparentShare * most_sum;
  e.tolerance = std::min(zone(mask, scale, component.depth), 0.25);
  const double lost =
      sums.passes == Passes::kRowColumn && mask.dense() ? mask.factor_error * alpha_max : 0;
  e.sum_error = lost;
  e.product_error = lost * e.max_code;
  if (totals.one_sign) {
    e.relative_error = error;
  } else {
    e.sum_error += error * most_sum;
    e.product_error += error * most_product;
  }
  return e;
}

std::vector<std::byte> encode_exact_weights(const Mask& mask, const WeightedSums& sums) {
  return exact_by_factors(mask, sums) ? encode_factors(mask, Accumulator::kFloat64, sums.rational)
                                      : encode_weights(mask, Accumulator::kFloat64, sums.rational);
}

ExactWeights exact_weights(const Mask& mask, const WeightedSums& sums, const double* weights) {
  ExactWeights exact;
  exact.width = mask.width;
  exact.height = mask.height;
  if (exact_by_factors(mask, sums)) {
    exact.row = weights;
    exact.column = weights + mask.width;
  } else {
    exact.dense = weights;
  }
  return exact;
}

}  // namespace convolve
