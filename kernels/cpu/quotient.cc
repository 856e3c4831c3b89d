// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/quotient.h"

#include <cmath>
#include <limits>

namespace convolve {
namespace {

template <class Real>
Reciprocal<Real> make_reciprocal(const EpilogueOf<Real>& e, int max_code) {
  Reciprocal<Real> made;
  if (!e.divide) return made;
  // Quotients beyond these are clamped, on whichever side of a tie they are.
  const Real largest = static_cast<Real>(max_code) + 1;
  constexpr Real kTwoUlps = std::numeric_limits<Real>::epsilon();
  // 1 / 128 for what is rounded before the quotient.
  constexpr Real kMore = Real(129) / 128;
  made.serves = largest * kTwoUlps * e.divisor * kMore < 1;
  made.high = 1 / e.divisor;
  // Exact but for the last rounding: the product of a fused multiply-add is not rounded.
  made.low = std::fma(-made.high, e.divisor, Real(1)) / e.divisor;
  return made;
}

}  // namespace

Reciprocals make_reciprocals(const Epilogue& epilogue) {
  return {make_reciprocal(epilogue.narrow, epilogue.max_code),
          make_reciprocal(epilogue.wide, epilogue.max_code)};
}

}  // namespace convolve
