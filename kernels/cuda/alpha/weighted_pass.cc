// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/alpha/weighted_pass.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kernels/cuda/runtime/check.h"

namespace convolve {

Result<WeightedPass> WeightedPass::make(const FrameFormat& format, const PreparedPlan& planned,
                                        DeviceCore& core) {
  const Mask& mask = planned.weights->mask;
  const WeightedSums& sums = *planned.plan.weighted;
  WeightedPass pass;
  pass.format_ = format;
  pass.weights_ = planned.weights;
  pass.sums_ = sums;
  pass.alpha_location_ = find_alpha(format).value_or(AlphaLocation{});
  const std::vector<std::byte> weights =
      sums.passes == Passes::kRowColumn ? encode_factors(mask, sums.accumulator, sums.rational)
                                        : encode_weights(mask, sums.accumulator, sums.rational);
  Status status = upload(weights, pass.device_weights_, core);
  if (status.ok()) status = upload(encode_exact_weights(mask, sums), pass.device_exact_, core);
  if (status.ok()) status = pass.reserve_intermediate(core.stream());
  if (!status.ok()) return status;

  WeightedArguments& arguments = pass.arguments_;
  arguments.accumulator = sums.accumulator;
  arguments.two_passes = sums.passes == Passes::kRowColumn;
  arguments.mask.width = mask.width;
  arguments.mask.height = mask.height;
  arguments.mask.anchor_x = mask.anchor_x;
  arguments.mask.anchor_y = mask.anchor_y;
  arguments.mask.global = pass.device_weights_.data();
  arguments.exact =
      exact_weights(mask, sums, static_cast<const double*>(pass.device_exact_.data()));
  if (status = pass.load_kernels(); !status.ok()) return status;
  return pass;
}

Status WeightedPass::upload(const std::vector<std::byte>& weights, DeviceMemory& memory,
                            DeviceCore& core) {
  Result<DeviceMemory> made = DeviceMemory::make(weights.size(), core.stream());
  if (!made.ok()) return made.status();
  memory = std::move(made.value());
  return core.staging().upload(memory.data(), weights.data(), weights.size());
}

Status WeightedPass::reserve_intermediate(cudaStream_t stream) {
  if (sums_.passes != Passes::kRowColumn) return {};
  ComponentGroup groups[kMaxGroups];
  const int count = component_groups(format_, groups, /*weighting=*/true);
  std::size_t pitch = 0, rows = 0;
  for (int g = 0; g < count; ++g) {
    if (!groups[g].weighted) continue;
    const std::size_t sums = static_cast<std::size_t>(groups[g].width) * (groups[g].count + 1);
    const std::size_t bytes = sums * weight_bytes(sums_.accumulator);
    pitch = std::max(pitch, aligned_pitch(bytes));
    rows = std::max(rows, static_cast<std::size_t>(groups[g].height));
  }
  Result<DeviceMemory> made = DeviceMemory::make(pitch * rows, stream);
  if (!made.ok()) return made.status();
  intermediate_ = std::move(made.value());
  arguments_.intermediate = intermediate_.data();
  arguments_.intermediate_pitch = static_cast<std::int64_t>(pitch);
  return {};
}

Status WeightedPass::load_kernels() const {
  for (int p = 0; p < format_.plane_count; ++p) {
    WeightedArguments arguments = arguments_;
    arguments.colour.sample_bytes = format_.planes[p].sample_bytes;
    if (Status status = CONVOLVE_CUDA(load_alpha_weighted(arguments)); !status.ok()) return status;
  }
  return {};
}

Status WeightedPass::launch(const ComponentGroup& group, const GroupArguments& colour,
                            const PlaneMemory& alpha, double scale, double bias,
                            cudaStream_t stream) const {
  WeightedArguments arguments = arguments_;
  arguments.colour = colour;
  const PlaneFormat& colour_plane = format_.planes[group.plane];
  const PlaneFormat& alpha_plane = format_.planes[alpha_location_.plane];
  const Component& component = alpha_plane.components[alpha_location_.component];
  for (int i = 0; i < group.count; ++i)
    arguments.epilogue[i] =
        make_weighted_epilogue(colour_plane.components[group.component[i]], component.max_code(),
                               weights_->mask, *weights_->totals, scale, bias, sums_);

  // Alpha is presented as if it lay on the grid of the group: step and pitch skip the samples
  // between.
  const GridShift shift = grid_shift(colour_plane.components[group.component[0]], component);
  arguments.alpha = colour;
  arguments.alpha.src = alpha.data;
  arguments.alpha.src_pitch = alpha.pitch * (1 << shift.y);
  arguments.alpha.step = component.step * (1 << shift.x);
  arguments.alpha.channels = 1;
  arguments.alpha.channel[0].offset = component.offset;
  arguments.alpha.channel[0].layout = sample_layout(alpha_plane, component);
  arguments.alpha.channel[0].black = 0;
  return CONVOLVE_CUDA(launch_alpha_weighted(arguments, stream));
}

}  // namespace convolve
