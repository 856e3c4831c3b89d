// SPDX-License-Identifier: LGPL-2.1-or-later
// Weights with too many bits for a fast FIR algorithm (fast_fir.h), for exact codes all the same.
//
// Whole numbers w are taken apart, w = unit * value + residual, so that the values' subfilters fit
// 16 bits and the residuals are small. Let V and R be the sums of the products of the values and of
// the residuals with codes less half of the codes there are: then that of w is unit * V + R, of
// which the algorithm makes V. Of R it is known how large it can be, as no code is further from
// that half: where the value that V alone makes is further from a tie than that, it has the code of
// the exact value. Elsewhere, for one sample in some tens, R is added up; and where most samples
// are near a tie, as in flat parts of some pictures, whole weights take less time than that.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/core/mask/mask.h"
#include "kernels/core/weights/digits.h"

namespace convolve {

/// weight = unit * value + residual, row-major.
struct ApproximateWeights {
  int levels = 0;  ///< Of the fast FIR algorithm that the values serve.
  std::int32_t unit = 1;
  std::vector<std::int32_t> values;
  std::vector<std::int32_t> residuals;
  /// What V is, in 32 bits, more than the products of the values with the codes themselves.
  std::int32_t start = 0;
  std::int64_t weight_sum = 0;
  std::int64_t residual_magnitude = 0;  ///< Sum of |residual|.
};

/// Codes of a byte, which are the only ones that are approximated: of more bits too many sums would
/// be near a tie.
inline constexpr int kMostApproximateCode = 255;

/// The weights of a rational mask of codes of a byte, taken apart for the number of levels that
/// takes fewest products; nothing if the weights as they are, in as many parts of 16 bits as they
/// need, take fewer, or if too many sums are near a tie where the scale is 1.
std::optional<ApproximateWeights> choose_approximate_weights(const Mask& mask,
                                                             const DigitWeights& weights);

/// What a sample of a rational mask takes with a scale of 1, in products as fir_products() counts
/// them, where the largest weight that a subfilter of 2^`levels` weights has is `largest`; infinite
/// if too many sums are near a tie.
double approximate_products(const Mask& mask, int levels, double largest);

/// From V to the nearest code: t = base + scale * V, rounded. `error` is how far t may be from the
/// exact value: where t is further than that from a tie, its code is the exact one.
struct ApproximateEpilogue {
  float scale = 1;
  float base = 0;
  float error = 0;
};

/// `magnitude`: that of the weights in sum (DigitWeights::magnitude).
ApproximateEpilogue make_approximate_epilogue(const DigitEpilogue& exact, double magnitude,
                                              const ApproximateWeights& approximate);

/// False if a large scale brings so many sums near a tie that exact sums of all take less.
bool approximate_sums_pay(const ApproximateEpilogue& epilogue);

}  // namespace convolve
