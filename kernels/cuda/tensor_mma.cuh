// SPDX-License-Identifier: LGPL-2.1-or-later
// The matrix product of kernel `tensor`.
#pragma once

#include <cuda_runtime.h>

namespace convolve {
namespace {

/// d = a b + c: 16 x 32 signed by 32 x 8 unsigned bytes.
__device__ __forceinline__ void multiply(int (&d)[4], const uint4& a, const uint2& b,
                                         const int (&c)[4]) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
      : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y), "r"(c[0]), "r"(c[1]), "r"(c[2]),
        "r"(c[3]));
#else
  const auto half = [](int& d0, int& d1, unsigned a0, unsigned b0, int c0, int c1) {
    asm("mma.sync.aligned.m8n8k16.row.col.s32.s8.u8.s32 {%0, %1}, {%2}, {%3}, {%4, %5};"
        : "=r"(d0), "=r"(d1)
        : "r"(a0), "r"(b0), "r"(c0), "r"(c1));
  };
  half(d[0], d[1], a.x, b.x, c[0], c[1]);
  half(d[2], d[3], a.y, b.x, c[2], c[3]);
  half(d[0], d[1], a.z, b.y, d[0], d[1]);
  half(d[2], d[3], a.w, b.y, d[2], d[3]);
#endif
}

}  // namespace
}  // namespace convolve
