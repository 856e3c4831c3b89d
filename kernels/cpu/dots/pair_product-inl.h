// SPDX-License-Identifier: LGPL-2.1-or-later
// Dot products of two signed numbers of 16 bits in each lane of 32, for every instruction set
// behind the same function. Sums wrap modulo 2^32. Where Highway has vectors of one lane only there
// is nothing here.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_PAIR_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_PAIR_PRODUCT_INL_H_
#undef CONVOLVE_PAIR_PRODUCT_INL_H_
#else
#define CONVOLVE_PAIR_PRODUCT_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "kernels/cpu/rows/pack_words-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR

/// `sum` and the products of a lane's two numbers in `a` and in `b`.
HWY_INLINE hn::Vec<Words> add_pair_products(hn::Vec<Words> sum, hn::Vec<Pairs> a,
                                            hn::Vec<Pairs> b) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL
  // The compiler is not told of VNNI, which Highway's name of the target implies and its options
  // leave out; hence the assembler's word.
  asm("vpdpwssd %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "vm"(b.raw));
  return sum;
#elif HWY_ARCH_X86 && HWY_TARGET < HWY_EMU128
  // On x86 all products go to the first sum, and those of a lane stay in it. Without
  // the empty assembler statement, which no sum can be moved across, the compiler makes all
  // products of a mask before it adds the first two, and keeps them in memory.
  auto unused = hn::Zero(Words());
  auto added = hn::ReorderWidenMulAccumulate(Words(), a, b, sum, unused);
  asm("" : "+v"(added.raw));
  return added;
#else
  const auto low = [](hn::Vec<Pairs> v) {
    return hn::ShiftRight<16>(hn::ShiftLeft<16>(hn::BitCast(Words(), v)));
  };
  const auto high = [](hn::Vec<Pairs> v) { return hn::ShiftRight<16>(hn::BitCast(Words(), v)); };
  return hn::Add(hn::Add(sum, hn::Mul(low(a), low(b))), hn::Mul(high(a), high(b)));
#endif
}

/// Pairs from `at` on. Half of all loads of 32 bytes lie in two lines of the cache, so that one for
/// each product would take longer than the products: hence the assembler's word, which the compiler
/// cannot load again.
HWY_INLINE hn::Vec<Pairs> load_pairs(const std::int16_t* at) {
  auto pairs = hn::LoadU(Pairs(), at);
#if HWY_TARGET <= HWY_AVX2
  asm("" : "+v"(pairs.raw));
#endif
  return pairs;
}

/// A vector with `pair` in each lane: two weights, the first in the lower half.
HWY_INLINE hn::Vec<Pairs> set_pairs(std::int32_t pair) {
  return hn::BitCast(Pairs(), hn::Set(Words(), pair));
}

/// Values of 16 bits, clamped to bytes, in the order of the outputs: words[0] and [1] are those of
/// even and odd ones in the first half, words[2] and [3] in the second.
HWY_INLINE hn::Vec<Bytes> pack_even_and_odd(const hn::Vec<Words> (&words)[4]) {
  HWY_ALIGN static constexpr std::uint8_t kTakeTurns[16] = {0, 4,  1, 5,  2,  6,  3,  7,
                                                            8, 12, 9, 13, 10, 14, 11, 15};
  constexpr int kBlocks = static_cast<int>(hn::MaxLanes(Bytes())) / 16;
  const Bytes d;
  const auto packed = hn::TableLookupBytes(pack_words(words), hn::LoadDup128(d, kTakeTurns));
  if constexpr (kBlocks == 1) return packed;
  // The lower half of each block is of the first half of the outputs.
  HWY_ALIGN std::int32_t from[hn::MaxLanes(Words())];
  for (int i = 0; i < 4 * kBlocks; ++i)
    from[i] = i / 2 % kBlocks * 4 + i / (2 * kBlocks) * 2 + i % 2;
  const auto order = hn::SetTableIndices(Words(), from);
  return hn::BitCast(d, hn::TableLookupLanes(hn::BitCast(Words(), packed), order));
}

/// Values of even and odd outputs, clamped to 16 bits without a sign, in the order of the outputs.
HWY_INLINE hn::Vec<WidePairs> pack_wide_even_and_odd(hn::Vec<Words> even, hn::Vec<Words> odd) {
  HWY_ALIGN static constexpr std::uint8_t kTakeTurns[16] = {0, 1, 8,  9,  2, 3, 10, 11,
                                                            4, 5, 12, 13, 6, 7, 14, 15};
  return hn::BitCast(WidePairs(), hn::TableLookupBytes(hn::BitCast(Bytes(), pack_wide(even, odd)),
                                                       hn::LoadDup128(Bytes(), kTakeTurns)));
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
