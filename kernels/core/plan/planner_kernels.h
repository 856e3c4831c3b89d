// SPDX-License-Identifier: LGPL-2.1-or-later
// The plans that each kernel would make, for the planner, which chooses between them. Each takes
// the cheapest of its forms that serve, or the form that is asked for.
#pragma once

#include <string>

#include "kernels/core/plan/plan.h"
#include "kernels/core/weights/prepared_weights.h"

namespace convolve {

/// The frame format, mask, options and device that a plan is made for, and what the mask becomes
/// for them.
struct PlanRequest {
  const FrameFormat& format;
  const Mask& mask;
  const Options& options;
  const DeviceCapabilities& device;
  WeightPreparation& weights;

  bool on_cuda() const { return device.backend == BackendKind::kCuda; }
  /// The box or the taps that the kernels of separable-spline add to splines.
  SplineEnds spline_ends() const { return on_cuda() ? SplineEnds::kBox : SplineEnds::kTaps; }
  /// True if nobody asks for another form.
  bool allows(Form form) const { return !options.form || *options.form == form; }
  /// True if `form` is asked for.
  bool asks(Form form) const { return options.form == form; }
  /// True if planes lie as the kernels of `form` want them: on a multiple of its alignment.
  bool lies_for(Form form) const { return options.alignment % form_info(form).alignment == 0; }
};

/// The plan of `request`: what make_plan() does, with the weights left in request.weights.
Result<Plan> choose_plan(const PlanRequest& request);

/// "3x5"
std::string size_text(const Mask& mask);

/// True if colour is to be weighted by alpha, and there is alpha.
bool weights_by_alpha(const FrameFormat& format, const Options& options);

// All of these give everything but the reason and the predicted time, or say why the kernel cannot
// serve: "size: ...", "memory: ...", "rank: ...", "device: ..." or "alpha: ...".

/// The book's kernels, and coarsened and separable without digits: sums of products in an
/// accumulator that is proven to be wide enough.
Result<Plan> plan_accumulated(const PlanRequest& request, KernelKind kernel);

Result<Plan> plan_coarsened(const PlanRequest& request);
Result<Plan> plan_separable(const PlanRequest& request);
Result<Plan> plan_tensor(const PlanRequest& request);
Result<Plan> plan_box(const PlanRequest& request);
Result<Plan> plan_shift(const PlanRequest& request);

/// Ok if the mask is one picture of weights, which all kernels but separable read.
Status need_dense(const Mask& mask);

/// Microseconds that the cost model predicts for `plan` on the frame of `request`, to compare plans
/// by: on the CPU those of one thread. Forms round differently, and no code may depend on the
/// number of threads, so the choice does not, but for the areas of separable, whose sums are the
/// same.
double predicted_microseconds(const PlanRequest& request, const Plan& plan);

}  // namespace convolve
