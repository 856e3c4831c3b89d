// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks of rank 1 as whole numbers of 16 bits: what they lose, and which keep the contract.
#include "kernels/core/weights/separable_integers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "kernels/core/weights/arithmetic.h"
#include "tests/unit/formats.h"
#include "tests/unit/hostile_sample.h"

namespace convolve {
namespace {

using unit::hostile_sample;
using unit::mask_of;

FrameFormat grey() {
  return unit::grey(64, 48);
}

/// The 16 bits that a column's sum goes on as. They must fit.
std::int32_t column_value(const SeparableIntegers& integers, const std::vector<int>& samples) {
  std::int64_t sum = integers.column_start;
  for (std::size_t i = 0; i < samples.size(); ++i)
    sum += std::int64_t{integers.column[i]} * samples[i];
  EXPECT_LT(std::abs(sum), std::int64_t{1} << 31);
  const std::int64_t value = sum >> integers.shift;
  EXPECT_EQ(value, static_cast<std::int16_t>(value));
  return static_cast<std::int32_t>(value);
}

/// T, modulo 2^32.
std::int32_t row_sum(const SeparableIntegers& integers, const std::vector<std::int32_t>& values) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    sum += static_cast<std::uint32_t>(integers.row[i] * values[i]);
  return static_cast<std::int32_t>(sum);
}

/// Checks pictures of the mask's size: check(T, the exact value).
template <class Function>
void each_picture(const std::vector<double>& row, const std::vector<double>& column,
                  const SeparableIntegers& integers, const Function& check) {
  std::mt19937 random(7);
  for (int kind = 0; kind < 40; ++kind) {
    std::vector<std::int32_t> values;
    double exact = 0;
    for (const double across : row) {
      std::vector<int> samples;
      double sum = 0;
      for (const double down : column) {
        samples.push_back(hostile_sample(kind, across * down, random));
        sum += down * samples.back();
      }
      values.push_back(column_value(integers, samples));
      exact += across * sum;
    }
    check(row_sum(integers, values), exact);
  }
}

TEST(SeparableIntegers, KeepGaussiansToSixtyTaps) {
  for (const char* text : {"gaussian:0.5", "gaussian:1", "gaussian:2", "gaussian:3", "gaussian:5",
                           "gaussian:7", "gaussian:9", "gaussian:1,5"}) {
    const Mask mask = mask_of(text);
    const auto integers = make_separable_integers(grey(), mask, false);
    ASSERT_TRUE(integers) << text;
    EXPECT_TRUE(separable_sums_serve(grey(), mask, *integers, 1, false)) << text << integers->error;
  }
}

TEST(SeparableIntegers, LeaveLongMasksToOtherForms) {
  const Mask mask = mask_of("gaussian:40");
  const auto integers = make_separable_integers(grey(), mask, false);
  ASSERT_TRUE(integers);
  EXPECT_FALSE(separable_sums_serve(grey(), mask, *integers, 1, false)) << integers->error;
}

// The bound that the plan relies on covers what happens to any picture, and sums fit their bits.
TEST(SeparableIntegers, OfRealMasksKeepTheirBound) {
  for (const char* text :
       {"gaussian:0.5", "gaussian:1", "gaussian:5", "gaussian:40", "gaussian:1,30",
        "3x1: -1.234567891 0.0123456789 1.0001234567", "1x4: 0.1; 0.7; -0.3333333; 0.5000000001",
        "2x3: 0.123456789 -0.123456789; 3.33333333333 -3.33333333333; -1.1 1.1",
        "2x2: 3e20 1.1e20; -6e20 -2.2e20", "3x1: -0.9 -0.05123 -0.04877"}) {
    const Mask mask = mask_of(text);
    ASSERT_TRUE(mask.rank1) << text;
    const auto integers = make_separable_integers(grey(), mask, false);
    ASSERT_TRUE(integers) << text;
    double worst = 0;
    each_picture(mask.row, mask.column, *integers, [&](std::int32_t sum, double exact) {
      // T itself is known modulo 2^32.
      const double expected = (exact - integers->constant) / integers->unit;
      const double turns = std::nearbyint((expected - sum) / 4294967296.0);
      worst = std::max(worst, std::fabs(sum + turns * 4294967296.0 - expected) * integers->unit);
      EXPECT_LE(std::fabs((exact - integers->middle.value_or(0)) / integers->unit),
                integers->magnitude)
          << text;
    });
    EXPECT_LE(worst, integers->error + (mask.factor_error + 1e-10) * 255) << text;
    EXPECT_GT(worst, 0) << text;
    EXPECT_LT(integers->magnitude, 2147483648.0) << text;
  }
}

// Rational masks lose nothing, or are left to other forms.
TEST(SeparableIntegers, OfRationalMasksAreExact) {
  for (const char* text : {"sobel-x", "binomial:5", "binomial:7", "3x1: 1 -30000 200",
                           "1x3: 100; -50; 101", "2x2: 30 -60; 70 -140"}) {
    const Mask mask = mask_of(text);
    const auto integers = make_separable_integers(grey(), mask, true);
    ASSERT_TRUE(integers) << text;
    EXPECT_EQ(integers->shift, 0);
    EXPECT_TRUE(separable_sums_serve(grey(), mask, *integers, 1, true)) << text;
    const std::vector<double> row(mask.row_integers.begin(), mask.row_integers.end());
    const std::vector<double> column(mask.column_integers.begin(), mask.column_integers.end());
    each_picture(row, column, *integers, [&](std::int32_t sum, double exact) {
      EXPECT_EQ(sum + integers->constant, exact) << text;
    });
  }
  const auto served = [](const char* text) {
    return make_separable_integers(grey(), mask_of(text), true).has_value();
  };
  EXPECT_TRUE(served("1x2: 128; 128"));
  EXPECT_FALSE(served("1x2: 129; 128")) << "column sums beyond 16 bits";
  EXPECT_TRUE(served("2x1: 32767 1"));
  EXPECT_FALSE(served("2x1: 32768 1")) << "a weight beyond 16 bits";
  EXPECT_FALSE(served("0 -1 0; -1 4 -1; 0 -1 0")) << "not of rank 1";
}

TEST(SeparableIntegers, RefuseOtherSamples) {
  const Mask mask = mask_of("gaussian:5");
  FrameFormat format = grey();
  format.planes[0].sample_bytes = 2;
  EXPECT_FALSE(make_separable_integers(format, mask, false));
  format = grey();
  format.planes[0].components[0].depth = 7;
  EXPECT_FALSE(make_separable_integers(format, mask, false));
}

// Black level, bias and the constant come back in the epilogue.
TEST(SeparableIntegers, EpilogueMakesCodes) {
  Component component = grey().planes[0].components[0];
  component.black = 16;
  component.range = 219;
  for (const char* text : {"gaussian:5", "3x1: -0.512345678 0.0123456 0.5000123456"}) {
    const Mask mask = mask_of(text);
    const auto integers = make_separable_integers(grey(), mask, false);
    const DigitEpilogue e = make_separable_epilogue(component, mask, *integers, 0.75, 0.5, false);
    each_picture(mask.row, mask.column, *integers, [&](std::int32_t sum, double exact) {
      const double value = 16 + 110 + 0.75 * (exact - 16 * mask.sum);
      const auto s = static_cast<std::int32_t>(static_cast<std::uint32_t>(e.start) +
                                               static_cast<std::uint32_t>(sum));
      EXPECT_NEAR(e.general.wide.base + e.general.wide.scale * s, value, 1 / 64.) << text;
    });
  }
}

}  // namespace
}  // namespace convolve
