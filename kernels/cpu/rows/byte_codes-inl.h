// SPDX-License-Identifier: LGPL-2.1-or-later
// From sums of 32 bits to codes of 8 bits.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_BYTE_CODES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_BYTE_CODES_INL_H_
#undef CONVOLVE_BYTE_CODES_INL_H_
#else
#define CONVOLVE_BYTE_CODES_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/cpu/finish_line-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Which sums there may be where the epilogue is in float.
enum class Sums {
  kExact,   ///< Those that a float holds.
  kRounded  ///< Of 32 bits, which become the nearest floats: those of digits of real weights.
};

#if HWY_TARGET == HWY_SCALAR

using Words = hn::ScalableTag<std::int32_t>;

/// Calls `use` with what makes codes, which may still lie outside of bytes, of vectors of sums.
template <class Use>
HWY_INLINE void with_codes(const Epilogue& e, const Reciprocals&, Sums, const Use& use) {
  use([&e](hn::Vec<Words> sums) {
    const std::int32_t sum = hn::GetLane(sums);
    return hn::Set(Words(), e.in_float ? finish(static_cast<float>(sum), e.narrow, e.max_code)
                                       : finish(static_cast<double>(sum), e.wide, e.max_code));
  });
}

#else

/// Codes of any sums.
template <Rounding kWay, class Real>
HWY_INLINE hn::Vec<Words> general_codes(hn::Vec<Words> sums, const EpilogueOf<Real>& e,
                                        const Reciprocal<Real>& reciprocal, int most) {
  const Words d;
  const hn::Repartition<Real, Words> d_real;
  const auto code = [&](hn::Vec<decltype(d_real)> sum) HWY_ATTR {
    return finish_words<kWay>(d_real, sum, e, reciprocal, static_cast<Real>(most));
  };
  if constexpr (sizeof(Real) == sizeof(float)) {
    return code(hn::ConvertTo(d_real, sums));
  } else {
    const hn::Half<Words> d_half;
    const auto low = hn::PromoteTo(d_real, hn::LowerHalf(d_half, sums));
    const auto upper = hn::PromoteTo(d_real, hn::UpperHalf(d_half, sums));
    return hn::Combine(d, code(upper), code(low));
  }
}

/// True if no value of a sum leaves the bits that quick_codes() has for it: 23 with the sign,
/// or 32.
template <class Real>
HWY_INLINE bool quick_codes_serve(const EpilogueOf<Real>& e, Rounding rounding, Sums sums) {
  const bool exact = sizeof(Real) == sizeof(float) && sums == Sums::kExact;
  const Real largest_sum = exact ? Real(16777216) : Real(2147483648.0);
  constexpr Real kLargest = sizeof(Real) == sizeof(float) ? 4194304 : 2147483648.0;
  const Real scale = std::abs(rounding == Rounding::kLinear ? e.scale : e.numerator / e.divisor);
  const Real base = std::abs(rounding == Rounding::kLinear ? e.base : e.offset / e.divisor);
  return rounding != Rounding::kRemainder && scale * largest_sum + base < kLargest;
}

/// The values that `value_of` makes of sums, rounded to whole numbers.
template <class Real, class ValueOf>
HWY_INLINE hn::Vec<Words> rounded_values(hn::Vec<Words> sums, const ValueOf& value_of) {
  const Words d;
  const hn::Repartition<Real, Words> d_real;
  if constexpr (sizeof(Real) == sizeof(float)) {
    return nearest_words(d_real, value_of(d_real, hn::ConvertTo(d_real, sums)));
  } else {
    const hn::Half<Words> d_half;
    const auto rounded_bits = [&](hn::Vec<decltype(d_half)> half) HWY_ATTR {
      const auto value = value_of(d_real, hn::PromoteTo(d_real, half));
      return hn::BitCast(d, hn::Add(value, hn::Set(d_real, kRounding<Real>)));
    };
    return hn::ConcatEven(d, rounded_bits(hn::UpperHalf(d_half, sums)),
                          rounded_bits(hn::LowerHalf(d_half, sums)));
  }
}

/// Quotients of sums by the divisor of `reciprocal`, rounded.
template <class Real>
HWY_INLINE hn::Vec<Words> quick_quotients(hn::Vec<Words> sums, const Reciprocal<Real>& reciprocal) {
  return rounded_values<Real>(
      sums, [&](auto d, auto sum) HWY_ATTR { return quotient_vector(d, sum, reciprocal); });
}

