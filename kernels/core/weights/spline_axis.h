// SPDX-License-Identifier: LGPL-2.1-or-later
// One factor of a mask of rank 1 on a coarse grid. A long smooth factor needs no sample of every
// pixel: a line of a picture is
//
//   looked at    a[k] = mean of the pixels from h k on, weighted by a cubic B-spline,
//   convolved    q[j] = sum over d of weights[d] a[j + first + d],
//   drawn        out[h j + phase] = sum over m of spline_weights(h, phase)[m] q[j - 1 + m],
//
// n / h products for every h-th pixel in place of n for each. Both splines have knots at the
// multiples of h, and are as smooth as they are short. The B-spline of whole pixels is a box of h
// pixels four times over itself, so its weights are integers.
//
// What no spline can follow is the step at the ends of a Gaussian, which is cut off where it still
// has 1.1 % of its peak. So the factor is the grid's part and a box of `step` over all of its taps,
// which running sums make exactly. Weights and step are fitted together.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace convolve {

/// Of the grid: the spline that looks covers so many intervals between knots, and so many values of
/// the grid make a pixel.
inline constexpr int kSplinePieces = 4;

struct SplineAxis {
  int spacing = 1;              ///< h.
  int first = 0;                ///< See above.
  std::vector<double> weights;  ///< Of the grid.
  double step = 0;              ///< Of the box.
  /// Most of sum|tap - what the grid and the box make of it|, of all phases of a pixel in the grid.
  double error = 0;

  int taps() const { return static_cast<int>(weights.size()); }
  double magnitude() const;  ///< Sum of |weights|.
};

/// The weights that look, whose sum is spacing^4: kSplinePieces * spacing, the last three of 0.
std::vector<std::int32_t> spline_samples(int spacing);

/// The weights that draw a pixel `phase` behind a knot; their sum is 1.
std::array<double, kSplinePieces> spline_weights(int spacing, int phase);

/// The nearest by least squares over all phases, or nothing if there is none. Without step: of the
/// grid alone.
std::optional<SplineAxis> fit_spline_axis(const std::vector<double>& taps, int anchor, int spacing,
                                          bool with_step);

}  // namespace convolve
