// SPDX-License-Identifier: LGPL-2.1-or-later
// Quantisers for components, and bytes of samples, that were filtered apart: samples of two bytes,
// and how components are interleaved again into pixels as they lie in memory.
#pragma once

#include "kernels/cuda/tensor/tensor_store.cuh"

namespace convolve {
namespace {

/// The code of a sum in float, not clamped.
__device__ __forceinline__ int quantise_in_float(int sum, const EpilogueOf<float>& e) {
  return __float2int_rn(fmaf(static_cast<float>(sum), e.scale, e.base));
}

/// The code of a sum in double, not clamped, where values fit 32 bits. Conversions between int and
/// double run at a quarter of the rate of additions, so additions convert: the bits of the double
/// 2^52 + 2^31 + sum, and of 1.5 x 2^52 + code, hold sum and code.
__device__ __forceinline__ int quantise_in_double(int sum, const EpilogueOf<double>& e) {
  const double biased = __hiloint2double(0x43300000, sum ^ static_cast<int>(0x80000000u));
  const double exact = biased - 4503601774854144.0;
  return __double2loint(fma(exact, e.scale, e.base) + 6755399441055744.0);
}

/// Two codes in a word, the first in the low half; values beyond 16 bits become the nearest.
__device__ __forceinline__ unsigned clamp_two(int low, int high) {
  unsigned codes;
  asm("cvt.pack.sat.u16.s32 %0, %1, %2;" : "=r"(codes) : "r"(high), "r"(low));
  return codes;
}

/// Two samples as they lie in memory, of two codes; unused bits become zero.
__device__ __forceinline__ unsigned encode_two(unsigned codes, const SampleLayout& layout) {
  codes <<= layout.shift;
  return layout.swap ? __byte_perm(codes, 0, 0x2301) : codes;
}

/// Calls work(quantise) with an epilogue for any sum: quantise(sum) is a code that may lie below 0
/// or above the component's. It is inlined where nothing is divided.
template <class Work>
__device__ __forceinline__ void with_general_quantiser(const Epilogue& general, const Work& work) {
  if (general.in_float && !general.narrow.divide) {
    const EpilogueOf<float> narrow = general.narrow;
    work([&](int s) { return quantise_in_float(s, narrow); });
  } else if (!general.in_float && !general.wide.divide && fabs(general.wide.scale) <= 0.5) {
    const EpilogueOf<double> wide = general.wide;
    work([&](int s) { return quantise_in_double(s, wide); });
  } else {
    work([&](int s) { return quantise_sum(s, general); });
  }
}

/// words[i] = the codes of the two sums pair(i), by an epilogue for any sum.
template <int kWords, class Pair>
__device__ __forceinline__ void quantise_twos_general(const Epilogue& general, const Pair& pair,
                                                      unsigned (&words)[kWords]) {
  with_general_quantiser(general, [&](const auto& quantise) {
    const int most = general.max_code;
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      const int2 sums = pair(i);
      const int low = min(max(quantise(sums.x), 0), most);
      const int high = min(max(quantise(sums.y), 0), most);
      words[i] = __byte_perm(static_cast<unsigned>(low), static_cast<unsigned>(high), 0x5410);
    }
  });
}

/// words[i] = two samples of two bytes, as they lie in memory, of the sums pair(i).
template <Quantiser kQuantiser, int kWords, class Pair>
__device__ __forceinline__ void quantise_to_samples(const TensorPlane& plane,
                                                    const TensorPhase& phase, const Pair& pair,
                                                    unsigned (&words)[kWords]) {
  if constexpr (kQuantiser == Quantiser::kGeneral) {
    quantise_twos_general(phase.general, pair, words);
  } else {
    // Values of this quantiser fit 16 bits with a sign, whatever the samples could hold.
    const unsigned most = 0x00010001u * static_cast<unsigned>(min(plane.layout.max_code, 0x7FFF));
    const auto value = [&](int s) {
      return __float_as_uint(
          fmaf(kQuantiser == Quantiser::kBits ? __int_as_float(s) : static_cast<float>(s),
               plane.scale, phase.base));
    };
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      const int2 sums = pair(i);
      words[i] = __vimin_s16x2_relu(__byte_perm(value(sums.x), value(sums.y), 0x5410), most);
    }
  }
#pragma unroll
  for (unsigned& word : words)
    word = encode_two(word, plane.layout);
}

/// Word n of pixels as they lie in memory, of samples of kBytes bytes; components[k] has those of
/// component k.
template <int kBytes, int kComponents, int kWords>
__device__ __forceinline__ unsigned interleaved(const unsigned (&components)[kComponents][kWords],
                                                int n) {
  const int w = n / kComponents;
  if constexpr (kComponents == 1) {
    return components[0][n];
  } else if constexpr (kComponents == 2) {
    const unsigned first = kBytes == 1 ? 0x5140 : 0x5410, second = kBytes == 1 ? 0x7362 : 0x7632;
    return __byte_perm(components[0][w], components[1][w], n % 2 == 0 ? first : second);
  } else if constexpr (kComponents == 3) {
    const unsigned x = components[0][w], y = components[1][w], z = components[2][w];
    // x0 y0 z0 x1, y1 z1 x2 y2, z2 x3 y3 z3
    return n % 3 == 0   ? __byte_perm(__byte_perm(x, y, 0x1040), z, 0x3410)
           : n % 3 == 1 ? __byte_perm(__byte_perm(x, y, 0x6205), z, 0x3250)
                        : __byte_perm(__byte_perm(x, y, 0x0730), z, 0x7216);
  } else {
    const unsigned select = 0x0040 + 0x0011 * (n % 4);
    return __byte_perm(__byte_perm(components[0][w], components[1][w], select),
                       __byte_perm(components[2][w], components[3][w], select), 0x5410);
  }
}

/// Stores 4 kWords / kBytes pixels at `to`, of which the first `room` bytes belong to the picture.
/// `whole`: all bytes do, and `to` is aligned to their number, or to 16.
template <int kBytes, int kComponents, int kWords>
__device__ __forceinline__ void store_pixels(std::uint8_t* to, int room, bool whole,
                                             const unsigned (&components)[kComponents][kWords]) {
  constexpr int kAll = kComponents * kWords;
  const auto word = [&](int n) { return interleaved<kBytes>(components, n); };
  if (whole) {
    if constexpr (kAll % 4 == 0) {
#pragma unroll
      for (int i = 0; i < kAll / 4; ++i)
        reinterpret_cast<uint4*>(to)[i] =
            make_uint4(word(4 * i), word(4 * i + 1), word(4 * i + 2), word(4 * i + 3));
    } else if constexpr (kAll % 2 == 0) {
#pragma unroll
      for (int i = 0; i < kAll / 2; ++i)
        reinterpret_cast<uint2*>(to)[i] = make_uint2(word(2 * i), word(2 * i + 1));
    } else {
#pragma unroll
      for (int i = 0; i < kAll; ++i)
        reinterpret_cast<unsigned*>(to)[i] = word(i);
    }
    return;
  }
#pragma unroll
  for (int n = 0; n < kAll; ++n)
#pragma unroll
    for (int b = 0; b < 4; ++b)
      if (4 * n + b < room) to[4 * n + b] = static_cast<std::uint8_t>(word(n) >> (8 * b));
}

}  // namespace
}  // namespace convolve
