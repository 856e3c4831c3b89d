// SPDX-License-Identifier: LGPL-2.1-or-later
// Copies to shared memory that go on while others are used (cp.async), in stages.
#pragma once

#include <cuda_runtime.h>

namespace convolve {
namespace {

/// What this thread has begun to copy since the last end_stage() is a stage.
__device__ __forceinline__ void end_stage() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// All stages are there but the last kUnderway ones.
template <int kUnderway>
__device__ __forceinline__ void wait_for_stages() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" : : "n"(kUnderway) : "memory");
#endif
}

}  // namespace
}  // namespace convolve
