// SPDX-License-Identifier: LGPL-2.1-or-later
// Sums of tensor_octets.cu: of digits of weights with bytes of samples, and their codes.
//
// A product makes two output rows x 8 adjacent samples, of all eight columns of a warp. A window is
// 16 samples, four words of a lane, so that no lane cuts it out of others; output rows 2 p and
// 2 p + 1 see picture rows from 2 p on, of which a lane has every fourth. Where p is odd the first
// of them are those of the upper half of a group, and the weights lie two lanes further.
#pragma once

#include "kernels/core/weights/split_digits.h"
#include "kernels/cuda/device/tensor_mma.cuh"
#include "kernels/cuda/tensor/octets/tensor_octet_rows.cuh"
#include "kernels/cuda/tensor/tensor_interleave.cuh"

namespace convolve {
namespace {

/// kProductRowGroups, kAllRowGroups, kSparseProducts: of OctetWindow. kDigits: of the weights,
/// three where sums are split.
template <int kProductRowGroups, int kAllRowGroups, bool kSparseProducts, WideQuantiser kQuantiser,
          int kDigits>
class OctetSums {
  static constexpr bool kSplit = kQuantiser == WideQuantiser::kSplit;
  /// Sums of each power of 256, the lowest first: split ones lack that of 256^0.
  static constexpr int kLeftOut = kSplit ? 1 : 0, kPowers = kDigits + 1 - kLeftOut;
  static_assert(!kSplit || (kDigits == kMostDigits && kPowers == kSplitSums));
  /// Products of a group, and of a digit.
  static constexpr int kHalves = kSparseProducts ? 1 : 2, kProducts = kHalves * kProductRowGroups;
  /// Masks end before the second half of the last group that two rows see: what the lower lanes
  /// have of the first where p is odd counts nothing.
  static constexpr bool kEndBefore =
      octet_mask_rows(kProductRowGroups, kAllRowGroups) < 4 * kProductRowGroups - 1;
  struct Weights {
    uint4 of[kProductRowGroups][kHalves];
  };
  static constexpr bool kKept = kDigits == 1 && kSparseProducts;

 public:
  static constexpr bool kSparse = kSparseProducts, kClamped = kQuantiser == WideQuantiser::kFloat;
  static constexpr int kRowGroups = kAllRowGroups;
  /// What octet_fragments() begins with, of uint4: metadata and kDigits digits. They go to shared
  /// memory unless each lane keeps its weights.
  static constexpr int kMetadata = kSparse ? 8 : 0, kWeights = kMetadata + 32 * kDigits * kProducts;
  static constexpr bool kShared = !kKept;

  /// weights: kWeights of them, in shared memory where that is kShared.
  __device__ OctetSums(const TensorPlane& plane, const uint4* weights)
      : general_(plane.phase[0].general),
        scale_(in_register(plane.scale)),
        base_(in_register(plane.phase[0].base)) {
    const int lane = threadIdx.x;
    lower_ = lane % 4 < 2;
    // Two rows further is the lane beside that, or of sparse weights, of which a lane has two rows,
    // the next.
    const bool lower = kSparse ? lane % 2 == 0 : lower_;
    const uint4* const digits = weights + kMetadata;
    const uint4* const beside = digits + (lane ^ (kSparse ? 1 : 2));
    even_ = digits + lane;
    odd_ = lower ? beside - 32 * kHalves : beside;
    mixed_ = lower ? beside + 32 * (kProducts - kHalves) : beside;
    if constexpr (kSparse) metadata_ = reinterpret_cast<const unsigned*>(weights)[lane];
    if constexpr (kKept) {
      load<0>(0, kept_[0]);
      load<1>(0, kept_[1]);
    }
    // Four registers that the compiler cannot know to be equal: otherwise it would load the value
    // anew for each of a product's operands. No lane's number is above 31.
    const int start = plane.phase[0].start;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int unknown = (k + 1) * (fresh_lane() >> 5);
      if constexpr (kSplit) {
        start_[k] = __float_as_int(kSplitStart) + unknown;
        second_start_[k] = __float_as_int(kSplitStart) + start + unknown;
      } else {
        start_[k] = (kQuantiser == WideQuantiser::kDouble ? start ^ kSign : start) + unknown;
      }
    }
    // Values of the float way lie within 16 bits and a sign, whatever the samples could hold.
    most_ = 0x00010001u * static_cast<unsigned>(min(plane.layout.max_code, 0x7FFF));
  }

  /// made[r] = the codes of output row r: of sample lane / 4 in columns 2 (lane % 4), the low half,
  /// and 2 (lane % 4) + 1.
  __device__ __forceinline__ void apply(const OctetWords<kRowGroups>& words,
                                        unsigned (&made)[kRows]) const {
    apply_to_rows<0>(words, made);
    apply_to_rows<1>(words, made);
  }

 private:
  static constexpr int kSign = static_cast<int>(0x80000000u);

  /// The weights of digit d.
  template <int kOdd>
  __device__ __forceinline__ void load(int d, Weights& weights) const {
#pragma unroll
    for (int j = 0; j < kProductRowGroups; ++j) {
      const uint4* const from = kOdd == 0 ? even_ : j == 0 ? mixed_ : odd_;
#pragma unroll
      for (int half = 0; half < kHalves; ++half)
        weights.of[j][half] = from[32 * (kProducts * d + kHalves * j + half)];
    }
  }

