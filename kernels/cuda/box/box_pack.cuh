// SPDX-License-Identifier: LGPL-2.1-or-later
// From the window sums of kernel box to stored samples, eight at a time.
#pragma once

#include "kernels/core/shape/box_tile.h"
#include "kernels/core/weights/box.h"
#include "kernels/cuda/device/kernel.cuh"

namespace convolve {
namespace {

/// Makes the words of eight adjacent samples.
template <class Stored>
struct CodePacker {
  static constexpr int kInWord = 4 / sizeof(Stored);
  static constexpr int kWords = kBoxGroup / kInWord;

  /// Codes of a plain division, straight from the bytes of the products.
  static __device__ void pack_quotients(const unsigned (&sum)[kBoxGroup],
                                        const BoxDivision& division, SampleLayout layout,
                                        unsigned (&word)[kWords]) {
    unsigned product[kBoxGroup];
#pragma unroll
    for (int i = 0; i < kBoxGroup; ++i)
      product[i] = __umulhi(sum[i] + division.offset, division.reciprocal);
    const unsigned byte = static_cast<unsigned>(division.shift) / 8;
    if constexpr (sizeof(Stored) == 1) {
      const unsigned pair = byte * 0x11 + 0x40;
#pragma unroll
      for (int w = 0; w < kWords; ++w)
        word[w] = __byte_perm(__byte_perm(product[4 * w], product[4 * w + 1], pair),
                              __byte_perm(product[4 * w + 2], product[4 * w + 3], pair), 0x5410)
                  << layout.shift;
    } else {
      const unsigned pairs = byte * 0x1111 + 0x5410;
#pragma unroll
      for (int w = 0; w < kWords; ++w)
        word[w] =
            __byte_perm(__byte_perm(product[2 * w], product[2 * w + 1], pairs) << layout.shift, 0,
                        layout.swap ? 0x2301 : 0x3210);
    }
  }

  template <class Code>
  static __device__ void pack(unsigned (&word)[kWords], SampleLayout layout, Code&& code_of) {
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      word[w] = 0;
#pragma unroll
      for (int i = 0; i < kInWord; ++i)
        word[w] |= static_cast<unsigned>(encode_sample<Stored>(code_of(w * kInWord + i), layout))
                   << (i * 8 * sizeof(Stored));
    }
  }
};

}  // namespace
}  // namespace convolve
