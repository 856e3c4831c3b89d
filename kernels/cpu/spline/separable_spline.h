// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `separable`, form separable-spline: 8-bit samples through a large smooth mask of rank 1,
// at a cost that hardly grows with the mask. core/weights/spline_mask.h says what is computed and
// bounds its error; the steps are those of kernels/cuda/spline/separable_spline.cu.
#pragma once

#include "kernels/core/base/status.h"
#include "kernels/core/base/view.h"
#include "kernels/core/weights/spline_mask.h"
#include "kernels/cpu/component_task.h"
#include "kernels/cpu/spline/spline_taps.h"
#include "kernels/cpu/workspace.h"

namespace convolve {

/// Mask, planes of coefficients and scratch memory of a job. Filters one component after the other,
/// each in the stages of kStages, whose units may run at the same time.
class SeparableSpline {
 public:
  enum class Stage : int {
    kAnalysis,   ///< Splines down the columns; splines along the rows for the cross term.
    kLines,      ///< Lines of coefficients filtered along themselves; boxes down the cross term's.
    kSynthesis,  ///< Convolution and synthesis down the columns, both terms, and the epilogue.
  };
  static constexpr Stage kStages[] = {Stage::kAnalysis, Stage::kLines, Stage::kSynthesis};

  /// `format`: the largest frames. kOutOfMemory.
  static Result<SeparableSpline> make(const FrameFormat& format, const Mask& mask,
                                      const SplineMask& spline, int workers);

  /// How many units a stage has for this component.
  int units(const ComponentTask& task, Stage stage) const;

  /// Runs unit `unit` of a stage as worker `worker`. The stage before must be over.
  void run(const ComponentTask& task, Stage stage, int unit, int worker) const;

 private:
  friend struct SplineKernel;  ///< The stages, for each instruction set.

  int workers_ = 1;
  int mask_width_ = 1, mask_height_ = 1, anchor_x_ = 0, anchor_y_ = 0;
  SplineTaps column_, row_, cross_;
  hwy::AlignedFreeUniquePtr<std::byte[]> memory_;
  Lines analysis_;     ///< A line for each knot down the columns, a float for each column.
  Lines cross_rows_;   ///< The cross term: a line for each row, a float for each of its knots,
  Lines cross_boxes_;  ///< and the boxes down these.
  Workspaces workspaces_;
};

}  // namespace convolve
