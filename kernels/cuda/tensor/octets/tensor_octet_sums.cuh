// SPDX-License-Identifier: LGPL-2.1-or-later
// Sums of tensor_octets.cu: products of digits of the weights with bytes of the samples, and their
// quantisers.
//
// A product makes two output rows x 8 adjacent samples in all eight columns of a warp. A window is
// 16 samples, four words of a lane, so that no lane cuts it out of others. Output rows 2 p and 2 p
// + 1 read picture rows from 2 p on, of which a lane holds every fourth. Where p is odd these begin
// with row 2 of a row group: a lane then takes the weights of the lane two further, whose row is
// two before or behind its own.
#pragma once

#include "kernels/core/weights/split_digits.h"
#include "kernels/cuda/device/tensor_mma.cuh"
#include "kernels/cuda/tensor/octets/tensor_octet_rows.cuh"
#include "kernels/cuda/tensor/tensor_interleave.cuh"
#include "kernels/cuda/tensor/tensor_weights.cuh"

namespace convolve {
namespace {

/// kProductRowGroups, kAllRowGroups, kSparseProducts: as of OctetWindow. kDigits: digits of the
/// weights, three where sums are split.
template <int kProductRowGroups, int kAllRowGroups, bool kSparseProducts, WideQuantiser kQuantiser,
          int kDigits>
class OctetSums {
  static constexpr bool kSplit = kQuantiser == WideQuantiser::kSplit;
  /// A sum for each power of 256, the lowest first; split sums leave out 256^0.
  static constexpr int kLeftOut = kSplit ? 1 : 0, kPowers = kDigits + 1 - kLeftOut;
  static_assert(!kSplit || (kDigits == kMostDigits && kPowers == kSplitSums));
  /// Products of a row group, and of a digit.
  static constexpr int kHalves = kSparseProducts ? 1 : 2, kProducts = kHalves * kProductRowGroups;
  /// The mask is so low that where p is odd no output reads rows 0 and 1 of the row group behind
  /// the last. The lanes of these rows then multiply what they hold of the first row group by 0,
  /// and need not replace it.
  static constexpr bool kEndBefore =
      octet_mask_rows(kProductRowGroups, kAllRowGroups) < 4 * kProductRowGroups - 1;
  struct Weights {
    uint4 of[kProductRowGroups][kHalves];
  };
  static constexpr bool kKept = kDigits == 1 && kSparseProducts;

 public:
  static constexpr bool kSparse = kSparseProducts, kClamped = kQuantiser == WideQuantiser::kFloat;
  static constexpr int kRowGroups = kAllRowGroups;
  /// The uint4 that octet_fragments() begins with: metadata and kDigits digits. They lie in shared
  /// memory, except where each lane keeps its weights in registers.
  static constexpr int kMetadata = kSparse ? 8 : 0, kWeights = kMetadata + 32 * kDigits * kProducts;
  static constexpr bool kShared = !kKept;

  /// weights: kWeights uint4, in shared memory where kShared.
  __device__ OctetSums(const TensorPlane& plane, const uint4* weights)
      : general_(plane.phase[0].general),
        scale_(in_register(plane.scale)),
        base_(in_register(plane.phase[0].base)) {
    const int lane = threadIdx.x;
    lower_ = lane % 4 < 2;
    // The weights of two rows further lie two lanes further, or of sparse products, where a lane
    // has two rows, in the next lane.
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
    const int start = plane.phase[0].start;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int unknown = opaque_zero(k);
      if constexpr (kSplit) {
        start_[k] = __float_as_int(kSplitStart) + unknown;
        second_start_[k] = __float_as_int(kSplitStart) + start + unknown;
      } else {
        start_[k] = (kQuantiser == WideQuantiser::kDouble ? start ^ kSign : start) + unknown;
      }
    }
    // Values of kFloat fit 16 bits with a sign, whatever the samples could hold.
    most_ = 0x00010001u * static_cast<unsigned>(min(plane.layout.max_code, 0x7FFF));
  }

  /// made[r] = the codes of output row r: sample lane / 4 of column 2 (lane % 4) in the low half,
  /// and of column 2 (lane % 4) + 1 in the high half.
  __device__ __forceinline__ void apply(const OctetWords<kRowGroups>& words,
                                        unsigned (&made)[kRows]) const {
    apply_to_rows<0>(words, made);
    apply_to_rows<1>(words, made);
  }

 private:
  static constexpr int kSign = static_cast<int>(0x80000000u);

  /// Loads the weights of digit d, for even or odd p.
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

  /// sum += weights times the words of a row group.
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

  /// Filters output rows 2 p and 2 p + 1 of p = kOdd and kOdd + 2.
  template <int kOdd>
  __device__ __forceinline__ void apply_to_rows(const OctetWords<kRowGroups>& words,
                                                unsigned (&made)[kRows]) const {
    // Words of the first of the row groups that p reads.
    unsigned first[2][2][kOctetWords];
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int b = 0; b < 2; ++b)
#pragma unroll
        for (int n = 0; n < kOctetWords; ++n)
          // Where kEndBefore, lanes of rows 0 and 1 multiply the first row group by 0 if p is odd.
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

  /// The value of the sums of all powers; of split sums the bits of a float.
  __device__ __forceinline__ int value_of(const int (&sum)[kPowers]) const {
    if constexpr (kSplit) {
      // The base takes off what all sums begin with.
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

  /// The codes of two values in a word. Unless kClamped, the output has to clamp them.
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

  /// The code of a value, not clamped yet.
  __device__ __forceinline__ int quantise_value(int value) const {
    if constexpr (kSplit) {
      return __float2int_rn(__int_as_float(value));
    } else if constexpr (kQuantiser == WideQuantiser::kDouble) {
      // The bits of the double 2^52 + 2^31 + sum hold the sum, and of 1.5 x 2^52 + code the code.
      const double exact = __hiloint2double(0x43300000, value) - 4503601774854144.0;
      return __double2loint(
          fma(exact, general_.wide.scale, general_.wide.base + 6755399441055744.0));
    } else {
      return quantise_sum(value, general_);
    }
  }

  const Epilogue& general_;
  /// The lane's weights for even p; for odd p those of all row groups but the first, and of the
  /// first.
  const uint4 *even_, *odd_, *mixed_;
  unsigned metadata_ = 0;  ///< Of sparse products.
  Weights kept_[kKept ? 2 : 1];
  int start_[4];  ///< What sums begin with: the lowest one, or all split ones but the second.
  int second_start_[4];  ///< What the second split sum begins with.
  float scale_, base_;
  unsigned most_;
  bool lower_;  ///< The lane holds rows 0 and 1 of a row group, not 2 and 3.
};

}  // namespace
}  // namespace convolve
