// SPDX-License-Identifier: LGPL-2.1-or-later
// Sums over a warp, for kernel box. From each window to the next one column enters and one leaves,
// so that window sums are prefix sums (a scan) of the differences.
#pragma once

#include "kernels/cuda/device/kernel.cuh"

namespace convolve {
namespace {

/// sum + a0 b0 + a1 b1, where a0 and a1 are the halves of `a` and b0 and b1 the two lowest bytes of
/// `b`, which are signed. With a factor below it adds one half of a pair.
__device__ __forceinline__ unsigned dp2a(unsigned a, unsigned b, unsigned sum) {
  asm("dp2a.lo.u32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(a), "r"(b));
  return sum;
}
constexpr unsigned kLowFactor = 0x0001, kHighFactor = 0x0100;

/// Exclusive prefix sums over the lanes of a warp, of kCount values at the same time, which hides
/// the latency of one scan behind the others.
template <int kCount>
__device__ __forceinline__ void exclusive_scan(unsigned (&value)[kCount]) {
  unsigned sum[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    sum[i] = value[i];
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2)
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      asm volatile(
          "{\n\t"
          ".reg .pred before;\n\t"
          ".reg .u32 other;\n\t"
          "shfl.sync.up.b32 other|before, %0, %1, 0, 0xFFFFFFFF;\n\t"
          "@before add.u32 %0, %0, other;\n\t"
          "}"
          : "+r"(sum[i])
          : "r"(distance));
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    value[i] = sum[i] - value[i];
}

/// The sum of the values of all lanes, on every lane.
__device__ __forceinline__ unsigned warp_sum(unsigned value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(kAllLanes, value);
#else
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    value += __shfl_xor_sync(kAllLanes, value, distance);
  return value;
#endif
}

}  // namespace
}  // namespace convolve
