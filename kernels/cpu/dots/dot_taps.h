// SPDX-License-Identifier: LGPL-2.1-or-later
// The weights as products of bytes take them: four neighbours of a row in one word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/core/mask/mask.h"
#include "kernels/core/weights/digits.h"
#include "kernels/cpu/dots/dot_pairs.h"
#include "kernels/cpu/dots/fir/fast_fir.h"

namespace convolve {

/// Weights in a quad, and samples that meet them.
inline constexpr int kQuadTaps = 4;

/// Output rows that are computed together, at most.
inline constexpr int kMostDotRows = 6;

/// A mask in whole numbers of 8-bit digits, packed as quads, and as pairs. Immutable; owns them.
class DotTaps {
 public:
  DotTaps() = default;
  /// `fir`: the mask as subfilters, if it is split.
  DotTaps(const Mask& mask, const DigitWeights& weights, FastFir fir);

  int width() const { return width_; }
  int height() const { return height_; }
  int anchor_x() const { return anchor_x_; }
  int anchor_y() const { return anchor_y_; }
  int digits() const { return digits_; }
  /// Sum of the weights' magnitudes: no sum of products with codes is larger than that of the
  /// largest code.
  double magnitude() const { return magnitude_; }
  std::int64_t sum() const { return sum_; }  ///< Of the weights.
  bool wide() const { return wide_; }        ///< DigitWeights::wide.

  /// Quads of a row of the mask. The last one ends in zeros where the width is no multiple of four.
  int quads() const { return quads_; }

  /// Digit `digit` of all weights, 0 the lowest, as lines of a block of output rows need them: for
  /// each of height() + kMostDotRows - 1 lines and each of quads() quads the words of kMostDotRows
  /// output rows, of which row r sees mask row line - r, or zeros if there is none. The first of
  /// four columns is in the lowest byte.
  const std::int32_t* digit(int digit) const {
    return words_.data() + static_cast<std::size_t>(digit) * words_of_line() *
                               static_cast<std::size_t>(height_ + kMostDotRows - 1);
  }
  int words_of_line() const { return quads_ * kMostDotRows; }

  /// The weights for products of pairs.
  const DotPairs& pairs() const { return pairs_; }
  const FastFir& fir() const { return fir_; }

 private:
  int width_ = 1;
  int height_ = 1;
  int anchor_x_ = 0;
  int anchor_y_ = 0;
  int digits_ = 1;
  int quads_ = 1;
  double magnitude_ = 0;
  std::int64_t sum_ = 0;
  bool wide_ = false;
  std::vector<std::int32_t> words_;
  DotPairs pairs_;
  FastFir fir_;
};

}  // namespace convolve
