// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/weights/spline_mask.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/core/weights/arithmetic.h"

namespace convolve {
namespace {

constexpr double kFloatUlp = 1.0 / 16777216.0;
constexpr double kMaxCode = 255;

/// What the fits of both factors may take of the allowed error; the rest is for the cross term and
/// for rounding.
struct Shares {
  /// Masks with a shorter side are not smooth enough with a box, as the jump where a Gaussian is
  /// cut off is too near to its peak; with end taps they would be, but with knots two pixels apart,
  /// which takes longer than the products of pairs that serve up to 65 taps.
  int least_taps;
  double column;
  double both;
};

/// With end taps the cross term misses next to nothing, and knots down the columns are further
/// apart at the cost of those along the rows: they decide how many lines there are.
constexpr Shares shares_of(SplineEnds ends) {
  return ends == SplineEnds::kTaps ? Shares{67, 0.7, 0.88} : Shares{97, 0.3, 0.6};
}

double magnitude_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values)
    sum += std::fabs(value);
  return sum;
}

/// True if all filtered samples are plain bytes.
bool bytes_only(const FrameFormat& format) {
  return all_filtered(format, [](const Component& c) { return c.depth == 8 && c.shift == 0; }) &&
         std::all_of(format.planes, format.planes + format.plane_count,
                     [](const PlaneFormat& plane) {
                       return !has_filtered(plane) || plane.sample_bytes == 1;
                     });
}

int largest_side(const FrameFormat& format) {
  int most = 0;
  all_filtered(format, [&most](const Component& c) {
    most = std::max({most, c.width, c.height});
    return true;
  });
  return most;
}

/// Sum of the magnitudes of the box and the end taps of a factor of `taps` taps.
double ends_magnitude(const SplineAxis& axis, int taps) {
  return std::fabs(axis.box_weight) * taps + magnitude_of(axis.ends.weights);
}

/// Bound on the sum of |weight of the mask - weight of the fits|.
double fitting_error(const Mask& mask, const SplineMask& spline) {
  const double column = spline.column.error * magnitude_of(mask.row);
  const double row = spline.row.error * spline.column.magnitude();
  const double cross = ends_magnitude(spline.column, mask.height) * spline.cross.error;
  return column + row + cross;
}

/// Bound on the error by rounding in float32, as a sum of weights: a value passes a rounding for
/// each product, and some more in the synthesis and the epilogue.
double rounding_error(const FrameFormat& format, const Mask& mask, const SplineMask& spline) {
  constexpr double kOthers = 24;
  const auto roundings = [](const SplineAxis& axis) { return 1.0 * axis.taps() + kOthers; };
  const double row_roundings = roundings(spline.row) + kSplineOrder * spline.row.spacing;
  const double grids = (roundings(spline.column) + row_roundings) * spline.column.magnitude() *
                       spline.row.magnitude();
  // Prefix sums of a line that has all pixels below a box: each of 256 threads sums a part of it.
  const double line = largest_side(format) + std::max(mask.width, mask.height);
  const double scan = line / 256 + 32;
  const double boxes = 2 * line *
                       (std::fabs(spline.row.box_weight) * spline.column.magnitude() *
                            (scan + roundings(spline.column)) +
                        std::fabs(spline.column.box_weight) * spline.cross.magnitude() *
                            (scan + roundings(spline.cross)));
  const auto run_roundings = [](const SplineAxis& axis) {
    return 2.0 * axis.ends.length + kOthers;
  };
  const double runs = magnitude_of(spline.row.ends.weights) * spline.column.magnitude() *
                          (run_roundings(spline.row) + roundings(spline.column)) +
                      magnitude_of(spline.column.ends.weights) * spline.cross.magnitude() *
                          (run_roundings(spline.column) + roundings(spline.cross));
  return kFloatUlp * (grids + boxes + runs);
}

/// The fit with the largest spacing whose error is at most `allowed`.
std::optional<SplineAxis> widest_spacing(const std::vector<double>& taps, int anchor,
                                         SplineEnds ends, double allowed) {
  for (int spacing = kMostSpacing; spacing >= kLeastSpacing; spacing /= 2) {
    std::optional<SplineAxis> axis = fit_spline_axis(taps, anchor, spacing, ends);
    if (axis && axis->error <= allowed) return axis;
  }
  return std::nullopt;
}

