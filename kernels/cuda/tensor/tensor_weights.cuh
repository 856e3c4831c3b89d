// SPDX-License-Identifier: LGPL-2.1-or-later
// Weights of kernel `tensor` as the lanes of a warp take them, and how sums go from one digit of
// them to the next: what products of pairs, quads and pixels have in common, whichever samples they
// multiply.
#pragma once

#include "kernels/cuda/tensor/tensor_store.cuh"

namespace convolve {
namespace {

/// Has the threads of a block copy the weights to shared memory, and waits for all of them. That is
/// for warps that read those of several digits again and again: in the L1 cache such reads would
/// wait behind the samples.
__device__ __forceinline__ void copy_weights_to_shared(const uint4* from, int count, uint4* to) {
  for (int i = threadIdx.x + 32 * threadIdx.y; i < count; i += 32 * kWarps)
    to[i] = __ldg(from + i);
  __syncthreads();
}

/// A lane's share of a fragment, from shared or from global memory.
template <bool kShared>
__device__ __forceinline__ uint4 fragment_at(const uint4* from) {
  if constexpr (kShared) return *from;
  return __ldg(from);
}

/// weights[i] = fragment(i)
template <int kCount, class Fragment>
__device__ __forceinline__ void load_fragments(const Fragment& fragment, uint4 (&weights)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    weights[i] = fragment(i);
}

/// 0 in a register, of which the compiler cannot know that it is 0, or equal to that of another k:
/// no lane's number is above 31.
__device__ __forceinline__ int opaque_zero(int k) {
  return (k + 1) * (fresh_lane() >> 5);
}

/// Sets four registers that all hold `value`, and that the compiler cannot know to be equal:
/// otherwise it would load the value anew for each operand of a product.
__device__ __forceinline__ void make_opaque(int value, int (&registers)[4]) {
#pragma unroll
  for (int k = 0; k < 4; ++k)
    registers[k] = value + opaque_zero(k);
}

/// What the sums of a component begin with. With one digit these are registers of make_opaque();
/// with more digits there are none to spare.
template <Quantiser kQuantiser>
__device__ __forceinline__ void make_starts(int value, int (&start)[4]) {
  if constexpr (kQuantiser == Quantiser::kBits) {
    make_opaque(value, start);
  } else {
#pragma unroll
    for (int k = 0; k < 4; ++k)
      start[k] = value;
  }
}

/// Calls work(sum, k) for each sum of a product, where k counts the lane's four.
template <class Work>
__device__ __forceinline__ void for_each_sum(int (&sums)[4], const Work& work) {
#pragma unroll
  for (int k = 0; k < 4; ++k)
    work(sums[k], k);
}
/// Calls work(sum, k) for each sum of each product of an array of any dimensions.
template <int kCount, class Products, class Work>
__device__ __forceinline__ void for_each_sum(Products (&sums)[kCount], const Work& work) {
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    for_each_sum(sums[i], work);
}

/// Sets sums before a digit is added. Only those that the last digit is added to begin with
/// DigitEpilogue::start, as all others are still multiplied by 256.
template <class Sums>
__device__ __forceinline__ void begin_sums(bool last, const int (&start)[4], Sums& sums) {
  for_each_sum(sums, [&](int& sum, int k) { sum = last ? start[k] : 0; });
}
template <class Sums>
__device__ __forceinline__ void begin_sums(bool last, int start, Sums& sums) {
  for_each_sum(sums, [&](int& sum, int) { sum = last ? start : 0; });
}

/// sums = 256 sums, between two digits; before the last one the start is added.
template <class Sums>
__device__ __forceinline__ void shift_sums(bool last, const int (&start)[4], Sums& sums) {
  for_each_sum(sums, [&](int& sum, int k) { sum = sum * 256 + (last ? start[k] : 0); });
}
template <class Sums>
__device__ __forceinline__ void shift_sums(bool last, int start, Sums& sums) {
  for_each_sum(sums, [&](int& sum, int) { sum = sum * 256 + (last ? start : 0); });
}

/// The weights that a lane multiplies with in each step: kCount fragments for each digit.
/// kOneDigit: there is one digit only. kKept: its fragments stay in registers; otherwise they are
/// loaded again for every step.
template <int kCount, bool kOneDigit, bool kKept = kOneDigit>
class LaneWeights {
  static_assert(kOneDigit || !kKept, "several digits would fill the registers");

 public:
  /// `weights`: those of the plane, or a copy in shared memory.
  __device__ LaneWeights(const TensorArguments& a, const TensorPlane& plane, const uint4* weights)
      : from_(weights + threadIdx.x), digits_(a.digits) {
    if constexpr (kKept)
      load_fragments(
          [&](int i) { return fragment_at<false>(plane.fragments + threadIdx.x + 32 * i); }, kept_);
  }

  /// True if sums have their start from the first digit on.
  __device__ __forceinline__ bool one_digit() const { return kOneDigit || digits_ == 1; }

  /// The fragments, where kKept.
  __device__ __forceinline__ const uint4 (&kept() const)[kCount] { return kept_; }

  /// Fragment i of the first digit, where weights lie in global memory.
  __device__ __forceinline__ uint4 first(int i) const {
    if constexpr (kKept) return kept_[i];
    return fragment_at<false>(from_ + 32 * i);
  }

  /// Calls add(fragment) for each digit, the highest first, where fragment(i) loads one of its
  /// fragments, and between two digits shift(last), where `last` says whether the next one is the
  /// last. kShared: weights lie in shared memory.
  template <bool kShared = false, class Add, class Shift>
  __device__ __forceinline__ void for_each_digit(const Add& add, const Shift& shift) const {
    if constexpr (kOneDigit) {
      add([&](int i) { return first(i); });
    } else {
      const uint4* from = from_;
#pragma unroll 1
      for (int left = digits_;;) {
        add([&](int i) { return fragment_at<kShared>(from + 32 * i); });
        if (--left == 0) break;
        from += 32 * kCount;
        shift(left == 1);
      }
    }
  }

  /// The same for all digits but the first, which the caller has added; here shift() comes before.
  template <class Add, class Shift>
  __device__ __forceinline__ void for_each_further_digit(const Add& add, const Shift& shift) const {
    if constexpr (kOneDigit) return;
    const uint4* from = from_ + 32 * kCount;
#pragma unroll 1
    for (int left = digits_ - 1; left > 0; --left, from += 32 * kCount) {
      shift(left == 1);
      add([&](int i) { return fragment_at<false>(from + 32 * i); });
    }
  }

 private:
  const uint4* from_;
  uint4 kept_[kCount];
  int digits_;
};

}  // namespace
}  // namespace convolve
