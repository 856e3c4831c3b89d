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

#include "kernels/cuda/tensor_pair.cuh"

namespace convolve {
namespace {

constexpr int kQuadGroups = kQuadWindow.groups + 1;  ///< That eight output rows see.

/// The mask, of which one digit stays in registers, where it is not large: four output rows see
/// what the QuadWindow says.
template <Codes kCodes, bool kLarge>
class QuadWeights {
  static constexpr int kWindowGroups = (kLarge ? kLargeQuadWindow : kQuadWindow).groups;
  static constexpr int kWindowWords = (kLarge ? kLargeQuadWindow : kQuadWindow).words;
  static constexpr int kSeen = kWindowGroups + 1, kPairs = kWindowGroups - 1;
  static constexpr bool kOne = kCodes == Codes::kBits, kKept = kOne && !kLarge;
  using Fragments = uint4[kWindowWords][kPairs];

 public:
  __device__ QuadWeights(const TensorArguments& a, const TensorPlane& plane)
      : fragments_(plane.fragments + threadIdx.x), digits_(a.digits) {
    // Four registers that the compiler cannot know to be equal: see PairWeights.
#pragma unroll
    for (int k = 0; k < 4; ++k)
      start_[k] = plane.phase[0].start + (kOne ? (k + 1) * (fresh_lane() >> 5) : 0);
    if constexpr (kKept) load(fragments_, only_);
  }

  /// sum[half] = start + products with the words of all groups: of rows 4 half .. 4 half + 3.
  template <int kQuads, int kWords>
  __device__ __forceinline__ void multiply_by(const unsigned (&words)[kSeen][kWords],
                                              int (&sum)[2][kQuads][4]) const {
    static_assert(kWords == kQuads + kWindowWords - 1, "the last window ends with the last word");
    int start[4];
#pragma unroll
    for (int k = 0; k < 4; ++k)
      start[k] = kOne || digits_ == 1 ? start_[k] : 0;
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int i = 0; i < kQuads; ++i)
#pragma unroll
        for (int k = 0; k < 4; ++k)
          sum[half][i][k] = start[k];
    if constexpr (kKept) {
      add_products(only_, words, sum);
    } else if constexpr (kOne) {
      Fragments weights;
      load(fragments_, weights);
      add_products(weights, words, sum);
    } else {
      const uint4* fragments = fragments_;
#pragma unroll 1
      for (int left = digits_;;) {
        Fragments weights;
        load(fragments, weights);
        add_products(weights, words, sum);
        if (--left == 0) break;
        fragments += 32 * kPairs * kWindowWords;
#pragma unroll
        for (int half = 0; half < 2; ++half)
#pragma unroll
          for (int i = 0; i < kQuads; ++i)
#pragma unroll
            for (int k = 0; k < 4; ++k)
              sum[half][i][k] = sum[half][i][k] * 256 + (left == 1 ? start_[k] : 0);
      }
    }
  }

 private:
  static __device__ __forceinline__ void load(const uint4* from, Fragments& weights) {
#pragma unroll
    for (int m = 0; m < kWindowWords; ++m)
#pragma unroll
      for (int g = 0; g < kPairs; ++g)
        weights[m][g] = __ldg(from + 32 * (kPairs * m + g));
  }

  /// weights[m][g]: of word m, in groups g and g + 1 of those that four output rows see. Whole
  /// products take groups of even number and the next, as these lie side by side in registers.
  template <int kQuads, int kWords>
  static __device__ __forceinline__ void add_products(const Fragments& weights,
                                                      const unsigned (&words)[kSeen][kWords],
                                                      int (&sum)[2][kQuads][4]) {
    const auto whole = [&](int half, int m, int group) {
#pragma unroll
      for (int i = 0; i < kQuads; ++i)
        multiply(sum[half][i], weights[m][group - half],
                 make_uint2(words[group][i + m], words[group + 1][i + m]), sum[half][i]);
    };
    const auto single = [&](int half, const uint2& of, int m, int group) {
#pragma unroll
      for (int i = 0; i < kQuads; ++i)
        multiply_half(sum[half][i], of, words[group][i + m], sum[half][i]);
    };
#pragma unroll
    for (int m = 0; m < kWindowWords; ++m) {
#pragma unroll
      for (int g = 0; g + 1 < kWindowGroups; g += 2)
        whole(0, m, g);
#pragma unroll
      for (int g = 2; g < kWindowGroups; g += 2)
        whole(1, m, g);
      const uint4 first = weights[m][0], last = weights[m][kPairs - 1];
      if constexpr (kWindowGroups % 2 != 0)
        single(0, make_uint2(last.z, last.w), m, kWindowGroups - 1);
      single(1, make_uint2(first.x, first.y), m, 1);
      if constexpr (kWindowGroups % 2 == 0) single(1, make_uint2(last.z, last.w), m, kWindowGroups);
    }
  }

  const uint4* fragments_;
  Fragments only_;
  int digits_;
  int start_[4];
};

/// made[i]: four adjacent codes of quad i in the lane's row. The lanes of a column, and of the one
/// four further, have made two bytes of each quad; the upper half of the warp gets the second
/// column's.
template <Codes kCodes, int kQuads>
__device__ __forceinline__ void quad_words(const int (&sum)[kQuads][4], const Epilogue& general,
                                           float scale, float base, unsigned (&made)[kQuads]) {
  const bool upper = threadIdx.x >= 16;
  const unsigned first = upper ? 0x1054 : 0x5410, second = first + 0x2222;
#pragma unroll
  for (int i = 0; i < kQuads; i += 2) {
    const unsigned near = pair_word<kCodes>(sum[i], sum[i + 1], 0, general, scale, base);
    const unsigned far = pair_word<kCodes>(sum[i], sum[i + 1], 1, general, scale, base);
    const unsigned own = upper ? far : near;
    const unsigned other = __shfl_xor_sync(~0u, upper ? near : far, 16);
    made[i] = __byte_perm(own, other, first);
    made[i + 1] = __byte_perm(own, other, second);
  }
}

}  // namespace
}  // namespace convolve
