// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/weights/split_digits.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "kernels/core/weights/arithmetic.h"

namespace convolve {
namespace {

constexpr double kTwo22 = 4194304.0;
constexpr double kTwo31 = 2147483648.0;
constexpr double kLargestByte = 255;
constexpr int kMostSecondStart = 1024;

/// The sums over digit `index` of all weights.
DigitTotals totals_of(const DigitWeights& weights, int index) {
  DigitTotals totals;
  for (const std::int32_t value : weights.values) {
    totals.sum += balanced_digit(value, index);
    totals.magnitude += std::abs(balanced_digit(value, index));
  }
  return totals;
}

/// The code values by which an output rises when the sum of the highest power rises by one.
double highest_scale(const SplitDigits& weights, double scale) {
  return std::ldexp(scale * weights.unit, 8 * weights.digits);
}

/// Bound on the sum of any power, to which one or two digits contribute.
double largest_sum(const SplitDigits& weights) {
  double largest = 0;
  for (int digit = 0; digit + 1 < weights.digits; ++digit)
    largest =
        std::max(largest, weights.totals[digit].magnitude + weights.totals[digit + 1].magnitude);
  return kLargestByte * largest;
}

/// Totals of the lowest digit if its products with low bytes are left out, else nothing.
DigitTotals left_out(const SplitDigits& weights) {
  return weights.digits < kSplitSums ? DigitTotals{} : weights.totals[0];
}

/// Bound on |computed - exact| before rounding, for values that lie less than a code outside the
/// range of codes. Values further outside are clamped; their error grows, but only by some
/// millionths of their distance.
double value_error(const Component& component, const Mask& mask, const SplitDigits& weights,
                   double scale) {
  // A float is rounded by at most this part of it.
  constexpr double kRounding = 1.0 / 16777216.0;
  const int max_code = component.max_code();
  // The errors of weights are counted from mid-scale, and so is the power that is left out.
  const double missed = 0.5 * max_code * weights.error +
                        0.5 * kLargestByte * weights.unit * left_out(weights).magnitude;
  // Bound on the base: the black level, the largest bias, the black level's share of the sum, and
  // the correction that counts errors from mid-scale.
  const double gain = std::fabs(scale) * (mask.magnitude + weights.error);
  const double value = max_code + 1;
  const double base =
      component.black + max_code + gain * component.black + std::fabs(scale) * missed;
  // Bound on the part of the value that is still missing when only the highest sum is added.
  double lacks = 0, counts = std::fabs(highest_scale(weights, scale));
  for (int power = weights.digits - 1; power > weights.digits - kSplitSums && power >= 0; --power) {
    counts /= 256;
    lacks +=
        counts * kLargestByte *
        (weights.totals[power].magnitude + (power > 0 ? weights.totals[power - 1].magnitude : 0));
  }
  // Rounding happens in the base; in the scale, which multiplies value minus base; in each
  // multiply-add; and in the conversion of the highest sum. tensor-split-octets reinterprets sums
  // as floats: that conversion is exact, but the first multiply-add includes the start values of
  // the other sums, and second_start leaves a rest of the rounding of folded_base.
  const bool floats = weights.digits == kMostDigits && split_sums_are_floats(weights);
  const double second = floats ? std::fabs(highest_scale(weights, scale)) / 256 : 0;
  const double sums = value + base + lacks;
  return std::fabs(scale) * missed + 0.5 * second +
         kRounding * (base + sums + kSplitSums * (value + lacks) +
                      std::max(sums + lacks, 1.01 * second * kSplitStart));
}

}  // namespace

std::optional<SplitDigits> make_split_digits(const Mask& mask, int digits) {
  const double unit = mask.max_weight / largest_value(digits);
  if (!mask.dense() || !std::isnormal(unit) || !std::isfinite(mask.magnitude)) return std::nullopt;
  SplitDigits made{quantise_weights(mask, unit), {}};
  made.digits = digits;
  for (int digit = 0; digit < digits; ++digit)
    made.totals[digit] = totals_of(made, digit);
  return made;
}

bool split_digits_serve(const FrameFormat& format, const Mask& mask, const SplitDigits& weights,
                        double scale) {
  if (is_rational(format, mask, scale) || largest_sum(weights) >= kTwo31) return false;
  return all_filtered(format, [&](const Component& component) {
    return value_error(component, mask, weights, scale) <=
           std::min(zone(mask, scale, component.depth), 0.25);
  });
}

bool split_sums_are_floats(const SplitDigits& weights) {
  return largest_sum(weights) < kTwo22 - kMostSecondStart;
}

SplitEpilogue make_split_epilogue(const Component& component, const Mask& mask,
                                  const SplitDigits& weights, double scale, double bias) {
  SplitEpilogue e;
  e.scale = static_cast<float>(highest_scale(weights, scale));
  const double known = 0.5 * component.max_code() * weights.bias - component.black * mask.sum +
                       0.5 * kLargestByte * weights.unit * left_out(weights).sum;
  const double base = component.black + bias_code(component, bias) + scale * known;
  e.base = static_cast<float>(base);
  const double second = e.scale / 256;
  const double folded = base - kSplitStart * (e.scale + second + second / 256);
  e.folded_base = static_cast<float>(folded);
  // The rounding error of folded_base is some hundred units of the second sum, which can take it
  // back. If the base is much larger than the sums it is more; then it is clamped, and what remains
  // is no larger than the rounding of the base itself.
  e.second_start = static_cast<int>(std::lround(std::clamp(
      (folded - e.folded_base) / second, -1.0 * kMostSecondStart, 1.0 * kMostSecondStart)));
  return e;
}

}  // namespace convolve