  /// sum += weights times words.
  __device__ __forceinline__ void add(const uint4 (&weights)[kHalves],
                                      const unsigned (&words)[kOctetWords], int (&sum)[4]) const {
    if constexpr (kSparse) {
      multiply_sparse(sum, weights[0], metadata_,
                      make_uint4(words[0], words[1], words[2], words[3]), sum);
    } else {
#pragma unroll
      for (int half = 0; half < kHalves; ++half)
        multiply(sum, weights[half], make_uint2(words[2 * half], words[2 * half + 1]), sum);
    }
  }

  /// Of output rows 2 p and 2 p + 1 of p = kOdd and kOdd + 2.
  template <int kOdd>
  __device__ __forceinline__ void apply_to_rows(const OctetWords<kRowGroups>& words,
                                                unsigned (&made)[kRows]) const {
    // Words of the first of the groups that p sees.
    unsigned first[2][2][kOctetWords];
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int b = 0; b < 2; ++b)
#pragma unroll
        for (int n = 0; n < kOctetWords; ++n)
          // Where masks end before the lower half of the last group, what the lower lanes have in
          // the first counts nothing.
          if constexpr (kOdd == 0 || kEndBefore)
            first[i][b][n] = words[b][i][n];
          else
            first[i][b][n] = lower_ ? words[b][i + kProductRowGroups][n] : words[b][i][n];
    int sum[kPowers][2][4];
#pragma unroll
    for (int power = 0; power < kPowers; ++power)
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int k = 0; k < 4; ++k)
          sum[power][i][k] = kSplit && power == 1   ? second_start_[k]
                             : kSplit || power == 0 ? start_[k]
                                                    : 0;
#pragma unroll
    for (int d = kDigits - 1; d >= 0; --d) {
      Weights loaded;
      if constexpr (!kKept) load<kOdd>(d, loaded);
      const Weights& weights = kKept ? kept_[kKept ? kOdd : 0] : loaded;
#pragma unroll
      for (int b = 1; b >= 0; --b) {
        if (d + b < kLeftOut) continue;
#pragma unroll
        for (int j = 0; j < kProductRowGroups; ++j)
#pragma unroll
          for (int i = 0; i < 2; ++i)
            if (j == 0)
              add(weights.of[j], first[i][b], sum[d + b - kLeftOut][i]);
            else
              add(weights.of[j], words[b][i + j], sum[d + b - kLeftOut][i]);
      }
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      int values[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        int of_power[kPowers];
#pragma unroll
        for (int power = 0; power < kPowers; ++power)
          of_power[power] = sum[power][i][k];
        values[k] = value_of(of_power);
      }
#pragma unroll
      for (int row = 0; row < 2; ++row)
        made[2 * (2 * i + kOdd) + row] = quantise_two(values[2 * row], values[2 * row + 1]);
    }
  }

  /// What the sums of all powers come to.
  __device__ __forceinline__ int value_of(const int (&sum)[kPowers]) const {
    if constexpr (kSplit) {
      // The base has what all sums begin with.
      float value = base_, scale = scale_;
#pragma unroll
      for (int power = kPowers - 1; power >= 0; --power, scale *= 1.0f / 256)
        value = fmaf(__int_as_float(sum[power]), scale, value);
      return __float_as_int(value);
    } else {
      int value = sum[kPowers - 1];
#pragma unroll
      for (int power = kPowers - 2; power >= 0; --power)
        value = value * 256 + sum[power];
      return value;
    }
  }

  /// The codes of two values, which the output clamps where they are not kClamped.
  __device__ __forceinline__ unsigned quantise_two(int low, int high) const {
    if constexpr (kQuantiser == WideQuantiser::kFloat) {
      const auto bits = [&](int v) {
        return __float_as_uint(fmaf(static_cast<float>(v), scale_, base_));
      };
      return __vimin_s16x2_relu(__byte_perm(bits(low), bits(high), 0x5410), most_);
    } else {
      return clamp_two(quantise_value(low), quantise_value(high));
    }
  }

  /// A code that need not be clamped yet.
  __device__ __forceinline__ int quantise_value(int value) const {
    if constexpr (kSplit) {
      return __float2int_rn(__int_as_float(value));
    } else if constexpr (kQuantiser == WideQuantiser::kDouble) {
      // 2^52 + 2^31 + sum is a double's bits, and 1.5 x 2^52 + code another's.
      const double exact = __hiloint2double(0x43300000, value) - 4503601774854144.0;
      return __double2loint(
          fma(exact, general_.wide.scale, general_.wide.base + 6755399441055744.0));
    } else {
      return quantise_sum(value, general_);
    }
  }

  const Epilogue& general_;
  const uint4 *even_, *odd_, *mixed_;  ///< The lane's weights: where p is even; where it is odd of
                                       ///< all groups but the first, and of that.
  unsigned metadata_ = 0;              ///< Of sparse weights.
  Weights kept_[kKept ? 2 : 1];
  int start_[4], second_start_[4];  ///< Of the lowest sum; of all split ones, but the second.
  float scale_, base_;
  unsigned most_;
  bool lower_;  ///< The lane has rows 0 and 1 of a group, or 2 and 3.
};

}  // namespace
}  // namespace convolve
