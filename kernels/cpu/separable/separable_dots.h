// SPDX-License-Identifier: LGPL-2.1-or-later
// separable for samples of 8 bits and factors in whole numbers of 16: dot products of pairs, down
// the columns for several rows at once and then along each row.
#pragma once

#include "kernels/core/base/status.h"
#include "kernels/core/base/view.h"
#include "kernels/core/weights/separable_integers.h"
#include "kernels/cpu/rows/row_filter.h"
#include "kernels/cpu/separable/pair_taps.h"
#include "kernels/cpu/workspace.h"

namespace convolve {

/// Factors and scratch memory of a job.
class SeparableDots final : public RowFilter {
 public:
  /// `format`: the largest frames. kOutOfMemory.
  static Result<SeparableDots> make(const FrameFormat& format, const Mask& mask,
                                    const SeparableIntegers& weights, int workers);

  int strip_width() const override { return strip_width_; }
  int row_step() const override { return rows_; }

  void filter(const RowTask& task, const Area& area, int worker) const override;

 private:
  PairTaps taps_;
  int strip_width_ = kStripStep;
  int rows_ = 1;  ///< Rows that are computed together.
  Workspaces workspaces_;
};

}  // namespace convolve
