// SPDX-License-Identifier: LGPL-2.1-or-later
// The codes of 16 windows of kernel `box`, which follow each other from row to row.
#pragma once

#include <cstdint>

#include "kernels/core/shape/box_bands.h"
#include "kernels/cuda/box/box_codes.cuh"
#include "kernels/cuda/box/box_scan.cuh"
#include "kernels/cuda/device/kernel.cuh"

namespace convolve {
namespace {

/// Numerators as floats, and what they are divided by. Windows are close together in all of a batch
/// of `kRows` rows, so that with as many divisors taken away from each of them they lie between
/// 2^23 and 2^24: their bits are whole numbers, to which what windows have more is added, and the
/// sum's product with the inverse of the divisor, rounded down, is the quotient, at full rate,
/// where a product's upper half goes at a quarter of that. kTies: if there are any.
template <int kRows, bool kTies>
class FloatCodes {
 public:
  __device__ __forceinline__ explicit FloatCodes(const LaunchArguments& a)
      : division_(a.group.channel[0].division), reach_(reach(a)) {}

  /// True if they do lie there.
  static __device__ __forceinline__ bool serve(const LaunchArguments& a) {
    const BoxDivision& division = a.group.channel[0].division;
    const unsigned most = reach(a);
    return division.direct && most < kWhole / 2 && division.divisor < kWhole / 2 &&
           most + division.divisor < kWhole / 2 - 2;
  }

  /// The middle row: the sum of the first window, and how much others have more.
  __device__ __forceinline__ void begin(unsigned window, const unsigned (&more)[kBandGroup + 1]) {
    const unsigned d = division_.divisor;
    // So many divisors too few are taken away.
    const unsigned few = (kWhole + 1 + reach_ + d - 1) / d;
#pragma unroll
    for (int first = 0; first < kBandGroup; first += kWindows) {
      const unsigned hub = more[band_hub(first, kWindows)];
      const unsigned numerator = window + hub + division_.offset;
      const unsigned quotient = box_quotient(numerator, division_);
      quotient_[first / kWindows] = static_cast<float>(static_cast<int>(kWhole + quotient - few));
      const unsigned left = numerator - quotient * d + few * d + division_.inverse_raise - hub;
#pragma unroll
      for (int i = first; i < first + kWindows; ++i)
        bits_[i] = left + more[i] + kBits - kWhole;
    }
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
      const float quotient = quotient_[4 * i / kWindows];
      unsigned bits[4];
#pragma unroll
      for (int k = 0; k < 4; ++k)
        bits[k] = divided(bits_[4 * i + k], quotient);
      if constexpr (kTies) {
        // Ties are multiples of the divisor: one less has another quotient. They go to even ones.
#pragma unroll
        for (int k = 0; k < 4; ++k)
          bits[k] &= ~((bits[k] ^ divided(bits_[4 * i + k] - 1, quotient)) & 1u);
      }
      code[i] = __byte_perm(__byte_perm(bits[0], bits[1], 0x40),
                            __byte_perm(bits[2], bits[3], 0x40), 0x5410);
    }
  }

 private:
  static constexpr int kWindows = 8;  ///< Of a hub.

  static __device__ __forceinline__ unsigned reach(const LaunchArguments& a) {
    return band_reach(kWindows, kRows, a.mask.height, a.mask.width);
  }
  /// As a float above 2^23.
  __device__ __forceinline__ unsigned divided(unsigned numerator, float quotient) const {
    return __float_as_uint(__fmaf_rd(__uint_as_float(numerator), division_.inverse, quotient));
  }

  /// As a float, kBits: with a whole number below it added to these, it is both as a float.
  static constexpr unsigned kWhole = 1 << 23, kBits = (127 + 23) << 23;

