// SPDX-License-Identifier: LGPL-2.1-or-later
// The weights as products of pairs of 16 bits take them: two neighbours of a row in one word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/core/mask/mask.h"
#include "kernels/core/weights/digits.h"

namespace convolve {

/// Output rows that are computed together.
inline constexpr int kDotPairRows = 4;

/// Rows whose weights registers hold together, at most.
inline constexpr int kMostWeightRows = 5;

/// True if a number of 16 bits holds `value`.
bool fits_16_bits(std::int32_t value);

/// Weights in whole numbers of 16 bits, packed as pairs, in parts of the same size. Immutable; owns
/// its pairs.
class DotPairs {
 public:
  DotPairs() = default;
  /// A mask in as few parts as have 16 bits: mostly one for weights of one or two digits of 8 bits,
  /// two for those of three, of which the first is the lowest digit and counts 1 and the second
  /// counts 256. Those whose sums with bytes leave 32 bits have two at least, unless the sums with
  /// bytes less kHalfOfByteCodes do not.
  DotPairs(const Mask& mask, const DigitWeights& weights);
  /// `parts`: each `height` rows of `width` weights that fit 16 bits.
  DotPairs(int width, int height, const std::vector<std::vector<std::int32_t>>& parts);

  int height() const { return height_; }
  /// Pairs of a row. The last one ends in 0 where the width is odd.
  int pairs() const { return pairs_; }
  int parts() const { return parts_; }

  /// Part `part` of the weights of rows `row` .. `row` + n - 1, where `row` is a multiple of
  /// kMostWeightRows and n is kMostWeightRows, or less if there are no more: for each of pairs()
  /// pairs the words of these n rows. The first of two columns is in the lower half of a word.
  const std::int32_t* weights(int part, int row) const {
    return words_.data() + (static_cast<std::ptrdiff_t>(part) * height_ + row) * pairs_;
  }

 private:
  int height_ = 1;
  int pairs_ = 1;
  int parts_ = 1;
  std::vector<std::int32_t> words_;
};

}  // namespace convolve
