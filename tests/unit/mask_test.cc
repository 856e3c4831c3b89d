// SPDX-License-Identifier: LGPL-2.1-or-later
// The mask as a value: classes, normalisation, orientation, factors and totals.
#include "kernels/core/mask/mask.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "kernels/core/mask/mask_grammar.h"
#include "tests/unit/formats.h"

namespace convolve {
namespace {

using unit::mask_of;
using Integers = std::vector<std::int64_t>;

MaskSource source_of(int width, int height, std::vector<double> weights) {
  MaskSource source;
  source.width = width;
  source.height = height;
  source.anchor_x = width / 2;
  source.anchor_y = height / 2;
  source.weights = std::move(weights);
  return source;
}

std::string error_of(const MaskSource& source, Normalize normalize = Normalize::kAuto) {
  const Result<Mask> mask = Mask::make(source, normalize);
  return mask.ok() ? "" : mask.status().message();
}

/// Everything that must hold for any mask that is rational, dense or of rank 1.
void expect_consistent(const Mask& mask) {
  if (mask.rational && mask.dense()) {
    std::int64_t common = 0;
    ASSERT_EQ(mask.integers.size(), mask.weights.size());
    for (std::size_t i = 0; i < mask.integers.size(); ++i) {
      common = std::gcd(common, mask.integers[i]);
      EXPECT_DOUBLE_EQ(mask.weights[i], static_cast<double>(mask.integers[i]) * mask.gain.value());
    }
    EXPECT_LE(common, 1) << "primitive";
  }
  if (mask.rank1 && mask.rational && mask.dense()) {
    std::size_t i = 0;
    for (std::int64_t c : mask.column_integers)
      for (std::int64_t r : mask.row_integers)
        EXPECT_EQ(c * r, mask.integers[i++]);
  }
  if (mask.rank1 && mask.dense()) {
    std::size_t i = 0;
    double error = 0;
    for (double c : mask.column)
      for (double r : mask.row)
        error += std::fabs(c * r - mask.weights[i++]);
    EXPECT_NEAR(error, mask.factor_error, 1e-15 * mask.magnitude);
  }
}

TEST(Mask, RationalIsPrimitiveIntegersTimesGain) {
  const Mask mask = mask_of("0.1 0.2; 0.3 0.4", Normalize::kNone);
  EXPECT_TRUE(mask.rational);
  EXPECT_EQ(mask.integers, (Integers{1, 2, 3, 4}));
  EXPECT_EQ(mask.gain, (Ratio{1, 10}));
  EXPECT_EQ(mask.weights, (std::vector<double>{0.1, 0.2, 0.3, 0.4}));
  EXPECT_DOUBLE_EQ(mask.sum, 1);
  EXPECT_EQ(mask.integer_magnitude, 10);
  expect_consistent(mask);
}

TEST(Mask, MixedDenominators) {
  const Mask mask = mask_of("3x1: 1/6 0.25 -2/9", Normalize::kNone);
  EXPECT_EQ(mask.integers, (Integers{6, 9, -8}));
  EXPECT_EQ(mask.gain, (Ratio{1, 36}));
  EXPECT_DOUBLE_EQ(mask.magnitude, 23.0 / 36);
  expect_consistent(mask);
}

TEST(Mask, TypedDivisor) {
  EXPECT_EQ(mask_of("1 2 1; 2 4 2; 1 2 1 / 8").gain, (Ratio{1, 8})) << "final for auto";
  EXPECT_EQ(mask_of("2 4; 6 8 / 3", Normalize::kNone).gain, (Ratio{2, 3}));
  EXPECT_EQ(mask_of("1 1; 1 1 / 0.1").gain, (Ratio{10, 1}));
  EXPECT_EQ(mask_of("1 1; 1 1 / -4").gain, (Ratio{-1, 4}));
  EXPECT_EQ(mask_of("1 1; 1 1 / 1/3").gain, (Ratio{3, 1}));
  EXPECT_EQ(mask_of("1 1; 1 1 / 100", Normalize::kSum).gain, (Ratio{1, 4}));
}

TEST(Mask, AutomaticNormalisation) {
  const Mask blur = mask_of("1 2 1; 2 4 2; 1 2 1");
  EXPECT_TRUE(blur.divided_by_sum);
  EXPECT_EQ(blur.gain, (Ratio{1, 16}));
  EXPECT_EQ(blur.sum, 1);
  EXPECT_EQ(blur.weights[4], 0.25);

  // The sum is 1/16 of the magnitudes, and just less.
  EXPECT_EQ(mask_of("2x1: 17 -15").gain, (Ratio{1, 2}));
  EXPECT_EQ(mask_of("2x1: 18 -16").gain, (Ratio{2, 1}));
  EXPECT_FALSE(mask_of("2x1: 18 -16").divided_by_sum);
  EXPECT_EQ(mask_of("-1 0 1; -2 0 2; -1 0 1").gain, (Ratio{1, 1}));
  EXPECT_EQ(mask_of("-1").gain.num * mask_of("-1").integers[0], -1) << "negative sums stay";
}

TEST(Mask, NormalisationOnRequest) {
  EXPECT_EQ(mask_of("2x1: 9 -8", Normalize::kSum).gain, (Ratio{1, 1}));
  EXPECT_EQ(mask_of("2x1: 3 -5", Normalize::kSum).gain, (Ratio{-1, 2}));
  EXPECT_EQ(mask_of("2x1: 3 -5", Normalize::kAbs).gain, (Ratio{1, 8}));
  EXPECT_EQ(mask_of("2x1: 3 -5 / -7", Normalize::kAbs).gain, (Ratio{-1, 8}));
  EXPECT_EQ(mask_of("2x1: 3 -5", Normalize::kNone).gain, (Ratio{1, 1}));
  EXPECT_NE(error_of(source_of(2, 1, {1, -1}), Normalize::kSum), "");
  EXPECT_NE(error_of(source_of(2, 1, {0, 0}), Normalize::kAbs), "");
  EXPECT_NE(error_of(source_of(2, 1, {std::sqrt(2), -std::sqrt(2)}), Normalize::kSum), "");
  EXPECT_EQ(error_of(source_of(2, 1, {1, -1}), Normalize::kAbs), "");
}

// A sum that rounding alone leaves is 0 with the error's words, not a divisor of 1e-17.
TEST(Mask, ASumOfRoundingIsNone) {
  const auto refusal = [](const char* text) {
    return error_of(parse_mask(text).value(), Normalize::kSum);
  };
  for (const char* text : {"3x1: 0.1 0.2 -0.3", "3x1: 1/10 2/10 -3/10",
                           "3x1: 0.1 0.2 -0.30000000000000004", "3x1: 0.1e-9 0.2e-9 -0.3e-9",
                           "log:1", "log:2", "log:5", "log:20", "dog:1,2", "dog:7,9", "dog:13,20"})
    EXPECT_EQ(refusal(text), "the weights sum to 0, so normalize=sum would divide by 0") << text;
  for (const char* text : {"3x1: 0.1 0.2 -0.2999999999999", "3x1: 1e-9 2e-9 -2.9999999e-9",
                           "unsharp:2", "gaussian:500"})
    EXPECT_EQ(refusal(text), "") << text;
}

TEST(Mask, NamedMasksAreLeftAloneByAutoOnly) {
  EXPECT_FALSE(mask_of("sharpen").divided_by_sum);
  EXPECT_EQ(mask_of("laplacian", Normalize::kAbs).gain, (Ratio{1, 8}));
}

TEST(Mask, RealNormalisation) {
  const double w = std::sqrt(2);
  const Mask mask = mask_of("2x2: 1.4142135623730951 1.4142135623730951 1.4142135623730951 1.5");
  EXPECT_FALSE(mask.rational);
  EXPECT_TRUE(mask.integers.empty());
  EXPECT_TRUE(mask.divided_by_sum);
  EXPECT_NEAR(mask.sum, 1, 1e-15);
  EXPECT_DOUBLE_EQ(mask.weights[0], w / (3 * w + 1.5));
  EXPECT_EQ(mask.integer_magnitude, 0);
}

// A denominator of its own for each weight: their product leaves 64 bits, so the mask is real.
TEST(Mask, CommonDenominatorThatOverflows) {
  const Mask mask = mask_of("4x1: 1/999983 1/999979 1/999961 1/999959", Normalize::kNone);
  EXPECT_FALSE(mask.rational);
  EXPECT_DOUBLE_EQ(mask.weights[3], 1.0 / 999959);
}

TEST(Mask, IntegersBeyondExactDoublesAreReal) {
  EXPECT_TRUE(mask_of("2x1: 9007199254740991 1", Normalize::kNone).rational);
  EXPECT_FALSE(mask_of("2x1: 9007199254740991 2", Normalize::kNone).rational);
  EXPECT_FALSE(mask_of("1e38", Normalize::kNone).rational);
}

TEST(Mask, ConvolveTurnsWeightsAndAnchor) {
  const Mask mask = mask_of("3x2+0+1: 1 2 3; 4 5 7", Normalize::kNone, Operation::kConvolve);
  EXPECT_EQ(mask.integers, (Integers{7, 5, 4, 3, 2, 1}));
  EXPECT_EQ(mask.anchor_x, 2);
  EXPECT_EQ(mask.anchor_y, 0);

  MaskSource factors;
  factors.width = 3;
  factors.height = 2;
  factors.anchor_x = 1;
  factors.column = {1, 2};
  factors.row = {1, 3, 5};
  const Result<Mask> turned = Mask::make(factors, Normalize::kNone, Operation::kConvolve);
  ASSERT_TRUE(turned.ok());
  EXPECT_EQ(turned.value().integers, (Integers{10, 6, 2, 5, 3, 1}));
  EXPECT_EQ(turned.value().anchor_x, 1);
  EXPECT_EQ(turned.value().anchor_y, 1);
}

TEST(Mask, RankOneOfIntegersIsExact) {
  const Mask sobel = mask_of("-1 0 1; -2 0 2; -1 0 1");
  EXPECT_TRUE(sobel.rank1);
  EXPECT_EQ(sobel.factor_error, 0);
  expect_consistent(sobel);
  const Mask leading_zeros = mask_of("0 0 0; 0 6 -4; 0 -9 6", Normalize::kNone);
  EXPECT_TRUE(leading_zeros.rank1);
  expect_consistent(leading_zeros);
  EXPECT_TRUE(mask_of("5x1: 1 7 -3 0 2").rank1);
  EXPECT_TRUE(mask_of("1; 7; -3; 0; 2").rank1);
  EXPECT_FALSE(mask_of("1 1; 1 2").rank1);
  EXPECT_FALSE(mask_of("2 3; 4 7").rank1) << "7 is not twice 3";
  EXPECT_FALSE(mask_of("0 -1 0 -1 4 -1 0 -1 0").rank1);
  EXPECT_FALSE(mask_of("1000000 999999; 1000001 1000000").rank1) << "off by one in 10^12";
}

TEST(Mask, RankOneOfThirdsKeepsItsGain) {
  const Mask mask = mask_of("1/9 2/9; 1/3 2/3", Normalize::kNone);
  EXPECT_TRUE(mask.rank1);
  EXPECT_EQ(mask.gain, (Ratio{1, 9}));
  EXPECT_LE(mask.factor_error, 1e-15);
  expect_consistent(mask);
}

TEST(Mask, RankOneOfRealWeights) {
  const double r2 = std::sqrt(2), r3 = std::sqrt(3), r5 = std::sqrt(5);
  const Result<Mask> product =
      Mask::make(source_of(2, 3, {r2 * r3, r2 * r5, -r3, -r5, r5 * r3, r5 * r5}));
  ASSERT_TRUE(product.ok());
  EXPECT_FALSE(product.value().rational);
  EXPECT_TRUE(product.value().rank1);
  EXPECT_GT(product.value().factor_error, 0);
  EXPECT_LT(product.value().factor_error, 1e-14);
  expect_consistent(product.value());
  const Result<Mask> other = Mask::make(source_of(2, 2, {r2, r3, r5, 1}));
  EXPECT_FALSE(other.value().rank1);
}

// What the tolerance of 1e-9 of the magnitude lets through, and what not.
TEST(Mask, RankOneTolerance) {
  for (const auto& [noise, expected] : {std::pair(1e-10, true), std::pair(1e-8, false)}) {
    const double r2 = std::sqrt(2);
    const Result<Mask> mask =
        Mask::make(source_of(2, 2, {r2, r2, r2, r2 * (1 + noise)}), Normalize::kNone);
    EXPECT_EQ(mask.value().rank1, expected) << noise;
    EXPECT_EQ(mask.value().column.empty(), !expected);
  }
}

TEST(Mask, AllZero) {
  const Mask mask = mask_of("0 0 0 0");
  EXPECT_TRUE(mask.rational);
  EXPECT_TRUE(mask.rank1);
  EXPECT_EQ(mask.integers, (Integers{0, 0, 0, 0}));
  EXPECT_EQ(mask.gain, (Ratio{1, 1}));
  EXPECT_EQ(mask.zero_taps, 4);
  EXPECT_EQ(mask.max_weight, 0);
  expect_consistent(mask);
}

TEST(Mask, FactorsStayAsGiven) {
  const Mask box = mask_of("box:5,3");
  EXPECT_TRUE(box.rational);
  EXPECT_TRUE(box.dense());
  EXPECT_EQ(box.gain, (Ratio{1, 15}));
  EXPECT_EQ(box.row_integers, Integers(5, 1));
  EXPECT_EQ(box.column_integers, Integers(3, 1));
  expect_consistent(box);
  const Mask gaussian = mask_of("gaussian:2");
  EXPECT_FALSE(gaussian.rational);
  EXPECT_TRUE(gaussian.rank1);
  EXPECT_TRUE(gaussian.dense());
  expect_consistent(gaussian);
}

TEST(Mask, FactorsBeyondADenseMask) {
  const Mask box = mask_of("box:1000,256");
  EXPECT_FALSE(box.dense());
  EXPECT_TRUE(box.integers.empty());
  EXPECT_TRUE(box.rational);
  EXPECT_EQ(box.gain, (Ratio{1, 256000}));
  EXPECT_EQ(box.integer_magnitude, 256000);
  EXPECT_DOUBLE_EQ(box.sum, 1);
  EXPECT_DOUBLE_EQ(box.max_weight, 1.0 / 256000);
  EXPECT_EQ(box.zero_taps, 0);
  EXPECT_TRUE(mask_of("box:255").dense());
  const Mask wide = mask_of("gaussian:500");
  EXPECT_FALSE(wide.dense());
  EXPECT_EQ(wide.taps(), 3001 * 3001);
  EXPECT_NEAR(wide.sum, 1, 1e-12);
}

TEST(Mask, Totals) {
  const Mask mask = mask_of("0 -1 0 -1 5 -1 0 -1 0", Normalize::kNone);
  EXPECT_EQ(mask.sum, 1);
  EXPECT_EQ(mask.magnitude, 9);
  EXPECT_EQ(mask.max_weight, 5);
  EXPECT_EQ(mask.zero_taps, 4);
  EXPECT_EQ(mask.taps(), 9);
}

TEST(Mask, RefusesWhatHasNoMeaning) {
  MaskSource source = source_of(2, 2, {1, 2, 3});
  EXPECT_NE(error_of(source), "") << "three weights";
  source = source_of(2, 2, {1, 2, 3, std::nan("")});
  EXPECT_NE(error_of(source).find("weight 4"), std::string::npos);
  source = source_of(2, 1, {1, std::numeric_limits<double>::infinity()});
  EXPECT_NE(error_of(source), "");
  source = source_of(1, 1, {1.1e38});
  EXPECT_NE(error_of(source).find("1e38"), std::string::npos);
  source = source_of(1, 1, {1});
  source.anchor_x = 1;
  EXPECT_NE(error_of(source).find("anchor"), std::string::npos);
  source.anchor_x = -1;
  EXPECT_NE(error_of(source), "");
  source = source_of(1, 1, {1});
  source.divisor = 0;
  EXPECT_NE(error_of(source).find("divisor"), std::string::npos);
  source.divisor = std::nan("");
  EXPECT_NE(error_of(source), "");
  source.divisor = 1e-300;
  source.weights = {std::sqrt(2)};
  EXPECT_NE(error_of(source).find("1e38"), std::string::npos) << "overflows when divided";
  EXPECT_NE(error_of(source_of(256, 1, std::vector<double>(256, 1))).find("255"),
            std::string::npos);
  EXPECT_NE(error_of(source_of(0, 1, {})), "");
  MaskSource factors;
  factors.width = 4098;
  factors.column = {1};
  factors.row = std::vector<double>(4098, 1);
  EXPECT_NE(error_of(factors).find("4097"), std::string::npos);
  factors.width = 2;
  EXPECT_NE(error_of(factors), "") << "4098 row factors for width 2";
  factors = source_of(1, 1, {1});
  factors.row = {1};
  EXPECT_NE(error_of(factors), "") << "weights and factors";
}

TEST(Mask, RandomIntegerProductsAreFound) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> side(1, 9), value(-12, 12);
  for (int round = 0; round < 500; ++round) {
    const int width = side(random), height = side(random);
    std::vector<double> column, row, weights;
    for (int y = 0; y < height; ++y)
      column.push_back(value(random));
    for (int x = 0; x < width; ++x)
      row.push_back(value(random));
    for (double c : column)
      for (double r : row)
        weights.push_back(c * r / 7);
    const Result<Mask> mask = Mask::make(source_of(width, height, weights));
    ASSERT_TRUE(mask.ok());
    EXPECT_TRUE(mask.value().rational);
    EXPECT_TRUE(mask.value().rank1);
    expect_consistent(mask.value());
  }
}

}  // namespace
}  // namespace convolve
