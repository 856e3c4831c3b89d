// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/plan/plan.h"

#include <algorithm>
#include <cmath>

namespace convolve {

const KernelInfo kKernels[kKernelCount] = {
    {KernelKind::kAuto, "auto", "The planner chooses (cuda, cpu)", true, true},
    {KernelKind::kBasic, "basic",
     "A thread per output, mask and picture from global memory: PMPP 7.2, Fig. 7.6 in 2D (cuda, "
     "cpu)",
     true, true},
    {KernelKind::kConstant, "constant", "Mask in constant memory: PMPP 7.3, Fig. 7.8 in 2D (cuda)",
     true, false},
    {KernelKind::kTiledInput, "tiled-input",
     "Block = input tile with halo, inner threads compute: PMPP 7.6, Fig. 7.19-7.21; masks to 32 "
     "a side (cuda)",
     true, false},
    {KernelKind::kTiledOutput, "tiled-output",
     "Block = output tile, threads load several cells: PMPP Fig. 7.11 in 2D (cuda)", true, false},
    {KernelKind::kCachedHalo, "cached-halo",
     "Internal cells in shared memory, halo from L2: PMPP 7.5, Fig. 7.13-7.14 in 2D (cuda)", true,
     false},
    {KernelKind::kCoarsened, "coarsened",
     "Several outputs per thread in registers: ECE408 lecture 9 (cuda, cpu)", true, true},
    {KernelKind::kSeparable, "separable",
     "Rank-1 masks as a row pass and a column pass: PMPP 7.2-7.5 in 1D (cuda, cpu)", true, true},
    {KernelKind::kTensor, "tensor",
     "Weights as 8-bit digits on the INT8 tensor cores, exactly: compute capability "
     "7.5 and up (cuda)",
     true, false},
    {KernelKind::kBox, "box",
     "Masks of equal weights by running sums, at nearly one cost for all sizes (cuda, cpu)", true,
     true},
    {KernelKind::kShift, "shift",
     "Masks with at most one weight that is not 0: samples are moved, not summed (cuda, cpu)", true,
     true},
};

const KernelInfo& kernel_info(KernelKind kind) {
  return kKernels[static_cast<int>(kind)];
}

namespace {

const char* storage_name(MaskStorage storage) {
  switch (storage) {
    case MaskStorage::kHostMemory:
      return "host-memory";
    case MaskStorage::kConstantMemory:
      return "constant-memory";
    case MaskStorage::kGlobalMemory:
      return "global-memory";
    case MaskStorage::kParameter:
      return "parameter";
  }
  return "?";
}

/// Two digits: predictions are no better than that.
std::string about(double us) {
  double unit = 1;
  while (us >= 100 * unit)
    unit *= 10;
  return "about " + std::to_string(std::max(1L, std::lround(us / unit)) * std::lround(unit)) +
         " us";
}

/// Of the row, then of the column, as sizes are.
std::string spacing_text(const CoarseSpacing& spacing) {
  return std::to_string(spacing.row) + "x" + std::to_string(spacing.column);
}

}  // namespace

std::string Plan::to_string() const {
  std::string text = backend == BackendKind::kCuda ? "cuda " : "cpu ";
  text += kernel_info(kernel).nick;
  if (tile_width > 0)
    text += " tile " + std::to_string(tile_width) + "x" + std::to_string(tile_height);
  if (kernel == KernelKind::kSeparable && backend == BackendKind::kCuda)
    text += coarse.column > 0             ? " coarse " + spacing_text(coarse)
            : passes() == Passes::kDirect ? " one-pass"
            : fused                       ? " fused"
                                          : " two-pass";
  if (digits > 0) text += digits == 1 ? " 1 digit" : " " + std::to_string(digits) + " digits";
  text += std::string(" ") + accumulator_name(accumulator) + (rational ? " rational " : " real ");
  text += storage_name(storage);
  if (weighted) {
    text += std::string(", colour alpha-weighted ") + accumulator_name(weighted->accumulator);
    text += weighted->passes == Passes::kRowColumn ? " two-pass" : " one-pass";
  }
  if (predicted_us > 0) text += ", " + about(predicted_us);
  text += " (" + reason + ")";
  return text;
}

bool operator==(const Plan& a, const Plan& b) {
  return a.backend == b.backend && a.kernel == b.kernel && a.tile_width == b.tile_width &&
         a.tile_height == b.tile_height && a.fused == b.fused && a.rational == b.rational &&
         a.accumulator == b.accumulator && a.digits == b.digits && a.mapping == b.mapping &&
         a.coarse == b.coarse && a.storage == b.storage && a.weighted == b.weighted &&
         a.reason == b.reason;
}

}  // namespace convolve
