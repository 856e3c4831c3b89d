// SPDX-License-Identifier: LGPL-2.1-or-later
// Pairs: products of 8 rows x 2 adjacent bytes (tensor_fragments.h), from the words that a lane
// holds of picture rows to its samples.
#pragma once

#include "kernels/cuda/device/tensor_mma.cuh"
#include "kernels/cuda/tensor/tensor_weights.cuh"

namespace convolve {
namespace {

/// Picture rows of a row group, which the four lanes of a column hold.
constexpr int kRowGroupRows = 4;
constexpr int kNewRowGroups =
    kRows / kRowGroupRows;  ///< Row groups that a step loads, but for the first step.

/// Words that a lane holds of a picture row of a component: its column of 16 bytes and kOuter words
/// to either side. That is 24 bytes, from which it cuts the windows of eight products; or of two
/// deinterleaved components 16 samples each, for four products. Large quads need two outer words.
template <int kDeinterleaved, int kOuter = 1>
constexpr int kWordsOfComponent = 4 / kDeinterleaved + 2 * kOuter;
constexpr int kPairWords = kWordsOfComponent<1>;

/// Where a lane stores the two vectors that it makes of a tile of 128 bytes x 8 rows, step after
/// step: the first at byte LaneMap::x() of row LaneMap::row(), the second LaneMap::kNextX bytes and
/// kNextRow rows further.
template <class LaneMap>
class PairOutput {
 public:
  using Made = uint4[2];

  /// The outputs start at byte x of row y.
  __device__ PairOutput(const TensorPlane& plane, int x, int y)
      : plane_(plane), row_(y + LaneMap::row()) {
    const int own_x = x + LaneMap::x();
    near_inside_ = own_x < plane.row_bytes;
    far_inside_ = own_x + LaneMap::kNextX < plane.row_bytes;
    to_ = plane.dst + row_ * plane.dst_pitch + own_x;
  }

  __device__ __forceinline__ void store(const Made& made) const {
    if (near_inside_ && row_ < plane_.rows) *reinterpret_cast<uint4*>(to_) = made[0];
    if (far_inside_ && row_ + LaneMap::kNextRow < plane_.rows)
      *reinterpret_cast<uint4*>(to_ + LaneMap::kNextRow * plane_.dst_pitch + LaneMap::kNextX) =
          made[1];
  }

  __device__ __forceinline__ void next() {
    row_ += kRows;
    to_ += kRows * plane_.dst_pitch;
  }

 private:
  const TensorPlane& plane_;
  int row_;
  bool near_inside_, far_inside_;
  std::uint8_t* to_;
};

/// The lane map of pairs: the second vector lies in the same row, four columns further.
struct PairLaneMap {
  static constexpr int kNextX = 4 * kColumnBytes, kNextRow = 0;
  static __device__ __forceinline__ int x() { return kColumnBytes * (threadIdx.x % 4); }
  static __device__ __forceinline__ int row() { return threadIdx.x / 4; }
};

/// __byte_perm(), computed where it stands: the compiler would move it out of loops, where its
/// results would fill registers.
template <unsigned kSelect>
__device__ __forceinline__ unsigned permute(unsigned low, unsigned high) {
  unsigned made;
  asm volatile("prmt.b32 %0, %1, %2, %3;" : "=r"(made) : "r"(low), "r"(high), "n"(kSelect));
  return made;
}

/// `value`, which is the same in all lanes, in a register: otherwise the compiler would load it
/// anew from the arguments wherever it is used, a hundred times over.
template <class T>
__device__ __forceinline__ T in_register(T value) {
  return __shfl_sync(~0u, value, 0);
}

/// sum = start + products with a row group: product i multiplies the words from byte 2 i + kShift
/// on. Each product has its two words made anew, as it takes them from adjacent registers.
template <int kShift, int kProducts, int kWords>
__device__ __forceinline__ void multiply_pairs(int (&sum)[kProducts][4], const uint4& weights,
                                               const unsigned (&words)[kWords],
                                               const int (&start)[kProducts][4]) {
  static_assert(kWords == kProducts / 2 + 2, "the last window ends with the last word");
  constexpr unsigned kEven = 0x3210 + 0x1111 * kShift, kOdd = kEven + 0x2222;
#pragma unroll
  for (int i = 0; i < kProducts; ++i) {
    const unsigned low = words[i / 2], middle = words[i / 2 + 1], high = words[i / 2 + 2];
    const uint2 window =
        i % 2 == 1    ? make_uint2(permute<kOdd>(low, middle), permute<kOdd>(middle, high))
        : kShift == 0 ? make_uint2(low, middle)
                      : make_uint2(permute<kEven>(low, middle), permute<kEven>(middle, high));
    multiply(sum[i], weights, window, start[i]);
  }
}

/// The weights of pairs. One digit stays in registers; several are loaded again for every step.
template <Quantiser kQuantiser, int kRowGroups>
class PairWeights {
 public:
  __device__ PairWeights(const TensorArguments& a, const TensorPlane& plane)
      : weights_(a, plane, plane.fragments) {}

  /// sum = start + products with the words of all row groups. The first digit stands before the
  /// loop over the others: in the loop it would make kernels of four row groups spill more
  /// registers, 80 bytes for 56.
  template <int kShift, int kProducts, int kWords>
  __device__ __forceinline__ void multiply_by(const unsigned (&words)[kRowGroups][kWords],
                                              const int (&start)[4],
                                              int (&sum)[kProducts][4]) const {
    int first[kProducts][4];
    begin_sums(weights_.one_digit(), start, first);
    multiply_pairs<kShift>(sum, weights_.first(0), words[0], first);
#pragma unroll
    for (int s = 1; s < kRowGroups; ++s)
      multiply_pairs<kShift>(sum, weights_.first(s), words[s], sum);
    weights_.for_each_further_digit(
        [&](const auto& weights) {
#pragma unroll
          for (int s = 0; s < kRowGroups; ++s)
            multiply_pairs<kShift>(sum, weights(s), words[s], sum);
        },
        [&](bool last) { shift_sums(last, start, sum); });
  }

 private:
  LaneWeights<kRowGroups, kQuantiser == Quantiser::kBits> weights_;
};

/// Four adjacent samples of a component, of the sums of two products: in column t = lane % 4, or
/// where `half` is 1 in column t + 4.
template <Quantiser kQuantiser>
__device__ __forceinline__ unsigned quantise_pair_word(const int (&even)[4], const int (&odd)[4],
                                                       int half, const Epilogue& general,
                                                       float scale, float base) {
  const int sums[4] = {even[half], odd[half], even[2 + half], odd[2 + half]};
  if constexpr (kQuantiser != Quantiser::kGeneral) {
    const float bases[4] = {base, base, base, base};
    return quantise_fast<kQuantiser>(sums, scale, bases);
  } else {
    const Epilogue* const epilogues[4] = {&general, &general, &general, &general};
    return quantise_general(sums, epilogues);
  }
}

/// Sixteen adjacent samples of one component.
template <Quantiser kQuantiser>
__device__ __forceinline__ uint4 quantise_pair_column(const int (&sum)[kRows][4], int half,
                                                      const Epilogue& general, float scale,
                                                      float base) {
  const auto word = [&](int w) {
    return quantise_pair_word<kQuantiser>(sum[2 * w], sum[2 * w + 1], half, general, scale, base);
  };
  return make_uint4(word(0), word(1), word(2), word(3));
}

}  // namespace
}  // namespace convolve
