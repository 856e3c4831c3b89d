// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks of rank 1 as 8-bit digits: what they lose, and what is made of their sums.
#include "kernels/core/weights/separable_digits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <string>

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

/// Weights that all miss their unit to the same side, but one, which sets it.
std::string one_sided(const std::string& size, int taps) {
  std::string text = size + ": 1.0000123456";
  for (int i = 1; i < taps; ++i)
    text += " 0.34567890123";
  return text;
}

/// The 16 bits that a row's sum goes on as.
std::uint32_t row_value(const SeparableDigits& digits, const std::vector<int>& samples) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < samples.size(); ++i)
    sum += static_cast<std::uint32_t>(digits.row[i] * samples[i]);
  return (sum * digits.multiplier + digits.row_start) >> 16;
}

/// T of row sums.
std::int32_t column_sum(const SeparableDigits& digits, const std::vector<std::uint32_t>& values) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const int a = balanced_digit(digits.column[i], 1), b = balanced_digit(digits.column[i], 0);
    const int high = static_cast<int>(values[i] >> 8), low = static_cast<int>(values[i] & 0xFF);
    sum += static_cast<std::uint32_t>(256 * a * high + a * low + b * high);
  }
  return static_cast<std::int32_t>(sum);
}

/// Checks pictures of the mask's size: fn(what T stands for as a value, the exact value).
template <class Function>
void each_picture(const Mask& mask, const SeparableDigits& digits, const Function& check) {
  std::mt19937 random(5);
  for (int kind = 0; kind < 24; ++kind) {
    std::vector<std::uint32_t> values;
    double exact = 0;
    for (const double down : mask.column) {
      std::vector<int> samples;
      double row = 0;
      for (std::size_t x = 0; x < mask.row.size(); ++x) {
        samples.push_back(hostile_sample(kind, mask.row[x] * down, random));
        row += mask.row[x] * samples.back();
      }
      values.push_back(row_value(digits, samples));
      ASSERT_LT(values.back(), 65536u);
      exact += down * row;
    }
    check(column_sum(digits, values), exact);
  }
}

TEST(SeparableDigits, KeepGaussiansOfAllLengths) {
  for (const char* text :
       {"gaussian:0.6", "gaussian:1", "gaussian:2", "gaussian:5", "gaussian:10", "gaussian:30",
        "gaussian:100", "gaussian:200", "gaussian:350", "gaussian:5,1"}) {
    const Mask mask = mask_of(text);
    const auto digits = make_separable_digits(grey(), mask, false);
    ASSERT_TRUE(digits) << text;
    EXPECT_TRUE(separable_sums_serve(grey(), mask, *digits, 1, false)) << text << digits->error;
  }
}

// The bound that the plan relies on covers what happens to any picture.
TEST(SeparableDigits, OfRealMasksKeepTheirBound) {
  for (const std::string& text :
       {std::string("gaussian:0.6"), std::string("gaussian:5"), std::string("gaussian:40"),
        std::string("gaussian:3,20"), std::string("gaussian:1,300"),
        std::string("3x1: -1.234567891 0.0123456789 1.0001234567"),
        std::string("2x3: 0.123456789 -0.123456789; 3.33333333333 -3.33333333333; -1.1 1.1"),
        one_sided("250x1", 250), one_sided("1x250", 250)}) {
    const Mask mask = mask_of(text);
    ASSERT_TRUE(mask.rank1) << text;
    const auto digits = make_separable_digits(grey(), mask, false);
    ASSERT_TRUE(digits) << text;
    double worst = 0;
    each_picture(mask, *digits, [&](std::int32_t sum, double exact) {
      // T itself is known modulo 2^32.
      const double expected = (exact - digits->constant) / digits->unit;
      const double turns = std::nearbyint((expected - sum) / 4294967296.0);
      worst = std::max(worst, std::fabs(sum + turns * 4294967296.0 - expected) * digits->unit);
      EXPECT_LE(std::fabs((exact - digits->middle.value_or(0)) / digits->unit), digits->magnitude)
          << text;
    });
    EXPECT_LE(worst, digits->error + mask.factor_error * 255 + 1e-9) << text;
    EXPECT_GT(worst, 0) << text;
  }
}

/// The mean of what random pictures make of `mask` less what they should, and its deviation, were
/// each picture's error off by chance alone.
struct MeanError {
  double mean;
  double deviation;
};
MeanError mean_error(const Mask& mask, const SeparableDigits& digits) {
  constexpr int kPictures = 20000;
  std::mt19937 random(11);
  double sum = 0, squares = 0;
  for (int n = 0; n < kPictures; ++n) {
    std::vector<std::uint32_t> values;
    double exact = 0;
    for (const double down : mask.column) {
      std::vector<int> samples;
      for (const double weight : mask.row) {
        samples.push_back(static_cast<int>(random() % 256));
        exact += down * weight * samples.back();
      }
      values.push_back(row_value(digits, samples));
    }
    const double error = column_sum(digits, values) * digits.unit + digits.constant - exact;
    sum += error;
    squares += error * error;
  }
  const double mean = sum / kPictures;
  return {mean, std::sqrt((squares / kPictures - mean * mean) / kPictures)};
}

// What is known of what weights lose is given back.
TEST(SeparableDigits, OfRealMasksErrToBothSides) {
  for (const char* text : {"2x1: 0.7351 0.91234567", "1x3: 0.512345678 0.2345678 1.34567",
                           "2x2: 0.123456789 -0.123456789; 3.33333333333 -3.33333333333",
                           "gaussian:0.6", "gaussian:1", "gaussian:2"}) {
    const Mask mask = mask_of(text);
    ASSERT_TRUE(mask.rank1) << text;
    const auto digits = make_separable_digits(grey(), mask, false);
    ASSERT_TRUE(digits) << text;
    const MeanError error = mean_error(mask, *digits);
    EXPECT_LT(std::fabs(error.mean), 5 * error.deviation) << text;
  }
}

