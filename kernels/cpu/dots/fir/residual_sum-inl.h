// SPDX-License-Identifier: LGPL-2.1-or-later
// Sums of the products of residuals (core/weights/approximate_fir.h) with the codes of one sample's
// neighbourhood.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_RESIDUAL_SUM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_RESIDUAL_SUM_INL_H_
#undef CONVOLVE_RESIDUAL_SUM_INL_H_
#else
#define CONVOLVE_RESIDUAL_SUM_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/dots/fir/residuals.h"
#include "kernels/cpu/dots/pair_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if CONVOLVE_DOT_PAIRS

/// `sum` and two products of bytes in each lane. Neither a product nor the sum may leave 16 bits.
template <class D, class Sum = hn::Vec<hn::Repartition<std::int16_t, D>>>
HWY_INLINE Sum add_byte_products(D d, Sum sum, hn::Vec<D> codes,
                                 hn::Vec<hn::RebindToSigned<D>> digits) {
  const hn::Repartition<std::int16_t, D> d_sum;
#if HWY_TARGET <= HWY_SSSE3
  // Highway 1.0.3 has no name for it.
  if constexpr (sizeof(codes.raw) == 16)
    return hn::Add(sum, Sum{_mm_maddubs_epi16(codes.raw, digits.raw)});
#if HWY_TARGET <= HWY_AVX2
  if constexpr (sizeof(codes.raw) == 32)
    return hn::Add(sum, Sum{_mm256_maddubs_epi16(codes.raw, digits.raw)});
#endif
#endif
  const auto wide = hn::BitCast(d_sum, codes), weights = hn::BitCast(d_sum, digits);
  const auto even =
      hn::Mul(hn::And(wide, hn::Set(d_sum, 0xFF)), hn::ShiftRight<8>(hn::ShiftLeft<8>(weights)));
  const hn::RebindToUnsigned<decltype(d_sum)> d_codes;
  const auto upper = hn::BitCast(d_sum, hn::ShiftRight<8>(hn::BitCast(d_codes, codes)));
  return hn::Add(sum, hn::Add(even, hn::Mul(upper, hn::ShiftRight<8>(weights))));
}

/// The sum of the products of a part's digits, of which kColumns columns lie together: one vector
/// of them, or two. No digit is larger than its residual, whose sums fit 32 bits
/// (choose_approximate_weights()).
template <int kColumns>
HWY_INLINE std::int32_t sum_of_part(const Residuals& residuals, int part,
                                    const std::uint8_t* const* lines, int x) {
  const hn::CappedTag<std::uint8_t, kColumns> d;
  const hn::RebindToSigned<decltype(d)> d_digits;
  const hn::Repartition<std::int16_t, decltype(d)> d_sum;
  const hn::Repartition<std::int32_t, decltype(d)> d_total;
  const int height = residuals.height(), lanes = static_cast<int>(hn::Lanes(d));
  auto total = hn::Zero(d_total), unused = hn::Zero(d_total);
  for (int j = 0; j < residuals.width(); j += lanes) {
    const std::int8_t* digits =
        residuals.part(part) + j / kColumns * kColumns * height + j % kColumns;
    for (int i = 0; i < height;) {
      const int end = std::min(i + residuals.rows_of_sum(), height);
      hn::Vec<decltype(d_sum)> sums[2] = {hn::Zero(d_sum), hn::Zero(d_sum)};
      const auto add = [&](int row, auto& sum) HWY_ATTR {
        sum = add_byte_products(d, sum, hn::LoadU(d, lines[i + row] + x + j),
                                hn::LoadU(d_digits, digits + row * kColumns));
      };
      for (; i + 4 <= end; i += 4, digits += 4 * kColumns) {
        add(0, sums[0]);
        add(1, sums[1]);
        add(2, sums[0]);
        add(3, sums[1]);
      }
      for (; i < end; ++i, digits += kColumns)
        add(0, sums[0]);
      for (const auto sum : sums)
        total = hn::ReorderWidenMulAccumulate(d_total, sum, hn::Set(d_sum, 1), total, unused);
    }
  }
  return hn::GetLane(hn::SumOfLanes(d_total, total));
}

/// The sum for the output whose neighbourhood begins at column `x` of lines[0].
HWY_INLINE std::int64_t residual_sum(const Residuals& residuals, const std::uint8_t* const* lines,
                                     int x) {
  std::int64_t sum = 0;
  for (int part = residuals.parts() - 1; part >= 0; --part)
    sum = kResidualBase * sum + (residuals.columns() == 16
                                     ? sum_of_part<16>(residuals, part, lines, x)
                                     : sum_of_part<32>(residuals, part, lines, x));
  return sum;
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
