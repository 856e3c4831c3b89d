// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/plan/planner_tensor.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "kernels/core/plan/cost.h"
#include "kernels/core/shape/byte_phases.h"
#include "kernels/core/shape/tensor_mapping.h"
#include "kernels/core/shape/tensor_tiles.h"
#include "kernels/core/weights/digits.h"
#include "kernels/core/weights/split_digits.h"

namespace convolve {
namespace {

bool has_lone_component(const FrameFormat& format) {
  return std::any_of(
      format.planes, format.planes + format.plane_count,
      [](const PlaneFormat& plane) { return plane.component_count == 1 && has_filtered(plane); });
}

/// Of the mappings that serve, of which there is one, that with the least predicted time.
TensorMapping cheapest_mapping(Plan plan, const FrameFormat& format, const Mask& mask,
                               const TensorDevice& units, const CostConstants& constants) {
  TensorMapping best = TensorMapping::kStay;
  double least = std::numeric_limits<double>::infinity();
  for (int m = 0; m < kTensorMappingCount; ++m) {
    plan.mapping = static_cast<TensorMapping>(m);
    if (!tensor_mapping_serves(plan.mapping, format, mask, plan.digits, units)) continue;
    const double predicted = predicted_microseconds(constants, plan, format, mask);
    if (predicted >= least) continue;
    best = plan.mapping;
    least = predicted;
  }
  return best;
}

/// Of the mappings that serve split sums with these weights, that with the least predicted time.
std::optional<TensorMapping> cheapest_split_mapping(Plan plan, const FrameFormat& format,
                                                    const Mask& mask, const DigitWeights& weights,
                                                    const Options& options,
                                                    const TensorDevice& units,
                                                    const CostConstants& constants) {
  std::optional<TensorMapping> best;
  double least = std::numeric_limits<double>::infinity();
  for (const TensorMapping mapping : {TensorMapping::kOctets, TensorMapping::kGroups}) {
    plan.mapping = mapping;
    if (options.mapping.value_or(mapping) != mapping ||
        (mapping == TensorMapping::kOctets &&
         (weights.digits != kMostDigits || !split_sums_are_floats(weights))) ||
        !tensor_mapping_serves(mapping, format, mask, weights.digits, units))
      continue;
    const double predicted = predicted_microseconds(constants, plan, format, mask);
    if (predicted >= least) continue;
    best = mapping;
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

/// Arithmetic of tensor where sums leave 32 bits, or why it cannot serve.
Status plan_split_digits(const FrameFormat& format, const Mask& mask, const Options& options,
                         const TensorDevice& units, const CostConstants& constants, Plan& plan) {
  plan.accumulator = Accumulator::kFloat32;
  std::optional<Plan> best;
  for (int digits = kFewestSplitDigits; digits <= kMostDigits; ++digits) {
    const std::optional<DigitWeights> weights = make_split_digits(mask, digits);
    if (plan.rational || !is_wide(format) || !weights ||
        !split_digits_serve(format, mask, *weights, options.scale))
      continue;
    plan.digits = digits;
    const std::optional<TensorMapping> mapping =
        cheapest_split_mapping(plan, format, mask, *weights, options, units, constants);
    if (!mapping) continue;
    plan.mapping = *mapping;
    if (!best || predicted_microseconds(constants, plan, format, mask) <
                     predicted_microseconds(constants, *best, format, mask))
      best = plan;
  }
  if (!best)
    return unsupported("size: the weights need more than " + std::to_string(kMostDigits) +
                       " digits of 8 bits, or sums of more than 32");
  plan = *best;
  return {};
}

/// Has `plan` show the tile of its mapping.
void show_tile(const FrameFormat& format, Plan& plan) {
  if (plan.mapping == TensorMapping::kTiles) {
    // Planes of one component have the wider tile, which a frame of several shows.
    plan.tile_width = kTensorTileBytes * (has_lone_component(format) ? 2 : 1);
    plan.tile_height = kTensorTileRows;
  } else if (plan.mapping == TensorMapping::kGroups) {
    plan.tile_width = kTensorTileBytes;
    plan.tile_height = kGroupTileRows;
  }
}

}  // namespace

Status plan_tensor(const FrameFormat& format, const Mask& mask, const Options& options,
                   const DeviceCapabilities& device, Plan& plan) {
  if (device.compute_capability < 75)
    return unsupported("device: it has no INT8 tensor cores (compute capability 7.5)");
  if (weights_by_alpha(format, options))
    return unsupported("alpha: it cannot weight colour by alpha");
  const std::optional<TensorTiles> tiles = tensor_tiles(format, mask);
  for (int p = 0; p < format.plane_count; ++p) {
    const PlaneFormat& plane = format.planes[p];
    if (!has_filtered(plane) || byte_phases(plane)) continue;
    if (!tiles) return unsupported("size: samples that are neither of 8 bits nor side by side");
    if (tiles->bytes > device.shared_bytes)
      return unsupported("memory: a tile with the halo of a " + size_text(mask) + " mask takes " +
                         std::to_string(tiles->bytes) + " bytes of shared memory, a block has " +
                         std::to_string(device.shared_bytes));
  }
  plan.rational = is_rational(format, mask, options.scale);
  const TensorDevice units = {device.shared_bytes, device.compute_capability == 90};
  plan.storage = MaskStorage::kGlobalMemory;
  const std::optional<DigitWeights> weights =
      choose_digits(format, mask, options.scale, plan.rational);
  if (!weights) {
    Status status = plan_split_digits(format, mask, options, units, cost_constants(device), plan);
    if (status.ok()) show_tile(format, plan);
    return status;
  }
  plan.accumulator = Accumulator::kInt32;
  plan.digits = weights->digits;
  if (options.mapping && !tensor_mapping_serves(*options.mapping, format, mask, plan.digits, units))
    return unsupported(std::string("device: its mapping ") + tensor_mapping_name(*options.mapping) +
                       " does not serve here");
  plan.mapping = options.mapping
                     ? *options.mapping
                     : cheapest_mapping(plan, format, mask, units, cost_constants(device));
  show_tile(format, plan);
  return {};
}

}  // namespace convolve
