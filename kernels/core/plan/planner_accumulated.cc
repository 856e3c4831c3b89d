// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <cstddef>
#include <string>

#include "kernels/core/base/round.h"
#include "kernels/core/plan/planner_kernels.h"
#include "kernels/core/weights/arithmetic.h"

namespace convolve {
namespace {

/// Bytes of a cell in the shared memory of the tiled kernels.
constexpr std::size_t kCellBytes = 4;

/// Rows of a tile of cached-halo, whose blocks have a thread per cell: at most 1024 of them.
int cached_rows(int width) {
  return width == 64 ? 16 : width;
}

std::size_t tile_with_halo_bytes(int tile_width, int tile_height, const Mask& mask) {
  return static_cast<std::size_t>(tile_width + mask.width - 1) * (tile_height + mask.height - 1) *
         kCellBytes;
}

Status tile_input(const PlanRequest& request, Plan& plan) {
  const Mask& mask = request.mask;
  const int wanted = request.options.tile_width;
  const int most = wanted == 0 ? 32 : wanted;
  plan.tile_width = tiled_input_tile(most, mask.width);
  plan.tile_height = tiled_input_tile(most, mask.height);
  if (plan.tile_width >= 1 && plan.tile_height >= 1) return {};
  return unsupported(
      "size: a block of 32 x 32 threads holds the input tile of masks up to "
      "32x32, this one is " +
      size_text(mask));
}

Status tile_output(const PlanRequest& request, Plan& plan) {
  const Mask& mask = request.mask;
  const std::size_t most = request.device.shared_bytes;
  const int wanted = request.options.tile_width;
  int width = wanted == 0 ? 32 : wanted;
  // Left to us, the tile shrinks until it fits.
  while (wanted == 0 && width > 8 && tile_with_halo_bytes(width, width, mask) > most)
    width /= 2;
  plan.tile_width = width;
  plan.tile_height = width;
  const std::size_t bytes = tile_with_halo_bytes(width, plan.tile_height, mask);
  if (bytes <= most) return {};
  return unsupported("memory: a tile of " + std::to_string(width) + "x" +
                     std::to_string(plan.tile_height) + " with the halo of a " + size_text(mask) +
                     " mask takes " + std::to_string(bytes) +
                     " bytes of shared memory, a block has " + std::to_string(most));
}

/// Rows of the tallest component that a kernel for sums in an accumulator filters.
int tallest_component(const PlanRequest& request) {
  const bool weighting = weights_by_alpha(request.format, request.options);
  int tallest = 1;
  all_filtered(request.format, [&](const Component& component) {
    if (!weighting || !component.weightable()) tallest = std::max(tallest, component.height);
    return true;
  });
  return tallest;
}

/// On the CPU an area makes the row sums of its halo again. Once that is half of them, one plane of
/// row sums for all areas is cheaper.
Form choose_areas(const PlanRequest& request) {
  const int rows = divide_up(tallest_component(request), std::max(1, request.device.threads));
  return request.mask.height - 1 > rows / 2 ? Form::kSeparableTwoPass : Form::kSeparableAreas;
}

/// Both passes in one launch where tile, halo and row sums fit shared memory.
Status tile_separable(const PlanRequest& request, Plan& plan) {
  if (plan.passes() == Passes::kDirect) return {};
  if (!request.on_cuda()) {
    plan.form = request.options.form.value_or(choose_areas(request));
    return {};
  }
  const SeparableTile tile =
      separable_tile(request.mask, plan.accumulator, request.device.shared_bytes);
  if (request.asks(Form::kSeparableFused) && !tile.fused)
    return unsupported("memory: a tile with its row sums takes " +
                       std::to_string(tile.shared_bytes) + " bytes of shared memory, a block has " +
                       std::to_string(request.device.shared_bytes));
  if (tile.fused && request.allows(Form::kSeparableFused)) plan.form = Form::kSeparableFused;
  plan.tile_width = tile.width;
  plan.tile_height = tile.height;
  return {};
}

/// Fills in the tile of `plan`, and with it the form of separable; or says why there can be none.
Status plan_tile(const PlanRequest& request, Plan& plan) {
  switch (plan.kernel()) {
    case KernelKind::kTiledInput:
      return tile_input(request, plan);
    case KernelKind::kTiledOutput:
      return tile_output(request, plan);
    case KernelKind::kCachedHalo:
      plan.tile_width = request.options.tile_width == 0 ? 32 : request.options.tile_width;
      plan.tile_height = cached_rows(plan.tile_width);
      return {};
    case KernelKind::kCoarsened:
      if (!request.on_cuda()) return {};
      plan.tile_width = kCoarsenedTileWidth;
      plan.tile_height = kCoarsenedTileHeight;
      return {};
    case KernelKind::kSeparable:
      return tile_separable(request, plan);
    case KernelKind::kAuto:
    case KernelKind::kBasic:
    case KernelKind::kConstant:
    case KernelKind::kTensor:
    case KernelKind::kBox:
    case KernelKind::kShift:
      break;
  }
  return {};
}

/// The first form of `kernel` that makes its sums in an accumulator.
Form first_form(KernelKind kernel) {
  if (kernel == KernelKind::kSeparable) return Form::kSeparableTwoPass;
  for (const FormInfo& info : kForms)
    if (info.kernel == kernel) return info.form;
  return Form::kBasic;
}

}  // namespace

SeparableTile separable_tile(const Mask& mask, Accumulator accumulator, std::size_t shared_bytes) {
  // The tile of input rows with halo, and the row sums of the same rows; pitches are made odd.
  constexpr int kWidth = 64;
  constexpr int kHeight = 32;
  const std::size_t rows = static_cast<std::size_t>(kHeight) + mask.height - 1;
  const std::size_t bytes =
      rows * (kWidth + mask.width) * kCellBytes + rows * (kWidth + 1) * weight_bytes(accumulator);
  return {kWidth, kHeight, bytes <= shared_bytes, bytes};
}

Result<Plan> plan_accumulated(const PlanRequest& request, KernelKind kernel) {
  const Mask& mask = request.mask;
  const Options& options = request.options;
  Plan plan;
  plan.backend = request.device.backend;
  plan.form = first_form(kernel);
  if (kernel != KernelKind::kSeparable)
    if (Status status = need_dense(mask); !status.ok()) return status;
  const Result<Accumulator> accumulator =
      choose_accumulator(request.format, mask, options.scale, options.bias, plan.passes(),
                         /*with_int32=*/request.on_cuda());
  if (!accumulator.ok()) return unsupported("rank: " + accumulator.status().message());
  plan.accumulator = accumulator.value();
  plan.rational = request.weights.rational();
  const bool separable = kernel == KernelKind::kSeparable;
  if (separable && plan.accumulator == Accumulator::kWide) plan.form = Form::kSeparableOnePass;
  if (options.form && separable &&
      (*options.form == Form::kSeparableOnePass) != (plan.form == Form::kSeparableOnePass))
    return unsupported(std::string("rank: the sums of this mask are those of ") +
                       form_info(plan.form).name);

  const std::size_t weights = static_cast<std::size_t>(
      plan.passes() != Passes::kDirect ? mask.width + mask.height : mask.taps());
  const std::size_t bytes = weights * weight_bytes(plan.accumulator);
  if (kernel == KernelKind::kConstant && bytes > kConstantBankBytes)
    return unsupported("size: a mask of " + size_text(mask) + " takes " + std::to_string(bytes) +
                       " bytes, the constant bank has " + std::to_string(kConstantBankBytes));
  if (!request.on_cuda())
    plan.storage = MaskStorage::kHostMemory;
  else if (kernel == KernelKind::kBasic || bytes > kConstantBankBytes)
    plan.storage = MaskStorage::kGlobalMemory;
  else
    plan.storage = MaskStorage::kConstantMemory;

  if (Status status = plan_tile(request, plan); !status.ok()) return status;
  return plan;
}

}  // namespace convolve
