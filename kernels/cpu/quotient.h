// SPDX-License-Identifier: LGPL-2.1-or-later
// How vector kernels round the quotients of the epilogue (core/base/epilogue.h) without a
// remainder.
//
// finish() multiplies by a reciprocal that is rounded, so that a quotient near a tie may end on its
// wrong side, and decides by the remainder. Two terms of the reciprocal spare that: t / D is taken
// as fma(t, high, t * low). What is rounded there is within 2^-46 of x = t / D (float; relative).
// If x is a tie, k + 1/2, a float holds it, so that it comes out exactly and goes to even. If not,
// it is at least 1 / 2D away from any, and the rounding moves it by less where x 2^-24 < 1 / 2D.
//
// Less half of the codes, an even number, quotients of b bits lie between -2^(b-1) and 2^(b-1),
// where floats are 2^(b-25) apart or less, so that the rounding moves them by 2^(b-26) at most. As
// long as a float holds the largest dividend there, 2^(b-1) D <= 2^24, that is less than 1 / 2D:
// four times as large a divisor is served.
#pragma once

#include "kernels/core/base/epilogue.h"

namespace convolve {

/// 1 / divisor is about high + low.
template <class Real>
struct Reciprocal {
  bool serves = false;  ///< Quotients may be rounded in this way.
  Real high = 0;
  Real low = 0;
};

/// The reciprocals of an epilogue's divisor in float and in double.
struct Reciprocals {
  Reciprocal<float> narrow;
  Reciprocal<double> wide;
  /// For (offset + S) / divisor less half of the codes, where `numerator` is 1. If it serves, the
  /// quotients of all dividends of 32 bits are below 2^22.
  Reciprocal<float> centred;
};

/// The reciprocals of the divisors of `epilogue`. One does not serve where that width multiplies
/// instead of dividing, or where its quotients are not proven (see above).
Reciprocals make_reciprocals(const Epilogue& epilogue);

}  // namespace convolve
