// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/plan/prepared_plan.h"

#include <utility>

#include "kernels/core/plan/cpu_cost.h"
#include "kernels/core/plan/planner_kernels.h"
#include "kernels/core/plan/tensor_forms.h"
#include "kernels/core/weights/fast_fir.h"

namespace convolve {
namespace {

/// What the form of `plan` computes with. The planner has asked for it, or would not have chosen
/// that form.
PreparedWeights::Representation take_representation(const PlanRequest& request, const Plan& plan) {
  WeightPreparation& weights = request.weights;
  const KernelKind kernel = plan.kernel();
  if (kernel == KernelKind::kBox) return *weights.box_weight();
  if (kernel == KernelKind::kShift) return *std::move(weights.shift());
  if (kernel == KernelKind::kTensor && sums_are_split(plan.form))
    return *std::move(weights.split_digits(plan.digits));
  if (plan.form == Form::kCoarsenedDots && !weights.digits())
    return *std::move(weights.wide_digits());
  if (plan.form == Form::kCoarsenedDots && !plan.rational &&
      multiplies_pairs(request.device, request.format))
    return digits_for_fir(request.format, request.mask, request.options.scale,
                          *std::move(weights.digits()));
  if (kernel == KernelKind::kTensor || plan.form == Form::kCoarsenedDots)
    return *std::move(weights.digits());
  if (plan.form == Form::kSeparableDots) return *std::move(weights.separable_integers());
  if (plan.form == Form::kSeparableSpline)
    return *std::move(weights.spline_mask(request.spline_ends()));
  if (kernel == KernelKind::kSeparable && plan.digits > 0)
    return *std::move(weights.separable_digits());
  return {};
}

/// Whether a representation keeps the contract with another scale than that of its plan.
struct Serves {
  const FrameFormat& format;
  const Plan& plan;
  const Mask& mask;
  const double scale;
  const double bias;

  bool operator()(std::monostate) const {
    return accumulator_serves(format, mask, scale, bias, plan.passes(), plan.rational,
                              plan.accumulator);
  }
  bool operator()(const DigitWeights& digits) const {
    return digits_serve(format, mask, digits, scale, plan.rational);
  }
  bool operator()(const SplitDigits& digits) const {
    return split_digits_serve(format, mask, digits, scale);
  }
  // SeparableDigits and SeparableIntegers.
  bool operator()(const SeparableSums& sums) const {
    return separable_sums_serve(format, mask, sums, scale, plan.rational);
  }
  bool operator()(const SplineMask& spline) const {
    return spline_mask_serves(format, mask, spline, scale);
  }
  // Sums of codes are exact whatever the scale, as are codes; it only chooses the class.
  bool operator()(const BoxWeight&) const { return same_class(); }
  bool operator()(const Shift&) const { return same_class(); }

  bool same_class() const { return plan.rational == is_rational(format, mask, scale); }
};

}  // namespace

Result<PreparedPlan> prepare_plan(const FrameFormat& format, const Mask& mask,
                                  const Options& options, const DeviceCapabilities& device) {
  WeightPreparation preparation(format, mask, options.scale);
  const PlanRequest request{format, mask, options, device, preparation};
  Result<Plan> plan = choose_plan(request);
  if (!plan.ok()) return plan.status();
  auto weights = std::make_shared<PreparedWeights>();
  weights->mask = mask;
  weights->representation = take_representation(request, plan.value());
  if (plan.value().weighted) weights->totals = preparation.totals();
  return PreparedPlan{std::move(plan.value()), std::move(weights)};
}

bool plan_serves(const FrameFormat& format, const Plan& plan, const PreparedWeights& weights,
                 double scale, double bias) {
  const Mask& mask = weights.mask;
  return std::visit(Serves{format, plan, mask, scale, bias}, weights.representation) &&
         (!plan.weighted ||
          weighted_sums_serve(format, mask, *weights.totals, scale, *plan.weighted));
}

}  // namespace convolve
