// SPDX-License-Identifier: LGPL-2.1-or-later
// The weights as the CPU kernels walk them.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/core/weights/arithmetic.h"

namespace convolve {

/// Columns of the mask from `begin` up to `end`.
struct TapSpan {
  int begin = 0;
  int end = 0;
};

/// A mask, or one pass of a separable one. Immutable; owns its weights.
class MaskTaps {
 public:
  MaskTaps() = default;
  /// `weights`: width * height weights of `accumulator`'s type, row-major.
  MaskTaps(int width, int height, int anchor_x, int anchor_y, Accumulator accumulator,
           const std::byte* weights);

  int width() const { return width_; }
  int height() const { return height_; }
  int anchor_x() const { return anchor_x_; }
  int anchor_y() const { return anchor_y_; }
  Accumulator accumulator() const { return accumulator_; }

  /// Marks a symmetric row or column, whose sums are to be folded (Passes::kFolded).
  void fold() { folded_ = true; }
  bool folded() const { return folded_; }

  template <class Weight>
  const Weight* weights() const {
    return reinterpret_cast<const Weight*>(weights_.data());
  }

  /// For a block of `rows` output rows (1 or kBlockRows) and each of the height + rows - 1 lines it
  /// reads: the columns outside which all taps of the block on that line are zero.
  const TapSpan* spans(int rows) const {
    return rows == 1 ? row_spans_.data() : block_spans_.data();
  }

 private:
  int width_ = 1;
  int height_ = 1;
  int anchor_x_ = 0;
  int anchor_y_ = 0;
  Accumulator accumulator_ = Accumulator::kFloat32;
  bool folded_ = false;
  std::vector<std::byte> weights_;
  std::vector<TapSpan> row_spans_;
  std::vector<TapSpan> block_spans_;
};

/// The factors of a mask of rank 1: a mask of height 1 and one of width 1.
struct FactorTaps {
  MaskTaps row, column;
};

/// The factors of `mask` with weights of `accumulator`'s type; `rational`: as is_rational() says.
/// Symmetric factors are folded.
FactorTaps factor_taps(const Mask& mask, Accumulator accumulator, bool rational);

}  // namespace convolve
