// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/separable/pair_taps.h"

#include <algorithm>

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

/// The pairs of `weights` for an output whose samples begin with a pair, and for the next one,
/// whose samples begin within it: as many as both read, and at least `least`.
void pair_up(const std::vector<std::int16_t>& weights, int least, std::vector<std::int32_t>& even,
             std::vector<std::int32_t>& odd) {
  const int pairs = std::max(divide_up(static_cast<int>(weights.size()) + 1, 2), least);
  for (int p = 0; p < pairs; ++p) {
    even.push_back(pair_of(weights, 2 * p));
    odd.push_back(pair_of(weights, 2 * p - 1));
  }
}

}  // namespace

PairTaps::PairTaps(const Mask& mask, const SeparableIntegers& weights)
    : width_(mask.width),
      height_(mask.height),
      anchor_x_(mask.anchor_x),
      anchor_y_(mask.anchor_y),
      shift_(weights.shift),
      column_start_(weights.column_start) {
  pair_up(weights.column, kLeastRowPairs, even_rows_, odd_rows_);
  pair_up(weights.row, 1, even_columns_, odd_columns_);
}

}  // namespace convolve
