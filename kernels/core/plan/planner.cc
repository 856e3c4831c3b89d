// SPDX-License-Identifier: LGPL-2.1-or-later
// The choice of a kernel: a pure function, so that its table is a test.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "kernels/core/plan/box_choice.h"
#include "kernels/core/plan/cost.h"
#include "kernels/core/plan/plan.h"
#include "kernels/core/plan/planner_tensor.h"
#include "kernels/core/shape/box_bands.h"
#include "kernels/core/shape/box_strip.h"
#include "kernels/core/shape/box_tile.h"
#include "kernels/core/shape/byte_phases.h"
#include "kernels/core/weights/box.h"
#include "kernels/core/weights/coarse_mask.h"
#include "kernels/core/weights/separable_digits.h"
#include "kernels/core/weights/shift.h"

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

Status need_dense(const Mask& mask) {
  if (mask.dense()) return {};
  return unsupported("size: a mask of " + size_text(mask) +
                     " is kept as a column times a row, which only kernel=separable reads");
}

/// Fills in the tile of `plan`, or says why the kernel cannot have one.
Status plan_tile(const Mask& mask, const Options& options, const DeviceCapabilities& device,
                 Plan& plan) {
  const int wanted = options.tile_width;
  switch (plan.kernel) {
    case KernelKind::kTiledInput: {
      const int most = wanted == 0 ? 32 : wanted;
      plan.tile_width = tiled_input_tile(most, mask.width);
      plan.tile_height = tiled_input_tile(most, mask.height);
      if (plan.tile_width < 1 || plan.tile_height < 1)
        return unsupported(
            "size: a block of 32 x 32 threads holds the input tile of masks up to "
            "32x32, this one is " +
            size_text(mask));
      return {};
    }
    case KernelKind::kTiledOutput: {
      int width = wanted == 0 ? 32 : wanted;
      // Left to us, the tile shrinks until it fits.
      while (wanted == 0 && width > 8 &&
             tile_with_halo_bytes(width, width, mask) > device.shared_bytes)
        width /= 2;
      plan.tile_width = width;
      plan.tile_height = width;
      const std::size_t bytes = tile_with_halo_bytes(width, plan.tile_height, mask);
      if (bytes > device.shared_bytes)
        return unsupported(
            "memory: a tile of " + std::to_string(width) + "x" + std::to_string(plan.tile_height) +
            " with the halo of a " + size_text(mask) + " mask takes " + std::to_string(bytes) +
            " bytes of shared memory, a block has " + std::to_string(device.shared_bytes));
      return {};
    }
    case KernelKind::kCachedHalo:
      plan.tile_width = wanted == 0 ? 32 : wanted;
      plan.tile_height = cached_rows(plan.tile_width);
      return {};
    case KernelKind::kCoarsened:
      if (device.backend != BackendKind::kCuda) return {};
      plan.tile_width = kCoarsenedTileWidth;
      plan.tile_height = kCoarsenedTileHeight;
      return {};
    case KernelKind::kSeparable: {
      if (device.backend != BackendKind::kCuda || plan.passes() == Passes::kDirect) return {};
      const SeparableTile tile = separable_tile(mask, plan.accumulator, device.shared_bytes);
      plan.fused = tile.fused;
      plan.tile_width = tile.width;
      plan.tile_height = tile.height;
      return {};
    }
    case KernelKind::kTensor:  // plan_tensor() has.
    case KernelKind::kAuto:
    case KernelKind::kBasic:
    case KernelKind::kConstant:
    case KernelKind::kBox:  // Cuts each plane as its size asks.
    case KernelKind::kShift:
      return {};
  }
  return {};
}

/// Has separable run on tensor cores, if these serve.
bool plan_separable_digits(const FrameFormat& format, const Mask& mask, const Options& options,
                           const DeviceCapabilities& device, Plan& plan) {
  if (device.backend != BackendKind::kCuda || device.compute_capability < 75) return false;
  if (weights_by_alpha(format, options)) return false;
  const bool rational = is_rational(format, mask, options.scale);
  const std::optional<SeparableDigits> digits = make_separable_digits(format, mask, rational);
  if (!digits || !separable_digits_serve(format, mask, *digits, options.scale, rational))
    return false;
  const SeparableWindow window = separable_window(mask);
  plan.fused = std::max(window.row_chunks, window.column_chunks) <= kMostFusedChunks;
  if (!plan.fused && separable_shared_bytes(window) > device.shared_bytes) return false;
  plan.rational = rational;
  plan.digits = digits->column_digits;
  plan.accumulator = Accumulator::kInt32;
  plan.storage = MaskStorage::kGlobalMemory;
  return true;
}

