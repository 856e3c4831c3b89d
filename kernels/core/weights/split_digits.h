// SPDX-License-Identifier: LGPL-2.1-or-later
// Real weights times codes of two bytes, where sums leave 32 bits: products of a weight's digits
// with a code's bytes are summed separately for each power of 256, and these sums are added as
// floats, with a proven bound.
#pragma once

#include <optional>

#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/weights/digits.h"

namespace convolve {

/// A product of digit d with byte b counts 256^(d + b). Sums are kept for the kSplitSums highest
/// powers, the first of which is the number of digits: with three digits the products of power 0
/// are left out, with two digits none are. Two digits are enough for codes of 10 bits.
inline constexpr int kSplitSums = 3;
inline constexpr int kFewestSplitDigits = 2;

/// Sums over one of the digits of all weights.
struct DigitTotals {
  double sum = 0;
  double magnitude = 0;  ///< Sum of the digits' magnitudes.
};

/// Weights in kFewestSplitDigits to kMostDigits digits, for split sums. Whether a scale is served
/// depends on the totals of each digit, the lowest first, and is asked in every frame, so they are
/// kept.
struct SplitDigits : DigitWeights {
  DigitTotals totals[kMostDigits];
};

/// The weights in `digits` digits, kFewestSplitDigits to kMostDigits. Nothing if the mask is kept
/// as its factors or its weights are out of range.
std::optional<SplitDigits> make_split_digits(const Mask& mask, int digits);

/// True if the digits keep the contract for every filtered component of `format` with this scale.
/// Only for masks that are not rational.
bool split_digits_serve(const FrameFormat& format, const Mask& mask, const SplitDigits& weights,
                        double scale);

/// From the sums S3, S2 and S1, S3 of the highest power, to a value, which is then rounded to a
/// code:
///   base + scale * (S3 + S2 / 256 + S1 / 65536)
/// Where split_sums_are_floats(), the sums start at the bits of kSplitStart, the second one at
/// second_start more; reinterpreted as floats they are F3, F2 and F1, and the value is
///   folded_base + scale * (F3 + F2 / 256 + F1 / 65536)
struct SplitEpilogue {
  float scale = 1;
  float base = 0;
  float folded_base = 0;
  int second_start = 0;  ///< Makes up for the rounding of folded_base.
};
inline constexpr float kSplitStart = 12582912;  ///< 1.5 x 2^23

/// True if sums are so small that they can start at the bits of kSplitStart and be reinterpreted as
/// floats without a conversion.
bool split_sums_are_floats(const SplitDigits& weights);

SplitEpilogue make_split_epilogue(const Component& component, const Mask& mask,
                                  const SplitDigits& weights, double scale, double bias);

}  // namespace convolve
