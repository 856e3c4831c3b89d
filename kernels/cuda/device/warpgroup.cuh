// SPDX-License-Identifier: LGPL-2.1-or-later
// Warpgroups of compute capability 9.0, four warps that work as one: matrix products from shared
// memory, and the barriers by which producer and consumer warps hand tiles to each other (PTX ISA:
// wgmma, mbarrier).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/device/poll.cuh"

namespace convolve {
namespace {

/// The descriptor of a matrix in shared memory, without swizzling: core matrices of 8 rows x 16
/// bytes, 128 contiguous bytes each, lie `across` bytes apart along k and `down` bytes apart along
/// the other axis. All are multiples of 16.
struct MatrixDescriptor {
  unsigned low;  ///< Adding n here moves the matrix by 16 n bytes.
  unsigned high;

  __device__ __forceinline__ MatrixDescriptor(unsigned address, int across, int down)
      : low(static_cast<unsigned>(across) >> 4 << 16 | address >> 4),
        high(static_cast<unsigned>(down) >> 4) {}

  __device__ __forceinline__ std::uint64_t descriptor() const {
    return static_cast<std::uint64_t>(high) << 32 | low;
  }
};

/// d += a b for a warpgroup: 64 x 32 signed by 32 x 128 unsigned bytes. Warp w has rows 16 w to 16
/// w + 15; lane l has columns 8 i + 2 (l % 4) and the next one: d[i][0] and d[i][1] of row l / 4,
/// d[i][2] and d[i][3] of the row eight below. Asynchronous: wait_for_products() must follow.
__device__ __forceinline__ void start_product(int (&d)[16][4], const MatrixDescriptor& a,
                                              const MatrixDescriptor& b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.u8 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      " %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      " %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, 1;"
      : "+r"(d[0][0]), "+r"(d[0][1]), "+r"(d[0][2]), "+r"(d[0][3]), "+r"(d[1][0]), "+r"(d[1][1]),
        "+r"(d[1][2]), "+r"(d[1][3]), "+r"(d[2][0]), "+r"(d[2][1]), "+r"(d[2][2]), "+r"(d[2][3]),
        "+r"(d[3][0]), "+r"(d[3][1]), "+r"(d[3][2]), "+r"(d[3][3]), "+r"(d[4][0]), "+r"(d[4][1]),
        "+r"(d[4][2]), "+r"(d[4][3]), "+r"(d[5][0]), "+r"(d[5][1]), "+r"(d[5][2]), "+r"(d[5][3]),
        "+r"(d[6][0]), "+r"(d[6][1]), "+r"(d[6][2]), "+r"(d[6][3]), "+r"(d[7][0]), "+r"(d[7][1]),
        "+r"(d[7][2]), "+r"(d[7][3]), "+r"(d[8][0]), "+r"(d[8][1]), "+r"(d[8][2]), "+r"(d[8][3]),
        "+r"(d[9][0]), "+r"(d[9][1]), "+r"(d[9][2]), "+r"(d[9][3]), "+r"(d[10][0]), "+r"(d[10][1]),
        "+r"(d[10][2]), "+r"(d[10][3]), "+r"(d[11][0]), "+r"(d[11][1]), "+r"(d[11][2]),
        "+r"(d[11][3]), "+r"(d[12][0]), "+r"(d[12][1]), "+r"(d[12][2]), "+r"(d[12][3]),
        "+r"(d[13][0]), "+r"(d[13][1]), "+r"(d[13][2]), "+r"(d[13][3]), "+r"(d[14][0]),
        "+r"(d[14][1]), "+r"(d[14][2]), "+r"(d[14][3]), "+r"(d[15][0]), "+r"(d[15][1]),
        "+r"(d[15][2]), "+r"(d[15][3])
      : "l"(a.descriptor()), "l"(b.descriptor()));
}

/// Must be called before the first product whose sums have been written by anything else than a
/// product.
__device__ __forceinline__ void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

/// Waits for all products that have been started; then `d` may be used.
__device__ __forceinline__ void wait_for_products(int (&d)[16][4]) {
  asm volatile(
      "wgmma.commit_group.sync.aligned;\n\t"
      "wgmma.wait_group.sync.aligned 0;" ::
          : "memory");
#pragma unroll
  for (auto& row : d)
#pragma unroll
    for (int& sum : row)
      asm volatile("" : "+r"(sum));
}

/// Makes what threads have written to shared memory visible to products.
__device__ __forceinline__ void publish_to_products() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Waits until `warps` warps of the block have come to its barrier `index`, 0 .. 15.
__device__ __forceinline__ void sync_warps(int index, int warps) {
  asm volatile("bar.sync %0, %1;" : : "r"(index), "r"(32 * warps) : "memory");
}

/// A barrier in shared memory: a given number of arrivals completes a phase.
class Barrier {
 public:
  __device__ __forceinline__ void initialise(int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(address()), "r"(arrivals));
  }

  /// Counts as `count` arrivals.
  __device__ __forceinline__ void arrive(unsigned count = 1) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;"
                 :
                 : "r"(address()), "r"(count)
                 : "memory");
  }

  /// Arrives as soon as the copies that this thread has begun by cp.async are complete.
  __device__ __forceinline__ void arrive_with_copies() {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];"
                 :
                 : "r"(address())
                 : "memory");
  }

  /// Copies `bytes` from `from` to `to`, all multiples of 16, and arrives as soon as the copy is
  /// complete.
  __device__ __forceinline__ void arrive_with(void* to, const void* from, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :
                 : "r"(address()), "r"(bytes)
                 : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
        :
        : "r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(from), "r"(bytes),
          "r"(address())
        : "memory");
  }

  /// Waits until the phase of this parity is complete; the first phase has parity 0.
  __device__ __forceinline__ void wait(unsigned parity) {
    poll([&] { return is_complete(parity); });
  }

 private:
  /// The hardware suspends the thread for a while before it says that the phase is not complete.
  __device__ __forceinline__ bool is_complete(unsigned parity) {
    unsigned complete = 0;
    asm volatile(
        "{\n\t"
        ".reg .pred complete;\n\t"
        "mbarrier.try_wait.parity.shared::cta.b64 complete, [%1], %2;\n\t"
        "selp.u32 %0, 1, 0, complete;\n\t"
        "}"
        : "=r"(complete)
        : "r"(address()), "r"(parity)
        : "memory");
    return complete != 0;
  }

  __device__ __forceinline__ unsigned address() const {
    return static_cast<unsigned>(__cvta_generic_to_shared(this));
  }

  std::uint64_t state_;
};

}  // namespace
}  // namespace convolve