/// Has separable run on a coarse grid, if the mask is smooth enough.
bool plan_coarse(const FrameFormat& format, const Mask& mask, const Options& options,
                 const DeviceCapabilities& device, Plan& plan) {
  if (device.backend != BackendKind::kCuda || weights_by_alpha(format, options)) return false;
  const std::optional<CoarseMask> coarse = choose_coarse_mask(format, mask, options.scale);
  if (!coarse || coarse_shared_bytes(format, mask, coarse->spacing()) > device.shared_bytes)
    return false;
  plan.coarse = coarse->spacing();
  plan.accumulator = Accumulator::kFloat32;
  plan.storage = MaskStorage::kGlobalMemory;
  return true;
}

/// True if kernel box takes all planes on tensor cores; it does so plane by plane.
bool box_runs_in_strips(const FrameFormat& format, const Mask& mask,
                        const DeviceCapabilities& device) {
  if (device.backend != BackendKind::kCuda || device.compute_capability < 75) return false;
  BoxWork work;
  work.width = work.height = 1;
  work.mask_width = mask.width;
  work.mask_height = mask.height;
  work.shared_bytes = device.shared_bytes;
  if (!choose_box_strip(work, mask.anchor_x)) return false;
  return std::all_of(format.planes, format.planes + format.plane_count,
                     [&mask](const PlaneFormat& plane) {
                       return !has_filtered(plane) || box_strips_serve(plane, mask);
                     });
}

/// True if kernel box can take all planes in bands.
bool box_runs_in_bands(const FrameFormat& format, const Mask& mask,
                       const DeviceCapabilities& device) {
  if (device.backend != BackendKind::kCuda) return false;
  ComponentGroup groups[kMaxGroups];
  const int count = component_groups(format, groups, /*weighting=*/false);
  return std::all_of(groups, groups + count, [&](const ComponentGroup& group) {
    if (!group.any_filtered) return true;
    return box_bands_serve(format.planes[group.plane]) &&
           choose_box_bands(box_work(format, group, mask, device), mask.anchor_x);
  });
}

/// Arithmetic of box, or why it cannot serve.
Status plan_box(const FrameFormat& format, const Mask& mask, const Options& options,
                const DeviceCapabilities& device, Plan& plan) {
  if (!box_weight(mask)) return unsupported("rank: its weights are not all equal");
  if (!box_sums_fit(format, mask))
    return unsupported("size: sums of " + std::to_string(mask.taps()) +
                       " samples need more than 32 bits");
  if (weights_by_alpha(format, options))
    return unsupported("alpha: it cannot weight colour by alpha");
  const bool cuda = device.backend == BackendKind::kCuda;
  const std::size_t bytes =
      box_layout(box_groups(kBoxGroup, mask.width), kBoxRun, /*packed=*/false).bytes;
  if (cuda && bytes > device.shared_bytes)
    return unsupported("memory: sums of the columns below a " + size_text(mask) + " mask take " +
                       std::to_string(bytes) + " bytes of shared memory, a block has " +
                       std::to_string(device.shared_bytes));
  plan.rational = is_rational(format, mask, options.scale);
  plan.accumulator = Accumulator::kInt32;
  plan.storage = cuda ? MaskStorage::kParameter : MaskStorage::kHostMemory;
  if (box_runs_in_strips(format, mask, device)) plan.digits = 2;
  // In bands, if that takes less time; what a warp makes is the tile.
  const bool serve = box_runs_in_bands(format, mask, device);
  if (options.bands.value_or(false) && !serve)
    return unsupported("size: bands are of planes of one 8-bit component whose rows fit a block");
  if (serve && options.bands.value_or(band_steps_serve(mask.height))) {
    Plan in_bands = plan;
    in_bands.digits = 0;
    in_bands.tile_width = kBandPiece;
    in_bands.tile_height = 1;
    const CostConstants constants = cost_constants(device);
    if (options.bands || predicted_microseconds(constants, in_bands, format, mask) <
                             predicted_microseconds(constants, plan, format, mask))
      plan = in_bands;
  }
  return {};
}

