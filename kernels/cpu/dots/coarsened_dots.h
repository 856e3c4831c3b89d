// SPDX-License-Identifier: LGPL-2.1-or-later
// coarsened for weights in digits of 8 bits: integer dot products of two or four neighbours in a
// row, in vectors, with several rows of outputs in registers.
#pragma once

#include "kernels/core/base/status.h"
#include "kernels/core/base/view.h"
#include "kernels/core/weights/digits.h"
#include "kernels/cpu/dots/dot_taps.h"
#include "kernels/cpu/dots/filter_dots.h"
#include "kernels/cpu/rows/row_filter.h"
#include "kernels/cpu/workspace.h"

namespace convolve {

/// Mask and scratch memory of a job.
class CoarsenedDots final : public RowFilter {
 public:
  /// `format`: the largest frames. kOutOfMemory.
  static Result<CoarsenedDots> make(const FrameFormat& format, const Mask& mask,
                                    const DigitWeights& weights, int workers);

  int strip_width() const override { return strip_width_; }
  int row_step() const override { return taps_.fir().row_step(); }

  void filter(const RowTask& task, const Area& area, int worker) const override;

 private:
  DotTaps taps_;
  int strip_width_ = kStripStep;
  Workspaces workspaces_;
};

}  // namespace convolve
