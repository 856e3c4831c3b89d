// SPDX-License-Identifier: LGPL-2.1-or-later
// The CUDA kernel for components weighted by alpha (core/alpha_weighting.h), as the host side sees
// it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/core/weights/arithmetic.h"
#include "kernels/core/weights/weighted_epilogue.h"
#include "kernels/cuda/device/variant.h"

namespace convolve {

/// A launch for one component group, all of whose components are weighted.
struct WeightedArguments {
  Accumulator accumulator = Accumulator::kFloat64;  ///< kFloat32 or kFloat64.
  bool two_passes = false;
  GroupArguments colour;  ///< Its epilogues are not used.
  GroupArguments alpha;   ///< One channel, on the grid of `colour`: only its source counts.
  WeightedEpilogue epilogue[kMaxComponents];
  MaskArguments mask;  ///< In global memory: all weights, or the row's and then the column's.
  ExactWeights exact;
  void* intermediate = nullptr;  ///< Two passes: a plane of row sums of alpha and, beside it,
  std::int64_t intermediate_pitch = 0;  ///< one for each component; bytes.
};

/// Forces the kernels that `arguments` selects to load now.
cudaError_t load_alpha_weighted(const WeightedArguments& arguments);

/// Enqueues the filter on `stream`.
cudaError_t launch_alpha_weighted(const WeightedArguments& arguments, cudaStream_t stream);

}  // namespace convolve
