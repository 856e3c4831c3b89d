// SPDX-License-Identifier: LGPL-2.1-or-later
// Dot products of four unsigned and four signed bytes in each lane of 32 bits, for every
// instruction set behind the same functions, and the way back from lanes to bytes.
//
// One instruction where there is one (AVX-512 VNNI), products of pairs of 16 bits on other x86, and
// plain multiplications elsewhere. None of these saturates: sums wrap modulo 2^32. Where Highway
// has vectors of one lane only there is nothing here.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_DOT_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_DOT_PRODUCT_INL_H_
#undef CONVOLVE_DOT_PRODUCT_INL_H_
#else
#define CONVOLVE_DOT_PRODUCT_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "kernels/cpu/rows/byte_codes-inl.h"

#undef CONVOLVE_DOT_INSTRUCTION
#undef CONVOLVE_DOT_PAIRS
#define CONVOLVE_DOT_INSTRUCTION (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL)
#define CONVOLVE_DOT_PAIRS (HWY_ARCH_X86 && HWY_TARGET < HWY_EMU128)

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR

#if CONVOLVE_DOT_INSTRUCTION

/// Four samples in each lane,
struct Quads {
  hn::Vec<Bytes> samples;
};

/// and four weights, the same in all lanes.
struct QuadWeights {
  hn::Vec<Words> weights;
};

HWY_INLINE Quads split_quads(hn::Vec<Bytes> quads) {
  return {quads};
}

HWY_INLINE QuadWeights split_weights(std::int32_t quad) {
  return {hn::Set(Words(), quad)};
}

/// `sum` and the products of a lane's samples and weights. The compiler is not told of VNNI, which
/// Highway's name of the target implies and its options leave out; hence the assembler's word.
HWY_INLINE hn::Vec<Words> add_products(hn::Vec<Words> sum, const Quads& q, const QuadWeights& w) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(q.samples.raw), "v"(w.weights.raw));
  return sum;
}

#elif CONVOLVE_DOT_PAIRS

/// The even and the odd bytes of each lane, as pairs of 16 bits.
struct Quads {
  hn::Vec<Pairs> even, odd;
};

struct QuadWeights {
  hn::Vec<Pairs> even, odd;
};

HWY_INLINE Quads split_quads(hn::Vec<Bytes> quads) {
  const hn::RebindToUnsigned<Pairs> d;
  const auto pairs = hn::BitCast(d, quads);
  return {hn::BitCast(Pairs(), hn::And(pairs, hn::Set(d, 0xFF))),
          hn::BitCast(Pairs(), hn::ShiftRight<8>(pairs))};
}

HWY_INLINE QuadWeights split_weights(std::int32_t quad) {
  const auto pairs = hn::BitCast(Pairs(), hn::Set(Words(), quad));
  return {hn::ShiftRight<8>(hn::ShiftLeft<8>(pairs)), hn::ShiftRight<8>(pairs)};
}

HWY_INLINE hn::Vec<Words> add_products(hn::Vec<Words> sum, const Quads& q, const QuadWeights& w) {
  // On x86 all products go to the first sum, and those of a lane stay in it.
  auto unused = hn::Zero(Words());
  sum = hn::ReorderWidenMulAccumulate(Words(), q.even, w.even, sum, unused);
  return hn::ReorderWidenMulAccumulate(Words(), q.odd, w.odd, sum, unused);
}

#else

/// Each of the four in a vector of its own.
struct Quads {
  hn::Vec<Words> samples[4];
};

struct QuadWeights {
  hn::Vec<Words> weights[4];
};

HWY_INLINE Quads split_quads(hn::Vec<Bytes> quads) {
  const auto words = hn::BitCast(Words(), quads);
  const auto byte = hn::Set(Words(), 0xFF);
  return {{hn::And(words, byte), hn::And(hn::ShiftRight<8>(words), byte),
           hn::And(hn::ShiftRight<16>(words), byte), hn::And(hn::ShiftRight<24>(words), byte)}};
}

HWY_INLINE QuadWeights split_weights(std::int32_t quad) {
  const auto words = hn::Set(Words(), quad);
  return {{hn::ShiftRight<24>(hn::ShiftLeft<24>(words)),
           hn::ShiftRight<24>(hn::ShiftLeft<16>(words)),
           hn::ShiftRight<24>(hn::ShiftLeft<8>(words)), hn::ShiftRight<24>(words)}};
}

HWY_INLINE hn::Vec<Words> add_products(hn::Vec<Words> sum, const Quads& q, const QuadWeights& w) {
  for (int k = 0; k < 4; ++k)
    sum = hn::Add(sum, hn::Mul(q.samples[k], w.weights[k]));
  return sum;
}

#endif

/// The quads that bytes `taken`, 16 numbers, of every 16 make.
HWY_INLINE Quads load_quads(const std::uint8_t* at, const std::uint8_t* taken) {
  const Bytes d;
  return split_quads(hn::TableLookupBytes(hn::LoadU(d, at), hn::LoadDup128(d, taken)));
}

/// The quads of samples kStep bytes apart that begin at the first four bytes of every 16: those of
/// lane k are bytes k, k + kStep, k + 2 kStep and k + 3 kStep of its block, where `at` is the first
/// byte of the vector. kStep: 1 to 4.
template <int kStep>
HWY_INLINE Quads load_quads(const std::uint8_t* at) {
  constexpr std::uint8_t s = kStep, t = 2 * kStep, u = 3 * kStep;
  HWY_ALIGN static constexpr std::uint8_t kOverlapping[16] = {
      0, s, t, u, 1, 1 + s, 1 + t, 1 + u, 2, 2 + s, 2 + t, 2 + u, 3, 3 + s, 3 + t, 3 + u};
  return load_quads(at, kOverlapping);
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
