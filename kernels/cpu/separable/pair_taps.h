// SPDX-License-Identifier: LGPL-2.1-or-later
// The factors of a mask as products of pairs of 16 bits take them: two neighbours in one number
// of 32.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/core/mask/mask.h"
#include "kernels/core/weights/separable_integers.h"

namespace convolve {

/// The fewest pairs of lines that have weights; those beyond the mask are zeros. Of the rows that
/// are computed together the last ones begin so many pairs after the first at most.
inline constexpr int kLeastRowPairs = 3;

/// A column and a row in whole numbers of 16 bits, packed as pairs. Immutable; owns its pairs.
class PairTaps {
 public:
  PairTaps() = default;
  PairTaps(const Mask& mask, const SeparableIntegers& weights);

  int width() const { return width_; }
  int height() const { return height_; }
  int anchor_x() const { return anchor_x_; }
  int anchor_y() const { return anchor_y_; }
  int shift() const { return shift_; }
  std::int32_t column_start() const { return column_start_; }

  /// Pairs of lines that two neighbouring rows read: (0, 1), (2, 3), ...
  int row_pairs() const { return static_cast<int>(even_rows_.size()); }
  /// Lines of the pairs that `rows` rows read, where `rows` is even.
  int window(int rows) const { return 2 * row_pairs() + rows - 2; }
  /// The weights of the first row for each pair of lines; the third row has them a pair later.
  const std::int32_t* even_rows() const { return even_rows_.data(); }
  /// The weights of the second row; the fourth row has them a pair later.
  const std::int32_t* odd_rows() const { return odd_rows_.data(); }

  /// Pairs of columns that two neighbouring outputs of a row read, the first of them an even one:
  /// (0, 1), (2, 3), ...
  int column_pairs() const { return static_cast<int>(even_columns_.size()); }
  /// The weights of even outputs for each pair of columns.
  const std::int32_t* even_columns() const { return even_columns_.data(); }
  /// The weights of odd outputs.
  const std::int32_t* odd_columns() const { return odd_columns_.data(); }

 private:
  int width_ = 1;
  int height_ = 1;
  int anchor_x_ = 0;
  int anchor_y_ = 0;
  int shift_ = 0;
  std::int32_t column_start_ = 0;
  std::vector<std::int32_t> even_rows_, odd_rows_, even_columns_, odd_columns_;
};

}  // namespace convolve
