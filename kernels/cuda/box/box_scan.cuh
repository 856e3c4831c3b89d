// SPDX-License-Identifier: LGPL-2.1-or-later
// From window to window one column enters and one leaves: what kernel box scans such differences
// with.
#pragma once

#include <cuda_runtime.h>

namespace convolve {
namespace {

constexpr unsigned kAllLanes = 0xFFFFFFFFu;

/// sum + a0 b0 + a1 b1, with the low bytes of `b` signed.
__device__ __forceinline__ unsigned add_pair(unsigned a, unsigned b, unsigned sum) {
  asm("dp2a.lo.u32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(a), "r"(b));
  return sum;
}
constexpr unsigned kFirst = 0x0001, kSecond = 0x0100;

/// The sums of the values of the lanes before this one, of each value by itself.
template <int kCount>
__device__ __forceinline__ void sum_before(unsigned (&value)[kCount]) {
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

/// The sum of all lanes' values.
__device__ __forceinline__ unsigned sum_of_lanes(unsigned value) {
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
