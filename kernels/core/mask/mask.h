// SPDX-License-Identifier: LGPL-2.1-or-later
// The mask: the weights of a convolution as a value, with everything that follows from them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/core/base/ratio.h"
#include "kernels/core/base/status.h"

namespace convolve {

enum class Operation : int {
  kCorrelate,  ///< What you type overlays the picture (PMPP, OpenCV, FFmpeg).
  kConvolve,   ///< Mask and anchor rotated by 180 degrees.
};

enum class Normalize : int {
  kAuto,  ///< A typed divisor is final; else divide by the sum if it is at least 1/16 of the
          ///< sum of magnitudes, otherwise leave as typed.
  kNone,  ///< As typed, a typed divisor included.
  kSum,   ///< Divide by the sum of the weights.
  kAbs,   ///< Divide by the sum of their magnitudes.
};

/// Largest side of a mask whose weights are kept one by one.
inline constexpr int kMaxMaskSide = 255;
/// Largest side of a mask kept as a column times a row (gaussian:500 has 3001 taps a side).
inline constexpr int kMaxFactorLength = 4097;
/// Largest magnitude of a typed weight.
inline constexpr double kMaxWeight = 1e38;

/// A mask as somebody asked for it, before normalisation and orientation. Weights are row-major.
struct MaskSource {
  int width = 1;
  int height = 1;
  int anchor_x = 0;  ///< 0 .. width - 1; by default width / 2.
  int anchor_y = 0;
  std::vector<double> weights;    ///< width * height values, or empty when the factors stand.
  std::vector<double> column;     ///< height values: weight(y, x) = column[y] * row[x].
  std::vector<double> row;        ///< width values.
  std::optional<double> divisor;  ///< A typed divisor, not zero.
  bool normalized = false;        ///< A named mask: Normalize::kAuto leaves it alone.
};

/// A mask ready to run: immutable once made. Its effective weight(y, x) is
///   integers[y * width + x] * gain   if rational (exactly), and
///   weights[y * width + x]           always (rounded to double).
struct Mask {
  int width = 1;
  int height = 1;
  int anchor_x = 0;
  int anchor_y = 0;

  /// All weights and the divisor are exact ratios. The frame's depth and the scale decide whether
  /// the arithmetic is rational too (arithmetic.h).
  bool rational = false;
  /// Primitive (greatest common divisor 1, or all 0), row-major. Empty if not rational or not
  /// dense.
  std::vector<std::int64_t> integers;
  Ratio gain{1, 1};

  /// Row-major. Empty when the mask is larger than kMaxMaskSide and only its factors are kept.
  std::vector<double> weights;
  bool dense() const { return !weights.empty(); }

  /// Rank 1: weight(y, x) = column[y] * row[x] up to `factor_error`; if rational also exactly
  /// integers(y, x) = column_integers[y] * row_integers[x].
  bool rank1 = false;
  std::vector<double> column, row;
  std::vector<std::int64_t> column_integers, row_integers;
  double factor_error = 0;  ///< Sum over all taps of |weight - column * row|.

  double sum = 0;                ///< Of the effective weights.
  double magnitude = 0;          ///< Sum of their magnitudes: `sum|w|` of the arithmetic.
  double max_weight = 0;         ///< Largest magnitude.
  double integer_magnitude = 0;  ///< Sum of |integers|, exact below 2^53. 0 if not rational.
  std::int64_t zero_taps = 0;

  /// What Normalize::kAuto did, for the user: true if it divided by the sum.
  bool divided_by_sum = false;

  std::int64_t taps() const { return static_cast<std::int64_t>(width) * height; }

  /// Checks `source` and computes everything above. Errors: wrong counts or anchors, sizes beyond
  /// the limits, weights that are not finite or beyond kMaxWeight, a zero divisor, and
  /// Normalize::kSum or kAbs of a mask whose (magnitude) sum is 0.
  static Result<Mask> make(const MaskSource& source, Normalize normalize = Normalize::kAuto,
                           Operation operation = Operation::kCorrelate);
};

}  // namespace convolve