/// Codes before they are clamped, where quick_codes_serve().
template <Rounding kWay, class Real>
HWY_INLINE hn::Vec<Words> quick_codes(hn::Vec<Words> sums, const EpilogueOf<Real>& e,
                                      const Reciprocal<Real>& reciprocal) {
  return rounded_values<Real>(
      sums, [&](auto d, auto sum) HWY_ATTR { return value_vector<kWay>(d, sum, e, reciprocal); });
}

/// Codes of any sums, before they are clamped if `kQuick`.
template <Rounding kWay, bool kQuick, class Real>
HWY_INLINE hn::Vec<Words> codes_of_sums(hn::Vec<Words> sums, const EpilogueOf<Real>& e,
                                        const Reciprocal<Real>& reciprocal, int most) {
  if constexpr (kQuick) return quick_codes<kWay>(sums, e, reciprocal);
  return general_codes<kWay>(sums, e, reciprocal, most);
}

template <Rounding kWay, class Real, class Use>
HWY_INLINE void with_rounded_codes(const EpilogueOf<Real> e, const Reciprocal<Real> reciprocal,
                                   int most, Sums sums, const Use& use) {
  if (quick_codes_serve(e, kWay, sums))
    use([=](hn::Vec<Words> vector) HWY_ATTR {
      return codes_of_sums<kWay, kWay != Rounding::kRemainder>(vector, e, reciprocal, most);
    });
  else
    use([=](hn::Vec<Words> vector)
            HWY_ATTR { return codes_of_sums<kWay, false>(vector, e, reciprocal, most); });
}

/// Calls `use` with a function from two vectors of sums to the codes of 256 times the first and the
/// second, more by `start`. The totals are whole numbers below 2^53.
template <class Use>
HWY_INLINE void with_wide_codes(const EpilogueOf<double>& e, const Reciprocal<double>& reciprocal,
                                double start, int most, const Use& use) {
  const auto with = [&](auto way) HWY_ATTR {
    constexpr Rounding kWay = decltype(way)::value;
    use([=](hn::Vec<Words> high, hn::Vec<Words> low) HWY_ATTR {
      const Words d;
      const hn::Half<Words> d_half;
      const hn::Repartition<double, Words> d_real;
      const auto code = [&](hn::Vec<decltype(d_half)> of_high,
                            hn::Vec<decltype(d_half)> of_low) HWY_ATTR {
        const auto rest = hn::Add(hn::PromoteTo(d_real, of_low), hn::Set(d_real, start));
        const auto total = hn::MulAdd(hn::PromoteTo(d_real, of_high), hn::Set(d_real, 256.0), rest);
        return finish_words<kWay>(d_real, total, e, reciprocal, static_cast<double>(most));
      };
      return hn::Combine(d, code(hn::UpperHalf(d_half, high), hn::UpperHalf(d_half, low)),
                         code(hn::LowerHalf(d_half, high), hn::LowerHalf(d_half, low)));
    });
  };
  switch (rounding_of(e, reciprocal)) {
    case Rounding::kLinear:
      return with(std::integral_constant<Rounding, Rounding::kLinear>());
    case Rounding::kQuotient:
      return with(std::integral_constant<Rounding, Rounding::kQuotient>());
    case Rounding::kRemainder:
      return with(std::integral_constant<Rounding, Rounding::kRemainder>());
  }
}

template <class Real, class Use>
HWY_INLINE void with_codes(const EpilogueOf<Real>& e, const Reciprocal<Real>& reciprocal, int most,
                           Sums sums, const Use& use) {
  switch (rounding_of(e, reciprocal)) {
    case Rounding::kLinear:
      return with_rounded_codes<Rounding::kLinear>(e, reciprocal, most, sums, use);
    case Rounding::kQuotient:
      return with_rounded_codes<Rounding::kQuotient>(e, reciprocal, most, sums, use);
    case Rounding::kRemainder:
      return with_rounded_codes<Rounding::kRemainder>(e, reciprocal, most, sums, use);
  }
}

/// Calls `use` with a function from a vector of sums to their codes, which may still lie outside of
/// bytes. The function has copies of the epilogue's constants: the compiler would load others again
/// after each store of bytes, which might be theirs.
template <class Use>
HWY_INLINE void with_codes(const Epilogue& e, const Reciprocals& reciprocals, Sums sums,
                           const Use& use) {
  if (e.in_float)
    with_codes(e.narrow, reciprocals.narrow, e.max_code, sums, use);
  else
    with_codes(e.wide, reciprocals.wide, e.max_code, sums, use);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
