// SPDX-License-Identifier: LGPL-2.1-or-later
// From whole numbers of 32 bits to samples of one byte or two.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_PACK_WORDS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_PACK_WORDS_INL_H_
#undef CONVOLVE_PACK_WORDS_INL_H_
#else
#define CONVOLVE_PACK_WORDS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/core/base/sample.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR

using Bytes = hn::ScalableTag<std::uint8_t>;
using Words = hn::Repartition<std::int32_t, Bytes>;
using Pairs = hn::Repartition<std::int16_t, Bytes>;
using WidePairs = hn::Repartition<std::uint16_t, Bytes>;

/// Values clamped to 16 bits without a sign: those of the first blocks of 16 bytes of `a` and of
/// `b`, then those of the second ones... Of x86's sets SSE4 is the first that has an instruction.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
HWY_INLINE hn::Vec<WidePairs> pack_wide(hn::Vec<Words> a, hn::Vec<Words> b) {
  return hn::Vec<WidePairs>{_mm512_packus_epi32(a.raw, b.raw)};
}
#elif HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
HWY_INLINE hn::Vec<WidePairs> pack_wide(hn::Vec<Words> a, hn::Vec<Words> b) {
  return hn::Vec<WidePairs>{_mm256_packus_epi32(a.raw, b.raw)};
}
#elif HWY_ARCH_X86 && HWY_TARGET <= HWY_SSE4
HWY_INLINE hn::Vec<WidePairs> pack_wide(hn::Vec<Words> a, hn::Vec<Words> b) {
  return hn::Vec<WidePairs>{_mm_packus_epi32(a.raw, b.raw)};
}
#else
HWY_INLINE hn::Vec<WidePairs> pack_wide(hn::Vec<Words> a, hn::Vec<Words> b) {
  HWY_ALIGN static constexpr std::uint8_t kEvenThenOdd[16] = {0, 1, 4, 5, 8,  9,  12, 13,
                                                              2, 3, 6, 7, 10, 11, 14, 15};
  const auto low = hn::Zero(Words());
  const auto high = hn::Set(Words(), 65535);
  const auto pairs = hn::Or(hn::Clamp(a, low, high), hn::ShiftLeft<16>(hn::Clamp(b, low, high)));
  return hn::BitCast(WidePairs(), hn::TableLookupBytes(hn::BitCast(Bytes(), pairs),
                                                       hn::LoadDup128(Bytes(), kEvenThenOdd)));
}
#endif

#if HWY_ARCH_X86 && HWY_TARGET < HWY_EMU128

#if HWY_TARGET <= HWY_AVX3
HWY_INLINE hn::Vec<Bytes> pack_pairs(hn::Vec<Pairs> a, hn::Vec<Pairs> b) {
  return hn::Vec<Bytes>{_mm512_packus_epi16(a.raw, b.raw)};
}
#elif HWY_TARGET <= HWY_AVX2
HWY_INLINE hn::Vec<Bytes> pack_pairs(hn::Vec<Pairs> a, hn::Vec<Pairs> b) {
  return hn::Vec<Bytes>{_mm256_packus_epi16(a.raw, b.raw)};
}
#else
HWY_INLINE hn::Vec<Bytes> pack_pairs(hn::Vec<Pairs> a, hn::Vec<Pairs> b) {
  return hn::Vec<Bytes>{_mm_packus_epi16(a.raw, b.raw)};
}
#endif

/// Values of 16 bits, clamped to bytes: those of the four vectors' first blocks of 16 bytes, one
/// vector after the other, then those of the second ones...
HWY_INLINE hn::Vec<Bytes> pack_words(const hn::Vec<Words> (&words)[4]) {
  return pack_pairs(hn::ReorderDemote2To(Pairs(), words[0], words[1]),
                    hn::ReorderDemote2To(Pairs(), words[2], words[3]));
}

#else

HWY_INLINE hn::Vec<Bytes> pack_words(const hn::Vec<Words> (&words)[4]) {
  HWY_ALIGN static constexpr std::uint8_t kTransposed[16] = {0, 4, 8,  12, 1, 5, 9,  13,
                                                             2, 6, 10, 14, 3, 7, 11, 15};
  const Bytes d;
  const auto low = hn::Zero(Words());
  const auto high = hn::Set(Words(), 255);
  const auto pairs =
      hn::Or(hn::Clamp(words[0], low, high), hn::ShiftLeft<8>(hn::Clamp(words[1], low, high)));
  const auto others =
      hn::Or(hn::Clamp(words[2], low, high), hn::ShiftLeft<8>(hn::Clamp(words[3], low, high)));
  return hn::TableLookupBytes(hn::BitCast(d, hn::Or(pairs, hn::ShiftLeft<16>(others))),
                              hn::LoadDup128(d, kTransposed));
}

#endif

/// Values of 16 bits, clamped to bytes, in the order of the four vectors.
HWY_INLINE hn::Vec<Bytes> pack_words_in_order(const hn::Vec<Words> (&words)[4]) {
  constexpr int kBlocks = static_cast<int>(hn::MaxLanes(Bytes())) / 16;
  const auto packed = pack_words(words);
  if constexpr (kBlocks == 1) return packed;
  // Lane b * 4 + k holds the four bytes of block b of vector k.
  HWY_ALIGN std::int32_t from[hn::MaxLanes(Words())];
  for (int i = 0; i < 4 * kBlocks; ++i)
    from[i] = i % kBlocks * 4 + i / kBlocks;
  const auto order = hn::SetTableIndices(Words(), from);
  return hn::BitCast(Bytes(), hn::TableLookupLanes(hn::BitCast(Words(), packed), order));
}

