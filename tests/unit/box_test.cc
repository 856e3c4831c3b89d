// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks of equal weights: who is one, the division in whole numbers, and the tiles of kernel box.
#include "kernels/core/weights/box.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>

#include "kernels/core/base/epilogue.h"
#include "kernels/core/shape/box_tile.h"
#include "tests/unit/formats.h"

namespace convolve {
namespace {

using unit::grey;
using unit::mask_of;

TEST(Box, WeightsThatAreEqual) {
  EXPECT_EQ(box_weight(mask_of("box:3"))->integer, 1);
  EXPECT_EQ(box_weight(mask_of("box:3"))->real, 1.0 / 9);
  EXPECT_EQ(box_weight(mask_of("-2 -2 -2 -2 / 8"))->integer, -1);
  EXPECT_EQ(box_weight(mask_of("0 0 0 0"))->integer, 0);
  EXPECT_EQ(box_weight(mask_of("2x1: 0.70710678118 0.70710678118", Normalize::kNone))->real,
            0.70710678118);
  EXPECT_EQ(box_weight(mask_of("box:300,2"))->integer, 1) << "kept as a column times a row";
  EXPECT_FALSE(box_weight(mask_of("gaussian:100")));
  EXPECT_FALSE(box_weight(mask_of("1 1 1; 1 1 1; 1 1 2")));
  EXPECT_FALSE(box_weight(mask_of("2x1: 1 -1", Normalize::kNone)));
}

TEST(Box, SumsBelow2Pow32) {
  EXPECT_TRUE(box_sums_fit(grey(8, 8, 16), mask_of("box:255")));
  EXPECT_TRUE(box_sums_fit(grey(8, 8, 16), mask_of("box:65,1008")));
  EXPECT_FALSE(box_sums_fit(grey(8, 8, 16), mask_of("box:257,256")));
  EXPECT_TRUE(box_sums_fit(grey(8, 8, 8), mask_of("box:4097")));
  EXPECT_TRUE(box_packed(grey(8, 8, 8).planes[0], mask_of("box:1,257")));
  EXPECT_FALSE(box_packed(grey(8, 8, 8).planes[0], mask_of("box:1,258")));
}

/// round(base + gain * (sum - taps * black)), ties to even, over one divisor.
int exact_code(const Component& c, std::int64_t num, std::int64_t den, int base, std::int64_t taps,
               std::int64_t sum) {
  const __int128 t = static_cast<__int128>(num) * (sum - taps * c.black) + den * base;
  __int128 q = t >= 0 ? t / den : -((-t + den - 1) / den);
  const __int128 twice = 2 * (t - q * den);
  if (twice > den || (twice == den && q % 2 != 0)) ++q;
  return static_cast<int>(std::min<__int128>(std::max<__int128>(q, 0), c.max_code()));
}

BoxDivision division_of(const Component& c, const Mask& mask, double scale = 1, double bias = 0,
                        bool rational = true) {
  return make_box_division(c, mask, *box_weight(mask), scale, bias, rational);
}

/// Sums around every tie, and the ends.
void expect_exact(const Mask& mask, double scale, double bias, const Component& c, bool serves) {
  const BoxDivision d = division_of(c, mask, scale, bias);
  ASSERT_EQ(d.serves, serves);
  if (!serves) return;
  const Ratio gain = *total_gain(mask, scale);
  const std::int64_t num = gain.num * box_weight(mask)->integer;
  const int base = c.black + bias_code(c, bias);
  const std::int64_t most = mask.taps() * c.max_code();
  const std::int64_t step = std::max<std::int64_t>(1, most / 5000);
  for (std::int64_t near = 0; near <= most + step; near += step)
    for (std::int64_t sum = near - 3; sum <= near + 3; ++sum) {
      if (sum < 0 || sum > most) continue;
      const auto s = static_cast<std::uint32_t>(sum);
      const int expected = exact_code(c, num, gain.den, base, mask.taps(), sum);
      ASSERT_EQ(box_code(s, d, c.max_code()), expected) << sum;
      if (!d.direct || d.ties) continue;
      ASSERT_EQ(static_cast<int>(box_quotient(s + d.offset, d)), expected) << sum;
    }
}

TEST(Box, DivisionIsExact) {
  for (const int depth : {8, 10, 16})
    for (const char* text : {"1", "box:2", "box:3", "box:4,3", "box:7", "box:31", "box:64",
                             "box:127,63", "box:255,1", "-1 -1 -1 -1 / 6", "3x1: 5 5 5 / 36"}) {
      Component c = grey(8, 8, depth).planes[0].components[0];
      const Mask mask = mask_of(text);
      expect_exact(mask, 1, 0, c, true);
      expect_exact(mask, -0.5, 0.25, c, true);
      c.black = 1 << (depth - 4);
      expect_exact(mask, 1, 0.5, c, true);
    }
  expect_exact(mask_of("box:255"), 1, 0, grey(8, 8).planes[0].components[0], true);
  expect_exact(mask_of("box:2"), 1. / 999983, 0, grey(8, 8).planes[0].components[0], true);
}

TEST(Box, PlainDivisionsNeedNeitherClampNorTies) {
  const Component c = grey(8, 8).planes[0].components[0];
  for (int side = 3; side <= 255; side += 2)
    EXPECT_TRUE(division_of(c, mask_of("box:" + std::to_string(side))).plain) << side;
  const auto divided = [&c](const char* mask, double scale, double bias) {
    return division_of(c, mask_of(mask), scale, bias);
  };
  EXPECT_TRUE(divided("box:6", 1, 0).direct);
  EXPECT_FALSE(divided("box:6", 1, 0).plain) << "ties";
  EXPECT_FALSE(divided("box:3", 1, 0.5).direct) << "clamped";
  EXPECT_FALSE(divided("box:3", 2, 0).direct) << "clamped";
  const BoxDivision large = division_of(c, mask_of("box:1201"));
  EXPECT_TRUE(large.direct);
  EXPECT_FALSE(large.plain) << "by 21 bits";
}

/// Every sum of every odd box whose sums have 16 bits, but for a few whose reciprocals are too
/// coarse.
TEST(Box, NarrowDivisionsAreExact) {
  Component c = grey(8, 8).planes[0].components[0];
  int served = 0;
  for (int width = 1; width <= 257; width += 2)
    for (int height = 1; width * height <= 257; height += 2) {
      if (width * height == 1) continue;
      const Mask mask = mask_of("box:" + std::to_string(width) + "," + std::to_string(height));
      const int area = width * height, most = area * c.max_code();
      for (const int black : {0, 16, 128}) {
        c.black = black;
        const NarrowBoxDivision d = make_narrow_division(division_of(c, mask), most);
        ASSERT_FALSE(d.serves && most + area / 2 >= 65536) << area;
        ASSERT_TRUE(d.serves || area > 200) << area;
        if (!d.serves) continue;
        ++served;
        for (int sum = 0; sum <= most; ++sum)
          ASSERT_EQ(((sum + d.offset) * std::uint32_t{d.reciprocal} >> 16) >> d.shift,
                    static_cast<std::uint32_t>(exact_code(c, 1, area, black, area, sum)))
              << area << ", " << sum;
      }
    }
  EXPECT_GT(served, 1000);
}

TEST(Box, NarrowDivisionsThatDoNotServe) {
  const Component c = grey(8, 8).planes[0].components[0];
  const auto serves = [&c](const char* mask, double scale, double bias) {
    const Mask box = mask_of(mask);
    return make_narrow_division(division_of(c, box, scale, bias), box.taps() * 255).serves;
  };
  EXPECT_TRUE(serves("box:3", 1, 0));
  EXPECT_FALSE(serves("box:6", 1, 0)) << "ties";
  EXPECT_FALSE(serves("box:3", 1, 0.5)) << "clamped";
  EXPECT_FALSE(serves("box:3", 2, 0)) << "multiplied";
  EXPECT_FALSE(serves("box:17", 1, 0)) << "sums of more than 16 bits";
}

/// The code that a FloatBoxDivision makes of a sum that is kept less `pivot` divisors; -1 if what
/// is kept or made leaves its mantissa.
int float_code(const FloatBoxDivision& d, std::int64_t sum, int pivot) {
  const std::int64_t kept = d.empty + sum - pivot * static_cast<std::int64_t>(d.divisor);
  const auto in_mantissa = [](std::int64_t bits) {
    return bits >= FloatBoxDivision::kCodeBits && bits < FloatBoxDivision::kCodeBits + (1 << 23);
  };
  if (!in_mantissa(kept)) return -1;
  const auto bits = static_cast<std::int32_t>(kept);
  float value;
  std::memcpy(&value, &bits, sizeof value);
  value = std::fma(value, d.reciprocal, d.offset);
  std::int32_t made;
  std::memcpy(&made, &value, sizeof made);
  if (!in_mantissa(made)) return -1;
  return made - FloatBoxDivision::kCodeBits - (d.pivoted ? FloatBoxDivision::kRaise : 0) + pivot;
}

/// Tests the sums of `smallest` .. `largest` next to which codes change, and both ends. Sums of
/// `area` samples are divided by `divisor` and added to code `base`.
void expect_float_codes(const FloatBoxDivision& d, const Component& c, int area,
                        std::int64_t divisor, int base, std::int64_t smallest, std::int64_t largest,
                        int pivot) {
  const auto test = [&](std::int64_t sum) {
    if (sum < smallest || sum > largest) return;
    ASSERT_EQ(float_code(d, sum, pivot), exact_code(c, 1, divisor, base, area, sum))
        << area << " by " << divisor << ", " << sum << " less " << pivot;
  };
  test(smallest);
  test(largest);
  for (std::int64_t code = 0; code <= 255; ++code) {
    const std::int64_t tie = (2 * (code - base) + 1) * divisor / 2 + std::int64_t{area} * c.black;
    for (std::int64_t sum = tie - 1; sum <= tie + 1; ++sum)
      test(sum);
  }
}

/// Odd boxes whose sums fit a mantissa, but for those whose reciprocals are too coarse; with a
/// third of their sums added to code 1, too.
TEST(Box, FloatDivisionsAreExact) {
  for (const bool third : {false, true}) {
    Component c = grey(8, 8).planes[0].components[0];
    c.black = third ? 0 : 16;
    const int base = third ? 1 : c.black;
    int boxes = 0, served = 0;
    for (int width = 3; width <= 181; width += 2)
      for (int height = width; height <= 181; height += 2) {
        const Mask mask = mask_of("box:" + std::to_string(width) + "," + std::to_string(height));
        const int area = width * height, divisor = third ? 3 * area : area;
        const BoxDivision division =
            third ? division_of(c, mask, 1. / 3, 1. / 255) : division_of(c, mask);
        const FloatBoxDivision d = make_float_division(division, 255 * area, 0);
        ++boxes;
        if (!d.serves || d.pivoted) continue;
        ++served;
        expect_float_codes(d, c, area, divisor, base, 0, 255 * area, 0);
        if (HasFatalFailure()) return;
      }
    EXPECT_GT(served, boxes * 9 / 10) << third;
  }
}

/// Larger boxes whose sums differ from that of their pivot as much as they may.
TEST(Box, FloatDivisionsWithAPivotAreExact) {
  Component c = grey(8, 8).planes[0].components[0];
  int boxes = 0, served = 0;
  for (int side = 183; side <= 1401; side += 2) {
    const int width = side % 3 == 0 ? 2 * side + 1 : side;
    const int area = side * width, change = 4 * 255 * width;
    const Mask mask = mask_of("box:" + std::to_string(width) + "," + std::to_string(side));
    for (const int black : {0, 16}) {
      c.black = black;
      const FloatBoxDivision d =
          make_float_division(division_of(c, mask), std::int64_t{255} * area, change);
      ++boxes;
      if (!d.serves) continue;
      ASSERT_TRUE(d.pivoted);
      ++served;
      for (const int pivot : {0, 1, 100, 254, 255}) {
        const std::int64_t first = std::int64_t{pivot} * area - area / 2, last = first + area - 1;
        expect_float_codes(d, c, area, area, black, std::max<std::int64_t>(first - change, 0),
                           std::min(last + change, std::int64_t{255} * area), pivot);
        if (HasFatalFailure()) return;
      }
    }
  }
  EXPECT_GT(served, boxes * 6 / 10);
}

TEST(Box, FloatDivisionsThatDoNotServe) {
  const Component c = grey(8, 8).planes[0].components[0];
  const auto serves = [&c](const char* mask, double scale, double bias) {
    const Mask box = mask_of(mask);
    return make_float_division(division_of(c, box, scale, bias), box.taps() * std::int64_t{255},
                               4 * 255 * box.width)
        .serves;
  };
  EXPECT_TRUE(serves("box:31", 1, 0));
  EXPECT_TRUE(serves("box:1001", 1, 0));
  EXPECT_TRUE(serves("box:31", 1. / 3, 0)) << "divided by more than its taps";
  EXPECT_FALSE(serves("box:32", 1, 0)) << "ties";
  EXPECT_FALSE(serves("box:31", 1, 0.5)) << "clamped";
  EXPECT_FALSE(serves("box:31", 2, 0)) << "multiplied";
  EXPECT_FALSE(serves("box:2901", 1, 0)) << "a divisor of more than a mantissa";
  const BoxDivision division = division_of(c, mask_of("box:257"));
  const std::int64_t divisor = division.divisor;
  EXPECT_TRUE(make_float_division(division, 255 * divisor, 60 * divisor).serves);
  EXPECT_FALSE(make_float_division(division, 255 * divisor, 64 * divisor).serves)
      << "sums that leave a mantissa";
  const BoxDivision small = division_of(c, mask_of("box:3"));
  EXPECT_TRUE(make_float_division(small, 1 << 24, 9 * 120).serves);
  EXPECT_FALSE(make_float_division(small, 1 << 24, 9 * 128).serves)
      << "codes that change by more than a pivot's raise";
}

// As a float, the inverse of every divisor: next to all multiples, where quotients change.
TEST(Box, InversesAreExactBelow24Bits) {
  const Component c = grey(8, 8).planes[0].components[0];
  constexpr std::uint32_t kMost = (1 << 24) - 2;
  for (int side = 1; side <= 2895; side += 2) {
    const BoxDivision d = division_of(c, mask_of("box:" + std::to_string(side)));
    ASSERT_EQ(d.divisor, static_cast<std::uint32_t>(side == 1 ? 2 : side * side));
    const auto quotient = [&d](std::uint32_t n) {
      // A product of two floats is a double.
      return std::floor(static_cast<double>(n + d.inverse_raise) * static_cast<double>(d.inverse));
    };
    for (std::uint32_t q = 1; q <= kMost / d.divisor; ++q) {
      ASSERT_EQ(quotient(q * d.divisor), q) << side;
      ASSERT_EQ(quotient(q * d.divisor - 1), q - 1) << side;
    }
    ASSERT_EQ(quotient(kMost), kMost / d.divisor) << side;
  }
}

TEST(Box, DivisionsThatDoNotServe) {
  const Component c = grey(8, 8, 16).planes[0].components[0];
  EXPECT_FALSE(division_of(c, mask_of("box:3"), 1, 0, false).serves) << "real";
  EXPECT_FALSE(division_of(c, mask_of("box:3"), 100003. / 100002).serves)
      << "numerators beyond 32 bits";
}

TEST(Box, TilesFitAndCoverThePicture) {
  BoxWork work;
  work.processors = 132;
  work.shared_bytes = 227 * 1024;
  for (const int width : {1, 7, 64, 1920, 3840, 32768})
    for (const int height : {1, 48, 2160, 32768})
      for (const int side : {1, 3, 255, 1000})
        for (const bool packed : {false, true}) {
          work.width = width;
          work.height = height;
          work.mask_width = work.mask_height = side;
          work.packed = packed;
          const auto tile = choose_box_tile(work);
          ASSERT_TRUE(tile) << width << "x" << height << " " << side;
          EXPECT_EQ(tile->width % kBoxPanel, 0);
          EXPECT_TRUE(tile->rows == 4 || tile->rows == 8 || tile->rows == 16);
          EXPECT_EQ(tile->height % tile->rows, 0);
          EXPECT_LE((height + tile->height - 1) / tile->height, 65535);
          EXPECT_LE(box_layout(box_panels(tile->width, side), tile->rows, packed).bytes,
                    work.shared_bytes);
        }
  work.shared_bytes = 1024;
  EXPECT_FALSE(choose_box_tile(work));
}

// Strips of a large mask are tall, since each adds up its rows before the first output.
TEST(Box, TallMasksGetTallTiles) {
  BoxWork work;
  work.width = 3840;
  work.height = 2160;
  work.processors = 132;
  work.shared_bytes = 227 * 1024;
  work.packed = true;
  work.mask_width = work.mask_height = 3;
  const int small = choose_box_tile(work)->height;
  work.mask_width = work.mask_height = 255;
  EXPECT_GT(choose_box_tile(work)->height, 2 * small);
}

}  // namespace
}  // namespace convolve