  const BoxDivision& division_;
  unsigned reach_;
  float quotient_[kBandGroup / kWindows];
  unsigned bits_[kBandGroup];
};

/// Numerators less the multiple of the divisor that is nearest to their hub's, of masks so large
/// that their signs tell quotients: band_steps_by_one(). The multiple follows the hub from row to
/// row. Ties are numerators of 0: above odd multiples, where they go down, all count one less.
class HubCodes {
 public:
  __device__ __forceinline__ explicit HubCodes(const LaunchArguments& a)
      : division_(a.group.channel[0].division),
        ties_(division_.ties ? 1 : 0),
        pairs_(band_steps_by_pairs(a.mask.height, a.mask.width, division_.divisor)) {}

  static __device__ __forceinline__ bool serve(const LaunchArguments& a) {
    const BoxDivision& division = a.group.channel[0].division;
    return division.direct &&
           band_steps_by_one(a.mask.height, a.mask.width, division.divisor, division.offset);
  }

  /// The middle row: the sum of the first window, and how much others have more.
  __device__ __forceinline__ void begin(unsigned window, const unsigned (&more)[kBandGroup + 1]) {
    const unsigned d = division_.divisor;
#pragma unroll
    for (int hub = 0; hub < kHubs; ++hub) {
      const unsigned at_hub = more[band_hub(kWindows * hub, kWindows)];
      const unsigned numerator = window + at_hub + division_.offset;
      unsigned multiple = box_quotient(numerator, division_);
      if (numerator - multiple * d > d / 2) ++multiple;
      multiple_[hub] = multiple * kEach;
      const unsigned left = numerator - multiple * d - (multiple & ties_) - at_hub;
#pragma unroll
      for (int i = kWindows * hub; i < kWindows * (hub + 1); ++i)
        above_[i] = static_cast<int>(left + more[i]);
    }
  }
  /// The next row: how much the first window has more than before, and others, in halves `kHalf`.
  template <int kHalf>
  __device__ __forceinline__ void add(unsigned window, const unsigned (&more)[kBandGroup + 1]) {
    const auto add = [&](int i, unsigned all) {
      above_[i] = static_cast<int>(
          add_pair(more[i], kHalf == 0 ? kFirst : kSecond, static_cast<unsigned>(above_[i])) + all);
    };
#pragma unroll
    for (int hub = 0; hub < kHubs; ++hub) {
      const int at_hub = band_hub(kWindows * hub, kWindows);
      unsigned all = window;
      add(at_hub, window);
      if (kHalf == 0 || !pairs_) {
        const unsigned d = division_.divisor, odd = ties_ - 2 * (multiple_[hub] & ties_);
        const int half = static_cast<int>(d / 2);
        const bool next = above_[at_hub] > half, last = above_[at_hub] < -half;
        const unsigned step = next ? 0 - d - odd : last ? d - odd : 0;
        multiple_[hub] += next ? kEach : last ? 0 - kEach : 0;
        above_[at_hub] += static_cast<int>(step);
        all += step;
      }
#pragma unroll
      for (int i = kWindows * hub; i < kWindows * (hub + 1); ++i)
        if (i != at_hub) add(i, all);
    }
  }
  __device__ __forceinline__ void make(unsigned (&code)[kBandGroup / 4]) const {
    // Signs of four: bytes of 1s below 0.
#pragma unroll
    for (int i = 0; i < kHubs; ++i) {
      const int* const above = above_ + kWindows * i;
      const unsigned below =
          __byte_perm(signs(above[0], above[1]), signs(above[2], above[3]), 0x5410);
      code[i] = multiple_[i] - (below & kEach);
    }
  }

 private:
  static constexpr int kWindows = 4, kHubs = kBandGroup / kWindows;
  static constexpr unsigned kEach = 0x01010101u;

  /// In the lower two bytes.
  static __device__ __forceinline__ unsigned signs(int a, int b) {
    unsigned bytes;
    asm("prmt.b32 %0, %1, %2, 0x00FB;" : "=r"(bytes) : "r"(a), "r"(b));
    return bytes;
  }

