// SPDX-License-Identifier: LGPL-2.1-or-later
// From window sums of kernel box to codes of 8 bits, four in a word.
#pragma once

#include "kernels/core/box.h"
#include "kernels/cuda/kernel.cuh"

namespace convolve {
namespace {

/// The codes of four sums without offset, where the division is not plain; out of line, as it is
/// long.
__device__ __noinline__ unsigned other_codes(const ChannelArguments& channel, int taps, unsigned s0,
                                             unsigned s1, unsigned s2, unsigned s3) {
  const unsigned sum[4] = {s0, s1, s2, s3};
  const Epilogue& epilogue = channel.epilogue;
  unsigned word = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    int code;
    if (channel.division.serves) {
      code = box_code(sum[i], channel.division, epilogue.max_code);
    } else {
      const double difference =
          static_cast<double>(sum[i]) - static_cast<double>(channel.black) * taps;
      code = epilogue.in_float
                 ? finish(static_cast<float>(difference), epilogue.narrow, epilogue.max_code)
                 : finish_in_double(difference, epilogue);
    }
    word |= static_cast<unsigned>(code) << (8 * i);
  }
  return word;
}

/// 2^23 as a float. With a whole number below that added to these bits, it is a float of 2^23 and
/// that number.
constexpr unsigned kFloatBits = (127 + 23) << 23;

/// How the codes of 16 sums are made, which lie close together: as window + more[i] modulo 2^32,
/// where no more[i] is below 0 as a number, being the difference from the first sum, and `kAbove`.
template <unsigned kAbove>
class GroupCodes {
 public:
  __device__ __forceinline__ GroupCodes(const ChannelArguments& channel, int taps)
      : channel_(channel), taps_(taps) {
    if (!kFloats) return;
    // With r = (1 + e) / d, floor(n / d) is that of n r, if e is not below 0, else of (n + 1) r, as
    // long as numerators, which are below 256 d, have n e < 1. They are to be floats, too.
    const auto divisor = static_cast<float>(channel.division.divisor);
    reciprocal_ = __frcp_rn(divisor);
    const float excess = fmaf(reciprocal_, divisor, -1.0f);  // Exact.
    offset_ = channel.division.offset + (excess < 0 ? 1 : 0) + kFloatBits - (1u << 23);
    in_float_ = channel.division.plain && channel.division.divisor < 1 << 16 &&
                256 * divisor * fabsf(excess) < 0.999f;
  }

  __device__ __forceinline__ void make(unsigned window, const unsigned (&more)[17],
                                       unsigned (&code)[4]) const {
    if (kFloats && in_float_)
      make_in_float(window, more, code);
    else if (channel_.division.plain)
      make_plain(window, more, code);
    else
      make_other(window, more, code);
  }

 private:
  /// Differences are floats already, as the bits above them are those of 2^23.
  static constexpr bool kFloats = (kAbove & kFloatBits) == kFloatBits;

  /// Two instructions a code at full rate, where a product's upper half goes at a quarter of that.
  __device__ __forceinline__ void make_in_float(unsigned window, const unsigned (&more)[17],
                                                unsigned (&code)[4]) const {
    constexpr float kWhole = 1 << 23;
    const auto base = static_cast<float>(static_cast<int>(window + offset_));
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      unsigned bits[4];
#pragma unroll
      for (int k = 0; k < 4; ++k)
        bits[k] = __float_as_uint(
            __fmaf_rd(__uint_as_float(more[4 * i + k]) + base, reciprocal_, kWhole));
      code[i] = __byte_perm(__byte_perm(bits[0], bits[1], 0x40),
                            __byte_perm(bits[2], bits[3], 0x40), 0x5410);
    }
  }
  __device__ __forceinline__ void make_plain(unsigned window, const unsigned (&more)[17],
                                             unsigned (&code)[4]) const {
    const BoxDivision& division = channel_.division;
    // (window + offset) * reciprocal, to which those of the others are added.
    const std::uint64_t base =
        static_cast<std::uint64_t>(window + kAbove + division.offset) * division.reciprocal -
        static_cast<std::uint64_t>(kAbove) * division.reciprocal;
    const unsigned pair = static_cast<unsigned>(division.shift) / 8 * 0x11 + 0x40;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      unsigned high[4];
#pragma unroll
      for (int k = 0; k < 4; ++k)
        high[k] = static_cast<unsigned>(
            (static_cast<std::uint64_t>(more[4 * i + k]) * division.reciprocal + base) >> 32);
      code[i] = __byte_perm(__byte_perm(high[0], high[1], pair),
                            __byte_perm(high[2], high[3], pair), 0x5410);
    }
  }
  __device__ __forceinline__ void make_other(unsigned window, const unsigned (&more)[17],
                                             unsigned (&code)[4]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      code[i] = other_codes(channel_, taps_, window + more[4 * i], window + more[4 * i + 1],
                            window + more[4 * i + 2], window + more[4 * i + 3]);
  }

  const ChannelArguments& channel_;
  int taps_;
  float reciprocal_ = 0;
  unsigned offset_ = 0;  ///< To add to sums of floats: numerators, less the 2^23 of each.
  bool in_float_ = false;
};

}  // namespace
}  // namespace convolve
