// SPDX-License-Identifier: LGPL-2.1-or-later
// Quantisers of kernel `box` in bands: from the window sums of a lane's 16 columns to code values,
// row after row of a batch. Which one serves depends on the mask and the division; the fastest is
// taken. All of them have:
//
//   supports(a)                   true if it is exact for this launch;
//   begin(first_sum, relative)    the middle row: the sum of the lane's first window, and how much
//                                 more than it each window has;
//   add<kHalf>(change, relative)  the next row: how much the first window's sum changes, and how
//                                 much more than it each window's does, in the low (kHalf 0) or the
//                                 high half of relative[i];
//   quantise(code)                the row's code values, four in a word.
#pragma once

#include <cstdint>

#include "kernels/core/shape/box_bands.h"
#include "kernels/cuda/box/box_quantiser.cuh"
#include "kernels/cuda/box/box_scan.cuh"
#include "kernels/cuda/device/kernel.cuh"

namespace convolve {
namespace {

/// Divides in floats, which run at full rate, where the upper half of an integer product runs at a
/// quarter of that. All numerators of a batch of kRows rows are close together. With a common
/// multiple of the divisor taken away they lie between 2^23 and 2^24, where a float's lowest bits
/// are a whole number: differences are added to the bits, and one multiplication by the divisor's
/// inverse, rounded down, gives the quotient. kTies: there may be ties.
template <int kRows, bool kTies>
class FloatQuantiser {
 public:
  __device__ __forceinline__ explicit FloatQuantiser(const LaunchArguments& a)
      : division_(a.group.channel[0].division), max_difference_(max_difference(a)) {}

  /// True if all numerators do lie there.
  static __device__ __forceinline__ bool supports(const LaunchArguments& a) {
    const BoxDivision& division = a.group.channel[0].division;
    const unsigned most = max_difference(a);
    return division.direct && most < kTwo23 / 2 && division.divisor < kTwo23 / 2 &&
           most + division.divisor < kTwo23 / 2 - 2;
  }

  __device__ __forceinline__ void begin(unsigned first_sum,
                                        const unsigned (&relative)[kBandPanel + 1]) {
    const unsigned d = division_.divisor;
    // How many divisors the numerators keep, so that they lie above 2^23 in all of the batch.
    const unsigned kept = (kTwo23 + 1 + max_difference_ + d - 1) / d;
#pragma unroll
    for (int first = 0; first < kBandPanel; first += kWindows) {
      const unsigned pivot = relative[band_pivot(first, kWindows)];
      const unsigned numerator = first_sum + pivot + division_.offset;
      const unsigned quotient = box_quotient(numerator, division_);
      quotient_[first / kWindows] = static_cast<float>(static_cast<int>(kTwo23 + quotient - kept));
      const unsigned left = numerator - quotient * d + kept * d + division_.inverse_raise - pivot;
#pragma unroll
      for (int i = first; i < first + kWindows; ++i)
        bits_[i] = left + relative[i] + kTwo23Bits - kTwo23;
    }
  }
  template <int kHalf>
  __device__ __forceinline__ void add(unsigned change, const unsigned (&relative)[kBandPanel + 1]) {
#pragma unroll
    for (int i = 0; i < kBandPanel; ++i)
      bits_[i] = dp2a(relative[i], kHalf == 0 ? kLowFactor : kHighFactor, bits_[i]) + change;
  }
  __device__ __forceinline__ void quantise(unsigned (&code)[kBandPanel / 4]) const {
#pragma unroll
    for (int i = 0; i < kBandPanel / 4; ++i) {
      const float quotient = quotient_[4 * i / kWindows];
      unsigned bits[4];
#pragma unroll
      for (int k = 0; k < 4; ++k)
        bits[k] = divided(bits_[4 * i + k], quotient);
      if constexpr (kTies) {
        // Ties are multiples of the divisor: a numerator less by one has another quotient. Ties go
        // to even code values.
#pragma unroll
        for (int k = 0; k < 4; ++k)
          bits[k] &= ~((bits[k] ^ divided(bits_[4 * i + k] - 1, quotient)) & 1u);
      }
      code[i] = __byte_perm(__byte_perm(bits[0], bits[1], 0x40),
                            __byte_perm(bits[2], bits[3], 0x40), 0x5410);
    }
  }

 private:
  static constexpr int kWindows = 8;  ///< That have the same pivot.

  static __device__ __forceinline__ unsigned max_difference(const LaunchArguments& a) {
    return band_max_difference(kWindows, kRows, a.mask.height, a.mask.width);
  }
  /// The bits of the float 2^23 + the quotient.
  __device__ __forceinline__ unsigned divided(unsigned numerator, float quotient) const {
    return __float_as_uint(__fmaf_rd(__uint_as_float(numerator), division_.inverse, quotient));
  }

  /// The bits of the float 2^23. A whole number below 2^23 added to them gives the bits of the
  /// float 2^23 + that number.
  static constexpr unsigned kTwo23 = 1 << 23, kTwo23Bits = (127 + 23) << 23;

  const BoxDivision& division_;
  unsigned max_difference_;
  float quotient_[kBandPanel / kWindows];
  unsigned bits_[kBandPanel];
};

/// Tells quotients from signs, for masks so large that all numerators near a pivot lie less than a
/// divisor from one multiple of the divisor, the one nearest to the pivot's numerator
/// (band_signs_suffice()). That multiple is the code value of numerators from it on, and those
/// below it have one less. The multiple follows the pivot from row to row. A tie is a numerator
/// that is a multiple itself: where the multiple is odd, all remainders are held one less, so that
/// ties go down to the even code value.
class SignQuantiser {
 public:
  __device__ __forceinline__ explicit SignQuantiser(const LaunchArguments& a)
      : division_(a.group.channel[0].division),
        ties_(division_.ties ? 1 : 0),
        pairs_(band_signs_suffice_for_two_rows(a.mask.height, a.mask.width, division_.divisor)) {}

