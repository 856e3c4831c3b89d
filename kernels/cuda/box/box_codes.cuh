// SPDX-License-Identifier: LGPL-2.1-or-later
// From window sums of kernel box to codes of 8 bits, four in a word.
#pragma once

#include "kernels/core/weights/box.h"
#include "kernels/cuda/device/kernel.cuh"

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

/// How the codes of 16 sums are made, which lie close together: as window + more[i] modulo 2^32,
/// where no more[i] is below 0 as a number, being the difference from the first sum, and `kAbove`.
template <unsigned kAbove>
class GroupCodes {
 public:
  __device__ __forceinline__ GroupCodes(const ChannelArguments& channel, int taps)
      : channel_(channel), taps_(taps) {}

  __device__ __forceinline__ void make(unsigned window, const unsigned (&more)[17],
                                       unsigned (&code)[4]) const {
    if (channel_.division.plain)
      make_plain(window, more, code);
    else
      make_other(window, more, code);
  }

 private:
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
};

}  // namespace
}  // namespace convolve
