// SPDX-License-Identifier: LGPL-2.1-or-later
// Residuals as digits: that these are the residuals, and that 16 bits hold the sums of as many rows
// as they say.
#include "kernels/cpu/dots/fir/residuals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "kernels/core/base/round.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/weights/approximate_fir.h"

namespace convolve {
namespace {

Mask mask_of(int width, int height) {
  Mask mask;
  mask.width = width;
  mask.height = height;
  return mask;
}

/// Digit (row, column) of a part.
int digit_of(const Residuals& residuals, int part, int row, int column) {
  const int together = residuals.columns();
  const int before = column / together * residuals.height() + row;
  return residuals.part(part)[before * together + column % together];
}

TEST(Residuals, DigitsAreTheNumbers) {
  std::mt19937 random(5);
  for (const int largest : {0, 1, 2, 63, 64, 65, 8128, 8129, 1000000})
    for (const int width : {5, 16, 17, 32, 33, 70}) {
      constexpr int kHeight = 7;
      std::uniform_int_distribution<int> number(-largest, largest);
      std::vector<std::int32_t> values;
      for (int i = 0; i < width * kHeight; ++i)
        values.push_back(i < 2 ? (i == 0 ? largest : -largest) : number(random));
      const Residuals residuals(mask_of(width, kHeight), values);
      int most = 0;
      for (int i = 0; i < kHeight; ++i)
        for (int j = 0; j < width; ++j) {
          std::int64_t sum = 0;
          for (int part = residuals.parts() - 1; part >= 0; --part) {
            const int digit = digit_of(residuals, part, i, j);
            sum = kResidualBase * sum + digit;
            most = std::max(most, std::abs(digit));
          }
          ASSERT_EQ(sum, values[static_cast<std::size_t>(i * width + j)]);
        }
      EXPECT_GE(residuals.rows_of_sum(), 1);
      EXPECT_LE(2 * most * kMostApproximateCode * residuals.rows_of_sum(),
                std::numeric_limits<std::int16_t>::max());
    }
}

TEST(Residuals, ColumnsBehindTheLastAreZeros) {
  for (const int width : {3, 17, 40}) {
    constexpr int kHeight = 3;
    const Residuals residuals(
        mask_of(width, kHeight),
        std::vector<std::int32_t>(static_cast<std::size_t>(width) * kHeight, 1));
    const int columns = round_up(width, residuals.columns());
    for (int i = 0; i < kHeight; ++i)
      for (int j = 0; j < columns; ++j)
        ASSERT_EQ(digit_of(residuals, 0, i, j), j < width ? 1 : 0) << width;
  }
}

}  // namespace
}  // namespace convolve
