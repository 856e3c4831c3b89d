// SPDX-License-Identifier: LGPL-2.1-or-later
// The scan of a vector: each lane becomes the sum of itself and all lanes before it (Hillis and
// Steele, 1986; chapter 11 of Programming Massively Parallel Processors). First in blocks of 16
// bytes, of which every instruction set can move lanes, then over the sums of the blocks.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_SCAN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_SCAN_INL_H_
#undef CONVOLVE_SCAN_INL_H_
#else
#define CONVOLVE_SCAN_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR

/// Modulo 2^16 or 2^32.
template <class D>
struct Scan {
  hn::Vec<D> sums;
  hn::Vec<D> total;  ///< The last of them, in all lanes.
};

/// Each block's last lane in all its lanes.
template <class D>
HWY_INLINE hn::Vec<D> totals_of_blocks(D d, hn::Vec<D> v) {
  HWY_ALIGN static constexpr std::uint8_t kLast16[16] = {14, 15, 14, 15, 14, 15, 14, 15,
                                                         14, 15, 14, 15, 14, 15, 14, 15};
  HWY_ALIGN static constexpr std::uint8_t kLast32[16] = {12, 13, 14, 15, 12, 13, 14, 15,
                                                         12, 13, 14, 15, 12, 13, 14, 15};
  const hn::Repartition<std::uint8_t, D> d_bytes;
  const auto last = hn::LoadDup128(d_bytes, sizeof(hn::TFromD<D>) == 2 ? kLast16 : kLast32);
  return hn::BitCast(d, hn::TableLookupBytes(hn::BitCast(d_bytes, v), last));
}

/// Every block of `v` as many blocks on; the first ones become 0.
template <int kBlocks, class D>
HWY_INLINE hn::Vec<D> move_blocks(D d, hn::Vec<D> v) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  constexpr __mmask16 kMoved = static_cast<__mmask16>(0xFFFF << (kBlocks * 4));
  constexpr int kFrom = kBlocks == 1 ? 0x90 : kBlocks == 2 ? 0x40 : 0;
  return hn::Vec<D>{_mm512_maskz_shuffle_i32x4(kMoved, v.raw, v.raw, kFrom)};
#else
  static_assert(kBlocks == 1, "other vectors have one block or two");
  return hn::ConcatLowerLower(d, v, hn::Zero(d));
#endif
}

/// The last block in all blocks.
template <class D>
HWY_INLINE hn::Vec<D> spread_last_block(D d, hn::Vec<D> v) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  return hn::Vec<D>{_mm512_shuffle_i32x4(v.raw, v.raw, 0xFF)};
#else
  return hn::ConcatUpperUpper(d, v, v);
#endif
}

template <class D>
HWY_INLINE Scan<D> scan_of(D d, hn::Vec<D> v) {
  constexpr std::size_t kBlockLanes = 16 / sizeof(hn::TFromD<D>);
  constexpr std::size_t kBlocks = hn::MaxLanes(D()) / kBlockLanes;
  static_assert(kBlocks == 1 || kBlocks == 2 || kBlocks == 4);
  v = hn::Add(v, hn::ShiftLeftLanes<1>(d, v));
  v = hn::Add(v, hn::ShiftLeftLanes<2>(d, v));
  if constexpr (kBlockLanes == 8) v = hn::Add(v, hn::ShiftLeftLanes<4>(d, v));
  const auto own = totals_of_blocks(d, v);
  if constexpr (kBlocks == 1) {
    return {v, own};
  } else {
    auto before = move_blocks<1>(d, own);
    if constexpr (kBlocks == 4)
      before = hn::Add(hn::Add(before, move_blocks<2>(d, own)), move_blocks<3>(d, own));
    return {hn::Add(v, before), spread_last_block(d, hn::Add(before, own))};
  }
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
