// SPDX-License-Identifier: LGPL-2.1-or-later
// A column times a row as whole numbers of 16 bits, the form that products of pairs of 16 bits
// take: which masks of rank 1 they serve within the contract.
//
// Columns first. The column sum of samples p with weights c is V = sum of a p, where c ~ u a, and
// is quantised to 16 bits with a sign,
//
//   v = (V + start) / 2^shift, rounded down,
//
// where `start` moves the middle of V's range to 0 and contains the half that makes this rounding
// to nearest. Then rows: T = sum of b v, where the row's weight r ~ w b. Arithmetic is modulo 2^32.
// Rational masks whose column sums fit 16 bits lose nothing: there shift is 0, and a and b are the
// integers of the mask.
//
// For other masks every error has a bound, in codes and before `scale`. Samples and v are counted
// from the middle of their ranges; the error of a constant picture is known, and
// SeparableSums::constant takes it back.
//
//   column weights:  127.5 sum|c - u a|     \ of a column sum: times sum|row|
//   rounding of v:   u 2^shift / 2          /
//   row weights:     u 2^shift max|v| sum|r - w b|
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/weights/separable_sums.h"

namespace convolve {

struct SeparableIntegers : SeparableSums {
  std::vector<std::int16_t> column;  ///< a
  std::vector<std::int16_t> row;     ///< b
  std::int32_t column_start = 0;
  int shift = 0;  ///< 0 .. 15
};

/// The integers for `mask`; `rational`: as is_rational() says. Nothing if the mask is not of rank
/// 1, if samples are not of 8 bits, or if a rational mask is not exact in integers.
std::optional<SeparableIntegers> make_separable_integers(const FrameFormat& format,
                                                         const Mask& mask, bool rational);

}  // namespace convolve