/// Arithmetic of shift, or why it cannot serve.
Status plan_shift(const FrameFormat& format, const Mask& mask, const Options& options,
                  const DeviceCapabilities& device, Plan& plan) {
  if (!shift_of(mask)) return unsupported("rank: more than one of its weights is not 0");
  if (weights_by_alpha(format, options))
    return unsupported("alpha: it cannot weight colour by alpha");
  plan.rational = is_rational(format, mask, options.scale);
  plan.accumulator = Accumulator::kFloat32;  // Which holds the difference of any two codes.
  plan.storage =
      device.backend == BackendKind::kCuda ? MaskStorage::kParameter : MaskStorage::kHostMemory;
  return {};
}

/// Everything but the reason for `kernel`, or why it cannot serve: "size: ...", "memory: ...",
/// "rank: ...", "device: ..." or "alpha: ...".
Result<Plan> plan_for(KernelKind kernel, const FrameFormat& format, const Mask& mask,
                      const Options& options, const DeviceCapabilities& device) {
  const KernelInfo& info = kernel_info(kernel);
  const bool cuda = device.backend == BackendKind::kCuda;
  if (!(cuda ? info.on_cuda : info.on_cpu))
    return unsupported(std::string("device: the ") + (cuda ? "cuda" : "cpu") +
                       " backend does not have it");
  if (weights_by_alpha(format, options) && !alpha_fits(format))
    return unsupported("alpha: its samples are not as wide as those of colour");
  // Weighted colour has a kernel of its own. Who asks for another one by name would not get it.
  if (weights_by_alpha(format, options) && options.kernel != KernelKind::kAuto &&
      kernel != KernelKind::kBasic)
    return unsupported(
        "alpha: it cannot weight colour by alpha as alpha-mode=premultiplied asks, which "
        "kernel=auto can");
  Plan plan;
  plan.backend = device.backend;
  plan.kernel = kernel;
  if (kernel == KernelKind::kBox) {
    if (Status status = plan_box(format, mask, options, device, plan); !status.ok()) return status;
    return plan;
  }
  if (kernel == KernelKind::kShift) {
    if (Status status = plan_shift(format, mask, options, device, plan); !status.ok())
      return status;
    return plan;
  }
  if (kernel != KernelKind::kSeparable)
    if (Status status = need_dense(mask); !status.ok()) return status;
  if (kernel == KernelKind::kTensor) {
    if (Status status = plan_tensor(format, mask, options, device, plan); !status.ok())
      return status;
    return plan;
  }

  if (kernel == KernelKind::kSeparable) {
    const bool with_digits = plan_separable_digits(format, mask, options, device, plan);
    Plan coarse;
    coarse.backend = device.backend;
    coarse.kernel = kernel;
    if (options.coarse.value_or(true) && plan_coarse(format, mask, options, device, coarse)) {
      const CostConstants constants = cost_constants(device);
      const auto predicted = [&](const Plan& p) {
        return predicted_microseconds(constants, p, format, mask);
      };
      if (options.coarse || !with_digits || predicted(coarse) < predicted(plan)) return coarse;
    } else if (options.coarse.value_or(false)) {
      return unsupported("rank: the mask is not smooth enough for a coarse grid");
    }
    if (with_digits) return plan;
  }

  const Result<Accumulator> accumulator = choose_accumulator(
      format, mask, options.scale, options.bias, plan.passes(), /*with_int32=*/cuda);
  if (!accumulator.ok()) return unsupported("rank: " + accumulator.status().message());
  plan.accumulator = accumulator.value();
  plan.rational = is_rational(format, mask, options.scale);

  const std::size_t weights = static_cast<std::size_t>(
      plan.passes() == Passes::kRowColumn ? mask.width + mask.height : mask.taps());
  const std::size_t bytes = weights * weight_bytes(plan.accumulator);
  if (kernel == KernelKind::kConstant && bytes > kConstantBankBytes)
    return unsupported("size: a mask of " + size_text(mask) + " takes " + std::to_string(bytes) +
                       " bytes, the constant bank has " + std::to_string(kConstantBankBytes));
  if (!cuda)
    plan.storage = MaskStorage::kHostMemory;
  else if (kernel == KernelKind::kBasic || bytes > kConstantBankBytes)
    plan.storage = MaskStorage::kGlobalMemory;
  else
    plan.storage = MaskStorage::kConstantMemory;

  if (Status status = plan_tile(mask, options, device, plan); !status.ok()) return status;
  return plan;
}

