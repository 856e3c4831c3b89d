// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `separable`, form separable-spline: 8-bit samples through a large smooth mask of rank 1,
// at a cost that hardly grows with the mask. core/weights/spline_mask.h says what is computed and
// bounds its error; each factor has end taps.
#pragma once

#include "kernels/core/base/status.h"
#include "kernels/core/base/view.h"
#include "kernels/core/weights/spline_mask.h"
#include "kernels/cpu/rows/row_task.h"
#include "kernels/cpu/spline/spline_taps.h"
#include "kernels/cpu/workspace.h"

namespace convolve {

/// Planes of coefficients of a component.
struct SplinePlanes {
  Lines analysis;    ///< A line for each knot down the columns, a float for each column.
  Lines cross_rows;  ///< The cross term: a line for each row, a float for each of its knots,
  Lines cross_ends;  ///< and the end taps down these.
};

/// Mask, planes of coefficients and scratch memory of a job. Filters the components of a group at
/// once, in the stages of kStages, whose units may run at the same time.
class SeparableSpline {
 public:
  enum class Stage : int {
    kLines,      ///< Splines down the columns, whose lines are filtered along themselves, and those
                 ///< along the rows for the cross term.
    kEnds,       ///< The end taps down the cross term's coefficients.
    kSynthesis,  ///< Convolution and synthesis down the columns, both terms, and the epilogue.
  };
  static constexpr Stage kStages[] = {Stage::kLines, Stage::kEnds, Stage::kSynthesis};

  /// `format`: the largest frames. `spline`: with SplineEnds::kTaps. kOutOfMemory.
  static Result<SeparableSpline> make(const FrameFormat& format, const SplineMask& spline,
                                      int workers);

  /// How many units a stage has for these components, one of which is filtered at least.
  int units(const GroupTask& task, Stage stage) const;

  /// Runs unit `unit` of a stage as worker `worker`. The stage before must be over.
  void run(const GroupTask& task, Stage stage, int unit, int worker) const;

 private:
  friend struct SplineKernel;  ///< The stages, for each instruction set.

  Status allocate(int width, int height, int planes);

  int workers_ = 1;
  SplineTaps column_, row_, cross_;
  hwy::AlignedFreeUniquePtr<std::byte[]> memory_;
  SplinePlanes planes_[kMaxComponents];
  Workspaces workspaces_;
};

}  // namespace convolve
