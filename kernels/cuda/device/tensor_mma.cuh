// SPDX-License-Identifier: LGPL-2.1-or-later
// The matrix products of tensor cores (mma.sync) that several families of kernels use: 8-bit
// weights, signed, times 8-bit samples, unsigned, summed in int32. Fragment layouts: PTX ISA, mma.
#pragma once

#include <cuda_runtime.h>

namespace convolve {
namespace {

/// d = a b + c: 8 x 16 signed by 16 x 8 unsigned bytes, the only shape of compute capability 7.5.
__device__ __forceinline__ void multiply_m8n8k16(int& d0, int& d1, unsigned a, unsigned b, int c0,
                                                 int c1) {
  asm("mma.sync.aligned.m8n8k16.row.col.s32.s8.u8.s32 {%0, %1}, {%2}, {%3}, {%4, %5};"
      : "=r"(d0), "=r"(d1)
      : "r"(a), "r"(b), "r"(c0), "r"(c1));
}

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
  multiply_m8n8k16(d[0], d[1], a.x, b.x, c[0], c[1]);
  multiply_m8n8k16(d[2], d[3], a.y, b.x, c[2], c[3]);
  multiply_m8n8k16(d[0], d[1], a.z, b.y, d[0], d[1]);
  multiply_m8n8k16(d[2], d[3], a.w, b.y, d[2], d[3]);
#endif
}

/// d = a b + c: 16 x 64 by 64 x 8, where each row of `a` has at most two weights in every four, and
/// holds only these; `metadata` selects their positions (octet_fragments()). Compute capability 8.0
/// and up.
__device__ __forceinline__ void multiply_sparse(int (&d)[4], const uint4& a, unsigned metadata,
                                                const uint4& b, const int (&c)[4]) {
#if __CUDA_ARCH__ >= 800
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1205
#define CONVOLVE_MMA_SPARSE "mma.sp::ordered_metadata.sync"
#else
#define CONVOLVE_MMA_SPARSE "mma.sp.sync"
#endif
  asm(CONVOLVE_MMA_SPARSE
      ".aligned.m16n8k64.row.col.s32.s8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9, %10, %11}, {%12, %13, %14, %15}, %16, 0x0;"
      : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y), "r"(b.z), "r"(b.w), "r"(c[0]),
        "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(metadata));
#undef CONVOLVE_MMA_SPARSE
#else
  __trap();  // OctetWindow::sparse is false on such a device.
#endif
}

/// d = a b + c: 16 x 16 by 16 x 8, the first or the second half of multiply() along k.
__device__ __forceinline__ void multiply_half(int (&d)[4], const uint2& a, unsigned b,
                                              const int (&c)[4]) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.u8.s32 "
      "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"
      : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
      : "r"(a.x), "r"(a.y), "r"(b), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
#else
  multiply_m8n8k16(d[0], d[1], a.x, b, c[0], c[1]);
  multiply_m8n8k16(d[2], d[3], a.y, b, c[2], c[3]);
#endif
}

}  // namespace
}  // namespace convolve
