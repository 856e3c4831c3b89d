// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/dots/fir/residuals.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "kernels/core/base/round.h"
#include "kernels/core/weights/approximate_fir.h"

namespace convolve {

Residuals::Residuals(const Mask& mask, std::vector<std::int32_t> values)
    : width_(mask.width), height_(mask.height), columns_(mask.width <= 16 ? 16 : 32) {
  constexpr int kHalf = kResidualBase / 2;
  int largest = 1;
  do {
    std::vector<std::int8_t>& digits =
        parts_.emplace_back(static_cast<std::size_t>(round_up(width_, columns_) * height_));
    for (int i = 0; i < height_; ++i)
      for (int j = 0; j < width_; ++j) {
        std::int32_t& value = values[static_cast<std::size_t>(i * width_ + j)];
        const std::int32_t digit = ((value + kHalf) & (kResidualBase - 1)) - kHalf;
        digits[static_cast<std::size_t>((j / columns_ * height_ + i) * columns_ + j % columns_)] =
            static_cast<std::int8_t>(digit);
        value = (value - digit) / kResidualBase;
        largest = std::max(largest, std::abs(digit));
      }
  } while (
      std::any_of(values.begin(), values.end(), [](std::int32_t value) { return value != 0; }));
  rows_of_sum_ = std::numeric_limits<std::int16_t>::max() / (2 * kMostApproximateCode * largest);
}

}  // namespace convolve
