// SPDX-License-Identifier: LGPL-2.1-or-later
// Large smooth masks of rank 1 as splines (spline_axis.h). With S the spline and E the box or the
// end taps of a factor, the mask is column x row, and
//
//   (S_column + E_column) x row = S_column x (S_row + E_row)    the main term
//                               + E_column x S'_row             the cross term,
//
// where S'_row is a second fit to the row, on a grid with knots further apart and without E: the
// box of the column has only 3 % of the weight of a Gaussian, end taps 0.2 %, and of the jump that
// this fit misses no more than that share remains. The order of the steps is:
//
//   main term: analysis down the columns; each of the lines that this gives is filtered along
//   itself by S_row + E_row; convolution and synthesis down the columns;
//   cross term: analysis and convolution along the rows; the box or the end taps down the columns;
//   synthesis along the rows.
//
// On CUDA E is a box, whose sums are a scan; on the CPU it is end taps, which go with knots further
// apart.
//
// Samples are counted from the middle of their range, 127.5, so that errors are relative to half of
// it. The total error is bounded by the errors of the three fits times 127.5, plus the rounding of
// the float32 sums; a mask is served where that stays within the contract of real masks.
#pragma once

#include <cstddef>
#include <optional>

#include "kernels/core/base/epilogue.h"
#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/weights/spline_axis.h"

namespace convolve {

/// The middle of the range of an 8-bit sample.
inline constexpr double kMidCode = 127.5;

/// Pixels from knot to knot, powers of two; 0 where a plan has no splines.
struct KnotSpacing {
  int column = 0;
  int row = 0;
  int cross = 0;  ///< Of the cross term, along the row.

  friend bool operator==(const KnotSpacing& a, const KnotSpacing& b) {
    return a.column == b.column && a.row == b.row && a.cross == b.cross;
  }
};

inline constexpr int kLeastSpacing = 2;
/// With knots this far apart the weights of the analysis still fit 16 bits.
inline constexpr int kMostSpacing = 32;
/// Least spacing of the cross term: CUDA reads its intervals as whole words of four bytes, and the
/// CPU has code for each spacing from here on.
inline constexpr int kLeastCrossSpacing = 4;

/// A mask as three fits; that of the cross term has neither box nor end taps.
struct SplineMask {
  SplineAxis column, row, cross;
  /// Bound on what the fits and the rounding of sums miss in frames of the format that the fits are
  /// chosen for, as a sum of weights.
  double error = 0;

  KnotSpacing spacing() const { return {column.spacing, row.spacing, cross.spacing}; }
};

/// The fits with the knots furthest apart that keep the contract for every filtered component of
/// `format`; both factors have `ends`. Nothing if the mask is rational, not of rank 1, too short or
/// not smooth enough, or if samples are not plain bytes.
std::optional<SplineMask> choose_spline_mask(const FrameFormat& format, const Mask& mask,
                                             double scale, SplineEnds ends);

/// True if `spline`, chosen for `format` and `mask`, keeps the contract with this scale, too.
bool spline_mask_serves(const FrameFormat& format, const Mask& mask, const SplineMask& spline,
                        double scale);

/// Upper bound on the shared memory that a block takes for frames of `format`, in bytes.
std::size_t spline_shared_bytes(const FrameFormat& format, const Mask& mask,
                                const KnotSpacing& spacing);

/// The epilogue for sums of samples that are counted from kMidCode.
Epilogue make_spline_epilogue(const Component& component, const Mask& mask, double scale,
                              double bias);

}  // namespace convolve
