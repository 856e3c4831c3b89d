// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/weights/approximate_fir.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "kernels/core/base/round.h"
#include "kernels/core/weights/fast_fir.h"

namespace convolve {
namespace {

constexpr int kMost16Bits = std::numeric_limits<std::int16_t>::max();
constexpr double kTwo31 = 2147483648.0;

/// Larger errors bring more than one sample in ten of noise near a tie.
constexpr double kMostError = 0.05;

/// The weights in units of `unit`, to the nearest one.
ApproximateWeights take_apart(const DigitWeights& weights, int levels, std::int32_t unit) {
  ApproximateWeights made;
  made.levels = levels;
  made.unit = unit;
  std::int64_t sum = 0;
  for (const std::int32_t weight : weights.values) {
    const auto value = static_cast<std::int32_t>(std::lround(1.0 * weight / unit));
    const std::int32_t residual = weight - unit * value;
    made.values.push_back(value);
    made.residuals.push_back(residual);
    sum += value;
    made.weight_sum += weight;
    made.residual_magnitude += std::abs(residual);
  }
  made.start = static_cast<std::int32_t>(-kHalfOfByteCodes * sum);
  return made;
}

/// The smallest unit with which what subfilters make of the values of 2^`levels` weights fits 16
/// bits, where the largest that they make of the weights is `largest`, and all sums of products 32
/// bits.
double smallest_unit(const Mask& mask, int levels, double largest) {
  // Each value is rounded, and may be larger by half of one for that.
  const double of_weights = largest / (kMost16Bits - (1 << levels) / 2);
  const double of_sums =
      mask.integer_magnitude / (kTwo31 / kHalfOfByteCodes - static_cast<double>(mask.taps()));
  return std::max(2.0, std::ceil(std::max(of_weights, of_sums)));
}

/// How far approximate values are from the exact ones, at most, in codes where the scale is 1.
double error_of(const Mask& mask, double residual_magnitude) {
  return kHalfOfByteCodes * residual_magnitude * std::fabs(mask.gain.value());
}

double products_of(const Mask& mask, int levels, double residual_magnitude) {
  // What a vector of a row of the residuals takes, what else an exact sum, and the look for sums
  // that are near a tie.
  constexpr double kVector = 30, kSum = 790, kLook = 8;
  constexpr int kCellsOfVector = 32;
  const double error = error_of(mask, residual_magnitude);
  if (error >= kMostError || residual_magnitude * kMostApproximateCode >= kTwo31)
    return std::numeric_limits<double>::infinity();
  const double exact_sum = kVector * mask.height * divide_up(mask.width, kCellsOfVector) + kSum;
  return fir_products(mask, levels) + kLook + 2 * error * exact_sum;
}

/// Products of the weights as they are, of one part or two.
double exact_products(const Mask& mask, const DigitWeights& weights) {
  const bool fit = std::all_of(
      weights.values.begin(), weights.values.end(),
      [](std::int32_t value) { return value >= -kMost16Bits - 1 && value <= kMost16Bits; });
  const bool sums_fit = !weights.wide || halved_sums_fit(weights.magnitude);
  return (fit && sums_fit ? 1 : 2) * fir_products(mask, 0);
}

}  // namespace

double approximate_products(const Mask& mask, int levels, double largest) {
  // Residuals are anything up to half of the unit.
  const double unit = smallest_unit(mask, levels, largest);
  return products_of(mask, levels, unit / 4 * static_cast<double>(mask.taps()));
}

std::optional<ApproximateWeights> choose_approximate_weights(const Mask& mask,
                                                             const DigitWeights& weights) {
  std::optional<ApproximateWeights> best;
  if (!mask.rational || weights.unit != 1 || weights.error != 0) return best;
  double fewest = exact_products(mask, weights);
  for (int levels = kFewestFirLevels; levels <= kMostFirLevels; ++levels) {
    if (fir_products(mask, levels) >= fewest) continue;
    const double unit =
        smallest_unit(mask, levels, largest_fir_weight(mask, weights.values, levels));
    if (unit > kMost16Bits) continue;
    ApproximateWeights made = take_apart(weights, levels, static_cast<std::int32_t>(unit));
    const double products = products_of(mask, levels, static_cast<double>(made.residual_magnitude));
    if (products >= fewest) continue;
    fewest = products;
    best = std::move(made);
  }
  return best;
}

ApproximateEpilogue make_approximate_epilogue(const DigitEpilogue& exact, double magnitude,
                                              const ApproximateWeights& approximate) {
  const EpilogueOf<double>& e = exact.general.wide;
  const double scale = e.divide ? e.numerator / e.divisor : e.scale;
  const double base = e.divide ? e.offset / e.divisor : e.base;
  // Sums of products of the weights with codes are unit * V + R and this number.
  const double start =
      offset_of_sums(exact) + kHalfOfByteCodes * static_cast<double>(approximate.weight_sum);
  ApproximateEpilogue made;
  made.scale = static_cast<float>(scale * approximate.unit);
  made.base = static_cast<float>(base + scale * start);
  // Rounded to floats are the scale, the base, V and what is made of them. No product of V is much
  // larger than this: a value times its unit is at most twice its weight, and meets half as much.
  const double largest =
      std::fabs(scale) * (magnitude * kMostApproximateCode + std::fabs(start)) + std::fabs(base);
  constexpr double kRounding = 8.0 / (1 << 24);
  const double residual = kHalfOfByteCodes * static_cast<double>(approximate.residual_magnitude);
  made.error = static_cast<float>(std::fabs(scale) * residual + kRounding * (largest + 1));
  return made;
}

bool approximate_sums_pay(const ApproximateEpilogue& epilogue) {
  return epilogue.error < kMostError;
}

}  // namespace convolve
