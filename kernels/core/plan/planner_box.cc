// SPDX-License-Identifier: LGPL-2.1-or-later
// The plans of the kernels whose masks are one weight: box and shift.
#include <algorithm>
#include <optional>

#include "kernels/core/plan/box_choice.h"
#include "kernels/core/plan/planner_kernels.h"
#include "kernels/core/shape/box_bands.h"
#include "kernels/core/shape/box_strip.h"
#include "kernels/core/shape/box_tile.h"
#include "kernels/core/weights/box.h"

namespace convolve {
namespace {

/// True if strips, on tensor cores, can take a plane of one 8-bit component.
bool strips_fit(const PlanRequest& request) {
  if (!request.on_cuda() || request.device.compute_capability < 75) return false;
  BoxWork work;
  work.width = work.height = 1;
  work.mask_width = request.mask.width;
  work.mask_height = request.mask.height;
  work.shared_bytes = request.device.shared_bytes;
  return choose_box_strip(work, request.mask.anchor_x).has_value();
}

/// Strips for the planes that they serve, and runs for all others.
Form form_by_planes(const PlanRequest& request) {
  if (!strips_fit(request)) return Form::kBoxRuns;
  int filtered = 0, served = 0;
  for (int p = 0; p < request.format.plane_count; ++p) {
    const PlaneFormat& plane = request.format.planes[p];
    filtered += has_filtered(plane);
    served += has_filtered(plane) && box_strips_serve(plane, request.mask);
  }
  return served == 0          ? Form::kBoxRuns
         : served == filtered ? Form::kBoxStrips
                              : Form::kBoxStripsRuns;
}

/// True if bands serve all planes, and may load them as they lie.
bool bands_serve(const PlanRequest& request) {
  if (!request.on_cuda() || !request.lies_for(Form::kBoxBands)) return false;
  const FrameFormat& format = request.format;
  ComponentGroup groups[kMaxGroups];
  const int count = component_groups(format, groups, /*weighting=*/false);
  return std::all_of(groups, groups + count, [&](const ComponentGroup& group) {
    return !group.any_filtered ||
           (box_bands_serve(format.planes[group.plane]) &&
            choose_box_bands(box_work(format, group, request.mask, request.device),
                             request.mask.anchor_x));
  });
}

Plan in_bands(const PlanRequest& request) {
  Plan plan;
  plan.backend = request.device.backend;
  plan.form = Form::kBoxBands;
  // The tile that the plan shows is a warp tile: what a warp makes of one row.
  plan.tile_width = kBandWarpTile;
  plan.tile_height = 1;
  return plan;
}

/// Bands if they are predicted to take less time; otherwise strips where they serve, and runs where
/// not.
Result<Plan> choose_form(const PlanRequest& request) {
  const bool serve = bands_serve(request);
  if (request.asks(Form::kBoxBands))
    return serve ? Result<Plan>(in_bands(request))
                 : unsupported(
                       "size: bands are of planes of one 8-bit component whose rows fit a block");
  Plan plan;
  plan.backend = request.device.backend;
  plan.form = request.asks(Form::kBoxRuns) ? Form::kBoxRuns : form_by_planes(request);
  if (!request.allows(plan.form))
    return unsupported("size: strips are of planes of one 8-bit component and masks that they fit");
  if (plan.form == Form::kBoxStrips) plan.digits = 2;
  if (request.options.form || !serve || !band_has_checkpoints(request.mask.height)) return plan;
  const Plan bands = in_bands(request);
  return predicted_microseconds(request, bands) < predicted_microseconds(request, plan) ? bands
                                                                                        : plan;
}

/// Box and shift store no weights: their single weight is part of the epilogue.
void bind_weight(const PlanRequest& request, Accumulator accumulator, Plan& plan) {
  plan.rational = request.weights.rational();
  plan.accumulator = accumulator;
  plan.storage = request.on_cuda() ? MaskStorage::kParameter : MaskStorage::kHostMemory;
}

}  // namespace

Result<Plan> plan_box(const PlanRequest& request) {
  const Mask& mask = request.mask;
  if (!request.weights.box_weight()) return unsupported("rank: its weights are not all equal");
  if (!box_sums_fit(request.format, mask))
    return unsupported("size: sums of " + std::to_string(mask.taps()) +
                       " samples need more than 32 bits");
  if (weights_by_alpha(request.format, request.options))
    return unsupported("alpha: it cannot weight colour by alpha");
  const std::size_t bytes =
      box_layout(box_panels(kBoxPanel, mask.width), kBoxRun, /*packed=*/false).bytes;
  if (request.on_cuda() && bytes > request.device.shared_bytes)
    return unsupported("memory: sums of the columns below a " + size_text(mask) + " mask take " +
                       std::to_string(bytes) + " bytes of shared memory, a block has " +
                       std::to_string(request.device.shared_bytes));
  Result<Plan> plan = choose_form(request);
  if (plan.ok()) bind_weight(request, Accumulator::kInt32, plan.value());
  return plan;
}

Result<Plan> plan_shift(const PlanRequest& request) {
  if (!request.weights.shift()) return unsupported("rank: more than one of its weights is not 0");
  if (weights_by_alpha(request.format, request.options))
    return unsupported("alpha: it cannot weight colour by alpha");
  Plan plan;
  plan.backend = request.device.backend;
  plan.form = Form::kShift;
  // A float holds the difference of any two codes.
  bind_weight(request, Accumulator::kFloat32, plan);
  return plan;
}

}  // namespace convolve
