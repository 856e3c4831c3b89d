// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <optional>

#include "kernels/core/plan/planner_kernels.h"
#include "kernels/core/weights/separable_digits.h"
#include "kernels/core/weights/spline_mask.h"

namespace convolve {
namespace {

/// On tensor cores, if the factors keep the contract as whole digits.
std::optional<Plan> plan_digits(const PlanRequest& request) {
  const DeviceCapabilities& device = request.device;
  const FrameFormat& format = request.format;
  const Mask& mask = request.mask;
  if (!request.on_cuda() || device.compute_capability < 75 ||
      weights_by_alpha(format, request.options))
    return std::nullopt;
  const std::optional<SeparableDigits>& digits = request.weights.separable_digits();
  if (!digits) return std::nullopt;
  const SeparableWindow window = separable_window(mask);
  const bool fused = std::max(window.row_chunks, window.column_chunks) <= kMostFusedChunks;
  if (!fused && separable_shared_bytes(window) > device.shared_bytes) return std::nullopt;
  Plan plan;
  plan.backend = device.backend;
  plan.form = fused ? Form::kSeparableTensorFused : Form::kSeparableTensorTwoPass;
  if (!request.allows(plan.form)) return std::nullopt;
  plan.rational = request.weights.rational();
  plan.digits = digits->column_digits;
  plan.accumulator = Accumulator::kInt32;
  plan.storage = MaskStorage::kGlobalMemory;
  return plan;
}

/// Each thread keeps as many lines as the mask has rows. Gaussians that serve have 65 at most;
/// those that have more than this are of equal weights, for which this form is there for who asks.
constexpr int kMostRowsOfPairs = 512;

/// By products of pairs of 16 bits, if the factors keep the contract as whole numbers.
std::optional<Plan> plan_dots(const PlanRequest& request) {
  if (request.on_cuda() || weights_by_alpha(request.format, request.options) ||
      !request.allows(Form::kSeparableDots) || request.mask.height > kMostRowsOfPairs ||
      !request.weights.separable_integers())
    return std::nullopt;
  Plan plan;
  plan.backend = request.device.backend;
  plan.form = Form::kSeparableDots;
  plan.rational = request.weights.rational();
  plan.accumulator = Accumulator::kInt32;
  plan.storage = MaskStorage::kHostMemory;
  return plan;
}

/// With the factors as splines, if the mask is smooth enough.
std::optional<Plan> plan_spline(const PlanRequest& request) {
  if (weights_by_alpha(request.format, request.options) || !request.allows(Form::kSeparableSpline))
    return std::nullopt;
  const std::optional<SplineMask>& spline = request.weights.spline_mask(request.spline_ends());
  if (!spline) return std::nullopt;
  const KnotSpacing spacing = spline->spacing();
  if (request.on_cuda() &&
      spline_shared_bytes(request.format, request.mask, spacing) > request.device.shared_bytes)
    return std::nullopt;
  Plan plan;
  plan.backend = request.device.backend;
  plan.form = Form::kSeparableSpline;
  plan.knot_spacing = spacing;
  plan.accumulator = Accumulator::kFloat32;
  plan.storage = request.on_cuda() ? MaskStorage::kGlobalMemory : MaskStorage::kHostMemory;
  return plan;
}

}  // namespace

Result<Plan> plan_separable(const PlanRequest& request) {
  std::optional<Plan> best;
  for (const std::optional<Plan>& plan :
       {plan_dots(request), plan_digits(request), plan_spline(request)})
    if (plan &&
        (!best || predicted_microseconds(request, *plan) < predicted_microseconds(request, *best)))
      best = plan;
  if (request.asks(Form::kSeparableSpline) && !best)
    return unsupported("rank: the mask is not smooth enough for a coarse grid");
  if ((request.asks(Form::kSeparableTensorFused) || request.asks(Form::kSeparableTensorTwoPass)) &&
      !best)
    return unsupported(
        "rank: its factors are not whole numbers of 8-bit digits for tensor cores, "
        "or it is of another size");
  if (request.asks(Form::kSeparableDots) && !best)
    return unsupported(
        "rank: its factors are not whole numbers of 16 bits, or it has more than 512 rows, or "
        "samples are not of 8 bits");
  // On CUDA sums in an accumulator have never beaten these.
  if (best && (request.on_cuda() || request.options.form)) return *best;
  Result<Plan> sums = plan_accumulated(request, KernelKind::kSeparable);
  if (!best) return sums;
  return sums.ok() && predicted_microseconds(request, sums.value()) <
                          predicted_microseconds(request, *best)
             ? sums
             : *best;
}

}  // namespace convolve