/// The error that a code may have before `scale`, as a sum of weights.
double allowed_weights(const FrameFormat& format, const Mask& mask, double scale) {
  double allowed = 0.25;
  all_filtered(format, [&](const Component& component) {
    allowed = std::min(allowed, zone(mask, scale, component.depth));
    return true;
  });
  return allowed / (std::max(std::fabs(scale), 1e-30) * kMidCode);
}

}  // namespace

std::optional<SplineMask> choose_spline_mask(const FrameFormat& format, const Mask& mask,
                                             double scale, SplineEnds ends) {
  const Shares shares = shares_of(ends);
  if (!mask.rank1 || mask.row.empty() || std::min(mask.width, mask.height) < shares.least_taps ||
      !bytes_only(format) || is_rational(format, mask, scale))
    return std::nullopt;
  const double allowed = allowed_weights(format, mask, scale);
  const double row_magnitude = magnitude_of(mask.row);
  SplineMask spline;
  const std::optional<SplineAxis> column =
      widest_spacing(mask.column, mask.anchor_y, ends, shares.column * allowed / row_magnitude);
  if (!column) return std::nullopt;
  spline.column = *column;
  const double left = ends == SplineEnds::kTaps
                          ? shares.both * allowed - spline.column.error * row_magnitude
                          : (shares.both - shares.column) * allowed;
  const std::optional<SplineAxis> row =
      widest_spacing(mask.row, mask.anchor_x, ends, left / spline.column.magnitude());
  if (!row) return std::nullopt;
  spline.row = *row;
  // The cross term may take what the two factors have left of the allowed error.
  for (int spacing = kMostSpacing; spacing >= kLeastCrossSpacing; spacing /= 2) {
    const std::optional<SplineAxis> cross =
        fit_spline_axis(mask.row, mask.anchor_x, spacing, SplineEnds::kNone);
    if (!cross) continue;
    spline.cross = *cross;
    spline.error = fitting_error(mask, spline) + rounding_error(format, mask, spline);
    if (spline_mask_serves(format, mask, spline, scale)) return spline;
  }
  return std::nullopt;
}

bool spline_mask_serves(const FrameFormat& format, const Mask& mask, const SplineMask& spline,
                        double scale) {
  // CUDA's kernel clamps values in 16 bits, so the gain must keep them there. Both backends have
  // one rule.
  constexpr double kMostGain = 100;
  if (is_rational(format, mask, scale) || std::fabs(scale) * mask.magnitude > kMostGain)
    return false;
  // The epilogue scales and adds once more, on values of at most three full codes where the result
  // is not clamped.
  const double error = std::fabs(scale) * (kMidCode * spline.error + mask.factor_error * kMaxCode) +
                       4 * kFloatUlp * 3 * kMaxCode;
  return all_filtered(format, [&](const Component& component) {
    return error <= std::min(zone(mask, scale, component.depth), 0.25);
  });
}

std::size_t spline_shared_bytes(const FrameFormat& format, const Mask& mask,
                                const KnotSpacing& spacing) {
  const auto cells = static_cast<std::size_t>(largest_side(format)) +
                     static_cast<std::size_t>(std::max(mask.width, mask.height));
  const auto grid = [cells](int h) { return cells / static_cast<std::size_t>(h) + 64; };
  const std::size_t ghosts = 16 * static_cast<std::size_t>(spacing.row);
  const std::size_t line = (cells + ghosts + 64) * 33 / 32 + 2 * grid(spacing.row);
  // Eight rows of bytes, and their lines of coefficients.
  const std::size_t cross =
      2 * (cells + 16 * static_cast<std::size_t>(spacing.cross)) + 8 * grid(spacing.cross);
  const auto taps = static_cast<std::size_t>(std::max(mask.width, mask.height));
  const std::size_t tables = taps / 2 + 4 * kMostSpacing + 64;
  return sizeof(float) * (std::max(line, cross) + tables);
}

Epilogue make_spline_epilogue(const Component& component, const Mask& mask, double scale,
                              double bias) {
  Epilogue e;
  e.max_code = component.max_code();
  e.in_float = true;
  e.wide.scale = scale;
  e.wide.base = component.black + bias_code(component, bias) +
                scale * (kMidCode - component.black) * mask.sum;
  e.narrow.scale = static_cast<float>(e.wide.scale);
  e.narrow.base = static_cast<float>(e.wide.base);
  return e;
}

}  // namespace convolve