  const BoxDivision& division_;
  unsigned ties_;             ///< 1 if there are any.
  bool pairs_;                ///< Multiples stay for two rows.
  unsigned multiple_[kHubs];  ///< In each byte.
  int above_[kBandGroup];
};

/// Numerators as whole numbers, where neither of these serves. A lane's windows are close together,
/// so that with as many divisors taken away from each of them they leave bits to scale them by:
/// then quotients are whole bytes of the upper halves of products.
template <int kRows>
class ScaledCodes {
 public:
  __device__ __forceinline__ explicit ScaledCodes(const LaunchArguments& a)
      : division_(a.group.channel[0].division),
        reach_(reach(a)),
        bits_(band_scale_bits(division_.shift)) {}

  static __device__ __forceinline__ bool serve(const LaunchArguments& a) {
    const BoxDivision& division = a.group.channel[0].division;
    return division.direct &&
           band_scale_serves(division.shift, reach(a), division.divisor, division.ties);
  }

  /// The middle row: the sum of the first window, and how much others have more.
  __device__ __forceinline__ void begin(unsigned window, const unsigned (&more)[kBandGroup + 1]) {
    const unsigned d = division_.divisor, hub = more[band_hub(0, kBandGroup)];
    const unsigned numerator = window + hub + division_.offset;
    const unsigned quotient = box_quotient(numerator, division_);
    // So many divisors are left, that no numerator falls to 0, unless that is all there is.
    const unsigned few = reach_ / d + 1, taken = max(quotient, few) - few;
    const unsigned left = numerator - taken * d - hub;
    taken_ = taken * 0x01010101u;
#pragma unroll
    for (int i = 0; i < kBandGroup; ++i)
      scaled_[i] = (left + more[i]) << bits_;
  }
  /// The next row: how much the first window has more than before, and others, in halves `kHalf`.
  template <int kHalf>
  __device__ __forceinline__ void add(unsigned window, const unsigned (&more)[kBandGroup + 1]) {
    const unsigned factor = (kHalf == 0 ? kFirst : kSecond) << bits_, all = window << bits_;
#pragma unroll
    for (int i = 0; i < kBandGroup; ++i)
      scaled_[i] = add_pair(more[i], factor, scaled_[i]) + all;
  }
  __device__ __forceinline__ void make(unsigned (&code)[kBandGroup / 4]) const {
#pragma unroll
    for (int i = 0; i < kBandGroup / 4; ++i) {
      unsigned high[4];
#pragma unroll
      for (int k = 0; k < 4; ++k)
        high[k] = __umulhi(scaled_[4 * i + k], division_.reciprocal);
      const unsigned quotients = packed(high);
      code[i] = quotients + taken_;
      if (division_.ties) {
        // Ties are multiples of the divisor: nothing is left of them below the quotient, which one
        // less then borrows from. They go to even ones.
#pragma unroll
        for (int k = 0; k < 4; ++k)
          --high[k];
        code[i] &= ~((quotients ^ packed(high)) & 0x01010101u);
      }
    }
  }

 private:
  static __device__ __forceinline__ unsigned reach(const LaunchArguments& a) {
    return band_reach(kBandGroup, kRows, a.mask.height, a.mask.width);
  }
  __device__ __forceinline__ unsigned packed(const unsigned (&high)[4]) const {
    const unsigned pair = static_cast<unsigned>(division_.shift + bits_) / 8 * 0x11 + 0x40;
    return __byte_perm(__byte_perm(high[0], high[1], pair), __byte_perm(high[2], high[3], pair),
                       0x5410);
  }

  const BoxDivision& division_;
  unsigned reach_;
  int bits_;
  unsigned taken_ = 0;  ///< Divisors, in each byte.
  unsigned scaled_[kBandGroup];
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
#pragma unroll
    for (int i = 0; i < kBandGroup / 4; ++i) {
      const unsigned* const sum = sum_ + 4 * i;
      code[i] = other_codes(channel_, taps_, sum[0], sum[1], sum[2], sum[3]);
    }
  }

 private:
  const ChannelArguments& channel_;
  int taps_;
  unsigned sum_[kBandGroup];
};

}  // namespace
}  // namespace convolve
