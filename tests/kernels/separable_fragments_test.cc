// SPDX-License-Identifier: LGPL-2.1-or-later
// The operands that kernel separable gives to the tensor cores, multiplied here as they would:
// needs no GPU.
#include "kernels/cuda/separable/separable_fragments.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace convolve {
namespace {

constexpr int kChunkWords = 2 * 2 * 32 * 4;

/// Element (m, k) of operand A of mma.m16n8k32, from the registers of its 32 lanes.
int element_a(const std::uint32_t* fragment, int m, int k) {
  const int lane = 4 * (m % 8) + k / 4 % 4;
  const int word = m / 8 + 2 * (k / 16);
  return static_cast<std::int8_t>(fragment[4 * lane + word] >> (8 * (k % 4)));
}

/// What output row m of `half` makes of `samples`, which begin where the first chunk does;
/// `sample`: which of a chunk's samples position k is.
int output_of(const std::uint32_t* words, int chunks, int half, int m,
              const std::vector<int>& samples, int (*sample)(int k)) {
  int sum = 0;
  for (int chunk = 0; chunk < chunks; ++chunk)
    for (int digit = 0; digit < 2; ++digit)
      for (int k = 0; k < 32; ++k)
        sum += (digit == 0 ? 256 : 1) *
               element_a(words + chunk * kChunkWords + (half * 2 + digit) * 128, m, k) *
               samples[static_cast<std::size_t>(32 * chunk + sample(k))];
  return sum;
}

/// A lane of four has eight adjacent samples in its two words.
int adjacent_sample(int k) {
  return 8 * (k / 4 % 4) + k % 4 + 4 * (k / 16);
}

/// A lane has columns 2 t and 2 t + 1 of two products of eight rows in a word.
int accumulated_row(int k) {
  return 2 * (k / 4 % 4) + k % 2 + 8 * (k / 2 % 2) + 16 * (k / 16);
}

TEST(SeparableFragments, MultiplyToTheConvolution) {
  std::mt19937 random(7);
  const auto values = [&random](int count, int most) {
    std::vector<int> made;
    for (int i = 0; i < count; ++i)
      made.push_back(std::uniform_int_distribution<int>(-most, most)(random));
    return made;
  };
  for (const int side : {1, 2, 17, 33, 34, 66, 130})
    for (const int anchor : {0, side / 2, side - 1}) {
      Mask mask;
      mask.width = mask.height = side;
      mask.anchor_x = mask.anchor_y = anchor;
      SeparableDigits digits;
      digits.row = values(side, 32639);
      digits.column = values(side, 32639);
      const SeparableWindow window = separable_window(mask);
      const SeparableFragments made = separable_fragments(mask, digits);
      ASSERT_EQ(made.column, static_cast<std::size_t>(kChunkWords * (window.row_chunks + 2)));
      ASSERT_EQ(made.words.size() - made.column,
                static_cast<std::size_t>(kChunkWords * (window.column_chunks + 2)));

      const std::vector<int> across = values(32 * (window.row_chunks + 2), 255);
      const std::vector<int> down = values(32 * (window.column_chunks + 2), 255);
      for (int half = 0; half < 2; ++half)
        for (int m = 0; m < 16; ++m) {
          // The lane that has columns 2 t and 2 t + 1 of all operands has outputs 8 t .. 8 t + 7.
          const int x = 8 * (m % 8 / 2) + 2 * (2 * half + m / 8) + m % 2;
          int row = 0, column = 0;
          for (int i = 0; i < side; ++i) {
            const std::size_t n = static_cast<std::size_t>(i);
            row += digits.row[n] * across[static_cast<std::size_t>(x + window.left - anchor + i)];
            column += digits.column[n] * down[static_cast<std::size_t>(16 * half + m + i)];
          }
          EXPECT_EQ(
              output_of(made.words.data(), window.row_chunks + 2, half, m, across, adjacent_sample),
              row)
              << side << " " << anchor;
          EXPECT_EQ(output_of(made.words.data() + made.column, window.column_chunks + 2, half, m,
                              down, accumulated_row),
                    column)
              << side << " " << anchor;
        }
    }
}

}  // namespace
}  // namespace convolve
