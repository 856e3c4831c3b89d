// SPDX-License-Identifier: LGPL-2.1-or-later
// Asynchronous copies to shared memory (cp.async) in stages: while one stage is used the next ones
// are on their way.
#pragma once

#include <cuda_runtime.h>

namespace convolve {
namespace {

/// All copies that this thread has begun since the last end_stage() become one stage.
__device__ __forceinline__ void end_stage() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits until all stages of this thread but the last kUnderway are complete.
template <int kUnderway>
__device__ __forceinline__ void wait_for_stages() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" : : "n"(kUnderway) : "memory");
#endif
}

}  // namespace
}  // namespace convolve
