// SPDX-License-Identifier: LGPL-2.1-or-later
// The codes of 16 windows of kernel `box`, which follow each other from row to row.
#pragma once

#include <cstdint>

#include "kernels/core/box_bands.h"
#include "kernels/cuda/box_codes.cuh"
#include "kernels/cuda/box_scan.cuh"
#include "kernels/cuda/kernel.cuh"

namespace convolve {
namespace {

/// Numerators as floats, and what they are divided by. A lane's windows are close together in all
/// of a batch of `kRows` rows, so that with as many divisors taken away from each of them they lie
/// between 2^23 and 2^24: their bits are whole numbers, to which what windows have more is added,
/// and the sum's product with the inverse of the divisor, rounded down, is the quotient, at full
/// rate, where a product's upper half goes at a quarter of that. kTies: if there are any.
template <int kRows, bool kTies>
class FloatCodes {
 public:
  __device__ __forceinline__ explicit FloatCodes(const LaunchArguments& a)
      : division_(a.group.channel[0].division),
        reach_(band_reach(kRows, a.mask.height, a.mask.width)) {}

  /// True if they do lie there.
  static __device__ __forceinline__ bool serve(const LaunchArguments& a) {
    const BoxDivision& division = a.group.channel[0].division;
    const unsigned most = band_reach(kRows, a.mask.height, a.mask.width);
    return division.direct && most < kWhole / 2 && division.divisor < kWhole / 2 &&
           most + division.divisor < kWhole / 2 - 2;
  }

  /// The middle row: the sum of the first window, and how much others have more.
  __device__ __forceinline__ void begin(unsigned window, const unsigned (&more)[kBandGroup + 1]) {
    const unsigned d = division_.divisor, numerator = window + more[kBandHub] + division_.offset;
    const unsigned quotient = box_quotient(numerator, division_);
    // So many divisors too few are taken away.
    const unsigned few = (kWhole + 1 + reach_ + d - 1) / d;
    quotient_ = static_cast<float>(static_cast<int>(kWhole + quotient - few));
    const unsigned left =
        numerator - quotient * d + few * d + division_.inverse_raise - more[kBandHub];
#pragma unroll
    for (int i = 0; i < kBandGroup; ++i)
      bits_[i] = left + more[i] + kBits - kWhole;
  }
  /// The next row: how much the first window has more than before, and others, in halves `kHalf`.
  template <int kHalf>
  __device__ __forceinline__ void add(unsigned window, const unsigned (&more)[kBandGroup + 1]) {
#pragma unroll
    for (int i = 0; i < kBandGroup; ++i)
      bits_[i] = add_pair(more[i], kHalf == 0 ? kFirst : kSecond, bits_[i]) + window;
  }
  __device__ __forceinline__ void make(unsigned (&code)[kBandGroup / 4]) const {
#pragma unroll
    for (int i = 0; i < kBandGroup / 4; ++i) {
      unsigned bits[4];
#pragma unroll
      for (int k = 0; k < 4; ++k)
        bits[k] = divided(bits_[4 * i + k]);
      if constexpr (kTies) {
        // Ties are multiples of the divisor: one less has another quotient. They go to even ones.
#pragma unroll
        for (int k = 0; k < 4; ++k)
          bits[k] &= ~((bits[k] ^ divided(bits_[4 * i + k] - 1)) & 1u);
      }
      code[i] = __byte_perm(__byte_perm(bits[0], bits[1], 0x40),
                            __byte_perm(bits[2], bits[3], 0x40), 0x5410);
    }
  }

 private:
  /// As a float above 2^23.
  __device__ __forceinline__ unsigned divided(unsigned numerator) const {
    return __float_as_uint(__fmaf_rd(__uint_as_float(numerator), division_.inverse, quotient_));
  }

  /// As a float, kBits: with a whole number below it added to these, it is both as a float.
  static constexpr unsigned kWhole = 1 << 23, kBits = (127 + 23) << 23;

  const BoxDivision& division_;
  unsigned reach_;
  float quotient_ = 0;
  unsigned bits_[kBandGroup];
};

/// Sums as they are, for any division.
class WholeCodes {
 public:
  __device__ __forceinline__ explicit WholeCodes(const LaunchArguments& a)
      : channel_(a.group.channel[0]), taps_(a.mask.width * a.mask.height) {}

  __device__ __forceinline__ void begin(unsigned window, const unsigned (&more)[kBandGroup + 1]) {
#pragma unroll
    for (int i = 0; i < kBandGroup; ++i)
      sum_[i] = window + more[i];
  }
  template <int kHalf>
  __device__ __forceinline__ void add(unsigned window, const unsigned (&more)[kBandGroup + 1]) {
#pragma unroll
    for (int i = 0; i < kBandGroup; ++i)
      sum_[i] += window + (kHalf == 0 ? more[i] & 0xFFFFu : more[i] >> 16);
  }
  __device__ __forceinline__ void make(unsigned (&code)[kBandGroup / 4]) const {
    const BoxDivision& division = channel_.division;
#pragma unroll
    for (int i = 0; i < kBandGroup / 4; ++i) {
      const unsigned* const sum = sum_ + 4 * i;
      if (!division.direct || division.ties) {
        code[i] = other_codes(channel_, taps_, sum[0], sum[1], sum[2], sum[3]);
        continue;
      }
      unsigned quotient[4];
#pragma unroll
      for (int k = 0; k < 4; ++k)
        quotient[k] = box_quotient(sum[k] + division.offset, division);
      code[i] = __byte_perm(__byte_perm(quotient[0], quotient[1], 0x40),
                            __byte_perm(quotient[2], quotient[3], 0x40), 0x5410);
    }
  }

 private:
  const ChannelArguments& channel_;
  int taps_;
  unsigned sum_[kBandGroup];
};

}  // namespace
}  // namespace convolve
