// SPDX-License-Identifier: LGPL-2.1-or-later
// One factor of a mask of rank 1 on a grid of knots. A long smooth factor need not be multiplied
// with every pixel: with the knots h pixels apart, a line p of a picture is filtered in three
// steps,
//
//   analysis      a[k] = sum over t of spline_analysis_weights(h)[t] p[h k + t] / h^4,
//   convolution   q[j] = sum over d of weights[d] a[j + first + d],
//   synthesis     out[h j + phase] = sum over m of spline_synthesis_weights(h, phase)[m] q[j - 1 +
//   m],
//
// which takes n / h products for every h-th pixel in place of n for each. Both the analysis and the
// synthesis use the cubic B-spline with knots at the multiples of h: of all functions as smooth it
// is the shortest. For the analysis it is taken as a box of h pixels convolved with itself four
// times over, so that its weights are integers. (Unser, Aldroubi and Eden, "B-spline signal
// processing", 1993.)
//
// A spline cannot follow the jump at the ends of a Gaussian, which is cut off where it still has
// 1.1 % of its peak. So the factor is modelled as the spline plus what SplineEnds says, and both
// are fitted together by least squares. A box leaves the change of slope at the ends, which bounds
// the distance of the knots to 0.08 sigma; with taps of their own it is 0.3 sigma.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace convolve {

/// Order of the cubic B-spline: it covers so many intervals between knots, and so many coefficients
/// make a pixel.
inline constexpr int kSplineOrder = 4;

/// A factor is modelled as its spline and one of these.
enum class SplineEnds {
  kNone,
  kBox,   ///< A box of equal weights over all taps, which running sums make without error.
  kTaps,  ///< Two runs of taps, one around each end of the factor.
};

/// The runs reach so many intervals between knots to either side of an end.
inline constexpr int kEndIntervals = 2;

/// Taps around the two ends of a factor.
struct EndTaps {
  int length = 0;         ///< Of each run; 0 if there are none.
  int first[2] = {0, 0};  ///< The pixel below the first tap of a run, from the one that is made.
  std::vector<double> weights;  ///< Of the first run, then of the second one.
};

struct SplineAxis {
  int spacing = 1;              ///< h: from knot to knot, in pixels.
  int first = 0;                ///< Index of weights[0], see above.
  std::vector<double> weights;  ///< Of the convolution.
  double box_weight = 0;        ///< Of each tap of the box.
  EndTaps ends;
  /// The largest sum of |tap - weight of the three steps, the box and the runs|, over the h phases
  /// of a pixel.
  double error = 0;

  int taps() const { return static_cast<int>(weights.size()); }
  double magnitude() const;  ///< Sum of |weights|.
};

/// The B-spline at whole pixels as integers that sum to spacing^4: kSplineOrder * spacing of them,
/// the last three of 0.
std::vector<std::int32_t> spline_analysis_weights(int spacing);

/// The weights of the four coefficients that make the pixel `phase` pixels behind a knot. They sum
/// to 1.
std::array<double, kSplineOrder> spline_synthesis_weights(int spacing, int phase);

/// The fit to `taps` that is nearest by least squares over all phases, or nothing if the equations
/// have no solution, or if there are fewer taps than the two runs have.
std::optional<SplineAxis> fit_spline_axis(const std::vector<double>& taps, int anchor, int spacing,
                                          SplineEnds ends);

}  // namespace convolve
