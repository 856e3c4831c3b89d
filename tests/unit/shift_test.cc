// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks with one tap: which they are, from where they take a sample, and what becomes of its code.
#include "kernels/core/weights/shift.h"

#include <gtest/gtest.h>

#include "kernels/core/weights/arithmetic.h"
#include "kernels/core/weights/box.h"
#include "tests/unit/formats.h"

namespace convolve {
namespace {

using unit::grey;
using unit::mask_of;

TEST(Shift, IsWhereTheTapIsFromTheAnchor) {
  const auto expect_shift = [](const char* text, int x, int y, double weight) {
    const std::optional<Shift> shift = shift_of(mask_of(text, Normalize::kNone));
    ASSERT_TRUE(shift) << text;
    EXPECT_EQ(shift->x, x) << text;
    EXPECT_EQ(shift->y, y) << text;
    ASSERT_EQ(shift->tap.taps(), 1) << text;
    EXPECT_EQ(shift->tap.weights[0], weight) << text;
  };
  expect_shift("identity", 0, 0, 1);
  expect_shift("3x3: 0 0 0 2 0 0 0 0 0", -1, 0, 2);
  expect_shift("2x2: 0 0 0 0.7234567891", 0, 0, 0.7234567891);
  expect_shift("2x3+0+0: 0 0 0 0 0 -1", 1, 2, -1);
  expect_shift("3x1: 0 0 0", 0, 0, 0);
}

TEST(Shift, IsNotForSeveralTapsNorForFactors) {
  EXPECT_FALSE(shift_of(mask_of("2x1: 1 1")));
  EXPECT_FALSE(shift_of(mask_of("3x1: 1e-30 0 1")));
  EXPECT_FALSE(shift_of(mask_of("box:300")));
}

// The lone tap is in the class of its mask, with the same gain.
TEST(Shift, TapKeepsTheArithmetic) {
  for (const char* text : {"3x1: 0 0 3 / 7", "3x1: 0 0 -1", "3x1: 0 0 0.7234567891", "1x2: 0 0"})
    for (const double scale : {1.0, 1 / 3.0, 0.0, 0.123456789123})
      for (const int depth : {8, 16}) {
        const Mask mask = mask_of(text, Normalize::kNone);
        const Mask tap = shift_of(mask)->tap;
        const int max_code = (1 << depth) - 1;
        EXPECT_EQ(is_rational(tap, scale, max_code), is_rational(mask, scale, max_code)) << text;
        EXPECT_EQ(zone(tap, scale, depth), zone(mask, scale, depth)) << text;
        EXPECT_EQ(total_gain(tap, scale), total_gain(mask, scale)) << text;
      }
}

/// Of luma of `depth` bits under a lone tap.
CodeMap map_of(const char* tap, double scale, double bias, int depth = 8) {
  const Mask mask = mask_of(tap, Normalize::kNone);
  Component luma = grey(4, 4, depth).planes[0].components[0];
  luma.black = 16 << (depth - 8);
  const bool rational = is_rational(mask, scale, luma.max_code());
  const Shift shift = *shift_of(mask);
  return code_map(make_box_epilogue(luma, shift.tap, shift.weight, scale, bias, rational),
                  luma.black);
}

TEST(Shift, KnowsWhatBecomesOfCodes) {
  EXPECT_EQ(map_of("1", 1, 0), CodeMap::kKeep);
  EXPECT_EQ(map_of("1", 1, 0.001), CodeMap::kKeep) << "the bias is no whole code";
  EXPECT_EQ(map_of("1", 1, 0.5), CodeMap::kLinear);
  EXPECT_EQ(map_of("2", 0.5, 0), CodeMap::kKeep);
  EXPECT_EQ(map_of("-1", 1, 0), CodeMap::kLinear);
  EXPECT_EQ(map_of("0", 1, 0.5), CodeMap::kConstant);
  EXPECT_EQ(map_of("1", 0, 0.5), CodeMap::kConstant);
  EXPECT_EQ(map_of("0.7234567891", 1, 0), CodeMap::kLinear);
  EXPECT_EQ(map_of("1e38", 1, 0), CodeMap::kAny) << "beyond float";
  EXPECT_EQ(map_of("1/6", 1, 0), CodeMap::kAny) << "an even divisor has ties";
}

TEST(Shift, MapsLikeTheEpilogue) {
  const Component luma = grey(4, 4).planes[0].components[0];
  const Mask half = mask_of("1/6", Normalize::kNone);
  const Epilogue epilogue = make_box_epilogue(luma, half, *box_weight(half), 1, 0, true);
  EXPECT_EQ(mapped_code(9, epilogue), 2) << "1.5 is a tie";
  EXPECT_EQ(mapped_code(15, epilogue), 2) << "as is 2.5";
  EXPECT_EQ(mapped_code(16, epilogue), 3);
}

TEST(Shift, BitsBesideTheCodeMustBeCleared) {
  EXPECT_TRUE(all_bits_count({0, false, 255}, 1));
  EXPECT_TRUE(all_bits_count({0, true, 65535}, 2));
  EXPECT_FALSE(all_bits_count({6, false, 1023}, 2));
  EXPECT_FALSE(all_bits_count({0, false, 1023}, 2));
}

}  // namespace
}  // namespace convolve
