// SPDX-License-Identifier: LGPL-2.1-or-later
// Real weights whose sums with 16-bit codes are split into floats.
#include "kernels/core/weights/split_digits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "kernels/core/mask/mask_grammar.h"
#include "kernels/core/weights/arithmetic.h"

namespace convolve {
namespace {

/// A plane of one component.
FrameFormat grey(int depth, int black = 0) {
  FrameFormat format;
  format.plane_count = 1;
  PlaneFormat& plane = format.planes[0];
  plane.sample_bytes = 2;
  plane.rows = 48;
  plane.row_bytes = 128;
  plane.component_count = 1;
  Component& component = plane.components[0];
  component.step = 2;
  component.width = 64;
  component.height = 48;
  component.depth = depth;
  component.black = black;
  return format;
}

Mask random_mask(int side, double least, Normalize normalize) {
  std::mt19937 random(static_cast<unsigned>(side));
  std::uniform_real_distribution<double> uniform(least, 1);
  std::string text = std::to_string(side) + "x" + std::to_string(side) + ":";
  for (int i = 0; i < side * side; ++i)
    text += " " + std::to_string(uniform(random)) + "123456789";
  return Mask::make(parse_mask(text).value(), normalize, Operation::kCorrelate).value();
}

/// As tensor_octets.cu and tensor_warpgroups.cu have it.
double value_of(const SplitDigits& weights, const SplitEpilogue& e, const std::vector<int>& codes) {
  const bool floats = split_sums_are_floats(weights);
  float value = floats ? e.folded_base : e.base, scale = e.scale;
  const int digits = weights.digits;
  for (int power = digits; power > digits - kSplitSums; --power, scale /= 256) {
    double sum = 0;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      if (power < digits) sum += balanced_digit(weights.values[i], power) * (codes[i] & 0xFF);
      if (power > 0) sum += balanced_digit(weights.values[i], power - 1) * (codes[i] >> 8);
    }
    if (floats) {
      sum += 1.0 * kSplitStart + (power == digits - 1 ? e.second_start : 0);
      EXPECT_EQ(static_cast<float>(sum), sum) << "its bits are not those of the float";
      EXPECT_GE(sum, 8388608);
      EXPECT_LE(sum, 16777216);
    }
    value = std::fma(static_cast<float>(sum), scale, value);
  }
  return value;
}

// The bound that the plan relies on covers what happens to any picture, the worst for a mask's
// signs among them.
TEST(SplitDigits, KeepTheZone) {
  for (const int depth : {10, 12, 16})
    for (const int side : {1, 3, 5, 7, 31})
      for (const double least : {0.0, -1.0})
        for (const double scale : {1.0, 2.5, 4.0, 9.0, -0.7234567891}) {
          const FrameFormat format = grey(depth, 16 << (depth - 8));
          const Component& component = format.planes[0].components[0];
          const Mask mask = random_mask(side, least, Normalize::kAbs);
          // 10 bits ask for 2^-6 of a code where 16 bits ask for 1/8.
          std::optional<SplitDigits> weights = make_split_digits(mask, kMostDigits);
          ASSERT_TRUE(weights);
          ASSERT_TRUE(split_digits_serve(format, mask, *weights, scale)) << depth << " " << side;
          const std::optional<SplitDigits> few = make_split_digits(mask, kFewestSplitDigits);
          const bool few_serve = split_digits_serve(format, mask, *few, scale);
          if (side == 31) {
            EXPECT_EQ(few_serve, depth == 10) << depth << " " << least << " " << scale;
          }
          if (few_serve) weights = few;
          const SplitEpilogue e = make_split_epilogue(component, mask, *weights, scale, 0.25);
          std::mt19937 random(5);
          std::uniform_int_distribution<int> code(0, component.max_code());
          for (int turn = 0; turn < 200; ++turn) {
            std::vector<int> codes;
            double exact = component.black + bias_code(component, 0.25);
            for (const double weight : mask.weights) {
              codes.push_back(turn == 0   ? component.max_code()
                              : turn == 1 ? (weight < 0 ? 0 : component.max_code())
                                          : code(random));
              exact += scale * weight * (codes.back() - component.black);
            }
            // Values beyond all codes are clamped.
            const auto clamped = [&component](double value) {
              return std::clamp(value, -1.0, component.max_code() + 1.0);
            };
            EXPECT_LE(std::fabs(clamped(value_of(*weights, e, codes)) - clamped(exact)),
                      std::min(zone(mask, scale, depth), 0.25))
                << depth << " bits, " << side << "x" << side << ", scale " << scale;
          }
        }
}

TEST(SplitDigits, ServeNoMoreThanTheyKeep) {
  const auto serves = [](const Mask& mask, double scale) {
    const std::optional<SplitDigits> weights = make_split_digits(mask, kMostDigits);
    return weights && split_digits_serve(grey(16), mask, *weights, scale);
  };
  const Mask mask = random_mask(5, 0, Normalize::kSum);
  EXPECT_TRUE(serves(mask, 1));
  EXPECT_TRUE(serves(mask, 9));
  EXPECT_FALSE(serves(mask, 1000)) << "floats end before a quarter of a code";
  EXPECT_FALSE(serves(Mask::make(parse_mask("3x1: 1 2 1 / 4").value()).value(), 1)) << "rational";
  EXPECT_FALSE(serves(Mask::make(parse_mask("3x1: 1e38 0.7351 -1e38").value()).value(), 1));
  EXPECT_FALSE(serves(Mask::make(parse_mask("3x1: 0 0 0").value()).value(), 1));
}

TEST(SplitDigits, AreFloatsAsTheyAreOfMasksThatPairsServe) {
  EXPECT_TRUE(
      split_sums_are_floats(*make_split_digits(random_mask(9, 0, Normalize::kSum), kMostDigits)));
  EXPECT_FALSE(
      split_sums_are_floats(*make_split_digits(random_mask(15, 0, Normalize::kSum), kMostDigits)));
}

}  // namespace
}  // namespace convolve
