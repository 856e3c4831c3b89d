// SPDX-License-Identifier: LGPL-2.1-or-later
// Products of 4 rows x 4 adjacent bytes (tensor_fragments.h): from what a lane holds of picture
// rows to sixteen codes, twice.
//
// Outputs 4 bytes further along see the next word of a row, so that no window is cut out of others
// as tensor_pair.cuh has to. Four output rows of a small mask see three groups of picture rows: a
// product of two groups for each word of the window, and half a product of the third. Those of
// eight output rows share the groups in the middle, and the weights. Large masks have a group and
// two words more.
#pragma once

#include "kernels/cuda/tensor/pairs/tensor_pair.cuh"

namespace convolve {
namespace {

constexpr int kQuadRowGroups = kQuadWindow.row_groups + 1;  ///< That eight output rows see.

/// As PairOutput has it: of one column.
struct QuadLaneMap {
  static constexpr int kNextX = 0, kNextRow = kRowGroupRows;
  static __device__ __forceinline__ int x() {
    return kColumnBytes * (threadIdx.x % 4 + threadIdx.x / 16 * 4);
  }
  static __device__ __forceinline__ int row() { return threadIdx.x / 4 % 4; }
};

/// The mask, of which one digit stays in registers, where it is not large: four output rows see
/// what the QuadWindow says.
template <Quantiser kQuantiser, bool kLarge>
class QuadWeights {
  static constexpr int kWindowRowGroups = (kLarge ? kLargeQuadWindow : kQuadWindow).row_groups;
  static constexpr int kWindowWords = (kLarge ? kLargeQuadWindow : kQuadWindow).words;
  static constexpr int kRowGroupPairs = kWindowRowGroups - 1;
  static constexpr bool kOne = kQuantiser == Quantiser::kBits, kKept = kOne && !kLarge;
  using Fragments = uint4[kWindowWords][kRowGroupPairs];

 public:
  __device__ QuadWeights(const TensorArguments& a, const TensorPlane& plane)
      : fragments_(plane.fragments + threadIdx.x), digits_(a.digits) {
    if constexpr (kKept) load(fragments_, only_);
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
    if constexpr (kKept) {
      add_products(only_, word_of, sum);
    } else if constexpr (kOne) {
      Fragments weights;
      load(fragments_, weights);
      add_products(weights, word_of, sum);
    } else {
      const uint4* fragments = fragments_;
#pragma unroll 1
      for (int left = digits_;;) {
        Fragments weights;
        load(fragments, weights);
        add_products(weights, word_of, sum);
        if (--left == 0) break;
        fragments += 32 * kRowGroupPairs * kWindowWords;
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
  static __device__ __forceinline__ void load(const uint4* from, Fragments& weights) {
#pragma unroll
    for (int m = 0; m < kWindowWords; ++m)
#pragma unroll
      for (int g = 0; g < kRowGroupPairs; ++g)
        weights[m][g] = __ldg(from + 32 * (kRowGroupPairs * m + g));
  }

  /// weights[m][g]: of word m, in groups g and g + 1 of those that four output rows see. Whole
  /// products take groups of even number and the next, as these lie side by side in registers.
  template <int kQuads, class WordOf>
  static __device__ __forceinline__ void add_products(const Fragments& weights,
                                                      const WordOf& word_of,
                                                      int (&sum)[2][kQuads][4]) {
    const auto whole = [&](int half, int m, int row_group) {
#pragma unroll
      for (int i = 0; i < kQuads; ++i)
        multiply(sum[half][i], weights[m][row_group - half],
                 make_uint2(word_of(row_group, i, m), word_of(row_group + 1, i, m)), sum[half][i]);
    };
    const auto single = [&](int half, const uint2& of, int m, int row_group) {
#pragma unroll
      for (int i = 0; i < kQuads; ++i)
        multiply_half(sum[half][i], of, word_of(row_group, i, m), sum[half][i]);
    };
#pragma unroll
    for (int m = 0; m < kWindowWords; ++m) {
#pragma unroll
      for (int g = 0; g + 1 < kWindowRowGroups; g += 2)
        whole(0, m, g);
#pragma unroll
      for (int g = 2; g < kWindowRowGroups; g += 2)
        whole(1, m, g);
      const uint4 first = weights[m][0], last = weights[m][kRowGroupPairs - 1];
      if constexpr (kWindowRowGroups % 2 != 0)
        single(0, make_uint2(last.z, last.w), m, kWindowRowGroups - 1);
      single(1, make_uint2(first.x, first.y), m, 1);
      if constexpr (kWindowRowGroups % 2 == 0)
        single(1, make_uint2(last.z, last.w), m, kWindowRowGroups);
    }
  }

  const uint4* fragments_;
  Fragments only_;
  int digits_;
};

/// Four adjacent codes of each of two quads in the lane's row. The lanes of a column, and of the
/// one four further, have made two bytes of each quad; the upper half of the warp gets the second
/// column's.
template <Quantiser kQuantiser>
__device__ __forceinline__ void quantise_two_quads(const int (&even)[4], const int (&odd)[4],
                                                   const Epilogue& general, float scale, float base,
                                                   unsigned& first, unsigned& second) {
  const bool upper = threadIdx.x >= 16;
  const unsigned select = upper ? 0x1054 : 0x5410;
  const unsigned near = quantise_pair_word<kQuantiser>(even, odd, 0, general, scale, base);
  const unsigned far = quantise_pair_word<kQuantiser>(even, odd, 1, general, scale, base);
  const unsigned own = upper ? far : near;
  const unsigned other = __shfl_xor_sync(~0u, upper ? near : far, 16);
  first = __byte_perm(own, other, select);
  second = __byte_perm(own, other, select + 0x2222);
}

/// made[i]: of quad i.
template <Quantiser kQuantiser, int kQuads>
__device__ __forceinline__ void quantise_quads(const int (&sum)[kQuads][4], const Epilogue& general,
                                               float scale, float base, unsigned (&made)[kQuads]) {
#pragma unroll
  for (int i = 0; i < kQuads; i += 2)
    quantise_two_quads<kQuantiser>(sum[i], sum[i + 1], general, scale, base, made[i], made[i + 1]);
}

}  // namespace
}  // namespace convolve
