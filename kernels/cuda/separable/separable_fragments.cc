// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/separable/separable_fragments.h"

#include "kernels/cuda/device/fragments.h"

namespace convolve {
namespace {

int row_output(int half, int m) {
  return 8 * (m % 8 / 2) + 4 * half + 2 * (m / 8) + m % 2;
}

int row_sample(int k) {
  return 8 * (k / 4 % 4) + k % 4 + 4 * (k / 16);
}

int column_output(int half, int m) {
  return 16 * half + m;
}

int column_sample(int k) {
  return 2 * (k / 4 % 4) + k % 2 + 8 * (k / 2 % 2) + 16 * (k / 16);
}

/// Appends the fragments of one factor. `first`: the sample, counted from the first one of the
/// window, that the first weight multiplies for output 0.
void append(const std::vector<std::int32_t>& weights, int first, int chunks,
            int (*output)(int half, int m), int (*sample)(int k),
            std::vector<std::uint32_t>& words) {
  const int taps = static_cast<int>(weights.size());
  for (int chunk = 0; chunk < chunks + 2; ++chunk)
    for (int half = 0; half < 2; ++half)
      for (int digit = 1; digit >= 0; --digit)
        for (int lane = 0; lane < kFragmentLanes; ++lane)
          for (int w = 0; w < kFragmentWords; ++w) {
            const int m = lane / 4 + 8 * (w % 2);
            std::uint32_t word = 0;
            for (int j = 0; j < 4; ++j) {
              const int k = 4 * (lane % 4) + j + 16 * (w / 2);
              const int tap = 32 * chunk + sample(k) - output(half, m) - first;
              if (tap < 0 || tap >= taps) continue;
              const int value = balanced_digit(weights[static_cast<std::size_t>(tap)], digit);
              word |= static_cast<std::uint32_t>(value & 0xFF) << (8 * j);
            }
            words.push_back(word);
          }
}

}  // namespace

SeparableFragments separable_fragments(const Mask& mask, const SeparableDigits& digits) {
  const SeparableWindow window = separable_window(mask);
  SeparableFragments made;
  append(digits.row, window.left - mask.anchor_x, window.row_chunks, row_output, row_sample,
         made.words);
  made.column = made.words.size();
  append(digits.column, 0, window.column_chunks, column_output, column_sample, made.words);
  return made;
}

}  // namespace convolve
