// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/dots/pair_taps.h"

#include "kernels/core/base/round.h"

namespace convolve {
namespace {

/// Weights `first` and `first` + 1, the first one in the lower half; 0 where there is none.
std::int32_t pair_of(const std::vector<std::int16_t>& weights, int first) {
  const auto weight = [&](int i) {
    const bool there = i >= 0 && i < static_cast<int>(weights.size());
    return static_cast<std::uint16_t>(there ? weights[static_cast<std::size_t>(i)] : 0);
  };
  return static_cast<std::int32_t>(std::uint32_t{weight(first + 1)} << 16 | weight(first));
}

}  // namespace

PairTaps::PairTaps(const Mask& mask, const SeparableIntegers& weights)
    : width_(mask.width),
      height_(mask.height),
      anchor_x_(mask.anchor_x),
      anchor_y_(mask.anchor_y),
      shift_(weights.shift),
      column_start_(weights.column_start) {
  const int pairs = divide_up(height_ + kPairRows - 1, 2);
  for (int p = 0; p < pairs; ++p) {
    even_.push_back(pair_of(weights.column, 2 * p));
    odd_.push_back(pair_of(weights.column, 2 * p - 1));
  }
  for (int j = 0; j < width_; j += 2)
    row_.push_back(pair_of(weights.row, j));
}

}  // namespace convolve
