// SPDX-License-Identifier: LGPL-2.1-or-later
// Weights of kernel `tensor` in shared memory, for warps that read those of several digits again
// and again: in the L1 cache such reads would wait behind the samples.
#pragma once

#include "kernels/cuda/tensor/tensor_load.cuh"

namespace convolve {
namespace {

/// Has the threads of a block copy the weights to shared memory, and waits for all of them.
__device__ __forceinline__ void copy_weights_to_shared(const uint4* from, int count, uint4* to) {
  for (int i = threadIdx.x + 32 * threadIdx.y; i < count; i += 32 * kWarps)
    to[i] = __ldg(from + i);
  __syncthreads();
}

}  // namespace
}  // namespace convolve
