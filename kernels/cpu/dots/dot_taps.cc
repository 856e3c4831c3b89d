// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/dots/dot_taps.h"

#include <algorithm>
#include <utility>

#include "kernels/core/base/round.h"

namespace convolve {
namespace {

/// Digit `digit` of up to four weights in a word, the first one in its lowest byte.
std::int32_t quad_of(const std::int32_t* weights, int count, int digit) {
  std::uint32_t word = 0;
  for (int k = 0; k < count; ++k) {
    const auto byte = static_cast<std::uint8_t>(balanced_digit(weights[k], digit));
    word |= static_cast<std::uint32_t>(byte) << (8 * k);
  }
  return static_cast<std::int32_t>(word);
}

}  // namespace

DotTaps::DotTaps(const Mask& mask, const DigitWeights& weights, FastFir fir)
    : width_(mask.width),
      height_(mask.height),
      anchor_x_(mask.anchor_x),
      anchor_y_(mask.anchor_y),
      digits_(weights.digits),
      quads_(divide_up(mask.width, kQuadTaps)),
      magnitude_(weights.magnitude),
      sum_(weights.sum),
      wide_(weights.wide),
      pairs_(mask, weights),
      fir_(std::move(fir)) {
  const int lines = height_ + kMostDotRows - 1;
  words_.reserve(static_cast<std::size_t>(digits_) * lines * words_of_line());
  for (int d = 0; d < digits_; ++d)
    for (int line = 0; line < lines; ++line)
      for (int j = 0; j < width_; j += kQuadTaps)
        for (int i = line; i > line - kMostDotRows; --i)
          words_.push_back(
              i < 0 || i >= height_
                  ? 0
                  : quad_of(weights.values.data() + static_cast<std::ptrdiff_t>(i) * width_ + j,
                            std::min(kQuadTaps, width_ - j), d));
}

}  // namespace convolve
