// SPDX-License-Identifier: LGPL-2.1-or-later
// A fast FIR algorithm for rows and columns of a mask: that its subfilters make the same sums, and
// which masks are split.
#include "kernels/core/weights/fast_fir.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/core/weights/arithmetic.h"
#include "tests/unit/formats.h"

namespace convolve {
namespace {

using unit::mask_of;
using Numbers = std::vector<std::int32_t>;

FrameFormat grey(int depth = 8) {
  return unit::grey(64, 48, depth);
}

DigitWeights digits_of(const Mask& mask, int depth = 8) {
  const FrameFormat format = grey(depth);
  return choose_digits(format, mask, 1, is_rational(format, mask, 1)).value();
}

/// A mask of `width` x `height` numbers up to `most` of both signs, or of one if they are `reals`.
Mask random_mask(int width, int height, int most, bool reals = false) {
  std::mt19937 random(static_cast<unsigned>(width * 1000 + height));
  std::string text = std::to_string(width) + "x" + std::to_string(height) + ": ";
  for (int i = 0; i < height; ++i) {
    if (i > 0) text += "; ";
    for (int j = 0; j < width; ++j) {
      const int number = static_cast<int>(random() % static_cast<unsigned>(most + 1));
      text += reals ? "0." + std::to_string(1000000 + number).substr(1) + "017 "
                    : std::to_string(random() % 3 == 0 ? -number : number) + " ";
    }
  }
  return mask_of(text + (reals ? "" : " / 99999"), Normalize::kAuto);
}

/// Reals of which few are large.
Mask peaked_mask(int side) {
  std::mt19937 random(static_cast<unsigned>(side));
  std::uniform_real_distribution<double> share(0, 1);
  std::string text = std::to_string(side) + "x" + std::to_string(side) + ": ";
  for (int i = 0; i < side * side; ++i) {
    const int millionths = static_cast<int>(999999 * std::pow(share(random), 4));
    text += "0." + std::to_string(1000000 + millionths).substr(1) + "017 ";
  }
  return mask_of(text, Normalize::kAuto);
}

using Picture = std::vector<Numbers>;

Numbers sum_of(Numbers a, const Numbers& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] += b[i];
  return a;
}

/// The pictures that the subfilters of a level meet: B, A + B and the next A + B.
struct Met {
  Picture shared, even, odd;
};

Met split_rows(const Picture& rows) {
  Met made;
  for (std::size_t k = 0; 2 * k + 2 < rows.size(); ++k) {
    made.shared.push_back(rows[2 * k + 1]);
    made.even.push_back(sum_of(rows[2 * k], rows[2 * k + 1]));
    made.odd.push_back(sum_of(rows[2 * k + 2], rows[2 * k + 1]));
  }
  return made;
}

Picture transposed(const Picture& rows) {
  Picture made(rows[0].size(), Numbers(rows.size()));
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < rows[i].size(); ++j)
      made[j][i] = rows[i][j];
  return made;
}

Met split_columns(const Picture& rows) {
  const Met made = split_rows(transposed(rows));
  return {transposed(made.shared), transposed(made.even), transposed(made.odd)};
}

/// The sums that begin at the first 2^levels rows of `rows`, or at half as many rows in the first
/// column and then in the second, as the head of fast_fir.h says, by the subfilters from
/// `subfilter` on.
Numbers fast_sums(const std::vector<Numbers>& subfilters, std::size_t subfilter, int levels,
                  const Picture& rows) {
  if (levels == 0) {
    const Numbers& weights = subfilters[subfilter];
    // Rows have the cells of the last output, too.
    const std::size_t width = rows[0].size() - 1;
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < weights.size(); ++i)
      sum += static_cast<std::uint32_t>(weights[i] * rows[i / width][i % width]);
    return {static_cast<std::int32_t>(sum)};
  }
  const bool columns = fir_splits_columns(levels);
  const Met met = columns ? split_columns(rows) : split_rows(rows);
  const auto parts = static_cast<std::size_t>(fir_subfilters(levels - 1));
  const Numbers of_both = fast_sums(subfilters, subfilter, levels - 1, met.shared);
  const Numbers of_even = fast_sums(subfilters, subfilter + parts, levels - 1, met.even);
  const Numbers of_odd = fast_sums(subfilters, subfilter + 2 * parts, levels - 1, met.odd);
  Numbers first, second;
  for (std::size_t k = 0; k < of_even.size(); ++k) {
    first.push_back(of_even[k] - of_both[k]);
    second.push_back(of_odd[k] + of_both[k]);
  }
  Numbers sums;
  for (std::size_t k = 0; k < first.size() && !columns; ++k)
    sums.insert(sums.end(), {first[k], second[k]});
  if (!columns) return sums;
  sums = std::move(first);
  sums.insert(sums.end(), second.begin(), second.end());
  return sums;
}