TEST(SeparableDigits, OfRationalMasksAreExact) {
  for (const char* text :
       {"binomial:9", "box:31", "box:7,3", "1 2 1; 2 4 2; 1 2 1 / 16", "sobel-x", "prewitt-y",
        "3x1: -100 1 100", "1x3: 127 -128 1", "3x2: 1 -2 3; -5 10 -15 / 7", "identity"}) {
    const Mask mask = mask_of(text);
    ASSERT_TRUE(is_rational(grey(), mask, 1)) << text;
    const auto digits = make_separable_digits(grey(), mask, true);
    ASSERT_TRUE(digits) << text;
    EXPECT_EQ(digits->column_digits, 1) << text;
    EXPECT_TRUE(separable_sums_serve(grey(), mask, *digits, 1, true)) << text;
    const double gain = mask.gain.value();
    each_picture(mask, *digits, [&](std::int32_t sum, double exact) {
      EXPECT_EQ(sum + digits->constant, std::round(exact / gain)) << text;
    });
  }
}

// Row sums of 16 bits, columns of one digit: what is beyond is not exact.
TEST(SeparableDigits, RefuseWhatIsNotExact) {
  const auto of = [](const std::string& text, bool rational) {
    return make_separable_digits(grey(), mask_of(text), rational).has_value();
  };
  EXPECT_TRUE(of("2x1: 200 57 / 512", true));
  EXPECT_FALSE(of("2x1: 199 59 / 512", true));
  EXPECT_TRUE(of("1x2: 127 -128 / 512", true));
  EXPECT_FALSE(of("1x2: 128 -1 / 512", true));
  EXPECT_FALSE(of("1x2: 127 -129 / 512", true));
  EXPECT_FALSE(of("binomial:11", true));
  EXPECT_FALSE(of("0 -1 0; -1 4 -1; 0 -1 0", true));  // Not of rank 1.
}

TEST(SeparableDigits, RefuseOtherSamples) {
  const Mask mask = mask_of("gaussian:5");
  FrameFormat format = grey();
  format.planes[0].sample_bytes = 2;
  EXPECT_FALSE(make_separable_digits(format, mask, false));
  format = grey();
  format.planes[0].components[0].depth = 7;
  EXPECT_FALSE(make_separable_digits(format, mask, false));
}

// What scale multiplies is the error, too; and it may take the mask to the other class.
TEST(SeparableDigits, ServeScalesThatTheirBoundAllows) {
  const Mask mask = mask_of("gaussian:5");
  const auto digits = make_separable_digits(grey(), mask, false);
  ASSERT_TRUE(digits);
  EXPECT_TRUE(separable_sums_serve(grey(), mask, *digits, 0.01, false));
  EXPECT_TRUE(separable_sums_serve(grey(), mask, *digits, -4, false));
  EXPECT_FALSE(separable_sums_serve(grey(), mask, *digits, 1000, false));
  EXPECT_FALSE(separable_sums_serve(grey(), mask, *digits, 1, true));
  const Mask thirds = mask_of("box:3");
  const auto exact = make_separable_digits(grey(), thirds, true);
  EXPECT_FALSE(separable_sums_serve(grey(), thirds, *exact, 0.7234567891, true));
}

// Black level, bias and the constant come back in the epilogue.
TEST(SeparableDigits, EpilogueMakesCodes) {
  Component component = grey().planes[0].components[0];
  component.black = 16;
  component.range = 219;
  for (const char* text :
       {"gaussian:5", "gaussian:1,300", "3x1: -0.512345678 0.0123456 0.5000123456"}) {
    const Mask mask = mask_of(text);
    const auto digits = make_separable_digits(grey(), mask, false);
    const DigitEpilogue e = make_separable_epilogue(component, mask, *digits, 0.75, 0.5, false);
    ASSERT_EQ(e.quantiser, DigitEpilogue::Quantiser::kFloat);
    each_picture(mask, *digits, [&](std::int32_t sum, double exact) {
      const double value = 16 + 110 + 0.75 * (exact - 16 * mask.sum);
      const auto s = static_cast<std::int32_t>(static_cast<std::uint32_t>(e.start) +
                                               static_cast<std::uint32_t>(sum));
      const float made = std::fma(static_cast<float>(s), e.scale, e.base) - 12582912.0f;
      EXPECT_NEAR(made, value, 0.5 + 1 / 64.) << text;
    });
  }
}

TEST(SeparableWindow, HoldsWhatOutputsSee) {
  for (int side = 1; side <= 100; ++side)
    for (const int anchor : {0, side / 2, side - 1}) {
      Mask mask;
      mask.width = mask.height = side;
      mask.anchor_x = mask.anchor_y = anchor;
      const SeparableWindow window = separable_window(mask);
      EXPECT_EQ(window.left % 8, 0);
      EXPECT_GE(window.left, anchor);
      EXPECT_LT(window.left, anchor + 8);
      EXPECT_GE(32 * window.row_chunks - window.left, 31 + side - anchor);
      EXPECT_GE(32 * window.column_chunks, 31 + side);
    }
  Mask mask;
  mask.width = mask.height = 31;
  mask.anchor_x = mask.anchor_y = 15;
  EXPECT_EQ(separable_window(mask).row_chunks, 2);
  EXPECT_EQ(separable_window(mask).column_chunks, 2);
}

}  // namespace
}  // namespace convolve
