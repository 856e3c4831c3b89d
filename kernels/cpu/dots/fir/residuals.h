// SPDX-License-Identifier: LGPL-2.1-or-later
// The residuals of weights (core/weights/approximate_fir.h) as products of bytes take them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/core/mask/mask.h"

namespace convolve {

/// What a digit of the next part counts for one of this. Digits are -64 .. 63, so that two products
/// with codes of a byte fit 16 bits.
inline constexpr int kResidualBase = 128;

/// A residual is the sum of its digits, of which that of part k counts kResidualBase^k. Immutable;
/// owns them.
class Residuals {
 public:
  Residuals() = default;
  /// `values`: row-major, of the mask's size.
  Residuals(const Mask& mask, std::vector<std::int32_t> values);

  int width() const { return width_; }
  int height() const { return height_; }
  int parts() const { return static_cast<int>(parts_.size()); }
  /// Columns that lie together: 32, or 16 of narrow masks, which would waste half of a vector.
  int columns() const { return columns_; }
  /// The digits of a part: the first columns() of all rows, one after the other, then the next
  /// ones. Zeros follow the last column.
  const std::int8_t* part(int part) const { return parts_[static_cast<std::size_t>(part)].data(); }
  /// Rows whose products, two of each in a lane, 16 bits hold the sum of.
  int rows_of_sum() const { return rows_of_sum_; }

 private:
  int width_ = 0;
  int height_ = 0;
  int columns_ = 32;
  int rows_of_sum_ = 1;
  std::vector<std::vector<std::int8_t>> parts_;
};

}  // namespace convolve
