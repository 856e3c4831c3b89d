// SPDX-License-Identifier: LGPL-2.1-or-later
// Weights of kernel `tensor` in shared memory, for warps that read those of several digits again
// and again: from the L1 cache they would come behind the samples.
#pragma once

#include "kernels/cuda/tensor/tensor_load.cuh"

namespace convolve {
namespace {

/// Has the block's threads bring the weights to shared memory.
__device__ __forceinline__ void copy_weights_to_shared(const uint4* from, int count, uint4* to) {
  for (int i = threadIdx.x + 32 * threadIdx.y; i < count; i += 32 * kWarps)
    to[i] = __ldg(from + i);
  __syncthreads();
}

}  // namespace
}  // namespace convolve
