// SPDX-License-Identifier: LGPL-2.1-or-later
// A vector of sixteen bytes of packed 4:2:2 (YUY2 and its kin), and how it is deinterleaved and
// interleaved again.
#pragma once

#include "kernels/cuda/tensor/tensor_load.cuh"

namespace convolve {
namespace {

constexpr int kVectorLuma = 8,
              kVectorChroma = 4;  ///< Samples of luma and of either chroma in a vector.
/// Bytes of a vector.
constexpr int kPackedVectorBytes = kVectorLuma + 2 * kVectorChroma;

/// True if luma lies at the even bytes.
__device__ __forceinline__ bool luma_first(const TensorPlane& plane) {
  return plane.phase[0].step == 2;
}

/// The phase of component k: luma is 0 and 1, chroma 2 and 3 in the order of memory.
__device__ __forceinline__ int packed_phase(const TensorPlane& plane, int k) {
  const int luma = luma_first(plane) ? 0 : 1;
  return k < 2 ? luma : 1 - luma + 2 * (k - 2);
}

/// A word of ghosts without signal of component k.
__device__ __forceinline__ unsigned packed_black(const TensorPlane& plane, int k) {
  return 0x01010101u * static_cast<unsigned>(plane.phase[packed_phase(plane, k)].black);
}

/// The samples of a vector, deinterleaved.
struct PackedSamples {
  uint2 luma;
  unsigned chroma[2];

  __device__ __forceinline__ PackedSamples(const uint4& bytes, bool luma_first) {
    const unsigned even = 0x6420, odd = 0x7531;
    const unsigned own = luma_first ? even : odd, others = luma_first ? odd : even;
    luma = make_uint2(__byte_perm(bytes.x, bytes.y, own), __byte_perm(bytes.z, bytes.w, own));
    const unsigned low = __byte_perm(bytes.x, bytes.y, others);
    const unsigned high = __byte_perm(bytes.z, bytes.w, others);
    chroma[0] = __byte_perm(low, high, even);
    chroma[1] = __byte_perm(low, high, odd);
  }
};

/// The vector, as it lies in memory, of these samples of luma and of the first and the second
/// chroma.
__device__ __forceinline__ uint4 packed_bytes(uint2 luma, unsigned even, unsigned odd,
                                              bool luma_first) {
  const unsigned low = luma_first ? 0x5140 : 0x1504, high = luma_first ? 0x7362 : 0x3726;
  const unsigned first = __byte_perm(even, odd, 0x5140), second = __byte_perm(even, odd, 0x7362);
  return make_uint4(__byte_perm(luma.x, first, low), __byte_perm(luma.x, first, high),
                    __byte_perm(luma.y, second, low), __byte_perm(luma.y, second, high));
}

}  // namespace
}  // namespace convolve
