// SPDX-License-Identifier: LGPL-2.1-or-later
// Lines of the components' samples put together to the rows of a picture.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_STORE_LINES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_STORE_LINES_INL_H_
#undef CONVOLVE_STORE_LINES_INL_H_
#else
#define CONVOLVE_STORE_LINES_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/cpu/finish_line-inl.h"
#include "kernels/cpu/rows/byte_lines-inl.h"
#include "kernels/cpu/rows/row_task.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Puts whole pixels together from the samples of their parts, as far as pixels fill vectors;
/// returns how many pixels. A part that is not filtered is copied from `from`, the source's row.
template <int kWords>
HWY_INLINE int store_words(const GroupTask& task, const std::uint8_t* from, int count,
                           const std::uint16_t* const* samples, std::uint8_t* out) {
  const hn::ScalableTag<std::uint16_t> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto* const pixels = reinterpret_cast<const std::uint16_t*>(from);
  auto* const to = reinterpret_cast<std::uint16_t*>(out);
  const bool all = task.all_filtered();
  int i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::Vec<decltype(d)> v[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    if constexpr (kWords == 2) {
      if (!all) hn::LoadInterleaved2(d, pixels + i * 2, v[0], v[1]);
    } else if constexpr (kWords == 3) {
      if (!all) hn::LoadInterleaved3(d, pixels + i * 3, v[0], v[1], v[2]);
    } else {
      if (!all) hn::LoadInterleaved4(d, pixels + i * 4, v[0], v[1], v[2], v[3]);
    }
    for (int k = 0; k < kWords; ++k)
      if (task.parts[k].filtered) v[k] = hn::LoadU(d, samples[k] + i);
    if constexpr (kWords == 2) hn::StoreInterleaved2(v[0], v[1], d, to + i * 2);
    if constexpr (kWords == 3) hn::StoreInterleaved3(v[0], v[1], v[2], d, to + i * 3);
    if constexpr (kWords == 4) hn::StoreInterleaved4(v[0], v[1], v[2], v[3], d, to + i * 4);
  }
  return i;
}

/// Stores samples `begin` .. `count` - 1 of each part by itself, to picture row `y` from column
/// `x` on. Those of two bytes that are not filtered come from the source, where they lie as they
/// are to be.
template <class Stored>
HWY_INLINE void store_each(const GroupTask& task, int y, int x, int begin, int count,
                           const Stored* const* samples) {
  for (int k = 0; k < task.count; ++k) {
    const ComponentTask& part = task.parts[k].task;
    if (sizeof(Stored) == 1 || task.parts[k].filtered) {
      scatter_samples(part, y, x + begin, count - begin, samples[k] + begin);
      continue;
    }
    for (int i = begin; i < count; ++i) {
      const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(x + i) * part.step;
      write_sample(part.dst_row(y) + at, read_sample<Stored>(part.src_row(y) + at));
    }
  }
}

/// Writes `count` codes of each part to picture row `y` from column `x` on.
HWY_INLINE void store_parts(const GroupTask& task, int y, int x, int count,
                            const std::uint8_t* const* codes) {
  const ComponentTask& first = task.parts[0].task;
  if (task.whole_pixels())
    return join_pixels(task.count, codes, count, first.dst_row(y) + std::ptrdiff_t{x} * first.step);
  store_each(task, y, x, 0, count, codes);
}

/// Writes `count` samples of two bytes.
HWY_INLINE void store_parts(const GroupTask& task, int y, int x, int count,
                            const std::uint16_t* const* samples) {
  const ComponentTask& first = task.parts[0].task;
  const std::ptrdiff_t offset = std::ptrdiff_t{x} * first.step;
  const std::uint8_t* const from = first.src_row(y) + offset;
  std::uint8_t* const out = first.dst_row(y) + offset;
  int stored = 0;
  if (task.whole_pixels())
    stored = task.count == 2   ? store_words<2>(task, from, count, samples, out)
             : task.count == 3 ? store_words<3>(task, from, count, samples, out)
                               : store_words<4>(task, from, count, samples, out);
  store_each(task, y, x, stored, count, samples);
}

#if HWY_TARGET != HWY_SCALAR

/// Writes the `count` samples of luma and those of chroma in turn, luma first if `luma_first`, as
/// many as fill vectors. Returns how many of luma's.
template <class Stored>
HWY_INLINE int store_turns(const Stored* luma, const Stored* const* chroma, bool luma_first,
                           int count, std::uint8_t* out) {
  const hn::ScalableTag<Stored> d;
  const hn::RepartitionToWide<decltype(d)> d_pair;
  const hn::Rebind<Stored, decltype(d_pair)> d_half;
  const int lanes = static_cast<int>(hn::Lanes(d));
  // Of a pair as one number, the sample that comes first in memory is the lower half, or the upper
  // one on a machine that begins with that.
  constexpr bool kBigEndian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
  const Stored *const lower = chroma[kBigEndian ? 1 : 0], *const upper = chroma[kBigEndian ? 0 : 1];
  auto* const to = reinterpret_cast<Stored*>(out);
  int i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto low = hn::PromoteTo(d_pair, hn::LoadU(d_half, lower + i / 2));
    const auto high = hn::PromoteTo(d_pair, hn::LoadU(d_half, upper + i / 2));
    const auto pairs = hn::BitCast(d, hn::Or(low, hn::ShiftLeft<8 * sizeof(Stored)>(high)));
    const auto light = hn::LoadU(d, luma + i);
    if (luma_first)
      hn::StoreInterleaved2(light, pairs, d, to + 2 * i);
    else
      hn::StoreInterleaved2(pairs, light, d, to + 2 * i);
  }
  return i;
}

#else

template <class Stored>
HWY_INLINE int store_turns(const Stored*, const Stored* const*, bool, int, std::uint8_t*) {
  return 0;
}

#endif

/// Writes the samples of luma and chroma to the columns of `area` of picture row `y`.
template <class Stored>
HWY_INLINE void store_turns(const RowTask& task, int y, const Area& area, const Stored* luma,
                            const Stored* const* chroma) {
  const GroupTask &light = task.groups[0], &colour = task.groups[1];
  const Area beside = task.area_of(1, area);
  std::uint8_t* const first = light.parts[0].task.dst_row(y) + area.x * light.parts[0].task.step;
  std::uint8_t* const other =
      colour.parts[0].task.dst_row(y) + beside.x * colour.parts[0].task.step;
  // Samples of two bytes that are not filtered are in the source only.
  const bool made = sizeof(Stored) == 1 || (light.parts[0].filtered && colour.parts[0].filtered &&
                                            colour.parts[1].filtered);
  const int stored =
      made ? store_turns(luma, chroma, first < other, area.width, std::min(first, other)) : 0;
  store_each(light, y, area.x, stored, area.width, &luma);
  store_each(colour, y, beside.x, stored / 2, beside.width, chroma);
}

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
