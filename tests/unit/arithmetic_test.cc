// SPDX-License-Identifier: LGPL-2.1-or-later
// Classes of arithmetic, accumulators at the edges of their bounds, and encoded weights.
#include "kernels/core/weights/arithmetic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "tests/unit/formats.h"

namespace convolve {
namespace {

using unit::grey;
using unit::mask_of;

TEST(Arithmetic, RationalNeedsRatiosEverywhere) {
  const Mask box = mask_of("box:3");
  EXPECT_TRUE(is_rational(box, 1, 255));
  EXPECT_TRUE(is_rational(box, 0.1, 65535));
  EXPECT_FALSE(is_rational(box, std::sqrt(2.0), 255));
  EXPECT_FALSE(is_rational(mask_of("gaussian:2"), 1, 255));
}

TEST(Arithmetic, DivisorBelow2Pow31) {
  const Mask below = mask_of("1 / 2147483647"), at = mask_of("1 / 2147483648");
  EXPECT_TRUE(is_rational(below, 1, 255));
  EXPECT_FALSE(is_rational(at, 1, 255));
  EXPECT_FALSE(is_rational(mask_of("1 / 2147483647"), 0.5, 255)) << "the scale counts";
}

// 255 (n + 2) < 2^52.
TEST(Arithmetic, SumBelow2Pow52) {
  const double edge = std::floor((0x1p52 - 1) / 255) - 2;
  EXPECT_TRUE(is_rational(
      mask_of(std::to_string(static_cast<std::int64_t>(edge)), Normalize::kNone), 1, 255));
  EXPECT_FALSE(is_rational(
      mask_of(std::to_string(static_cast<std::int64_t>(edge) + 1), Normalize::kNone), 1, 255));
}

TEST(Arithmetic, Zone) {
  const Mask unit = mask_of("box:3");
  EXPECT_EQ(zone(unit, 1, 8), 1.0 / 64);
  EXPECT_EQ(zone(unit, -4, 8), 4.0 / 64);
  EXPECT_EQ(zone(unit, 0.5, 8), 1.0 / 64);
  EXPECT_EQ(zone(unit, 1, 16), 8.0 / 64);
  EXPECT_EQ(zone(unit, 1, 13), 1.0 / 64);
}

Accumulator chosen(const char* text, int depth, bool with_int32, double scale = 1,
                   Passes passes = Passes::kDirect) {
  const Result<Accumulator> a = choose_accumulator(
      grey(8, 8, depth), mask_of(text, Normalize::kNone), scale, 0, passes, with_int32);
  EXPECT_TRUE(a.ok()) << text;
  return a.value();
}

// 255 x 65793 = 2^24 - 1, 255 x 65794 is beyond; 255 x 8421504 = 2^31 - 128.
TEST(Arithmetic, AccumulatorsOfRationalMasks) {
  EXPECT_EQ(chosen("65793", 8, true), Accumulator::kFloat32);
  EXPECT_EQ(chosen("2x1: 65793 1", 8, true), Accumulator::kInt32);
  EXPECT_EQ(chosen("2x1: 65793 -1", 8, false), Accumulator::kFloat64);
  EXPECT_EQ(chosen("2x1: 8421503 1", 8, true), Accumulator::kInt32);
  EXPECT_EQ(chosen("2x1: 8421504 1", 8, true), Accumulator::kFloat64);
  EXPECT_EQ(chosen("2x1: 255 1", 16, true), Accumulator::kFloat32);
  EXPECT_EQ(chosen("2x1: 256 1", 16, true), Accumulator::kInt32);
  // A gain moves no bound: the integers are primitive.
  EXPECT_EQ(chosen("2x1: 131586 2", 8, true), Accumulator::kInt32);
  EXPECT_EQ(chosen("65793", 8, true, 100), Accumulator::kFloat32);
}

TEST(Arithmetic, AccumulatorsOfRealMasks) {
  EXPECT_EQ(chosen("gaussian:2", 8, true), Accumulator::kFloat32);
  EXPECT_EQ(chosen("gaussian:2", 8, true, 1, Passes::kRowColumn), Accumulator::kFloat32);
  EXPECT_EQ(chosen("gaussian:40", 16, true), Accumulator::kFloat64);
  EXPECT_EQ(chosen("2x1: 1e38 -1e38", 8, true), Accumulator::kWide);
  EXPECT_EQ(chosen("2x1: 1.4142135623730951e18 -1e18", 16, false), Accumulator::kWide);
}

// Arithmetic refuses nothing; a missing rank does.
TEST(Arithmetic, OnlyRankIsRefused) {
  const auto refused = [](const Mask& mask) {
    return !choose_accumulator(grey(8, 8), mask, 1, 0, Passes::kRowColumn, true).ok();
  };
  EXPECT_TRUE(refused(mask_of("laplacian")));
  EXPECT_TRUE(refused(mask_of("disk:3")));
  EXPECT_FALSE(refused(mask_of("sobel-x")));
  EXPECT_FALSE(refused(mask_of("gaussian:500")));
  for (const char* text : {"1e38 -1e38; 1e38 1e-38", "9007199254740991 1; 1 1", "0 0 0 0"})
    for (double scale : {1024.0, -1024.0, 1e-9, 0.0})
      EXPECT_TRUE(choose_accumulator(grey(8, 8, 16), mask_of(text, Normalize::kNone), scale, 1,
                                     Passes::kDirect, false)
                      .ok())
          << text;
}

TEST(Arithmetic, PlansServeWhileTheirBoundHolds) {
  const FrameFormat format = grey(8, 8);
  const Mask mask = mask_of("gaussian:2");
  const auto serves = [&](double scale) {
    return accumulator_serves(format, mask, scale, 0.5, Passes::kDirect, false,
                              Accumulator::kFloat32);
  };
  EXPECT_TRUE(serves(1));
  EXPECT_TRUE(serves(1.5));
  EXPECT_FALSE(serves(1e6));
  const Mask box = mask_of("box:3");
  EXPECT_TRUE(
      accumulator_serves(format, box, 0.5, 0, Passes::kDirect, true, Accumulator::kFloat32));
  EXPECT_FALSE(accumulator_serves(format, box, std::sqrt(2.0), 0, Passes::kDirect, true,
                                  Accumulator::kFloat32))
      << "the class changed";
}

// A pass adds up from one end: only the first products go through all of its roundings. Floats
// serve 16 bits until half of the taps have too many of them, and keep within that.
TEST(Arithmetic, PassesInFloatOfWideCodes) {
  const FrameFormat format = grey(8, 8, 16);
  const auto accumulator_of = [&](const char* text) {
    return choose_accumulator(format, mask_of(text), 1, 0, Passes::kRowColumn, false).value();
  };
  EXPECT_EQ(accumulator_of("gaussian:3"), Accumulator::kFloat32);
  EXPECT_EQ(accumulator_of("gaussian:10"), Accumulator::kFloat64);

  const Mask mask = mask_of("gaussian:3");
  std::mt19937 random(3);
  for (int picture = 0; picture < 50; ++picture) {
    float computed = 0;
    double exact = 0;
    for (const double column : mask.column) {
      float row_sum = 0;
      double exact_sum = 0;
      for (const double row : mask.row) {
        const auto code = static_cast<float>(picture == 0 ? 65535 : random() % 65536);
        const float product = static_cast<float>(row) * code;
        row_sum += product;
        exact_sum += row * static_cast<double>(code);
      }
      const float product = static_cast<float>(column) * row_sum;
      computed += product;
      exact += column * exact_sum;
    }
    EXPECT_LE(std::fabs(static_cast<double>(computed) - exact), zone(mask, 1, 16));
  }
}

// Products of symmetric factors go through half of the additions, and the large ones in the middle
// of a bell through few of these.
TEST(Arithmetic, FoldedPassesInFloatOfWideCodes) {
  const FrameFormat format = grey(8, 8, 16);
  const auto accumulator_of = [&](const Mask& mask) {
    return choose_accumulator(format, mask, 1, 0, Passes::kFolded, false).value();
  };
  EXPECT_EQ(accumulator_of(mask_of("gaussian:10")), Accumulator::kFloat32);
  EXPECT_EQ(accumulator_of(mask_of("gaussian:20")), Accumulator::kFloat64);
  for (const bool of_row : {false, true}) {
    Mask skewed = mask_of("gaussian:10");
    (of_row ? skewed.row : skewed.column).front() += 1e-9;
    EXPECT_EQ(accumulator_of(skewed), Accumulator::kFloat64) << "not symmetric";
  }
}

TEST(Arithmetic, BiasIsAWholeCodeOfLumaAndColour) {
  Component luma;
  luma.range = 219;
  EXPECT_EQ(bias_code(luma, 0.5), 110) << "109.5, a tie";
  EXPECT_EQ(bias_code(luma, -0.5), -110);
  luma.role = Role::kChroma;
  EXPECT_EQ(bias_code(luma, 0.5), 0);
  luma.role = Role::kAlpha;
  EXPECT_EQ(bias_code(luma, 1), 0);
}

TEST(Arithmetic, Passthrough) {
  const FrameFormat format = grey(8, 8);
  EXPECT_TRUE(is_passthrough(format, mask_of("identity"), 1, 0));
  EXPECT_TRUE(is_passthrough(format, mask_of("0 0 0; 0 1 0; 0 0 0"), 1, 0));
  EXPECT_TRUE(is_passthrough(format, mask_of("1/2", Normalize::kNone), 2, 0));
  EXPECT_FALSE(is_passthrough(format, mask_of("identity"), 1, 0.5));
  EXPECT_FALSE(is_passthrough(format, mask_of("identity"), 2, 0));
  EXPECT_FALSE(is_passthrough(format, mask_of("3x1+0+0: 0 1 0"), 1, 0)) << "moves the picture";
  EXPECT_FALSE(is_passthrough(format, mask_of("box:3"), 1, 0));
  FrameFormat copied = format;
  copied.planes[0].components[0].filtered = false;
  EXPECT_TRUE(is_passthrough(copied, mask_of("box:3"), 1, 0));
}

template <class T>
std::vector<T> decoded(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(Arithmetic, EncodedWeights) {
  const Mask mask = mask_of("1 2; 3 -4 / 7");
  EXPECT_EQ(decoded<float>(encode_weights(mask, Accumulator::kFloat32, true)),
            (std::vector<float>{1, 2, 3, -4}));
  EXPECT_EQ(decoded<std::int32_t>(encode_weights(mask, Accumulator::kInt32, true)),
            (std::vector<std::int32_t>{1, 2, 3, -4}));
  EXPECT_EQ(decoded<double>(encode_weights(mask, Accumulator::kFloat64, false)), mask.weights);
  const Mask sobel = mask_of("sobel-x");
  const std::vector<float> factors =
      decoded<float>(encode_factors(sobel, Accumulator::kFloat32, true));
  ASSERT_EQ(factors.size(), 6u);
  for (int y = 0; y < 3; ++y)
    for (int x = 0; x < 3; ++x)
      EXPECT_EQ(factors[static_cast<std::size_t>(x)] * factors[static_cast<std::size_t>(3 + y)],
                static_cast<float>(sobel.weights[static_cast<std::size_t>(3 * y + x)]))
          << "the row first, then the column";
}

double wide_weight(const WideWeight& weight, int exponent) {
  WideSum sum = {};
  for (int l = 0; l < kWideLimbs; ++l)
    sum.limb[l] = weight.limb[l];
  return std::ldexp(wide_value(sum), -exponent);
}

TEST(Arithmetic, WideWeightsComeBack) {
  const Mask mask =
      mask_of("1e38 -1e38 1.4142135623730951; -0.1 1e20 3; 7e-3 -1e10 0", Normalize::kNone);
  const int exponent = wide_exponent(mask);
  const std::vector<WideWeight> limbs =
      decoded<WideWeight>(encode_weights(mask, Accumulator::kWide, false));
  ASSERT_EQ(limbs.size(), mask.weights.size());
  for (std::size_t i = 0; i < limbs.size(); ++i) {
    for (std::int32_t limb : limbs[i].limb)
      EXPECT_LT(std::abs(limb), 1 << kWideLimbBits);
    // 180 bits from 2^127 down end at 2^-53.
    EXPECT_NEAR(wide_weight(limbs[i], exponent), mask.weights[i], 0x1p-53) << i;
  }
}

// Large weights cancel to the last bit: what double arithmetic loses is still there.
TEST(Arithmetic, WideSumsCancelExactly) {
  const Mask mask = mask_of("3x1: 1e38 0.37 -1e38", Normalize::kNone);
  const std::vector<WideWeight> limbs =
      decoded<WideWeight>(encode_weights(mask, Accumulator::kWide, false));
  const std::int64_t samples[] = {65535, 1, 65535};
  WideSum sum = {};
  for (int t = 0; t < 3; ++t)
    for (int l = 0; l < kWideLimbs; ++l)
      sum.limb[l] += samples[t] * limbs[static_cast<std::size_t>(t)].limb[l];
  EXPECT_NEAR(std::ldexp(wide_value(sum), -wide_exponent(mask)), 0.37, 1e-15);
}

TEST(Arithmetic, WideValueCarriesBothSigns) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 1000; ++round) {
    // Two limbs' worth, spread over three with surplus, against a long double.
    const auto low = static_cast<std::int64_t>(random()) / 4,
               high = static_cast<std::int64_t>(random()) / 4;
    WideSum sum = {};
    sum.limb[0] = low;
    sum.limb[1] = high;
    const long double expected =
        static_cast<long double>(high) * 0x1p30L + static_cast<long double>(low);
    EXPECT_NEAR(wide_value(sum) / static_cast<double>(expected), 1, 0x1p-51);
  }
}

// The sum of a flat picture under every class and accumulator ends at the right code.
TEST(Arithmetic, EpiloguesAgreeOnAFlatPicture) {
  for (int depth : {8, 16})
    for (const char* text : {"box:3", "1 2 1; 2 4 2; 1 2 1", "laplacian8", "gaussian:2"}) {
      const FrameFormat format = grey(8, 8, depth);
      Component component = format.planes[0].components[0];
      component.black = 16;
      const Mask mask = mask_of(text);
      for (double scale : {1.0, 0.5, 1.0 / 3}) {
        const bool rational = is_rational(format, mask, scale);
        for (Accumulator a : {Accumulator::kFloat32, Accumulator::kFloat64}) {
          const Epilogue e =
              make_epilogue(component, mask, scale, 0.25, rational, a, Passes::kDirect);
          for (int code = 16; code < component.max_code(); code += component.max_code() / 51) {
            const double weight_sum = rational ? mask.sum / mask.gain.value() : mask.sum;
            const double sum = std::round(weight_sum * 1e9) / 1e9 * (code - 16);
            const double exact = 16 + bias_code(component, 0.25) + scale * mask.sum * (code - 16);
            const double distance = std::fabs(exact - std::floor(exact) - 0.5);
            if (distance < 1e-3) continue;  // Ties are epilogue_test's.
            const int expected = static_cast<int>(
                std::fmin(component.max_code(), std::fmax(0, std::nearbyint(exact))));
            EXPECT_EQ(finish(sum, e.wide, e.max_code), expected) << text << " " << scale;
            if (e.in_float) {
              EXPECT_EQ(finish(static_cast<float>(sum), e.narrow, e.max_code), expected)
                  << text << " " << scale;
            }
          }
        }
      }
    }
}

}  // namespace
}  // namespace convolve
