// SPDX-License-Identifier: LGPL-2.1-or-later
// Weights taken apart for a fast FIR algorithm: that the parts are the weights, that the values fit
// it, that no sum is further from its approximate value than the epilogue says, and which masks
// are taken apart.
#include "kernels/core/weights/approximate_fir.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "kernels/core/weights/arithmetic.h"
#include "kernels/core/weights/fast_fir.h"
#include "tests/unit/formats.h"

namespace convolve {
namespace {

using unit::mask_of;

constexpr int kMaxCode = 255;

FrameFormat grey() {
  return unit::grey(64, 48, 8);
}

/// A mask of numbers from `least` to `most`, divided by `divisor`, or by their sum if that is 0.
Mask random_mask(int width, int height, int least, int most, int divisor = 0) {
  std::mt19937 random(static_cast<unsigned>(width * 1000 + height));
  std::uniform_int_distribution<int> number(least, most);
  std::string text = std::to_string(width) + "x" + std::to_string(height) + ": ";
  int sum = 0;
  for (int i = 0; i < width * height; ++i) {
    const int weight = number(random);
    sum += weight;
    text += std::to_string(weight) + " ";
  }
  return mask_of(text + "/ " + std::to_string(divisor != 0 ? divisor : sum), Normalize::kAuto);
}

DigitWeights digits_of(const Mask& mask) {
  const FrameFormat format = grey();
  const bool rational = is_rational(format, mask, 1);
  if (auto digits = choose_digits(format, mask, 1, rational)) return *std::move(digits);
  return choose_wide_digits(format, mask, 1, rational).value();
}

/// Masks whose weights have up to 15, 16 and 20 bits, some of which sum to next to nothing, one
/// whose sums fit 32 bits and one of which only those of codes less half of them do.
std::vector<Mask> large_masks() {
  return {random_mask(25, 25, 1, 20000),        random_mask(31, 31, -7500, 30000),
          random_mask(31, 31, 1, 65535),        random_mask(40, 63, -30000, 30000, 9000000),
          random_mask(23, 29, -500000, 700000), random_mask(31, 25, 20000, 32767),
          random_mask(127, 127, 1, 65535)};
}

TEST(ApproximateFir, PartsAreTheWeights) {
  for (const Mask& mask : large_masks()) {
    const DigitWeights weights = digits_of(mask);
    const auto made = choose_approximate_weights(mask, weights);
    ASSERT_TRUE(made.has_value()) << mask.width;
    EXPECT_GE(made->unit, 2);
    std::int64_t sum = 0, values = 0, magnitude = 0;
    for (std::size_t i = 0; i < weights.values.size(); ++i) {
      ASSERT_EQ(made->unit * made->values[i] + made->residuals[i], weights.values[i]);
      ASSERT_LE(2 * std::abs(made->residuals[i]), made->unit);
      sum += weights.values[i];
      values += std::abs(made->values[i]);
      magnitude += std::abs(made->residuals[i]);
    }
    EXPECT_EQ(made->weight_sum, sum);
    EXPECT_EQ(made->residual_magnitude, magnitude);
    // No sum of products leaves 32 bits.
    EXPECT_LE(values * kHalfOfByteCodes, 0x7FFFFFFF);
    EXPECT_LE(largest_fir_weight(mask, made->values, made->levels), 0x7FFF);
  }
}

/// The exact value before it is rounded, and the approximate one.
struct Values {
  double exact = 0, approximate = 0;
};

Values values_of(const DigitEpilogue& exact, const ApproximateEpilogue& epilogue,
                 const DigitWeights& weights, const ApproximateWeights& parts,
                 const std::vector<int>& codes) {
  std::int64_t sum = 0, values = parts.start;
  for (std::size_t i = 0; i < weights.values.size(); ++i) {
    sum += std::int64_t{weights.values[i]} * codes[i];
    values += std::int64_t{parts.values[i]} * codes[i];
  }
  const double total = static_cast<double>(sum) + offset_of_sums(exact);
  const EpilogueOf<double>& e = exact.general.wide;
  return {e.divide ? (e.offset + e.numerator * total) / e.divisor : e.base + e.scale * total,
          epilogue.base + epilogue.scale * static_cast<float>(values)};
}

TEST(ApproximateFir, NoSumIsFurtherAwayThanTheEpilogueSays) {
  std::mt19937 random(7);
  FrameFormat format = grey();
  Component& component = format.planes[0].components[0];
  for (const Mask& mask : large_masks()) {
    component.black = component.black == 0 ? 16 : 0;
    const DigitWeights weights = digits_of(mask);
    const auto parts = choose_approximate_weights(mask, weights).value();
    for (const double scale : {1.0, 0.5, 3.0})
      for (const double bias : {0.0, 0.25}) {
        const DigitEpilogue exact =
            make_digit_epilogue(component, mask, weights, scale, bias,
                                is_rational(format, mask, scale), DigitEpilogue::Quantiser::kBits);
        const ApproximateEpilogue e = make_approximate_epilogue(exact, weights.magnitude, parts);
        const auto distance = [&](const std::function<int(int)>& code_of_residual) {
          std::vector<int> codes;
          for (const int residual : parts.residuals)
            codes.push_back(code_of_residual(residual));
          const Values v = values_of(exact, e, weights, parts, codes);
          return std::fabs(v.exact - v.approximate);
        };
        // The pictures that are worst are black where residuals are negative, white elsewhere.
        const double worst = std::max(distance([](int r) { return r > 0 ? kMaxCode : 0; }),
                                      distance([](int r) { return r < 0 ? kMaxCode : 0; }));
        EXPECT_LE(worst, e.error);
        EXPECT_GE(worst, 0.9 * e.error);
        for (int round = 0; round < 20; ++round)
          EXPECT_LE(distance([&](int) { return static_cast<int>(random() % 256); }), e.error);
      }
  }
}

TEST(ApproximateFir, TakesApartWhatIsFasterThenOnly) {
  const auto made = [](const Mask& mask) {
    return choose_approximate_weights(mask, digits_of(mask)).has_value();
  };
  EXPECT_TRUE(made(random_mask(31, 31, -7500, 30000)));
  // Low masks, unless their weights need two parts.
  EXPECT_FALSE(made(random_mask(9, 9, -7500, 30000)));
  EXPECT_FALSE(made(random_mask(11, 11, -7500, 30000)));
  EXPECT_TRUE(made(random_mask(15, 15, -7500, 30000)));
  EXPECT_TRUE(made(random_mask(11, 11, 1, 65535)));
  // Most sums are near a tie where a code is a small sum.
  EXPECT_FALSE(made(random_mask(31, 31, -7500, 30000, 9999)));
  // With the unit with which sums of so many weights fit 32 bits, 3 % of a code is unknown.
  EXPECT_TRUE(made(random_mask(127, 127, 1, 65535)));
  // Here it is 6 %, of which more than one sum in ten is near a tie.
  EXPECT_FALSE(made(random_mask(181, 181, 1, 65535)));
  // Reals need not be exact.
  EXPECT_FALSE(made(mask_of("gaussian:5", Normalize::kAuto)));
}

TEST(ApproximateFir, LargeScalesDoNotPay) {
  const FrameFormat format = grey();
  const Mask mask = random_mask(31, 31, -7500, 30000);
  const DigitWeights weights = digits_of(mask);
  const auto parts = choose_approximate_weights(mask, weights).value();
  const auto pay = [&](double scale) {
    const DigitEpilogue exact =
        make_digit_epilogue(format.planes[0].components[0], mask, weights, scale, 0,
                            is_rational(format, mask, scale), DigitEpilogue::Quantiser::kBits);
    return approximate_sums_pay(make_approximate_epilogue(exact, weights.magnitude, parts));
  };
  EXPECT_TRUE(pay(1));
  EXPECT_TRUE(pay(-2));
  EXPECT_FALSE(pay(50));
  EXPECT_FALSE(pay(-50));
}

}  // namespace
}  // namespace convolve
