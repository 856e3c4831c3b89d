// SPDX-License-Identifier: LGPL-2.1-or-later
// From a sum of products to a code: offset, gain, rounding to nearest (ties to even), clamp.
// Shared by every backend; the reference has its own, exact one.
#pragma once

#include <cmath>

#include "kernels/core/base/host_device.h"

namespace convolve {

/// How one component turns S = sum w * (in - o) into a code, in type Real (float or double).
///
///   divide == false:  value = base + scale * S
///   divide == true:   value = (offset + numerator * S) / divisor, all integers; the quotient is
///                     rounded exactly (a real tie goes to even).
///
/// Dividing is for rational masks where base + scale * S, rounded, might end on the wrong side of a
/// boundary; make_epilogue (arithmetic.h) decides. There every intermediate is an integer that Real
/// holds exactly, below 2^24 for float and 2^53 for double, so that fused and separate
/// multiply-adds give the same bits.
template <class Real>
struct EpilogueOf {
  bool divide = false;
  Real scale = 1;
  Real base = 0;
  Real numerator = 1;
  Real offset = 0;
  Real divisor = 1;
  Real reciprocal = 1;
};

/// Both widths; `in_float` says that the float one keeps the contract when S is a float.
struct Epilogue {
  EpilogueOf<float> narrow;
  EpilogueOf<double> wide;
  bool in_float = false;
  int max_code = 255;
};

template <class Real>
CONVOLVE_HD inline Real clamp_to(Real v, Real low, Real high) {
#ifdef __CUDA_ARCH__
  // One instruction each, where comparing and selecting would be two.
  if constexpr (sizeof(Real) == 4) return fminf(fmaxf(v, low), high);
#endif
  return v < low ? low : (v > high ? high : v);
}

/// `v` rounded to the nearest integer, ties to even; |v| < 2^22.
template <class Real>
CONVOLVE_HD inline int round_to_even(Real v) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(Real) == 4) {
    // Adding 1.5 x 2^23 leaves the rounded integer in the low bits: one addition at full rate,
    // where the conversion instructions run at a quarter or an eighth of it.
    return __float_as_int(__fadd_rn(v, 12582912.0f)) - 0x4B400000;
  } else {
    return __double2int_rn(v);
  }
#else
  // Adding 1.5 x 2^23, or 2^52, leaves the rounded integer in the low bits, without the call that
  // std::nearbyint() may be.
  constexpr Real kRounding = sizeof(Real) == 4 ? Real(12582912.0) : Real(6755399441055744.0);
  return static_cast<int>((v + kRounding) - kRounding);
#endif
}

/// The code for the sum `s`, 0 .. max_code, where nothing is divided.
template <class Real>
CONVOLVE_HD inline int finish_linear(Real s, const EpilogueOf<Real>& e, int max_code) {
  return round_to_even(clamp_to(e.base + e.scale * s, Real(0), static_cast<Real>(max_code)));
}

/// The code for the sum `s`: 0 .. max_code.
template <class Real>
CONVOLVE_HD inline int finish(Real s, const EpilogueOf<Real>& e, int max_code) {
  if (!e.divide) return finish_linear(s, e, max_code);
  const Real high = static_cast<Real>(max_code);
  const Real t = e.offset + e.numerator * s;
  int code = round_to_even(clamp_to(t * e.reciprocal, Real(-1), high + 1));
  // The reciprocal is rounded, so `code` may be the wrong neighbour near a tie: the exact remainder
  // decides.
  const Real twice = 2 * (t - static_cast<Real>(code) * e.divisor);
  const bool odd = (code & 1) != 0;
  if (twice > e.divisor || (twice == e.divisor && odd)) ++code;
  if (-twice > e.divisor || (-twice == e.divisor && odd)) --code;
  return code < 0 ? 0 : (code > max_code ? max_code : code);
}

/// The code for the sum `s`, in the width that keeps the contract.
inline int finish_in_width(double s, const Epilogue& e) {
  return e.in_float ? finish(static_cast<float>(s), e.narrow, e.max_code)
                    : finish(s, e.wide, e.max_code);
}

}  // namespace convolve
