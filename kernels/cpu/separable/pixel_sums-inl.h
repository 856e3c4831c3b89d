// SPDX-License-Identifier: LGPL-2.1-or-later
// Where separable-dots puts the column sums of pixels that are filtered where they lie, and in
// which order, so that the row pass finds the sums of a component in pairs.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_PIXEL_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_PIXEL_SUMS_INL_H_
#undef CONVOLVE_PIXEL_SUMS_INL_H_
#else
#define CONVOLVE_PIXEL_SUMS_INL_H_
#endif

#include <hwy/highway.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/cpu/separable/pair_columns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if CONVOLVE_PAIRED_PIXELS

/// The lanes of a vector of sums that another one is made of.
using SumOrder = std::array<std::int16_t, static_cast<std::size_t>(kColumnStep)>;

/// Sums in another order.
HWY_INLINE hn::Vec<Pairs> reorder(hn::Vec<Pairs> sums, const SumOrder& order) {
  const auto lanes = hn::LoadU(Pairs(), order.data());
  return hn::Vec<Pairs>{_mm512_permutexvar_epi16(lanes.raw, sums.raw)};
}

/// Sums of pixels of kPixel bytes. Those of each byte of a pixel lie beside those of the next
/// pixel's, as the row pass takes pairs: a1 b1 c1 a2 b2 c2 become a1 a2 b1 b2 c1 c2.
template <int kPixel>
struct PixelSums {
  /// Columns of a step of sum_columns(): whole pairs of pixels.
  static constexpr int kStep = kColumnStep / (2 * kPixel) * (2 * kPixel);

  static constexpr SumOrder order() {
    SumOrder made = {};
    for (int i = 0; i < kStep; ++i)
      made[static_cast<std::size_t>(i)] = static_cast<std::int16_t>(
          i / (2 * kPixel) * (2 * kPixel) + i % 2 * kPixel + i % (2 * kPixel) / 2);
    return made;
  }

  HWY_INLINE void store(hn::Vec<Pairs> sums, int row, int x) const {
    static constexpr SumOrder kOrder = order();
    hn::StoreU(reorder(sums, kOrder), Pairs(), line[row] + x);
  }

  std::int16_t* line[kRowsAtOnce];
};

/// Sums of macropixels of two samples of luma and one of each chroma, which take turns. Those of
/// luma and of chroma go to lines of their own, those of chroma in the order of PixelSums<2>: y1 u1
/// y2 v1 y3 u2 y4 v2 become y1 y2 y3 y4 and u1 u2 v1 v2.
template <int kLumaByte>
struct MacropixelSums {
  static constexpr int kStep = kColumnStep;

  static constexpr SumOrder order() {
    constexpr int kHalf = kColumnStep / 2;
    SumOrder made = {};
    for (int i = 0; i < kHalf; ++i) {
      made[static_cast<std::size_t>(i)] = static_cast<std::int16_t>(2 * i + kLumaByte);
      made[static_cast<std::size_t>(kHalf + i)] =
          static_cast<std::int16_t>(i / 4 * 8 + 1 - kLumaByte + i % 2 * 4 + i % 4 / 2 * 2);
    }
    return made;
  }

  HWY_INLINE void store(hn::Vec<Pairs> sums, int row, int x) const {
    static constexpr SumOrder kOrder = order();
    const hn::Half<Pairs> d_half;
    const auto ordered = reorder(sums, kOrder);
    hn::StoreU(hn::LowerHalf(d_half, ordered), d_half, luma[row] + x / 2);
    hn::StoreU(hn::UpperHalf(d_half, ordered), d_half, chroma[row] + x / 2);
  }

  std::int16_t *luma[kRowsAtOnce], *chroma[kRowsAtOnce];
};

#endif

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
