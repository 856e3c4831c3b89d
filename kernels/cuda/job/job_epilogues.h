// SPDX-License-Identifier: LGPL-2.1-or-later
// How the sums of a job become codes: an epilogue for each component, of the kind that the plan's
// form takes.
#pragma once

#include "kernels/core/base/view.h"
#include "kernels/core/plan/prepared_plan.h"
#include "kernels/cuda/device/variant.h"

namespace convolve {

class JobEpilogues {
 public:
  /// Makes all epilogues anew if scale or bias are others than last time. Always with the same
  /// format and plan.
  void update(const FrameFormat& format, const PreparedPlan& planned, double scale, double bias);

  /// Fills in those of a component.
  void fill(int plane, int component, ChannelArguments& channel) const;

  double scale() const { return scale_; }
  double bias() const { return bias_; }

 private:
  Epilogue epilogues_[kMaxPlanes][kMaxComponents];
  BoxDivision divisions_[kMaxPlanes][kMaxComponents];  ///< Kernel box.
  DigitEpilogue digits_[kMaxPlanes][kMaxComponents];   ///< Kernel separable on tensor cores.
  bool made_ = false;
  double scale_ = 1, bias_ = 0;  ///< For which they have been made.
};

}  // namespace convolve
