// SPDX-License-Identifier: LGPL-2.1-or-later
// Large smooth masks of rank 1 on a coarse grid (spline_axis.h): column times row is
//
//   (grid of the column + box) x row = grid of the column x (grid of the row + box)
//                                      + box of the column x a coarser grid of the whole row.
//
// Of the row, the second product needs no box, though a grid of its own misses the step at its
// ends: the box of the column has 3 % of a Gaussian, and so much of that miss is left. Per axis:
//
//   rows above each other are looked at by the column's grid; each of the lines this leaves is
//   filtered by all of the row, its grid is convolved down, and drawn to the picture's rows;
//   beside that all rows are looked at by the coarser grid, convolved along, go through running
//   sums down the column, and are drawn to the picture's columns.
//
// Samples are counted from the middle of what they can be, 127.5. What is lost is bounded by the
// errors of the three fits, times half the range of a code; a mask is served where that and all
// rounding of the float32 sums stay within the contract.
#pragma once

#include <cstddef>
#include <optional>

#include "kernels/core/base/epilogue.h"
#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/weights/spline_axis.h"

namespace convolve {

/// The middle of what a sample can be.
inline constexpr double kCoarseMiddle = 127.5;

/// Between knots, in pixels; powers of two. 0: not on a grid.
struct CoarseSpacing {
  int column = 0;
  int row = 0;
  int cross = 0;  ///< Of the coarser grid of the row.

  friend bool operator==(const CoarseSpacing& a, const CoarseSpacing& b) {
    return a.column == b.column && a.row == b.row && a.cross == b.cross;
  }
};

inline constexpr int kLeastSpacing = 2;
/// Up to which weights that look fit 16 bits.
inline constexpr int kMostSpacing = 32;
/// The least of the cross grid, whose intervals are read in whole words.
inline constexpr int kLeastCrossSpacing = 4;

/// The same mask as three fits. cross has no step.
struct CoarseMask {
  SplineAxis column, row, cross;
  /// What the fits and rounding lose in frames of the format that it is chosen for, as a sum of
  /// weights.
  double lost = 0;

  CoarseSpacing spacing() const { return {column.spacing, row.spacing, cross.spacing}; }
};

/// The coarsest grids that keep the contract for every filtered component of `format`, or nothing:
/// the mask is rational, not of rank 1, too short or not smooth enough, or samples are not plain
/// bytes.
std::optional<CoarseMask> choose_coarse_mask(const FrameFormat& format, const Mask& mask,
                                             double scale);

/// True if `coarse`, chosen for `format` and `mask`, keeps the contract with this scale, too.
bool coarse_mask_serves(const FrameFormat& format, const Mask& mask, const CoarseMask& coarse,
                        double scale);

/// No more shared memory than this does a block take for frames of `format`.
std::size_t coarse_shared_bytes(const FrameFormat& format, const Mask& mask,
                                const CoarseSpacing& spacing);

/// From sums of samples counted from the middle to codes.
Epilogue make_coarse_epilogue(const Component& component, const Mask& mask, double scale,
                              double bias);

}  // namespace convolve
