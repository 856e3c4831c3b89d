// SPDX-License-Identifier: LGPL-2.1-or-later
// The CUDA kernels for components weighted by alpha (core/weights/alpha_weighting.h), as the host
// sees them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/core/weights/arithmetic.h"
#include "kernels/core/weights/weighted_epilogue.h"
#include "kernels/cuda/device/variant.h"

namespace convolve {

/// The arguments of a launch for one component group, all of whose components are weighted.
struct WeightedArguments {
  Accumulator accumulator = Accumulator::kFloat64;  ///< kFloat32 or kFloat64.
  bool two_passes = false;
  GroupArguments colour;  ///< Its epilogues are not used.
  GroupArguments alpha;   ///< One channel, as if on the grid of `colour`; only src is used.
  WeightedEpilogue epilogue[kMaxComponents];
  MaskArguments mask;  ///< In global memory: all weights, or the row's and then the column's.
  ExactWeights exact;
  void* intermediate = nullptr;         ///< Two passes: row sums of alpha, then of each component.
  std::int64_t intermediate_pitch = 0;  ///< From row to row, in bytes.
};

/// Forces the kernels that `arguments` selects to load now.
cudaError_t load_alpha_weighted(const WeightedArguments& arguments);

/// Enqueues the filter on `stream`.
cudaError_t launch_alpha_weighted(const WeightedArguments& arguments, cudaStream_t stream);

}  // namespace convolve
