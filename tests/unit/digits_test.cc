// SPDX-License-Identifier: LGPL-2.1-or-later
// Weights as 8-bit digits, and planes of bytes.
#include "kernels/core/weights/digits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "kernels/core/mask/mask_grammar.h"
#include "kernels/core/shape/byte_phases.h"
#include "kernels/core/weights/arithmetic.h"

namespace convolve {
namespace {

FrameFormat grey(int depth = 8) {
  FrameFormat format;
  format.plane_count = 1;
  PlaneFormat& plane = format.planes[0];
  plane.rows = 48;
  plane.row_bytes = 64;
  plane.component_count = 1;
  plane.components[0].width = 64;
  plane.components[0].height = 48;
  plane.components[0].depth = depth;
  if (depth > 8) {
    plane.sample_bytes = 2;
    plane.row_bytes = 128;
  }
  return format;
}

Mask mask_of(const std::string& text) {
  return Mask::make(parse_mask(text).value()).value();
}

std::optional<DigitWeights> digits_of(const std::string& text, double scale = 1) {
  const Mask mask = mask_of(text);
  return choose_digits(grey(), mask, scale, is_rational(grey(), mask, scale));
}

TEST(Digits, AreBalanced) {
  for (const int value : {0, 1, -1, 127, 128, -128, -129, 255, 32639, -32896, 8355711, -8421504}) {
    int sum = 0;
    for (int d = kMostDigits - 1; d >= 0; --d) {
      const int digit = balanced_digit(value, d);
      EXPECT_GE(digit, -128) << value;
      EXPECT_LE(digit, 127) << value;
      sum = sum * 256 + digit;
    }
    EXPECT_EQ(sum, value);
  }
}

TEST(Digits, OfRationalMasksAreTheirIntegers) {
  EXPECT_EQ(digits_of("1 2 1; 2 -128 2; 1 2 127 / 16")->digits, 1);
  EXPECT_EQ(digits_of("1 2 1; 2 128 2; 1 2 1 / 16")->digits, 2);
  EXPECT_EQ(digits_of("3x1: 1 32639 -32896 / 65536")->digits, 2);
  EXPECT_EQ(digits_of("3x1: 1 32640 1 / 65536")->digits, 3);
  EXPECT_EQ(digits_of("3x1: 1 8355711 1 / 16777216")->digits, 3);
  EXPECT_FALSE(digits_of("3x1: 1 8355712 1 / 16777216"));
  const std::optional<DigitWeights> weights = digits_of("0 -1 0; -1 4 -1; 0 -1 0");
  EXPECT_EQ(weights->values, (std::vector<std::int32_t>{0, -1, 0, -1, 4, -1, 0, -1, 0}));
  EXPECT_EQ(weights->unit, 1);
}

// 255 x sum|n| must stay below 2^31.
TEST(Digits, SumsFitThirtyTwoBits) {
  EXPECT_TRUE(digits_of("2x1: 4210752 4210751 / 16777216"));
  EXPECT_FALSE(digits_of("3x1: 4210752 4210751 4210752 / 16777216"));
}

// The bound that the plan relies on covers what happens to any picture.
TEST(Digits, OfRealMasksKeepTheZone) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (const int side : {1, 3, 8, 15, 31}) {
    std::string text = std::to_string(side) + "x" + std::to_string(side) + ":";
    for (int i = 0; i < side * side; ++i)
      text += " " + std::to_string(uniform(random)) + "123456789";
    const Mask mask =
        Mask::make(parse_mask(text).value(), Normalize::kAbs, Operation::kCorrelate).value();
    for (const double scale : {1.0, 4.0, 0.01}) {
      if (is_rational(grey(), mask, scale)) continue;
      const auto weights = choose_digits(grey(), mask, scale, false);
      ASSERT_TRUE(weights) << side;
      const DigitEpilogue e = make_digit_epilogue(grey().planes[0].components[0], mask, *weights,
                                                  scale, 0, false, DigitEpilogue::Quantiser::kBits);
      EXPECT_EQ(e.quantiser, DigitEpilogue::Quantiser::kFloat);
      for (int picture = 0; picture < 20; ++picture) {
        double exact = 0;
        std::int64_t sum = e.start;
        for (std::size_t i = 0; i < mask.weights.size(); ++i) {
          const int code =
              picture % 2 == 0 ? static_cast<int>(random() % 256) : (mask.weights[i] > 0 ? 255 : 0);
          exact += scale * mask.weights[i] * code;
          sum += std::int64_t{weights->values[i]} * code;
        }
        EXPECT_LT(std::abs(sum), std::int64_t{1} << 31);
        const double got = e.general.wide.base + e.general.wide.scale * static_cast<double>(sum);
        EXPECT_LE(std::fabs(got - exact), zone(mask, scale, 8)) << side << " " << scale;
      }
    }
  }
}

TEST(Digits, RefuseWhatNeedsMore) {
  EXPECT_FALSE(digits_of("2x1: 1e38 -1e38"));
  EXPECT_FALSE(digits_of("3x1: 0.7777777771 -1e6 1e6 / 1"));
}

// Whole numbers whose sums leave 32 bits, in halves of which each fits.
TEST(Digits, WideSums) {
  const auto wide_of = [](int side, int weight) {
    const Mask mask = mask_of(std::to_string(side) + "x" + std::to_string(side) + ": " + [&] {
      std::string numbers;
      for (int i = 0; i < side * side; ++i)
        numbers += std::to_string(weight - i % 2) + " ";
      return numbers + "/ 7";
    }());
    const bool rational = is_rational(grey(), mask, 1);
    EXPECT_TRUE(rational) << side;
    EXPECT_FALSE(choose_digits(grey(), mask, 1, rational)) << side;
    return choose_wide_digits(grey(), mask, 1, rational);
  };
  const std::optional<DigitWeights> two = wide_of(31, 30000);
  ASSERT_TRUE(two);
  EXPECT_EQ(two->digits, 2);
  EXPECT_TRUE(two->wide);
  EXPECT_EQ(two->sum, 961 * 30000 - 480);
  EXPECT_EQ(wide_of(7, 900000)->digits, 3);
  EXPECT_FALSE(wide_of(31, 8000000)) << "the upper half leaves 32 bits";

  const Mask one_digit = mask_of("box:3");
  EXPECT_FALSE(choose_wide_digits(grey(), one_digit, 1, true)) << "there are no others";
  EXPECT_FALSE(choose_wide_digits(grey(), mask_of("3x1: 9000000 -3 1 / 7"), 1, true))
      << "more than three digits";
  Component limited = grey().planes[0].components[0];
  limited.black = 16;
  const DigitEpilogue epilogue =
      make_digit_epilogue(limited, one_digit, *two, 1, 0, true, DigitEpilogue::Quantiser::kBits);
  EXPECT_TRUE(epilogue.wide);
  EXPECT_EQ(epilogue.start, 0);
  EXPECT_EQ(epilogue.wide_start, -16.0 * static_cast<double>(two->sum));
}

// Codes of 16 bits: one digit has an upper half, too, that of the products of upper bytes, and real
// masks take wide sums.
TEST(Digits, WideSumsOfTwoByteCodes) {
  const FrameFormat format = grey(16);
  std::mt19937 random(7);
  for (const int side : {3, 7, 31}) {
    std::string numbers = std::to_string(side) + "x" + std::to_string(side) + ":";
    for (int k = 0; k < side * side; ++k)
      numbers += " 0.1" + std::to_string(random()) + std::to_string(random());
    const Mask reals = Mask::make(parse_mask(numbers).value(), Normalize::kSum).value();
    ASSERT_FALSE(is_rational(format, reals, 1));
    EXPECT_FALSE(choose_digits(format, reals, 1, false)) << side;
    const std::optional<DigitWeights> weights = choose_wide_digits(format, reals, 1, false);
    if (side == 31) {
      EXPECT_FALSE(weights) << "three digits miss the zone";
      continue;
    }
    ASSERT_TRUE(weights) << side;
    EXPECT_TRUE(weights->wide);
    const DigitEpilogue e = make_digit_epilogue(format.planes[0].components[0], reals, *weights, 1,
                                                0.25, false, DigitEpilogue::Quantiser::kBits);
    EXPECT_FALSE(e.general.in_float);
    for (int picture = 0; picture < 20; ++picture) {
      double exact = bias_code(format.planes[0].components[0], 0.25);
      std::int64_t low = 0, all = 0;
      for (std::size_t i = 0; i < reals.weights.size(); ++i) {
        const int code = picture == 0 ? 65535 : static_cast<int>(random() % 65536);
        exact += reals.weights[i] * code;
        low += std::int64_t{balanced_digit(weights->values[i], 0)} * (code & 255);
        all += std::int64_t{weights->values[i]} * code;
      }
      EXPECT_LT(std::abs(low), std::int64_t{1} << 31);
      EXPECT_LT(std::abs(all - low) / 256, std::int64_t{1} << 31);
      const double sum = static_cast<double>(all) + e.wide_start;
      EXPECT_LE(std::fabs(e.general.wide.base + e.general.wide.scale * sum - exact),
                zone(reals, 1, 16))
          << side;
    }
  }
  std::string many = "31x31:";
  for (int k = 0; k < 961; ++k)
    many += " " + std::to_string(120 - k % 3);
  const Mask integers = mask_of(many + " / 7");
  EXPECT_FALSE(choose_digits(format, integers, 1, true));
  EXPECT_EQ(choose_wide_digits(format, integers, 1, true)->digits, 1);
}

// Sums that stay below 2^22 under a divisor that is a power of two need no conversion.
TEST(Digits, Quantisers) {
  const auto quantiser = [](const char* text, double bias) {
    const Mask mask = mask_of(text);
    const DigitWeights weights = choose_digits(grey(), mask, 1, true).value();
    return make_digit_epilogue(grey().planes[0].components[0], mask, weights, 1, bias, true,
                               DigitEpilogue::Quantiser::kBits)
        .quantiser;
  };
  EXPECT_EQ(quantiser("1 2 1; 2 4 2; 1 2 1", 0), DigitEpilogue::Quantiser::kBits);
  EXPECT_EQ(quantiser("1 2 1; 2 4 2; 1 2 1", 0.5), DigitEpilogue::Quantiser::kBits);
  EXPECT_EQ(quantiser("box:3", 0), DigitEpilogue::Quantiser::kFloat) << "a ninth is no float";
  EXPECT_EQ(quantiser("3x1: 1 1 1 / 6", 0), DigitEpilogue::Quantiser::kGeneral) << "ties over 6";
  EXPECT_EQ(quantiser("3x1: 30000 1 1 / 32768", 0), DigitEpilogue::Quantiser::kFloat)
      << "beyond 2^22";
}

TEST(Digits, EpiloguesAreSharedWhereBlackLevelsDoNotMatter) {
  Component luma = grey().planes[0].components[0];
  luma.black = 16;
  luma.range = 219;
  Component chroma = luma;
  chroma.black = 128;
  chroma.range = 224;
  const auto shared = [&](const Component& other, const char* text, double scale, double bias) {
    const Mask mask = mask_of(text);
    const bool rational = is_rational(grey(), mask, scale);
    const DigitWeights weights = choose_digits(grey(), mask, scale, rational).value();
    return share_epilogue(luma, other, mask, weights, scale, bias, rational);
  };
  EXPECT_TRUE(shared(chroma, "1 2 1; 2 4 2; 1 2 1", 1, 0));
  EXPECT_TRUE(shared(chroma, "3x1: 1 1 1 / 6", 2, 0)) << "scale counts";
  EXPECT_TRUE(shared(chroma, "gaussian:0.7", 1, 0)) << "reals that add up to 1";
  EXPECT_FALSE(shared(chroma, "1 2 1; 2 4 2; 1 2 1", 0.5, 0));
  EXPECT_FALSE(shared(chroma, "3x1: 300 400 323 / 1024", 1, 0)) << "a thousandth";
  EXPECT_FALSE(shared(chroma, "gaussian:0.7", 1.0001, 0));
  EXPECT_FALSE(shared(chroma, "1 2 1; 2 4 2; 1 2 1", 1, 0.5)) << "ranges differ";
  EXPECT_TRUE(shared(luma, "3x1: 1 1 1 / 6", 1, 0.5)) << "one function";
  Component fine = luma;
  fine.depth = 7;
  EXPECT_FALSE(shared(fine, "1 2 1; 2 4 2; 1 2 1", 1, 0)) << "other codes";
}

TEST(BytePhases, OfInterleavedComponents) {
  PlaneFormat yuy2;
  yuy2.component_count = 3;
  yuy2.components[0].step = 2;
  yuy2.components[1].offset = 1;
  yuy2.components[2].offset = 3;
  yuy2.components[1].step = yuy2.components[2].step = 4;
  const std::optional<BytePhases> phases = byte_phases(yuy2);
  ASSERT_TRUE(phases);
  EXPECT_EQ(phases->period, 4);
  EXPECT_EQ(phases->component[0], 0);
  EXPECT_EQ(phases->component[1], 1);
  EXPECT_EQ(phases->component[2], 0);
  EXPECT_EQ(phases->component[3], 2);

  // Rows of 33: the last luma of the 17th group is nobody's.
  PlaneFormat odd = yuy2;
  odd.component_count = 4;
  odd.components[3].role = Role::kPadding;
  odd.components[3].offset = 66;
  odd.components[3].step = 4;
  odd.components[3].width = 1;
  ASSERT_TRUE(byte_phases(odd));
  EXPECT_TRUE(byte_phases(odd)->tail);
  odd.components[3].offset = 2;  // A picture one pixel wide.
  ASSERT_TRUE(byte_phases(odd));
  EXPECT_TRUE(byte_phases(odd)->tail);
  EXPECT_FALSE(phases->tail);

  PlaneFormat rgbx;
  rgbx.component_count = 4;
  for (int c = 0; c < 4; ++c) {
    rgbx.components[c].offset = c;
    rgbx.components[c].step = 4;
  }
  rgbx.components[3].role = Role::kPadding;
  ASSERT_TRUE(byte_phases(rgbx));
  EXPECT_FALSE(byte_phases(rgbx)->tail);

  yuy2.component_count = 2;
  EXPECT_FALSE(byte_phases(yuy2)) << "a byte without a component";
  EXPECT_EQ(byte_phases(grey().planes[0])->period, 1);
  PlaneFormat deep = grey().planes[0];
  deep.sample_bytes = 2;
  EXPECT_FALSE(byte_phases(deep));
}

}  // namespace
}  // namespace convolve
