// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/spline/spline_taps.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "kernels/core/base/round.h"

namespace convolve {

SplineTaps::SplineTaps(const SplineAxis& axis, Along along)
    : spacing_(axis.spacing),
      taps_(axis.taps()),
      first_pixel_(axis.spacing * (axis.first - 1)),
      box_weight_(axis.box_weight),
      sum_(std::accumulate(axis.weights.begin(), axis.weights.end(), 0.0)) {
  const std::vector<float> weights(axis.weights.begin(), axis.weights.end());
  const bool row = along == Along::kRow;
  convolution_ = MaskTaps(row ? taps_ : 1, row ? 1 : taps_, 0, 0, Accumulator::kFloat32,
                          reinterpret_cast<const std::byte*>(weights.data()));
  const std::vector<std::int32_t> whole = spline_analysis_weights(spacing_);
  const auto padded = static_cast<std::size_t>(round_up(kSplineOrder * spacing_, kAnalysisPadding));
  whole_analysis_.assign(whole.begin(), whole.end());
  whole_analysis_.resize(padded, 0);
  for (const std::int32_t weight : whole)
    analysis_.push_back(static_cast<float>(weight * std::pow(spacing_, -4)));
  analysis_.resize(padded, 0);
  for (int m = 0; m < kSplineOrder; ++m)
    for (int phase = 0; phase < spacing_; ++phase)
      synthesis_.push_back(static_cast<float>(
          spline_synthesis_weights(spacing_, phase)[static_cast<std::size_t>(m)]));
}

}  // namespace convolve
