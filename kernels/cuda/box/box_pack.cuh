// SPDX-License-Identifier: LGPL-2.1-or-later
// From the window sums of kernel box to stored samples, eight at a time.
#pragma once

#include "kernels/core/shape/box_tile.h"
#include "kernels/core/weights/box.h"
#include "kernels/cuda/device/kernel.cuh"

namespace convolve {
namespace {

/// Packs a panel of eight adjacent samples into words of 32 bits, as they lie in memory.
template <class Stored>
struct SamplePacker {
  static constexpr int kInWord = 4 / sizeof(Stored);
  static constexpr int kWords = kBoxPanel / kInWord;

  /// Code values of a plain division (BoxDivision): each is a byte of a product, which a byte
  /// permutation takes from it, so that neither shifts nor masks are needed.
  static __device__ void pack_quotients(const unsigned (&sum)[kBoxPanel],
                                        const BoxDivision& division, SampleLayout layout,
                                        unsigned (&word)[kWords]) {
    unsigned product[kBoxPanel];
#pragma unroll
    for (int i = 0; i < kBoxPanel; ++i)
      product[i] = __umulhi(sum[i] + division.offset, division.reciprocal);
    const unsigned byte = static_cast<unsigned>(division.shift) / 8;
    if constexpr (sizeof(Stored) == 1) {
      const unsigned selector = byte * 0x11 + 0x40;
#pragma unroll
      for (int w = 0; w < kWords; ++w)
        word[w] = __byte_perm(__byte_perm(product[4 * w], product[4 * w + 1], selector),
                              __byte_perm(product[4 * w + 2], product[4 * w + 3], selector), 0x5410)
                  << layout.shift;
    } else {
      const unsigned selector = byte * 0x1111 + 0x5410;
#pragma unroll
      for (int w = 0; w < kWords; ++w)
        word[w] =
            __byte_perm(__byte_perm(product[2 * w], product[2 * w + 1], selector) << layout.shift,
                        0, layout.swap ? 0x2301 : 0x3210);
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