/// " (basic, coarsened would serve)": the kernels that can run what `kernel` cannot.
std::string others_text(const FrameFormat& format, const Mask& mask, const Options& options,
                        const DeviceCapabilities& device) {
  std::string names;
  for (const KernelInfo& info : kKernels) {
    if (info.kind == KernelKind::kAuto || !plan_for(info.kind, format, mask, options, device).ok())
      continue;
    names += (names.empty() ? "" : ", ") + std::string(info.nick);
  }
  const char* backend = device.backend == BackendKind::kCuda ? "cuda" : "cpu";
  if (names.empty()) return std::string("; no kernel of the ") + backend + " backend can";
  return std::string("; on the ") + backend + " backend these can: " + names;
}

/// True if two passes are worth their overhead. On the CPU it is enough that they save half of the
/// multiply-adds: 0.49 against 0.29 ms at 7x7 (1080p, 16 threads, AVX-512). On CUDA this is asked
/// for weighted colour only: 18 + 0.36 us a tap in one pass and 45 + 0.9 in two, the lines of
/// kernels coarsened and separable for an 8-bit plane at 4K on an H100, decide there.
bool two_passes_pay(const Mask& mask, BackendKind backend) {
  if (!mask.dense()) return true;
  const double direct = static_cast<double>(mask.taps());
  const double passes = mask.width + mask.height;
  return backend == BackendKind::kCuda ? direct > 75 + 2.5 * passes : direct > 2 * passes;
}

/// Width and height together from which running sums beat two passes on the CPU: 1.06 against 1.21
/// ms at 9x9, 1.05 against 1.02 at 7x7 (GRAY8, 1080p, 4 threads, AVX2).
constexpr int kCpuBoxSides = 16;

/// The sums of weighted colour, if there is any.
std::optional<WeightedSums> plan_weighting(const FrameFormat& format, const Mask& mask,
                                           const Options& options, const Plan& plan) {
  if (!weights_by_alpha(format, options)) return std::nullopt;
  WeightedSums sums;
  sums.rational = plan.rational;
  const bool two_passes = options.kernel != KernelKind::kBasic && factors_serve(mask) &&
                          two_passes_pay(mask, plan.backend);
  sums.passes = two_passes ? Passes::kRowColumn : Passes::kDirect;
  sums.accumulator = choose_weighted_accumulator(format, mask, weight_totals(mask), options.scale,
                                                 sums.rational, sums.passes);
  return sums;
}

std::string taps_text(const Mask& mask) {
  return std::to_string(mask.width + mask.height) + " taps instead of " +
         std::to_string(mask.taps());
}

std::string reason_for(const Plan& plan, const Mask& mask) {
  if (plan.kernel == KernelKind::kSeparable)
    return size_text(mask) + ", rank 1: " + taps_text(mask) +
           (plan.coarse.column > 0 ? ", smooth: on a coarse grid"
            : plan.digits > 0      ? ", on tensor cores"
                                   : "");
  if (plan.kernel == KernelKind::kTensor) return size_text(mask) + ", on tensor cores";
  if (plan.kernel == KernelKind::kBox)
    return size_text(mask) + ", equal weights: running sums" +
           (plan.digits > 0 ? ", on tensor cores" : "");
  if (plan.kernel == KernelKind::kShift)
    return size_text(mask) + (mask.zero_taps == mask.taps() ? ", all 0: nothing is read"
                                                            : ", one tap: samples are moved");
  return size_text(mask) + (mask.rank1 ? ", rank 1 but small: " : ", ") +
         "several outputs per thread";
}

