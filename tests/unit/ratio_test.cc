// SPDX-License-Identifier: LGPL-2.1-or-later
// Which doubles are ratios, and arithmetic on ratios that never wraps.
#include "kernels/core/base/ratio.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace convolve {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

void expect_ratio(double x, std::int64_t num, std::int64_t den) {
  const std::optional<Ratio> ratio = ratio_of(x);
  ASSERT_TRUE(ratio) << x;
  EXPECT_EQ(ratio->num, num) << x;
  EXPECT_EQ(ratio->den, den) << x;
}

TEST(Ratio, TypedDecimalsAndFractions) {
  expect_ratio(0.1, 1, 10);
  expect_ratio(-0.1, -1, 10);
  expect_ratio(1.0 / 3, 1, 3);
  expect_ratio(-2.0 / 3, -2, 3);
  expect_ratio(0.0625, 1, 16);
  expect_ratio(1.0 / 273, 1, 273);
  expect_ratio(3.14, 157, 50);
  expect_ratio(2.5, 5, 2);
  expect_ratio(0.123456, 1929, 15625);
  expect_ratio(123456.789, 123456789, 1000);
  expect_ratio(1e-6, 1, 1000000);
  expect_ratio(999999.0 / 1000000, 999999, 1000000);
}

TEST(Ratio, WholeNumbersTo2Pow53) {
  expect_ratio(0, 0, 1);
  expect_ratio(-0.0, 0, 1);
  expect_ratio(-7, -7, 1);
  expect_ratio(0x1p53, std::int64_t{1} << 53, 1);
  expect_ratio(-0x1p53, -(std::int64_t{1} << 53), 1);
  expect_ratio(0x1p53 - 1, (std::int64_t{1} << 53) - 1, 1);
  EXPECT_FALSE(ratio_of(0x1p53 + 2));
  EXPECT_FALSE(ratio_of(1e300));
}

TEST(Ratio, HalvesOfLargeNumbers) {
  expect_ratio(0x1p52 - 0.5, (std::int64_t{1} << 53) - 1, 2);
  expect_ratio(0x1p40 + 0.25, (std::int64_t{1} << 42) + 1, 4);
}

TEST(Ratio, NoneForTheRest) {
  EXPECT_FALSE(ratio_of(std::sqrt(2.0)));
  EXPECT_FALSE(ratio_of(std::exp(-0.125)));
  EXPECT_FALSE(ratio_of(1e-7));
  EXPECT_FALSE(ratio_of(4.9e-7));
  EXPECT_FALSE(ratio_of(5e-324));
  EXPECT_FALSE(ratio_of(std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(ratio_of(std::nan("")));
  // The neighbours of 1/10 are not within its rounding interval.
  EXPECT_FALSE(ratio_of(std::nextafter(0.1, 1)));
  EXPECT_FALSE(ratio_of(std::nextafter(0.1, 0)));
}

TEST(Ratio, DenominatorLimitIsSharp) {
  expect_ratio(1.0 / 999983, 1, 999983);
  EXPECT_FALSE(ratio_of(1.0 / 1000003));
}

// Every fraction in reach is found again, and none with a smaller denominator rounds to it.
TEST(Ratio, EveryFractionIsFoundAgain) {
  for (std::int64_t den = 1; den <= 400; ++den)
    for (std::int64_t num = 1; num <= 3 * den; ++num) {
      const std::int64_t common = std::gcd(num, den);
      expect_ratio(static_cast<double>(num) / static_cast<double>(den), num / common, den / common);
    }
  for (std::int64_t den = 999000; den <= kMaxRatioDenominator; ++den)
    for (std::int64_t num : {std::int64_t{1}, den / 3, den - 1, 7 * den + 1, 1000 * den - 1}) {
      const std::int64_t common = std::gcd(num, den);
      expect_ratio(static_cast<double>(num) / static_cast<double>(den), num / common, den / common);
    }
}

TEST(Ratio, MakeReduces) {
  EXPECT_EQ(make_ratio(6, -4), (Ratio{-3, 2}));
  EXPECT_EQ(make_ratio(0, -5), (Ratio{0, 1}));
  EXPECT_EQ(make_ratio(kMin, kMin), (Ratio{1, 1}));
  EXPECT_EQ(make_ratio(kMin, 1), (Ratio{kMin, 1}));
  EXPECT_FALSE(make_ratio(1, 0));
  EXPECT_FALSE(make_ratio(kMin, -1));
  EXPECT_FALSE(make_ratio(1, kMin));
}

TEST(Ratio, ArithmeticChecksOverflow) {
  EXPECT_EQ(multiply({2, 3}, {9, 4}), (Ratio{3, 2}));
  EXPECT_EQ(multiply({kMax, 2}, {2, kMax}), (Ratio{1, 1}));
  EXPECT_FALSE(multiply({kMax, 1}, {2, 1}));
  EXPECT_FALSE(multiply({1, kMax}, {1, 2}));
  EXPECT_EQ(divide({1, 2}, {-3, 4}), (Ratio{-2, 3}));
  EXPECT_FALSE(divide({1, 2}, {0, 1}));
  EXPECT_EQ(add({1, 6}, {1, 3}), (Ratio{1, 2}));
  EXPECT_EQ(add({kMax, 1}, {-kMax, 1}), (Ratio{0, 1}));
  EXPECT_FALSE(add({kMax, 1}, {1, 1}));
  EXPECT_FALSE(add({kMin, 1}, {kMin, 1}));
}

}  // namespace
}  // namespace convolve