/// Values clamped to 16 bits without a sign, in the order of the two vectors.
HWY_INLINE hn::Vec<WidePairs> pack_wide_in_order(hn::Vec<Words> a, hn::Vec<Words> b) {
  constexpr int kBlocks = static_cast<int>(hn::MaxLanes(Bytes())) / 16;
  const auto packed = pack_wide(a, b);
  if constexpr (kBlocks == 1) return packed;
  // Two lanes hold the four values of a block of `a` or of `b`.
  HWY_ALIGN std::int32_t from[hn::MaxLanes(Words())];
  for (int i = 0; i < 4 * kBlocks; ++i)
    from[i] = i / 2 % kBlocks * 4 + i / (2 * kBlocks) * 2 + i % 2;
  const auto order = hn::SetTableIndices(Words(), from);
  return hn::BitCast(WidePairs(), hn::TableLookupLanes(hn::BitCast(Words(), packed), order));
}

/// Stores as many codes as fill a vector, or `count` if that is less.
template <class D>
HWY_INLINE void store_codes(D d, hn::Vec<D> codes, int count, std::uint8_t* out) {
  if (count >= static_cast<int>(hn::Lanes(d))) {
    hn::StoreU(codes, d, out);
  } else {
    HWY_ALIGN std::uint8_t last[hn::MaxLanes(d)];
    hn::Store(codes, d, last);
    std::memcpy(out, last, static_cast<std::size_t>(count));
  }
}

/// Blocks of 16 bytes of two vectors, in turn: the first ones of `a` and of `b`, the second ones...
HWY_INLINE void take_blocks_in_turn(hn::Vec<WidePairs>& a, hn::Vec<WidePairs>& b) {
  constexpr int kBlocks = static_cast<int>(hn::MaxLanes(Bytes())) / 16;
  if constexpr (kBlocks > 1) {
    auto lower = hn::BitCast(Words(), hn::ConcatLowerLower(WidePairs(), b, a));
    auto upper = hn::BitCast(Words(), hn::ConcatUpperUpper(WidePairs(), b, a));
    if constexpr (kBlocks == 4) {
      HWY_ALIGN static constexpr std::int32_t kInTurn[16] = {0, 1, 2, 3, 8,  9,  10, 11,
                                                             4, 5, 6, 7, 12, 13, 14, 15};
      const auto order = hn::SetTableIndices(Words(), kInTurn);
      lower = hn::TableLookupLanes(lower, order);
      upper = hn::TableLookupLanes(upper, order);
    }
    a = hn::BitCast(WidePairs(), lower);
    b = hn::BitCast(WidePairs(), upper);
  }
}

/// Codes of two bytes as samples.
HWY_INLINE hn::Vec<WidePairs> encode_wide(hn::Vec<WidePairs> code, SampleLayout layout) {
  code = hn::Min(code, hn::Set(WidePairs(), static_cast<std::uint16_t>(layout.max_code)));
  code = hn::ShiftLeftSame(code, layout.shift);
  return layout.swap ? hn::Or(hn::ShiftLeft<8>(code), hn::ShiftRight<8>(code)) : code;
}

/// Stores codes of two bytes as samples: as many as fill a vector, or `count` if that is less.
HWY_INLINE void store_wide_pairs(hn::Vec<WidePairs> codes, SampleLayout layout, int count,
                                 std::uint8_t* out) {
  const WidePairs d;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(WidePairs()));
  const auto samples = encode_wide(codes, layout);
  if (count >= kLanes) {
    hn::StoreU(samples, d, reinterpret_cast<std::uint16_t*>(out));
  } else {
    HWY_ALIGN std::uint16_t last[kLanes];
    hn::Store(samples, d, last);
    std::memcpy(out, last, static_cast<std::size_t>(count) * sizeof *last);
  }
}

/// Stores the codes of two bytes in `first`, and then those in `second`, as samples: as many as
/// fill both vectors, or `count` if that is less.
HWY_INLINE void store_wide_pairs(hn::Vec<WidePairs> first, hn::Vec<WidePairs> second,
                                 SampleLayout layout, int count, std::uint8_t* out) {
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(WidePairs()));
  store_wide_pairs(first, layout, count, out);
  if (count > kLanes)
    store_wide_pairs(second, layout, count - kLanes, out + kLanes * sizeof(std::uint16_t));
}

/// Clamps codes and stores them as samples of two bytes, as many as fill four vectors, or `count`
/// if that is less. Every 16 outputs are one block of 16 bytes of each vector.
HWY_INLINE void store_wide_codes(const hn::Vec<Words> (&codes)[4], SampleLayout layout, int count,
                                 std::uint8_t* out) {
  auto first = pack_wide(codes[0], codes[1]);
  auto second = pack_wide(codes[2], codes[3]);
  take_blocks_in_turn(first, second);
  store_wide_pairs(first, second, layout, count, out);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
