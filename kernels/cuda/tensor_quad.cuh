// SPDX-License-Identifier: LGPL-2.1-or-later
// Products of 4 rows x 4 adjacent bytes (tensor_fragments.h): from what a lane holds of picture
// rows to sixteen codes, twice.
//
// Outputs 4 bytes further along see the next word of a row, so that no window is cut out of others
// as tensor_pair.cuh has to. Four output rows see three groups of picture rows: a product of two
// groups for each word of the window, and half a product of the third. Those of eight output rows
// share the groups in the middle, and the weights.
#pragma once

#include "kernels/cuda/tensor_pair.cuh"

namespace convolve {
namespace {

constexpr int kQuadGroups = kPairSteps[1];  ///< That eight output rows see.

/// As PairPlace says: of one column.
struct QuadPlace {
  static constexpr int kNextX = 0, kNextRow = kGroupRows;
  static __device__ __forceinline__ int x() {
    return kColumnBytes * (threadIdx.x % 4 + threadIdx.x / 16 * 4);
  }
  static __device__ __forceinline__ int row() { return threadIdx.x / 4 % 4; }
};

/// The mask, of which one digit stays in registers.
template <Codes kCodes>
class QuadWeights {
 public:
  __device__ QuadWeights(const TensorArguments& a, const TensorPlane& plane)
      : fragments_(plane.fragments + threadIdx.x), digits_(a.digits) {
    if constexpr (kOne) load(fragments_, only_);
  }

  /// sum[half] = start + products with all groups: of rows 4 half .. 4 half + 3. word_of(g, i, m):
  /// word m of the window that quad i has in group g.
  template <int kQuads, class WordOf>
  __device__ __forceinline__ void multiply_by(const WordOf& word_of, const int (&start)[kQuads][4],
                                              int (&sum)[2][kQuads][4]) const {
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int i = 0; i < kQuads; ++i)
#pragma unroll
        for (int k = 0; k < 4; ++k)
          sum[half][i][k] = kOne || digits_ == 1 ? start[i][k] : 0;
    if constexpr (kOne) {
      add_products(only_, word_of, sum);
    } else {
      const uint4* fragments = fragments_;
#pragma unroll 1
      for (int left = digits_;;) {
        uint4 weights[kQuadWords][2];
        load(fragments, weights);
        add_products(weights, word_of, sum);
        if (--left == 0) break;
        fragments += 32 * 2 * kQuadWords;
#pragma unroll
        for (int half = 0; half < 2; ++half)
#pragma unroll
          for (int i = 0; i < kQuads; ++i)
#pragma unroll
            for (int k = 0; k < 4; ++k)
              sum[half][i][k] = sum[half][i][k] * 256 + (left == 1 ? start[i][k] : 0);
      }
    }
  }

 private:
  static constexpr bool kOne = kCodes == Codes::kBits;

  static __device__ __forceinline__ void load(const uint4* from, uint4 (&weights)[kQuadWords][2]) {
#pragma unroll
    for (int m = 0; m < kQuadWords; ++m)
#pragma unroll
      for (int g = 0; g < 2; ++g)
        weights[m][g] = __ldg(from + 32 * (2 * m + g));
  }

  /// weights[m][g]: of word m, in groups g and g + 1 of the three.
  template <int kQuads, class WordOf>
  static __device__ __forceinline__ void add_products(const uint4 (&weights)[kQuadWords][2],
                                                      const WordOf& word_of,
                                                      int (&sum)[2][kQuads][4]) {
#pragma unroll
    for (int m = 0; m < kQuadWords; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int i = 0; i < kQuads; ++i)
          multiply(sum[half][i], weights[m][half],
                   make_uint2(word_of(2 * half, i, m), word_of(2 * half + 1, i, m)), sum[half][i]);
#pragma unroll
      for (int i = 0; i < kQuads; ++i)
        multiply_half(sum[0][i], make_uint2(weights[m][1].z, weights[m][1].w), word_of(2, i, m),
                      sum[0][i]);
#pragma unroll
      for (int i = 0; i < kQuads; ++i)
        multiply_half(sum[1][i], make_uint2(weights[m][0].x, weights[m][0].y), word_of(1, i, m),
                      sum[1][i]);
    }
  }

  const uint4* fragments_;
  uint4 only_[kQuadWords][2];
  int digits_;
};

/// Four adjacent codes of each of two quads in the lane's row. The lanes of a column, and of the
/// one four further, have made two bytes of each quad; the upper half of the warp gets the second
/// column's.
template <Codes kCodes>
__device__ __forceinline__ void two_quad_words(const int (&even)[4], const int (&odd)[4],
                                               const Epilogue& general, float scale, float base,
                                               unsigned& first, unsigned& second) {
  const bool upper = threadIdx.x >= 16;
  const unsigned select = upper ? 0x1054 : 0x5410;
  const unsigned near = pair_word<kCodes>(even, odd, 0, general, scale, base);
  const unsigned far = pair_word<kCodes>(even, odd, 1, general, scale, base);
  const unsigned own = upper ? far : near;
  const unsigned other = __shfl_xor_sync(~0u, upper ? near : far, 16);
  first = __byte_perm(own, other, select);
  second = __byte_perm(own, other, select + 0x2222);
}

/// made[i]: of quad i.
template <Codes kCodes, int kQuads>
__device__ __forceinline__ void quad_words(const int (&sum)[kQuads][4], const Epilogue& general,
                                           float scale, float base, unsigned (&made)[kQuads]) {
#pragma unroll
  for (int i = 0; i < kQuads; i += 2)
    two_quad_words<kCodes>(sum[i], sum[i + 1], general, scale, base, made[i], made[i + 1]);
}

}  // namespace
}  // namespace convolve
