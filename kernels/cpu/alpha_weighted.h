// SPDX-License-Identifier: LGPL-2.1-or-later
// Components weighted by alpha (core/weights/alpha_weighting.h), in vectors: two sums for each
// output, of the alpha below the mask and of alpha times colour, and their quotient.
//
// Lines of alpha and of products A (c - o) are made once per area, as the other vector kernels make
// lines of differences; both go through the same register tiles. Masks whose factors are planned
// for run as a row pass and a column pass with a ring of row sums between them. Where no pixel
// below the mask is opaque nothing is added up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/core/mask/mask.h"
#include "kernels/core/weights/weighted_arithmetic.h"
#include "kernels/cpu/component_task.h"
#include "kernels/cpu/mask_taps.h"
#include "kernels/cpu/workspace.h"

namespace convolve {

/// A component and its alpha, as if that lay on the same grid: step and pitch skip what lies
/// between.
struct WeightedTask {
  ComponentTask colour;  ///< Its epilogue is not used.
  ComponentTask alpha;
  WeightedEpilogue epilogue;
};

/// The mask in the form that the sums of a plan need, and all of its digits.
struct WeightedMask {
  Accumulator accumulator = Accumulator::kFloat64;
  bool two_passes = false;
  int anchor_x = 0;
  int anchor_y = 0;
  MaskTaps taps;    ///< All taps, or those of the row pass.
  MaskTaps column;  ///< Two passes: those of the column pass.
  ExactWeights exact;
};

/// A worker's lines. `opaque` tells for each line of the rings whether it has any alpha.
struct WeightedScratch {
  Workspace alpha;     ///< Lines and sums of alpha,
  Workspace products;  ///< and of alpha times colour.
  std::uint8_t* opaque = nullptr;
};

/// Mask and scratch memory of the weighted components of a job.
class AlphaWeighted {
 public:
  /// `widest`: columns of the widest component. kOutOfMemory.
  static Result<AlphaWeighted> make(const Mask& mask, const WeightedSums& sums, int widest,
                                    int workers);

  /// Columns of an area at most.
  int strip_width() const { return strip_width_; }
  /// Rows of an area at least, as it makes height - 1 lines more than it has rows.
  int least_rows() const;

  /// Filters `area` as worker `worker`.
  void filter(const WeightedTask& task, const Area& area, int worker);

 private:
  void encode(const Mask& mask, const WeightedSums& sums);

  WeightedMask mask_;
  std::vector<std::byte> exact_weights_;  ///< That mask_.exact points into.
  int strip_width_ = kStripStep;
  Workspaces alpha_;
  Workspaces products_;
  std::vector<std::vector<std::uint8_t>> opaque_;  ///< By worker.
};

}  // namespace convolve
