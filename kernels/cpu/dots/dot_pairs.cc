// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/dots/dot_pairs.h"

#include <algorithm>
#include <limits>

#include "kernels/core/base/round.h"
#include "kernels/core/weights/fast_fir.h"

namespace convolve {
namespace {

/// What counts 256^`part` of a weight in `parts` parts: a digit, but in the last part all the rest.
std::int32_t part_of(std::int32_t weight, int part, int parts) {
  for (int k = 0; k < part; ++k)
    weight = (weight - static_cast<std::int8_t>(weight)) / 256;
  return part == parts - 1 ? weight : static_cast<std::int8_t>(weight);
}

/// The fewest parts whose numbers fit 16 bits; two or more where sums leave 32 bits even of codes
/// less half of those of a byte.
int parts_of(const DigitWeights& weights) {
  const bool sums_fit = !weights.wide || halved_sums_fit(weights.magnitude);
  for (int parts = sums_fit ? 1 : 2; parts < kMostDigits; ++parts)
    if (std::all_of(weights.values.begin(), weights.values.end(), [parts](std::int32_t weight) {
          return fits_16_bits(part_of(weight, parts - 1, parts));
        }))
      return parts;
  return kMostDigits;
}

std::int32_t pair_of(std::int32_t first, std::int32_t second) {
  return static_cast<std::int32_t>((static_cast<std::uint32_t>(first) & 0xFFFF) |
                                   static_cast<std::uint32_t>(second) << 16);
}

std::vector<std::vector<std::int32_t>> in_parts(const std::vector<std::int32_t>& weights,
                                                int parts) {
  std::vector<std::vector<std::int32_t>> made(static_cast<std::size_t>(parts));
  for (int part = 0; part < parts; ++part)
    for (const std::int32_t weight : weights)
      made[static_cast<std::size_t>(part)].push_back(part_of(weight, part, parts));
  return made;
}

}  // namespace

bool fits_16_bits(std::int32_t value) {
  return value >= std::numeric_limits<std::int16_t>::min() &&
         value <= std::numeric_limits<std::int16_t>::max();
}

DotPairs::DotPairs(const Mask& mask, const DigitWeights& weights)
    : DotPairs(mask.width, mask.height, in_parts(weights.values, parts_of(weights))) {}

DotPairs::DotPairs(int width, int height, const std::vector<std::vector<std::int32_t>>& parts)
    : height_(height), pairs_(divide_up(width, 2)), parts_(static_cast<int>(parts.size())) {
  words_.reserve(parts.size() * static_cast<std::size_t>(height_) *
                 static_cast<std::size_t>(pairs_));
  for (const std::vector<std::int32_t>& values : parts)
    for (int first = 0; first < height_; first += kMostWeightRows)
      for (int j = 0; j < width; j += 2)
        for (int i = first; i < std::min(first + kMostWeightRows, height_); ++i) {
          const std::int32_t* const row = values.data() + static_cast<std::ptrdiff_t>(i) * width;
          words_.push_back(pair_of(row[j], j + 1 < width ? row[j + 1] : 0));
        }
}

}  // namespace convolve
