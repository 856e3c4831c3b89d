// SPDX-License-Identifier: LGPL-2.1-or-later
// The arithmetic of weighted components (alpha_weighting.h): which accumulator their sums need, and
// their epilogue with its proven bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/weights/arithmetic.h"
#include "kernels/core/weights/weighted_epilogue.h"

namespace convolve {

/// Properties of a mask that the weighting needs beyond its general analysis. Made once for each
/// plan.
struct WeightTotals {
  double sum = 1;                ///< W, summed in twice the precision, as weights may cancel.
  std::int64_t integer_sum = 0;  ///< Of Mask::integers; 0 if the mask is not rational.
  bool zero_sum = false;         ///< W counts as 0.
  bool one_sign = true;          ///< All weights that are not 0 have the same sign.
  /// Largest magnitudes of the weights of the row factor and the column factor; 0 if the mask is
  /// not of rank 1.
  double largest_row = 0, largest_column = 0;
  double row_integer_magnitude = 0;  ///< Sum of |Mask::row_integers|; 0 without a row factor.
};
WeightTotals weight_totals(const Mask& mask);

/// How the sums of weighted components are made.
struct WeightedSums {
  bool rational = false;  ///< The class of the arithmetic, as of the whole plan.
  Passes passes = Passes::kDirect;
  Accumulator accumulator = Accumulator::kFloat64;  ///< kFloat32 or kFloat64.

  friend bool operator==(const WeightedSums& a, const WeightedSums& b) {
    return a.rational == b.rational && a.passes == b.passes && a.accumulator == b.accumulator;
  }
};

/// True if the row and column of `mask` can replace it: the error is far below the sum that counts
/// as 0.
bool factors_serve(const Mask& mask);

/// The cheaper one of kFloat32 and kFloat64 that decides all but a few samples of the weighted
/// components of `format`, which has alpha.
Accumulator choose_weighted_accumulator(const FrameFormat& format, const Mask& mask,
                                        const WeightTotals& totals, double scale, bool rational,
                                        Passes passes);

/// True if choose_weighted_accumulator() would choose the accumulator of `sums` or a narrower one.
bool weighted_sums_serve(const FrameFormat& format, const Mask& mask, const WeightTotals& totals,
                         double scale, const WeightedSums& sums);

/// True if the row sums that the first of two passes makes are whole numbers without error in
/// double for every weighted component of `format`, so that no output is ever decided tap by tap.
bool row_sums_exact(const FrameFormat& format, const Mask& mask, const WeightedSums& sums);

/// The epilogue of `component`, weighted by an alpha of codes up to `alpha_max`.
WeightedEpilogue make_weighted_epilogue(const Component& component, int alpha_max, const Mask& mask,
                                        const WeightTotals& totals, double scale, double bias,
                                        const WeightedSums& sums);

/// The weights for ExactSums as doubles: all of them, or the row and then the column of a mask that
/// is kept as its factors or whose row sums may be exact.
std::vector<std::byte> encode_exact_weights(const Mask& mask, const WeightedSums& sums);

/// The positions in `weights` of the encoded weights of `mask`, in host or device memory.
ExactWeights exact_weights(const Mask& mask, const WeightedSums& sums, const double* weights);

}  // namespace convolve
