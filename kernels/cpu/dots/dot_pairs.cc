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

/// What counts 256^`part` of a weight in `parts` parts: a digit, but in the last part all the rest.
std::int32_t part_of(std::int32_t weight, int part, int parts) {
  for (int k = 0; k < part; ++k)
    weight = (weight - static_cast<std::int8_t>(weight)) / 256;
  return part == parts - 1 ? weight : static_cast<std::int8_t>(weight);
}

/// The fewest parts, `least` or more, whose numbers fit 16 bits.
int parts_of(const std::vector<std::int32_t>& weights, int least) {
  for (int parts = least; parts < kMostDigits; ++parts)
    if (std::all_of(weights.begin(), weights.end(), [parts](std::int32_t weight) {
          return fits_16_bits(part_of(weight, parts - 1, parts));
        }))
      return parts;
  return kMostDigits;
}

std::int32_t pair_of(std::int32_t first, std::int32_t second) {
  return static_cast<std::int32_t>((static_cast<std::uint32_t>(first) & 0xFFFF) |
                                   static_cast<std::uint32_t>(second) << 16);
}

}  // namespace

DotPairs::DotPairs(const Mask& mask, const DigitWeights& weights)
    : height_(mask.height),
      pairs_(divide_up(mask.width, 2)),
      parts_(parts_of(weights.values, weights.wide ? 2 : 1)) {
  words_.reserve(static_cast<std::size_t>(parts_) * static_cast<std::size_t>(height_) *
                 static_cast<std::size_t>(pairs_));
  for (int part = 0; part < parts_; ++part)
    for (int first = 0; first < height_; first += kPairChunk)
      for (int j = 0; j < mask.width; j += 2)
        for (int i = first; i < std::min(first + kPairChunk, height_); ++i) {
          const std::int32_t* const row =
              weights.values.data() + static_cast<std::ptrdiff_t>(i) * mask.width;
          const std::int32_t second = j + 1 < mask.width ? row[j + 1] : 0;
          words_.push_back(pair_of(part_of(row[j], part, parts_), part_of(second, part, parts_)));
        }
}

}  // namespace convolve
