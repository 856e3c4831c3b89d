// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/job/job_epilogues.h"

namespace convolve {

void JobEpilogues::update(const FrameFormat& format, const PreparedPlan& planned, double scale,
                          double bias) {
  if (made_ && scale == scale_ && bias == bias_) return;
  const Plan& plan = planned.plan;
  const PreparedWeights& weights = *planned.weights;
  const Mask& mask = weights.mask;
  for (int p = 0; p < format.plane_count; ++p)
    for (int c = 0; c < format.planes[p].component_count; ++c) {
      const Component& component = format.planes[p].components[c];
      if (const BoxWeight* weight = weights.as<BoxWeight>()) {
        epilogues_[p][c] = make_box_epilogue(component, mask, *weight, scale, bias, plan.rational);
        divisions_[p][c] = make_box_division(component, mask, *weight, scale, bias, plan.rational);
      } else if (const Shift* shift = weights.as<Shift>()) {
        epilogues_[p][c] =
            make_box_epilogue(component, shift->tap, shift->weight, scale, bias, plan.rational);
      } else if (weights.as<SplineMask>() != nullptr) {
        epilogues_[p][c] = make_spline_epilogue(component, mask, scale, bias);
      } else if (const SeparableDigits* digits = weights.as<SeparableDigits>()) {
        digits_[p][c] =
            make_separable_epilogue(component, mask, *digits, scale, bias, plan.rational);
      } else {
        epilogues_[p][c] = make_epilogue(component, mask, scale, bias, plan.rational,
                                         plan.accumulator, plan.passes());
      }
    }
  made_ = true;
  scale_ = scale;
  bias_ = bias;
}

void JobEpilogues::fill(int plane, int component, ChannelArguments& channel) const {
  channel.epilogue = epilogues_[plane][component];
  channel.division = divisions_[plane][component];
  channel.digits = digits_[plane][component];
}

}  // namespace convolve
