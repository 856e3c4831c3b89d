// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "kernels/core/plan/planner_kernels.h"
#include "kernels/core/plan/tensor_forms.h"
#include "kernels/core/shape/byte_phases.h"
#include "kernels/core/shape/tensor_tiles.h"
#include "kernels/core/shape/tensor_warpgroups.h"
#include "kernels/core/weights/digits.h"
#include "kernels/core/weights/split_digits.h"

namespace convolve {
namespace {

bool has_single_component(const FrameFormat& format) {
  return std::any_of(
      format.planes, format.planes + format.plane_count,
      [](const PlaneFormat& plane) { return plane.component_count == 1 && has_filtered(plane); });
}

/// The properties of the device that decide which forms of kernel tensor it can run.
TensorDevice units_of(const DeviceCapabilities& device) {
  return {device.shared_bytes, device.compute_capability == 90};
}

/// True if tensor-columns is not to be chosen: where rows slide through registers, each of them is
/// loaded once, and the two predictions lie too close to each other to tell.
bool slides_instead(const PlanRequest& request, const Plan& plan, const TensorDevice& units) {
  return plan.form == Form::kTensorColumns && !request.options.form &&
         tensor_form_serves(Form::kTensorSliding, request.format, request.mask, plan.digits, units);
}

/// `plan` in that form of those which serve it and for which `allowed` holds that has the least
/// predicted time; nothing if there is none.
template <class Allowed>
std::optional<Plan> cheapest_form(const PlanRequest& request, Plan plan, const Allowed& allowed) {
  const TensorDevice units = units_of(request.device);
  std::optional<Plan> best;
  double least = std::numeric_limits<double>::infinity();
  for (int f = kFirstTensorForm; f <= kLastTensorForm; ++f) {
    plan.form = static_cast<Form>(f);
    if (!request.allows(plan.form) || !request.lies_for(plan.form) || !allowed(plan.form) ||
        slides_instead(request, plan, units) ||
        !tensor_form_serves(plan.form, request.format, request.mask, plan.digits, units))
      continue;
    const double predicted = predicted_microseconds(request, plan);
    if (predicted >= least) continue;
    best = plan;
    least = predicted;
  }
  return best;
}

/// True if all filtered components have two bytes.
bool is_wide(const FrameFormat& format) {
  return std::all_of(
      format.planes, format.planes + format.plane_count,
      [](const PlaneFormat& plane) { return !has_filtered(plane) || plane.sample_bytes == 2; });
}

/// The plan for sums that leave 32 bits, in the number of digits with the least predicted time.
Result<Plan> plan_split_digits(const PlanRequest& request, Plan plan) {
  plan.accumulator = Accumulator::kFloat32;
  std::optional<Plan> best;
  const bool serve = !plan.rational && is_wide(request.format);
  for (int digits = kFewestSplitDigits; serve && digits <= kMostDigits; ++digits) {
    const std::optional<SplitDigits>& weights = request.weights.split_digits(digits);
    if (!weights) continue;
    plan.digits = digits;
    const std::optional<Plan> made = cheapest_form(request, plan, [&](Form form) {
      return form == Form::kTensorSplitWarpgroups ||
             (form == Form::kTensorSplitOctets && digits == kMostDigits &&
              split_sums_are_floats(*weights));
    });
    if (made &&
        (!best || predicted_microseconds(request, *made) < predicted_microseconds(request, *best)))
      best = made;
  }
  if (best) return *best;
  return unsupported("size: the weights need more than " + std::to_string(kMostDigits) +
                     " digits of 8 bits, or sums of more than 32");
}

/// Fills in the tile that `active-plan` shows for the form of `plan`.
void show_tile(const FrameFormat& format, Plan& plan) {
  if (plan.form == Form::kTensorTiles) {
    // Planes of one component have the wider tile, which is shown for a frame of several kinds,
    // too.
    plan.tile_width = kTensorTileBytes * (has_single_component(format) ? 2 : 1);
    plan.tile_height = kTensorTileRows;
  } else if (uses_shared_tiles(plan.form)) {
    plan.tile_width = kTensorTileBytes;
    plan.tile_height = kWarpgroupTileRows;
  }
}

/// Ok if some form serves the samples and the mask's size.
Status check_samples(const PlanRequest& request) {
  const Mask& mask = request.mask;
  const std::optional<TensorTiles> tiles = tensor_tiles(request.format, mask);
  for (int p = 0; p < request.format.plane_count; ++p) {
    const PlaneFormat& plane = request.format.planes[p];
    if (!has_filtered(plane) || byte_phases(plane)) continue;
    if (!tiles) return unsupported("size: samples that are neither of 8 bits nor side by side");
    if (tiles->bytes > request.device.shared_bytes)
      return unsupported("memory: a tile with the halo of a " + size_text(mask) + " mask takes " +
                         std::to_string(tiles->bytes) + " bytes of shared memory, a block has " +
                         std::to_string(request.device.shared_bytes));
  }
  return {};
}

}  // namespace

Result<Plan> plan_tensor(const PlanRequest& request) {
  const FrameFormat& format = request.format;
  if (Status status = need_dense(request.mask); !status.ok()) return status;
  if (request.device.compute_capability < 75)
    return unsupported("device: it has no INT8 tensor cores (compute capability 7.5)");
  if (weights_by_alpha(format, request.options))
    return unsupported("alpha: it cannot weight colour by alpha");
  if (Status status = check_samples(request); !status.ok()) return status;
  Plan plan;
  plan.backend = request.device.backend;
  plan.rational = request.weights.rational();
  plan.storage = MaskStorage::kGlobalMemory;
  const std::optional<DigitWeights>& weights = request.weights.digits();
  if (!weights) {
    Result<Plan> split = plan_split_digits(request, plan);
    if (split.ok()) show_tile(format, split.value());
    return split;
  }
  plan.accumulator = Accumulator::kInt32;
  plan.digits = weights->digits;
  std::optional<Plan> best =
      cheapest_form(request, plan, [](Form form) { return !sums_are_split(form); });
  if (!best)
    return unsupported("size: the form that is asked for does not serve this format and mask");
  show_tile(format, *best);
  return *best;
}

}  // namespace convolve
