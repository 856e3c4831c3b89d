// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/spline/spline_taps.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "kernels/core/base/round.h"
#include "kernels/core/weights/spline_mask.h"
#include "kernels/cpu/workspace.h"

namespace convolve {

SplineTaps::SplineTaps(const SplineAxis& axis, Along along)
    : spacing_(axis.spacing),
      taps_(axis.taps()),
      first_pixel_(axis.spacing * (axis.first - 1)),
      sum_(std::accumulate(axis.weights.begin(), axis.weights.end(), 0.0)),
      end_length_(axis.ends.length),
      end_pixels_{axis.ends.first[0], axis.ends.first[1]} {
  const bool row = along == Along::kRow;
  const auto taps_of = [row](const std::vector<double>& weights, int rows) {
    const std::vector<float> narrow(weights.begin(), weights.end());
    const int count = static_cast<int>(weights.size()), length = count / rows;
    return MaskTaps(row ? length : 1, row ? rows : count, 0, 0, Accumulator::kFloat32,
                    reinterpret_cast<const std::byte*>(narrow.data()));
  };
  convolution_ = taps_of(axis.weights, 1);
  if (end_length_ > 0) {
    std::vector<double> runs = axis.ends.weights;
    if (!row) runs.insert(runs.begin() + end_length_, kBlockRows - 1, 0.0);
    ends_ = taps_of(runs, 2);
  }
  const std::vector<std::int32_t> whole = spline_analysis_weights(spacing_);
  const auto padded = static_cast<std::size_t>(round_up(kSplineOrder * spacing_, kAnalysisPadding));
  whole_analysis_.assign(whole.begin(), whole.end());
  whole_analysis_.resize(padded, 0);
  for (const std::int32_t weight : whole)
    analysis_.push_back(static_cast<float>(weight * std::pow(spacing_, -4)));
  analysis_.resize(padded, 0);
  for (int m = 0; m < kSplineOrder; ++m)
    for (int i = 0; i < kMostSpacing; ++i)
      synthesis_.push_back(static_cast<float>(
          spline_synthesis_weights(spacing_, i % spacing_)[static_cast<std::size_t>(m)]));
}

}  // namespace convolve
