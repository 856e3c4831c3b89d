// SPDX-License-Identifier: LGPL-2.1-or-later
// The subfilters of a fast FIR algorithm (core/weights/fast_fir.h) as products of pairs take them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/core/mask/mask.h"
#include "kernels/core/weights/approximate_fir.h"
#include "kernels/core/weights/digits.h"
#include "kernels/core/weights/fast_fir.h"
#include "kernels/cpu/dots/dot_pairs.h"
#include "kernels/cpu/dots/fir/residuals.h"

namespace convolve {

/// A mask as subfilters. Immutable; owns them.
class FastFir {
 public:
  FastFir() = default;
  /// With the weights as they are if choose_fir_levels() has levels for codes up to `max_code`, or
  /// else as choose_approximate_weights() takes them apart, if codes are of `bytes`.
  FastFir(const Mask& mask, const DigitWeights& weights, int max_code, bool bytes);

  /// 0 if the mask is not split.
  int levels() const { return levels_; }
  /// A part for each of the fir_subfilters(levels()).
  const DotPairs& subfilters() const { return subfilters_; }

  /// Output rows that are computed together.
  int rows() const { return kDotPairRows << fir_row_levels(levels_); }
  /// Areas of other heights would compute rows that nobody wants.
  int row_step() const { return levels_ == 0 ? kDotPairRows : 1 << fir_row_levels(levels_); }
  /// Lines of a subfilter that `rows` rows of a tile read.
  int lines_of(int rows) const { return subfilters_.height() + rows - 1; }
  /// Lines of a subfilter that all rows of a tile read.
  int lines() const { return lines_of(kDotPairRows); }
  /// Rows of the source from the first output row up to the last one that is loaded for lines(), or
  /// more.
  int source_rows() const { return (lines() + 1) << fir_row_levels(levels_); }

  /// The parts of the weights if the subfilters are those of their values.
  const std::optional<ApproximateWeights>& approximate() const { return approximate_; }
  const Residuals& residuals() const { return residuals_; }  ///< Of these.

 private:
  int levels_ = 0;
  DotPairs subfilters_;
  std::optional<ApproximateWeights> approximate_;
  Residuals residuals_;
};

}  // namespace convolve
