// SPDX-License-Identifier: LGPL-2.1-or-later
// The canonical text, and that it reads back as what was written.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "kernels/core/mask/mask_grammar.h"

namespace convolve {
namespace {

std::string canonical(const char* text) {
  const Result<MaskSource> mask = parse_mask(text);
  return mask.ok() ? format_mask(mask.value()) : mask.status().message();
}

TEST(Format, Canonical) {
  EXPECT_EQ(canonical("0 -1 0 -1 5 -1 0 -1 0"), "0 -1 0; -1 5 -1; 0 -1 0");
  EXPECT_EQ(canonical("1,2\n3,4\n"), "1 2; 3 4");
  EXPECT_EQ(canonical("3x1: +1.0 2.50 1e0"), "3x1: 1 2.5 1");
  EXPECT_EQ(canonical("1x3: 1 2 3"), "1; 2; 3");
  EXPECT_EQ(canonical("1x1: 7"), "7");
  EXPECT_EQ(canonical("3x3+1+1: 1 2 3 4 5 6 7 8 9"), "1 2 3; 4 5 6; 7 8 9");
  EXPECT_EQ(canonical("2x2+0+1: 1 2 3 4"), "2x2+0+1: 1 2; 3 4");
  EXPECT_EQ(canonical("1 2 3 4 / 10.0"), "1 2; 3 4 / 10");
  EXPECT_EQ(canonical("0.1 1/3; 0.25 1/16"), "0.1 1/3; 1/4 1/16");
  EXPECT_EQ(canonical("sobel-x"), "-1 0 1; -2 0 2; -1 0 1 / 1");
  EXPECT_EQ(canonical("box:2"), "1 1; 1 1 / 4");
}

// "2x1: 1 1/3" would be refused as a mistyped divisor.
TEST(Format, NoLoneRatioAfterWholeNumbers) {
  EXPECT_EQ(canonical("2x1: 1 0.3333333333333333"), "2x1: 1 0.3333333333333333");
  EXPECT_EQ(canonical("2x1: 0.5 1/3"), "2x1: 0.5 1/3");
}

TEST(Format, FactorsBeyondADenseMaskHaveNone) {
  EXPECT_EQ(canonical("gaussian:90"), "");
}

TEST(Format, RandomMasksReadBackToTheBit) {
  std::mt19937_64 random(11);
  std::uniform_int_distribution<int> side(1, 6), kind(0, 3), small(-20, 20), den(1, 1000);
  for (int round = 0; round < 3000; ++round) {
    MaskSource source;
    source.width = side(random);
    source.height = side(random);
    source.anchor_x = static_cast<int>(random() % static_cast<unsigned>(source.width));
    source.anchor_y = static_cast<int>(random() % static_cast<unsigned>(source.height));
    const int kinds = kind(random);
    const auto number = [&]() -> double {
      const int which = kinds == 3 ? kind(random) : kinds;
      if (which == 0) return small(random);
      if (which == 1) return static_cast<double>(small(random)) / den(random);
      while (true) {
        const std::uint64_t bits = random();
        double v = 0;
        std::memcpy(&v, &bits, sizeof v);
        if (v >= -kMaxWeight && v <= kMaxWeight) return v;
      }
    };
    for (int i = 0; i < source.width * source.height; ++i)
      source.weights.push_back(number());
    if (round % 3 == 0) source.divisor = 1 + small(random) * small(random) / 7.0;
    if (source.divisor && *source.divisor == 0) source.divisor = 1;

    const std::string text = format_mask(source);
    const Result<MaskSource> back = parse_mask(text);
    ASSERT_TRUE(back.ok()) << text << ": " << back.status().message();
    EXPECT_EQ(back.value().width, source.width) << text;
    EXPECT_EQ(back.value().height, source.height) << text;
    EXPECT_EQ(back.value().anchor_x, source.anchor_x) << text;
    EXPECT_EQ(back.value().anchor_y, source.anchor_y) << text;
    EXPECT_EQ(back.value().weights, source.weights) << text;
    EXPECT_EQ(back.value().divisor, source.divisor) << text;
    EXPECT_EQ(format_mask(back.value()), text);
  }
}

}  // namespace
}  // namespace convolve
