// SPDX-License-Identifier: LGPL-2.1-or-later
// A plan together with the weights that its form computes with: what a backend makes a job of.
#pragma once

#include <memory>

#include "kernels/core/plan/plan.h"
#include "kernels/core/weights/prepared_weights.h"

namespace convolve {

struct PreparedPlan {
  Plan plan;
  std::shared_ptr<const PreparedWeights> weights;  ///< Never null.
};

/// The plan of make_plan(), whose errors these are, and its weights.
Result<PreparedPlan> prepare_plan(const FrameFormat& format, const Mask& mask,
                                  const Options& options, const DeviceCapabilities& device);

/// True if the bounds that `plan`, of these weights, was proven by for `format` hold for this scale
/// and bias, too. Asked in every frame: it looks at no weight.
bool plan_serves(const FrameFormat& format, const Plan& plan, const PreparedWeights& weights,
                 double scale, double bias);

}  // namespace convolve
