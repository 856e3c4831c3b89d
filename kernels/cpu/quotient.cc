// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/quotient.h"

#include <cmath>
#include <limits>

namespace convolve {
namespace {

/// 1 / 128 more, for what is rounded before the quotient.
template <class Real>
constexpr Real kMore = Real(129) / 128;

template <class Real>
Reciprocal<Real> make_reciprocal(const EpilogueOf<Real>& e, int max_code) {
  Reciprocal<Real> made;
  if (!e.divide) return made;
  // Quotients beyond these are clamped, on whichever side of a tie they are.
  const Real largest = static_cast<Real>(max_code) + 1;
  constexpr Real kTwoUlps = std::numeric_limits<Real>::epsilon();
  made.serves = largest * kTwoUlps * e.divisor * kMore<Real> < 1;
  made.high = 1 / e.divisor;
  // Exact but for the last rounding: the product of a fused multiply-add is not rounded.
  made.low = std::fma(-made.high, e.divisor, Real(1)) / e.divisor;
  return made;
}

Reciprocal<float> make_centred_reciprocal(const EpilogueOf<float>& e, int max_code) {
  Reciprocal<float> made;
  constexpr float kLeast = 1024;  // Quotients of 32 bits are then below 2^22.
  constexpr float kTwo24 = 16777216;
  if ((max_code + 1) % 4 != 0) return made;  // Half of the codes is not even.
  const float half = 0.5F * static_cast<float>(max_code + 1);
  made.serves = e.divide && e.numerator == 1 && std::fabs(e.offset) < kTwo24 &&
                e.divisor >= kLeast && half * e.divisor * kMore<float> <= kTwo24;
  if (!made.serves) return made;
  made.high = 1 / e.divisor;
  made.low = std::fma(-made.high, e.divisor, 1.0F) / e.divisor;
  return made;
}

}  // namespace

Reciprocals make_reciprocals(const Epilogue& epilogue) {
  return {make_reciprocal(epilogue.narrow, epilogue.max_code),
          make_reciprocal(epilogue.wide, epilogue.max_code),
          make_centred_reciprocal(epilogue.narrow, epilogue.max_code)};
}

}  // namespace convolve
