// SPDX-License-Identifier: LGPL-2.1-or-later
// Quads: products of 4 rows x 4 adjacent bytes (tensor_fragments.h), from the words that a lane
// holds of picture rows to its samples.
//
// Outputs 4 bytes further read the next word of a row, so that no window has to be cut out of
// others as in tensor_pair.cuh. Four output rows of a small mask read three row groups: for each
// word of the window a product of two row groups, and half a product of the third. The upper and
// the lower four of eight output rows share the row groups in the middle, and the weights. Large
// masks have a row group and two words more.
#pragma once

#include "kernels/cuda/tensor/pairs/tensor_pair.cuh"

namespace convolve {
namespace {

constexpr int kQuadRowGroups =
    kQuadWindow.row_groups + 1;  ///< Row groups that eight output rows read.

/// The lane map of quads: the second vector lies in the same column, four rows further.
struct QuadLaneMap {
  static constexpr int kNextX = 0, kNextRow = kRowGroupRows;
  static __device__ __forceinline__ int x() {
    return kColumnBytes * (threadIdx.x % 4 + threadIdx.x / 16 * 4);
  }
  static __device__ __forceinline__ int row() { return threadIdx.x / 4 % 4; }
};

/// The weights of quads. One digit of a mask that is not large stays in registers.
template <Quantiser kQuantiser, bool kLarge>
class QuadWeights {
  static constexpr int kWindowRowGroups = (kLarge ? kLargeQuadWindow : kQuadWindow).row_groups;
  static constexpr int kWindowWords = (kLarge ? kLargeQuadWindow : kQuadWindow).words;
  static constexpr int kRowGroupPairs = kWindowRowGroups - 1;
  static constexpr bool kOne = kQuantiser == Quantiser::kBits;
  using Fragments = uint4[kWindowWords * kRowGroupPairs];

 public:
  __device__ QuadWeights(const TensorArguments& a, const TensorPlane& plane)
      : weights_(a, plane, plane.fragments) {}

  /// sum[half] = start + products with all row groups, for output rows 4 half .. 4 half + 3.
  /// word_of(g, i, m): word m of the window of quad i in row group g.
  template <int kQuads, class WordOf>
  __device__ __forceinline__ void multiply_by(const WordOf& word_of, const int (&start)[kQuads][4],
                                              int (&sum)[2][kQuads][4]) const {
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int i = 0; i < kQuads; ++i)
        begin_sums(weights_.one_digit(), start[i], sum[half][i]);
    weights_.for_each_digit(
        [&](const auto& fragment) {
          Fragments weights;
          load_fragments(fragment, weights);
          add_products(weights, word_of, sum);
        },
        [&](bool last) {
#pragma unroll
          for (int half = 0; half < 2; ++half)
#pragma unroll
            for (int i = 0; i < kQuads; ++i)
              shift_sums(last, start[i], sum[half][i]);
        });
  }

 private:
  /// weights[kRowGroupPairs m + g]: for word m and the row groups g and g + 1 of those that four
  /// output rows read. Whole products take a row group of even number and the next, as their words
  /// lie in adjacent registers.
  template <int kQuads, class WordOf>
  static __device__ __forceinline__ void add_products(const Fragments& weights,
                                                      const WordOf& word_of,
                                                      int (&sum)[2][kQuads][4]) {
    const auto whole = [&](int half, int m, int row_group) {
#pragma unroll
      for (int i = 0; i < kQuads; ++i)
        multiply(sum[half][i], weights[kRowGroupPairs * m + row_group - half],
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
      const uint4 first = weights[kRowGroupPairs * m];
      const uint4 last = weights[kRowGroupPairs * m + kRowGroupPairs - 1];
      if constexpr (kWindowRowGroups % 2 != 0)
        single(0, make_uint2(last.z, last.w), m, kWindowRowGroups - 1);
      single(1, make_uint2(first.x, first.y), m, 1);
      if constexpr (kWindowRowGroups % 2 == 0)
        single(1, make_uint2(last.z, last.w), m, kWindowRowGroups);
    }
  }

  LaneWeights<kWindowWords * kRowGroupPairs, kOne, kOne && !kLarge> weights_;
};

/// Four adjacent samples of each of two quads in the lane's row. The lanes of a column and those of
/// the column four further have two bytes of each quad in both columns; they exchange them, and the
/// upper half of the warp gets the second column.
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

/// made[i] = the samples of quad i.
template <Quantiser kQuantiser, int kQuads>
__device__ __forceinline__ void quantise_quads(const int (&sum)[kQuads][4], const Epilogue& general,
                                               float scale, float base, unsigned (&made)[kQuads]) {
#pragma unroll
  for (int i = 0; i < kQuads; i += 2)
    quantise_two_quads<kQuantiser>(sum[i], sum[i + 1], general, scale, base, made[i], made[i + 1]);
}

}  // namespace
}  // namespace convolve
