// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/job/intermediate.h"

#include <algorithm>

#include "kernels/core/plan/box_choice.h"
#include "kernels/cuda/runtime/planes.h"

namespace convolve {
namespace {

/// The memory between the launches of kernel separable: the largest that a component group needs.
IntermediateSize separable_size(const FrameFormat& format, const Plan& plan,
                                const LaunchArguments& arguments) {
  ComponentGroup groups[kMaxGroups];
  const int count = component_groups(format, groups, plan.weighted.has_value());
  std::size_t pitch = 0, rows = 0, tensor_bytes = 0, spline_bytes = 0;
  for (int g = 0; g < count; ++g) {
    const ComponentGroup& group = groups[g];
    if (group.weighted) continue;
    tensor_bytes = std::max(
        tensor_bytes, group.count * separable_tensor_bytes(group.width, group.height,
                                                           arguments.separable.column_chunks));
    if (plan.form == Form::kSeparableSpline)
      spline_bytes = std::max(
          spline_bytes,
          group.count * separable_spline_bytes(arguments.spline, group.width, group.height));
    const std::size_t sums = static_cast<std::size_t>(group.width) * group.count;
    pitch = std::max(pitch, aligned_pitch(sums * weight_bytes(plan.accumulator)));
    rows = std::max(rows, static_cast<std::size_t>(group.height));
  }
  if (plan.form == Form::kSeparableSpline) return {spline_bytes, pitch};
  return {plan.form == Form::kSeparableTensorTwoPass ? tensor_bytes : pitch * rows, pitch};
}

}  // namespace

IntermediateSize intermediate_size(const FrameFormat& format, const PreparedPlan& planned,
                                   const LaunchArguments& arguments,
                                   const BoxTile (&box_tiles)[kMaxGroups]) {
  const Plan& plan = planned.plan;
  if (plan.kernel() == KernelKind::kBox) {
    const BandMemory checkpoints =
        band_memory(format, planned.weights->mask, plan.weighted.has_value(), box_tiles);
    return {checkpoints.pitch * checkpoints.rows, checkpoints.pitch};
  }
  if (plan.form == Form::kSeparableTwoPass || plan.form == Form::kSeparableTensorTwoPass ||
      plan.form == Form::kSeparableSpline)
    return separable_size(format, plan, arguments);
  return {};
}

}  // namespace convolve
