// SPDX-License-Identifier: LGPL-2.1-or-later
// Asynchronous copies from global to shared memory (cp.async, compute capability 8.0 and up; PTX
// ISA, data movement). They pass by the registers, so a thread has many under way. A thread waits
// for all of its copies, or for stages: while one stage is used the next ones are on their way.
// What other threads copied is there once they have waited, too, and a barrier has followed. Older
// processors copy at once, and waiting does nothing.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace convolve {
namespace {

/// Starts copying 8 bytes; both addresses are multiples of 8.
__device__ __forceinline__ void copy_8_async(std::uint8_t* to, const std::uint8_t* from) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;"
               :
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(from)
               : "memory");
#else
  *reinterpret_cast<uint2*>(to) = __ldg(reinterpret_cast<const uint2*>(from));
#endif
}

/// Starts copying 16 bytes; both addresses are multiples of 16.
__device__ __forceinline__ void copy_16_async(std::uint8_t* to, const std::uint8_t* from) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
               :
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(from)
               : "memory");
#else
  *reinterpret_cast<uint4*>(to) = __ldg(reinterpret_cast<const uint4*>(from));
#endif
}

/// The first `bytes` of 16, from 0 to 16: those that follow are not read, and become 0.
__device__ __forceinline__ void copy_16_async(std::uint8_t* to, const std::uint8_t* from,
                                              int bytes) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(from), "r"(bytes)
               : "memory");
#else
#pragma unroll 1
  for (int b = 0; b < 16; ++b)
    to[b] = b < bytes ? __ldg(from + b) : std::uint8_t{0};
#endif
}

/// Waits until all copies of this thread are complete.
__device__ __forceinline__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

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