/// The cheapest of the kernels that nobody has to ask for.
Result<Plan> choose_cuda(const FrameFormat& format, const Mask& mask, const Options& options,
                         const DeviceCapabilities& device) {
  std::optional<Plan> best;
  std::string refusal;
  const CostConstants constants = cost_constants(device);
  for (const KernelKind kernel : kChosenOnCuda) {
    Result<Plan> plan = plan_for(kernel, format, mask, options, device);
    if (!plan.ok()) {
      refusal = plan.status().message();
      continue;
    }
    plan.value().predicted_us = predicted_microseconds(constants, plan.value(), format, mask);
    if (!best || plan.value().predicted_us < best->predicted_us) best = std::move(plan.value());
  }
  if (!best) return unsupported("no kernel can serve this mask: " + refusal);
  best->reason = reason_for(*best, mask);
  return *std::move(best);
}

/// The first that serves, in an order that the size of the mask decides.
Result<Plan> choose_cpu(const FrameFormat& format, const Mask& mask, const Options& options,
                        const DeviceCapabilities& device) {
  const std::pair<KernelKind, bool> candidates[] = {
      {KernelKind::kShift, true},
      {KernelKind::kBox, mask.width + mask.height >= kCpuBoxSides},
      {KernelKind::kSeparable, mask.rank1 && two_passes_pay(mask, device.backend)},
      {KernelKind::kCoarsened, true},
  };
  Status refusal;
  for (const auto& [kernel, worthwhile] : candidates) {
    if (!worthwhile) continue;
    Result<Plan> plan = plan_for(kernel, format, mask, options, device);
    if (plan.ok()) {
      plan.value().reason = reason_for(plan.value(), mask);
      return plan;
    }
    refusal = plan.status();
  }
  return unsupported("no kernel can serve this mask: " + refusal.message());
}

/// The kernel of what is not weighted by alpha.
Result<Plan> choose_kernel(const FrameFormat& format, const Mask& mask, const Options& options,
                           const DeviceCapabilities& device) {
  const int tile = options.tile_width;
  if (tile != 0 && tile != 8 && tile != 16 && tile != 32 && tile != 64)
    return invalid_argument("tile-width " + std::to_string(tile) + " is not 0, 8, 16, 32 or 64");

  if (options.kernel != KernelKind::kAuto) {
    Result<Plan> plan = plan_for(options.kernel, format, mask, options, device);
    if (plan.ok()) {
      plan.value().reason = size_text(mask) + ", as asked";
      if (device.backend == BackendKind::kCuda)
        plan.value().predicted_us =
            predicted_microseconds(cost_constants(device), plan.value(), format, mask);
      return plan;
    }
    return unsupported(std::string("kernel=") + kernel_info(options.kernel).nick +
                       " cannot serve this mask: " + plan.status().message() +
                       others_text(format, mask, options, device));
  }

  if (device.backend == BackendKind::kCuda) return choose_cuda(format, mask, options, device);
  return choose_cpu(format, mask, options, device);
}

}  // namespace

std::string size_text(const Mask& mask) {
  return std::to_string(mask.width) + "x" + std::to_string(mask.height);
}

bool weights_by_alpha(const FrameFormat& format, const Options& options) {
  return options.alpha_mode == AlphaMode::kPremultiplied && has_weighted(format);
}

SeparableTile separable_tile(const Mask& mask, Accumulator accumulator, std::size_t shared_bytes) {
  // The tile of input rows with halo, and the row sums of the same rows; pitches are made odd.
  constexpr int kWidth = 64;
  constexpr int kHeight = 32;
  const std::size_t rows = static_cast<std::size_t>(kHeight) + mask.height - 1;
  const std::size_t bytes =
      rows * (kWidth + mask.width) * kCellBytes + rows * (kWidth + 1) * weight_bytes(accumulator);
  return {kWidth, kHeight, bytes <= shared_bytes, bytes};
}

Result<Plan> make_plan(const FrameFormat& format, const Mask& mask, const Options& options,
                       const DeviceCapabilities& device) {
  Result<Plan> plan = choose_kernel(format, mask, options, device);
  if (!plan.ok()) return plan;
  plan.value().weighted = plan_weighting(format, mask, options, plan.value());
  if (plan.value().weighted) plan.value().predicted_us = 0;
  return plan;
}

}  // namespace convolve