  static __device__ __forceinline__ bool supports(const LaunchArguments& a) {
    const BoxDivision& division = a.group.channel[0].division;
    return division.direct &&
           band_signs_suffice(a.mask.height, a.mask.width, division.divisor, division.offset);
  }

  __device__ __forceinline__ void begin(unsigned first_sum,
                                        const unsigned (&relative)[kBandPanel + 1]) {
    const unsigned d = division_.divisor;
#pragma unroll
    for (int pivot = 0; pivot < kPivots; ++pivot) {
      const unsigned at_pivot = relative[band_pivot(kWindows * pivot, kWindows)];
      const unsigned numerator = first_sum + at_pivot + division_.offset;
      unsigned multiple = box_quotient(numerator, division_);
      if (numerator - multiple * d > d / 2) ++multiple;
      multiple_[pivot] = multiple * kEachByte;
      const unsigned left = numerator - multiple * d - (multiple & ties_) - at_pivot;
#pragma unroll
      for (int i = kWindows * pivot; i < kWindows * (pivot + 1); ++i)
        above_[i] = static_cast<int>(left + relative[i]);
    }
  }
  template <int kHalf>
  __device__ __forceinline__ void add(unsigned change, const unsigned (&relative)[kBandPanel + 1]) {
    const auto add = [&](int i, unsigned all) {
      above_[i] = static_cast<int>(dp2a(relative[i], kHalf == 0 ? kLowFactor : kHighFactor,
                                        static_cast<unsigned>(above_[i])) +
                                   all);
    };
#pragma unroll
    for (int pivot = 0; pivot < kPivots; ++pivot) {
      const int at_pivot = band_pivot(kWindows * pivot, kWindows);
      unsigned all = change;
      add(at_pivot, change);
      if (kHalf == 0 || !pairs_) {
        const unsigned d = division_.divisor, odd = ties_ - 2 * (multiple_[pivot] & ties_);
        const int half = static_cast<int>(d / 2);
        const bool next = above_[at_pivot] > half, last = above_[at_pivot] < -half;
        const unsigned adjustment = next ? 0 - d - odd : last ? d - odd : 0;
        multiple_[pivot] += next ? kEachByte : last ? 0 - kEachByte : 0;
        above_[at_pivot] += static_cast<int>(adjustment);
        all += adjustment;
      }
#pragma unroll
      for (int i = kWindows * pivot; i < kWindows * (pivot + 1); ++i)
        if (i != at_pivot) add(i, all);
    }
  }
  __device__ __forceinline__ void quantise(unsigned (&code)[kBandPanel / 4]) const {
    // The signs of four remainders: bytes of 1s where one is negative.
#pragma unroll
    for (int i = 0; i < kPivots; ++i) {
      const int* const above = above_ + kWindows * i;
      const unsigned below =
          __byte_perm(signs(above[0], above[1]), signs(above[2], above[3]), 0x5410);
      code[i] = multiple_[i] - (below & kEachByte);
    }
  }

 private:
  static constexpr int kWindows = 4, kPivots = kBandPanel / kWindows;
  static constexpr unsigned kEachByte = 0x01010101u;

  /// The signs of two numbers, in the lower two bytes.
  static __device__ __forceinline__ unsigned signs(int a, int b) {
    unsigned bytes;
    asm("prmt.b32 %0, %1, %2, 0x00FB;" : "=r"(bytes) : "r"(a), "r"(b));
    return bytes;
  }

  const BoxDivision& division_;
  unsigned ties_;               ///< 1 if there may be ties.
  bool pairs_;                  ///< Multiples are chosen anew only for every second row.
  unsigned multiple_[kPivots];  ///< The multiple, in each byte.
  int above_[kBandPanel];
};

/// Keeps window sums as they are, for any division or epilogue.
class GeneralQuantiser {
 public:
  __device__ __forceinline__ explicit GeneralQuantiser(const LaunchArguments& a)
      : channel_(a.group.channel[0]), taps_(a.mask.width * a.mask.height) {}

  __device__ __forceinline__ void begin(unsigned first_sum,
                                        const unsigned (&relative)[kBandPanel + 1]) {
#pragma unroll
    for (int i = 0; i < kBandPanel; ++i)
      sum_[i] = first_sum + relative[i];
  }
  template <int kHalf>
  __device__ __forceinline__ void add(unsigned change, const unsigned (&relative)[kBandPanel + 1]) {
#pragma unroll
    for (int i = 0; i < kBandPanel; ++i)
      sum_[i] += change + (kHalf == 0 ? relative[i] & 0xFFFFu : relative[i] >> 16);
  }
  __device__ __forceinline__ void quantise(unsigned (&code)[kBandPanel / 4]) const {
#pragma unroll
    for (int i = 0; i < kBandPanel / 4; ++i) {
      const unsigned* const sum = sum_ + 4 * i;
      code[i] = quantise_four(channel_, taps_, sum[0], sum[1], sum[2], sum[3]);
    }
  }

 private:
  const ChannelArguments& channel_;
  int taps_;
  unsigned sum_[kBandPanel];
};

}  // namespace
}  // namespace convolve
