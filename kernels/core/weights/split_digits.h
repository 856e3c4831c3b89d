// SPDX-License-Identifier: LGPL-2.1-or-later
// Real weights times codes of two bytes, where sums leave 32 bits: products of a weight's digits
// with a code's bytes are summed apart for each power of 256 and added up as floats, with a proven
// bound.
#pragma once

#include <optional>

#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/weights/digits.h"

namespace convolve {

/// Sums of products of digit d with byte b count 256^(d + b), and are added up in as many floats as
/// there are powers. These are kSplitSums, from that of the digits' number on: of three digits what
/// counts 256^0 is left out, of two nothing. Two do for codes of 10 bits.
inline constexpr int kSplitSums = 3;
inline constexpr int kFewestSplitDigits = 2;

/// What one of the digits of all weights comes to.
struct DigitTotals {
  double sum = 0;
  double magnitude = 0;  ///< Sum of the digits' magnitudes.
};

/// Weights in kFewestSplitDigits to kMostDigits digits, for split sums. The totals of each digit,
/// the lowest first, decide in every frame whether its scale is served, so they are kept.
struct SplitDigits : DigitWeights {
  DigitTotals totals[kMostDigits];
};

/// Nothing if the mask is none of real weights.
std::optional<SplitDigits> make_split_digits(const Mask& mask, int digits);

/// True if they keep the contract for every filtered component of `format` with this scale. Only
/// where is_rational() does not hold.
bool split_digits_serve(const FrameFormat& format, const Mask& mask, const SplitDigits& weights,
                        double scale);

/// From the sums S3, S2 and S1, S3 of the highest power, to a value, which is rounded to a code:
///   base + scale * (S3 + S2 / 256 + S1 / 65536)
/// Where split_sums_are_floats(), sums that begin with the bits of kSplitStart, and the second with
/// second_start more, are floats F as they are, and the value is
///   folded_base + scale * (F3 + F2 / 256 + F1 / 65536)
struct SplitEpilogue {
  float scale = 1;
  float base = 0;
  float folded_base = 0;
  int second_start = 0;  ///< What the rounding of folded_base misses.
};
inline constexpr float kSplitStart = 12582912;  ///< 1.5 x 2^23

bool split_sums_are_floats(const SplitDigits& weights);

SplitEpilogue make_split_epilogue(const Component& component, const Mask& mask,
                                  const SplitDigits& weights, double scale, double bias);

}  // namespace convolve
