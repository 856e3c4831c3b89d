// SPDX-License-Identifier: LGPL-2.1-or-later
// From whole numbers of 32 bits to bytes.
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

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR

using Bytes = hn::ScalableTag<std::uint8_t>;
using Words = hn::Repartition<std::int32_t, Bytes>;
using Pairs = hn::Repartition<std::int16_t, Bytes>;

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

/// Stores as many codes as fill a vector, or `count` if that is less.
HWY_INLINE void store_codes(hn::Vec<Bytes> codes, int count, std::uint8_t* out) {
  const Bytes d;
  if (count >= static_cast<int>(hn::Lanes(d))) {
    hn::StoreU(codes, d, out);
  } else {
    HWY_ALIGN std::uint8_t last[hn::MaxLanes(Bytes())];
    hn::Store(codes, d, last);
    std::memcpy(out, last, static_cast<std::size_t>(count));
  }
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