TEST(FastFir, MakesTheSumsOfTheMask) {
  std::mt19937 random(3);
  for (int levels = kFewestFirLevels; levels <= kMostFirLevels; ++levels)
    for (int height = 1; height <= 40; ++height) {
      const int width = 1 + height * 7 % 9;
      const Mask mask = random_mask(width, height, 127);
      const DigitWeights weights = digits_of(mask);
      const auto subfilters = split_for_fir(mask, weights.values, levels);
      ASSERT_EQ(subfilters.size(), static_cast<std::size_t>(fir_subfilters(levels)));
      for (const Numbers& values : subfilters)
        ASSERT_EQ(values.size(),
                  static_cast<std::size_t>(fir_height(height, levels) * fir_width(width, levels)));
      // As many rows and columns as the subfilters have, and those that the last outputs see more.
      const int columns = fir_splits_columns(levels) ? 2 : 1, row_levels = fir_row_levels(levels);
      Picture rows(static_cast<std::size_t>((fir_height(height, levels) + 1) << row_levels));
      for (Numbers& row : rows)
        for (int j = 0; j < (fir_width(width, levels) + 1) * columns + columns - 1; ++j)
          row.push_back(static_cast<int>(random() % 256));
      const Numbers sums = fast_sums(subfilters, 0, levels, rows);
      ASSERT_EQ(sums.size(), std::size_t{1} << levels);
      for (int n = 0; n < 1 << levels; ++n) {
        const int x = n >> row_levels, y = n % (1 << row_levels);
        std::int32_t sum = 0;
        for (int i = 0; i < height; ++i)
          for (int j = 0; j < width; ++j)
            sum += weights.values[static_cast<std::size_t>(i * width + j)] *
                   rows[static_cast<std::size_t>(y + i)][static_cast<std::size_t>(x + j)];
        ASSERT_EQ(sums[static_cast<std::size_t>(n)], sum)
            << levels << " levels, " << width << "x" << height << ", row " << y << ", column " << x;
      }
    }
}

std::int32_t largest(const std::vector<Numbers>& subfilters) {
  std::int32_t most = 0;
  for (const Numbers& values : subfilters)
    for (const std::int32_t value : values)
      most = std::max(most, std::abs(value));
  return most;
}

int levels_of(const Mask& mask, int depth = 8) {
  return choose_fir_levels(mask, digits_of(mask, depth), (1 << depth) - 1);
}

TEST(FastFir, SplitsHighMasks) {
  EXPECT_EQ(levels_of(random_mask(3, 3, 127)), 0);
  EXPECT_EQ(levels_of(random_mask(9, 9, 127)), 0);
  EXPECT_EQ(levels_of(random_mask(15, 15, 127)), 2);
  EXPECT_EQ(levels_of(random_mask(21, 21, 127)), 3);
  EXPECT_EQ(levels_of(random_mask(31, 31, 127)), 4);
  EXPECT_EQ(levels_of(random_mask(63, 63, 127)), 4);
  EXPECT_EQ(levels_of(random_mask(3, 63, 127)), 2);
  EXPECT_EQ(levels_of(random_mask(63, 1, 127)), 0);
}

TEST(FastFir, SplitsNoFurtherThan16Bits) {
  // Weights whose signs make each level's differences twice as large: the largest ones of which
  // four, eight and sixteen fit, and the next ones.
  // The mask is so wide that four levels pay. Only its first two columns have large weights.
  const auto levels_with = [](int weight, bool one_sign) {
    std::string text;
    for (int i = 0; i < 64; ++i) {
      text += i > 0 ? "; " : "";
      int sign = 1;
      for (int bits = i; bits != 0 && !one_sign; bits &= bits - 1)
        sign = -sign;
      for (int j = 0; j < 63; ++j)
        text += std::to_string(j > 1 ? j % 3
                                     : (j == 1 && !one_sign ? -sign : sign) *
                                           (i == 1 ? weight - 1 : weight)) +
                " ";
    }
    return levels_of(mask_of(text + "/ 77777"));
  };
  EXPECT_EQ(levels_with(2047, false), 4);
  EXPECT_EQ(levels_with(2048, false), 3);
  EXPECT_EQ(levels_with(4095, false), 3);
  EXPECT_EQ(levels_with(4096, false), 2);
  EXPECT_EQ(levels_with(8191, false), 2);
  EXPECT_EQ(levels_with(8192, false), 0);
  EXPECT_EQ(levels_with(32767, true), 4);
}

TEST(FastFir, SplitsNoFurtherThanSumsOfSamplesFit) {
  const Mask mask = random_mask(63, 63, 50);
  EXPECT_EQ(levels_of(mask, 12), 4);
  EXPECT_EQ(choose_fir_levels(mask, digits_of(mask), (1 << 13) - 1), 3);
  EXPECT_EQ(choose_fir_levels(mask, digits_of(mask), (1 << 14) - 1), 2);
  EXPECT_EQ(choose_fir_levels(mask, digits_of(mask), (1 << 15) - 1), 0);
}

TEST(FastFir, RealsGetFewerBitsThatKeepTheContract) {
  for (const int side : {15, 31}) {
    const Mask mask = random_mask(side, side, 999999, true);
    const DigitWeights fine = digits_of(mask);
    const DigitWeights made = digits_for_fir(grey(), mask, 1, fine);
    EXPECT_TRUE(digits_serve(grey(), mask, made, 1, false)) << side;
    const int levels = choose_fir_levels(mask, made, 255);
    EXPECT_GT(levels, choose_fir_levels(mask, fine, 255)) << side;
    EXPECT_LE(largest(split_for_fir(mask, made.values, levels)), 0x7FFF) << side;
    EXPECT_EQ(made.digits, fine.digits) << side;
  }
  // Four levels would take fewer products and lose too much.
  const Mask wide = peaked_mask(63);
  const DigitWeights made = digits_for_fir(grey(), wide, 1, digits_of(wide));
  EXPECT_TRUE(digits_serve(grey(), wide, made, 1, false));
  EXPECT_EQ(choose_fir_levels(wide, made, 255), 3);
  // Too small to be split.
  const Mask mask = random_mask(5, 5, 999999, true);
  EXPECT_EQ(digits_for_fir(grey(), mask, 1, digits_of(mask)).values, digits_of(mask).values);
}

}  // namespace
}  // namespace convolve
