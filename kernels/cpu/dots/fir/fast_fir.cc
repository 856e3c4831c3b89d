// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/dots/fir/fast_fir.h"

namespace convolve {

FastFir::FastFir(const Mask& mask, const DigitWeights& weights, int max_code, bool bytes)
    : levels_(choose_fir_levels(mask, weights, max_code)) {
  if (levels_ == 0 && bytes) approximate_ = choose_approximate_weights(mask, weights);
  if (approximate_) levels_ = approximate_->levels;
  if (levels_ == 0) return;
  const std::vector<std::int32_t>& values = approximate_ ? approximate_->values : weights.values;
  subfilters_ = DotPairs(fir_width(mask.width, levels_), fir_height(mask.height, levels_),
                         split_for_fir(mask, values, levels_));
  if (approximate_) residuals_ = Residuals(mask, approximate_->residuals);
}

}  // namespace convolve
