// SPDX-License-Identifier: LGPL-2.1-or-later
// One axis of a spline mask (core/weights/spline_axis.h) as the kernels read it.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/core/weights/spline_axis.h"
#include "kernels/cpu/mask_taps.h"

namespace convolve {

/// Direction of an axis.
enum class Along { kRow, kColumn };

/// Immutable; owns its tables.
class SplineTaps {
 public:
  SplineTaps() = default;
  SplineTaps(const SplineAxis& axis, Along along);

  int spacing() const { return spacing_; }
  double sum() const { return sum_; }  ///< Of the convolution's weights.

  /// Synthesis coefficients from which a line of `cells` pixels is made.
  int synthesis_count(int cells) const { return (cells - 1) / spacing_ + kSplineOrder; }
  /// Analysis coefficients whose convolution gives the synthesis coefficients of such a line.
  int analysis_count(int cells) const { return synthesis_count(cells) + taps_ - 1; }
  /// The pixel that begins the spline of analysis coefficient 0.
  int first_pixel() const { return first_pixel_; }
  /// Pixels that the splines of a line of `cells` pixels cover.
  int analysis_span(int cells) const {
    return spacing_ * (analysis_count(cells) + kSplineOrder - 1);
  }

  /// The convolution of coefficients.
  const MaskTaps& convolution() const { return convolution_; }

  /// The two runs of taps around the ends of the factor: along a row two rows of taps, down a
  /// column one column, in which kBlockRows - 1 weights of 0 keep the runs apart, so that a block
  /// of rows may read lines that belong to either.
  const MaskTaps& ends() const { return ends_; }
  /// Taps of a run.
  int end_length() const { return end_length_; }
  /// The pixel below the first tap of a run, 0 or 1, from the one that is made.
  int end_pixel(int run) const { return end_pixels_[run]; }

  /// Weights of the pixels below a spline as whole numbers, which sum to spacing()^4: kSplineOrder
  /// * spacing() of them, padded with zeros to a multiple of kAnalysisPadding.
  const std::vector<std::int16_t>& whole_analysis() const { return whole_analysis_; }
  /// Weights of the pixels below a spline as floats, which sum to 1, padded with zeros to a
  /// multiple of kAnalysisPadding.
  const std::vector<float>& analysis() const { return analysis_; }

  /// Weight of coefficient m of a pixel at `phase` behind its knot: element m * kMostSpacing +
  /// phase. They are repeated up to kMostSpacing, so that a vector of them may span some intervals.
  const std::vector<float>& synthesis() const { return synthesis_; }

 private:
  int spacing_ = 1;
  int taps_ = 0;
  int first_pixel_ = 0;
  double sum_ = 0;
  int end_length_ = 0;
  int end_pixels_[2] = {0, 0};
  MaskTaps convolution_, ends_;
  std::vector<std::int16_t> whole_analysis_;
  std::vector<float> analysis_, synthesis_;
};

/// Tables of weights along pixels are padded to a multiple of this, as many as a vector may hold.
inline constexpr int kAnalysisPadding = 32;

}  // namespace convolve
