// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/dots/dot_pairs.h"

#include <algorithm>
#include <limits>

#include "kernels/core/base/round.h"

namespace convolve {
namespace {

bool fits_16_bits(std::int32_t value) {
  return value >= std::numeric_limits<std::int16_t>::min() &&
         value <= std::numeric_limits<std::int16_t>::max();
}

/// What counts 256^`part` of a weight in `parts` parts.
std::int32_t part_of(std::int32_t weight, int part, int parts) {
  const std::int32_t low = balanced_digit(weight, 0);
  if (parts == 1) return weight;
  return part == 0 ? low : (weight - low) / 256;
}

std::int32_t pair_of(std::int32_t first, std::int32_t second) {
  return static_cast<std::int32_t>((static_cast<std::uint32_t>(first) & 0xFFFF) |
                                   static_cast<std::uint32_t>(second) << 16);
}

}  // namespace

DotPairs::DotPairs(const Mask& mask, const DigitWeights& weights)
    : height_(mask.height),
      pairs_(divide_up(mask.width, 2)),
      parts_(!weights.wide &&
                     std::all_of(weights.values.begin(), weights.values.end(), fits_16_bits)
                 ? 1
                 : 2) {
  const int lines = height_ + kMostDotPairRows - 1;
  words_.reserve(static_cast<std::size_t>(parts_) * lines * words_of_line());
  for (int part = 0; part < parts_; ++part)
    for (int line = 0; line < lines; ++line)
      for (int j = 0; j < mask.width; j += 2)
        for (int i = line; i > line - kMostDotPairRows; --i) {
          if (i < 0 || i >= height_) {
            words_.push_back(0);
            continue;
          }
          const std::int32_t* const row =
              weights.values.data() + static_cast<std::ptrdiff_t>(i) * mask.width;
          const std::int32_t second = j + 1 < mask.width ? row[j + 1] : 0;
          words_.push_back(pair_of(part_of(row[j], part, parts_), part_of(second, part, parts_)));
        }
}

}  // namespace convolve
