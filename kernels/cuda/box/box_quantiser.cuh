// SPDX-License-Identifier: LGPL-2.1-or-later
// From window sums of kernel box to code values of 8 bits, four in a word, by any arithmetic.
#pragma once

#include "kernels/core/weights/box.h"
#include "kernels/cuda/device/kernel.cuh"

namespace convolve {
namespace {

/// Code values of four window sums that do not include the division's offset, where no
/// faster quantiser serves. It is called, not inlined: it is long, and few masks need it.
__device__ __noinline__ unsigned quantise_four(const ChannelArguments& channel, int taps,
                                               unsigned s0, unsigned s1, unsigned s2, unsigned s3) {
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

}  // namespace
}  // namespace convolve
