// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks of rank 1 as a row pass and a column pass, width + height taps instead of their product, in
// sums of floats or doubles: an area at a time, with a ring of row sums between the passes.
#pragma once

#include "kernels/core/base/status.h"
#include "kernels/core/base/view.h"
#include "kernels/cpu/mask_taps.h"
#include "kernels/cpu/rows/row_filter.h"
#include "kernels/cpu/workspace.h"

namespace convolve {

/// Factors and scratch memory of a job.
class SeparableAreas final : public RowFilter {
 public:
  /// `format`: the largest frames. `taps`: kFloat32 or kFloat64. kOutOfMemory.
  static Result<SeparableAreas> make(const FrameFormat& format, FactorTaps taps, int workers);

  int strip_width() const override { return strip_width_; }

  void filter(const RowTask& task, const Area& area, int worker) const override;

 private:
  FactorTaps taps_;
  int strip_width_ = kStripStep;
  Workspaces workspaces_;
};

}  // namespace convolve
