// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <optional>

#include "kernels/core/plan/planner_kernels.h"
#include "kernels/core/weights/arithmetic.h"

namespace convolve {
namespace {

/// True if all filtered samples are whole bytes, or codes of two bytes.
bool codes_are_bytes(const FrameFormat& format) {
  return std::all_of(format.planes, format.planes + format.plane_count, [](const PlaneFormat& p) {
    return std::all_of(p.components, p.components + p.component_count, [&p](const Component& c) {
      return !c.filtered || p.sample_bytes == 2 || (c.depth == 8 && c.shift == 0);
    });
  });
}

/// By dot products, if the weights keep the contract as digits of a byte.
std::optional<Plan> plan_dots(const PlanRequest& request) {
  if (request.on_cuda() || !request.allows(Form::kCoarsenedDots) ||
      weights_by_alpha(request.format, request.options) || !codes_are_bytes(request.format))
    return std::nullopt;
  const DigitWeights* digits = nullptr;
  if (request.weights.digits())
    digits = &*request.weights.digits();
  else if (request.weights.wide_digits())
    digits = &*request.weights.wide_digits();
  if (digits == nullptr) return std::nullopt;
  Plan plan;
  plan.backend = request.device.backend;
  plan.form = Form::kCoarsenedDots;
  plan.rational = request.weights.rational();
  plan.digits = digits->digits;
  // Whole numbers below 2^52 are exact in double.
  plan.accumulator = digits->wide ? Accumulator::kFloat64 : Accumulator::kInt32;
  plan.storage = MaskStorage::kHostMemory;
  return plan;
}

}  // namespace

Result<Plan> plan_coarsened(const PlanRequest& request) {
  const std::optional<Plan> dots = plan_dots(request);
  if (request.asks(Form::kCoarsenedDots))
    return dots ? Result<Plan>(*dots)
                : unsupported(
                      "size: samples of less than 8 bits, or weights that are not whole numbers of "
                      "8-bit digits, or a mask that is kept as its factors");
  Result<Plan> sums = plan_accumulated(request, KernelKind::kCoarsened);
  if (!dots) return sums;
  return !sums.ok() || predicted_microseconds(request, *dots) <=
                           predicted_microseconds(request, sums.value())
             ? *dots
             : sums;
}

}  // namespace convolve
