// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/dots/fir/fast_fir.h"

#include "kernels/core/base/round.h"

namespace convolve {
namespace {

/// Numbers of 16 bits in the widest vector.
constexpr int kMostLanes = 32;

}  // namespace

FastFir::FastFir(const Mask& mask, const DigitWeights& weights, int max_code, bool bytes)
    : levels_(choose_fir_levels(mask, weights, max_code)) {
  if (levels_ == 0 && bytes) approximate_ = choose_approximate_weights(mask, weights);
  if (approximate_) levels_ = approximate_->levels;
  if (levels_ == 0) return;
  const std::vector<std::int32_t>& values = approximate_ ? approximate_->values : weights.values;
  subfilters_ =
      DotPairs(mask.width, fir_height(mask.height, levels_), split_for_fir(mask, values, levels_));
  if (!approximate_) return;
  residual_step_ = round_up(mask.width, kMostLanes);
  for (int i = 0; i < mask.height; ++i)
    for (int j = 0; j < residual_step_; ++j)
      residuals_.push_back(static_cast<std::int16_t>(
          j < mask.width ? approximate_->residuals[static_cast<std::size_t>(i * mask.width + j)]
                         : 0));
}

}  // namespace convolve
