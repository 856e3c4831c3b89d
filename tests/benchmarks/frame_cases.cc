// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/frame_cases.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <utility>
#include <vector>

namespace convolve::benchmarks {
namespace {

/// Of random 8-bit input.
constexpr double kInputMean = 127.5;
constexpr double kInputDeviation = 73.9;
/// Results as far from the mean as this are too few to matter.
constexpr double kDeviations = 2.5;
constexpr double kSignedMagnitude = 4;
constexpr double kSignedSum = 0.25;
/// One mask in fifty will do.
constexpr std::uint64_t kMostDraws = 100000;

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double magnitude_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0,
                         [](double sum, double value) { return sum + std::fabs(value); });
}

double power_of_two_above(double value) {
  return std::exp2(std::ceil(std::log2(value)));
}

/// A program with a mask that cannot be made has nothing to measure.
[[noreturn]] void no_mask(const char* kind, int side) {
  std::fprintf(stderr, "no %s mask of side %d stays in range\n", kind, side);
  std::exit(1);
}

/// True if black = 0 and no bias leave the results of random input between 0 and 255.
bool fits(const std::vector<double>& weights, double divisor) {
  const double squares = std::inner_product(weights.begin(), weights.end(), weights.begin(), 0.0);
  const double mean = kInputMean * sum_of(weights) / divisor;
  const double reach = kDeviations * kInputDeviation * std::sqrt(squares) / divisor;
  return mean - reach > 0 && mean + reach < 255;
}

/// Draws whole masks until one does not saturate: tampering with single weights would leave large
/// ones among the random.
testing::TestMaskPtr rational_mask(int side) {
  for (std::uint64_t draw = 0; draw < kMostDraws; ++draw) {
    testing::Random random(static_cast<std::uint64_t>(side) * 1000003u + draw);
    std::vector<double> weights(static_cast<std::size_t>(side) * side);
    for (double& weight : weights)
      weight = random.integer(-127, 127);
    const double sum = sum_of(weights);
    if (sum <= 0) continue;
    const double divisor = power_of_two_above(sum);
    if (fits(weights, divisor))
      return testing::typed_mask("rational", side, side, std::move(weights), divisor);
  }
  no_mask("rational", side);
}

testing::TestMaskPtr positive_mask(int side) {
  testing::Random random(static_cast<std::uint64_t>(side) * 101u + 1);
  std::vector<double> weights(static_cast<std::size_t>(side) * side);
  for (double& weight : weights)
    weight = random.real(0, 1);
  const double sum = sum_of(weights);
  for (double& weight : weights)
    weight /= sum;
  return testing::typed_mask("positive", side, side, std::move(weights));
}

/// Draws whole masks, as above, until the results lie around the bias: at 3x3 a sum beyond this
/// saturated 97 of 100.
testing::TestMaskPtr signed_mask(int side) {
  for (std::uint64_t draw = 0; draw < kMostDraws; ++draw) {
    testing::Random random(static_cast<std::uint64_t>(side) * 1000033u + draw);
    std::vector<double> weights(static_cast<std::size_t>(side) * side);
    for (double& weight : weights)
      weight = random.real(-1, 1);
    const double scale = kSignedMagnitude / magnitude_of(weights);
    for (double& weight : weights)
      weight *= scale;
    if (std::fabs(sum_of(weights)) <= kSignedSum)
      return testing::typed_mask("signed", side, side, std::move(weights));
  }
  no_mask("signed", side);
}

testing::TestMaskPtr rank1_mask(int side) {
  const Mask mask = testing::random_rank1_mask(side, side, testing::Weights::kRational)->mask;
  const std::vector<double> weights(mask.integers.begin(), mask.integers.end());
  const double sum = std::fabs(sum_of(weights));
  return testing::typed_mask("rank1", side, side, weights, power_of_two_above(std::max(1.0, sum)));
}

}  // namespace

const char* mask_kind_name(MaskKind kind) {
  static const char* const kNames[kMaskKindCount] = {"rational", "positive", "signed", "rank1",
                                                     "box",      "shift",    "tap",    "gaussian"};
  return kNames[static_cast<int>(kind)];
}

MaskCase make_mask(MaskKind kind, int side) {
  if (side > kMaxMaskSide && kind != MaskKind::kBox && kind != MaskKind::kGaussian)
    no_mask(mask_kind_name(kind), side);
  switch (kind) {
    case MaskKind::kRational:
      return {rational_mask(side)};
    case MaskKind::kPositive:
      return {positive_mask(side)};
    case MaskKind::kSigned:
      return {signed_mask(side), 0.5};
    case MaskKind::kRank1:
      return {rank1_mask(side)};
    case MaskKind::kShift:
      return {testing::tap_mask(side, side, 0, 0, 1)};
    case MaskKind::kTap:
      return {testing::tap_mask(side, side, side / 2, side / 2, 1, 2)};
    case MaskKind::kGaussian:
      return {testing::parsed_mask("gaussian:" + std::to_string((side - 1) / 6.0))};
    case MaskKind::kBox:
      break;
  }
  if (side > kMaxMaskSide) return {testing::parsed_mask("box:" + std::to_string(side))};
  const double taps = 1.0 * side * side;
  return {testing::typed_mask("box", side, side,
                              std::vector<double>(static_cast<std::size_t>(side) * side, 1), taps)};
}

}  // namespace convolve::benchmarks
