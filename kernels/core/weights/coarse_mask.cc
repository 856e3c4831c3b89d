// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/weights/coarse_mask.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/core/weights/arithmetic.h"

namespace convolve {
namespace {

constexpr double kFloatUlp = 1.0 / 16777216.0;
constexpr double kMaxCode = 255;
/// Masks with a shorter side are never smooth enough: they end where a Gaussian is cut off.
constexpr int kLeastTaps = 97;
/// Of what may be lost, the fit of each axis may lose this part, rounding takes an eighth.
constexpr double kAxisShare = 0.3;

double magnitude_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values)
    sum += std::fabs(value);
  return sum;
}

/// All filtered samples are plain bytes.
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

/// Of all weights, of what is lost where the fits are not the mask.
double fitting_error(const Mask& mask, const CoarseMask& coarse) {
  const double column = coarse.column.error * magnitude_of(mask.row);
  const double row = coarse.row.error * coarse.column.magnitude();
  const double cross =
      std::fabs(coarse.column.step) * static_cast<double>(mask.height) * coarse.cross.error;
  return column + row + cross;
}

/// Of all weights, of what rounding of float32 sums loses: each value passes a rounding a product,
/// and a few where it is drawn and stored.
double rounding_error(const FrameFormat& format, const Mask& mask, const CoarseMask& coarse) {
  constexpr double kOthers = 24;
  const auto steps = [](const SplineAxis& axis) { return 1.0 * axis.taps() + kOthers; };
  const double row_steps = steps(coarse.row) + kSplinePieces * coarse.row.spacing;
  const double grids =
      (steps(coarse.column) + row_steps) * coarse.column.magnitude() * coarse.row.magnitude();
  // Running sums on a line of all pixels that a box sees: 256 threads have a part of it each.
  const double line = largest_side(format) + std::max(mask.width, mask.height);
  const double scan = line / 256 + 32;
  const double boxes =
      2 * line *
      (std::fabs(coarse.row.step) * coarse.column.magnitude() * (scan + steps(coarse.column)) +
       std::fabs(coarse.column.step) * coarse.cross.magnitude() * (scan + steps(coarse.cross)));
  return kFloatUlp * (grids + boxes);
}

/// The axis on the coarsest grid from `most` down that loses no more than `allowed`.
std::optional<SplineAxis> coarsest(const std::vector<double>& taps, int anchor, int most, int least,
                                   bool with_step, double allowed) {
  for (int spacing = most; spacing >= least; spacing /= 2) {
    std::optional<SplineAxis> axis = fit_spline_axis(taps, anchor, spacing, with_step);
    if (axis && axis->error <= allowed) return axis;
  }
  return std::nullopt;
}

/// What a code may miss before `scale`, as a sum of weights.
double allowed_weights(const FrameFormat& format, const Mask& mask, double scale) {
  double allowed = 0.25;
  all_filtered(format, [&](const Component& component) {
    allowed = std::min(allowed, zone(mask, scale, component.depth));
    return true;
  });
  return allowed / (std::max(std::fabs(scale), 1e-30) * kCoarseMiddle);
}

}  // namespace

std::optional<CoarseMask> choose_coarse_mask(const FrameFormat& format, const Mask& mask,
                                             double scale) {
  if (!mask.rank1 || mask.row.empty() || std::min(mask.width, mask.height) < kLeastTaps ||
      !bytes_only(format) || is_rational(format, mask, scale))
    return std::nullopt;
  const double allowed = allowed_weights(format, mask, scale);
  const double row_magnitude = magnitude_of(mask.row);
  CoarseMask coarse;
  const std::optional<SplineAxis> column =
      coarsest(mask.column, mask.anchor_y, kMostSpacing, kLeastSpacing, true,
               kAxisShare * allowed / row_magnitude);
  if (!column) return std::nullopt;
  coarse.column = *column;
  const std::optional<SplineAxis> row =
      coarsest(mask.row, mask.anchor_x, kMostSpacing, kLeastSpacing, true,
               kAxisShare * allowed / coarse.column.magnitude());
  if (!row) return std::nullopt;
  coarse.row = *row;
  // What is left is for the cross grid.
  for (int spacing = kMostSpacing; spacing >= kLeastCrossSpacing; spacing /= 2) {
    const std::optional<SplineAxis> cross =
        fit_spline_axis(mask.row, mask.anchor_x, spacing, /*with_step=*/false);
    if (!cross) continue;
    coarse.cross = *cross;
    coarse.lost = fitting_error(mask, coarse) + rounding_error(format, mask, coarse);
    if (coarse_mask_serves(format, mask, coarse, scale)) return coarse;
  }
  return std::nullopt;
}

bool coarse_mask_serves(const FrameFormat& format, const Mask& mask, const CoarseMask& coarse,
                        double scale) {
  // Values before they are clamped are to fit 16 bits.
  constexpr double kMostGain = 100;
  if (is_rational(format, mask, scale) || std::fabs(scale) * mask.magnitude > kMostGain)
    return false;
  // The epilogue scales and adds once more, on values of at most three full codes where the result
  // is not clamped.
  const double error =
      std::fabs(scale) * (kCoarseMiddle * coarse.lost + mask.factor_error * kMaxCode) +
      4 * kFloatUlp * 3 * kMaxCode;
  return all_filtered(format, [&](const Component& component) {
    return error <= std::min(zone(mask, scale, component.depth), 0.25);
  });
}

std::size_t coarse_shared_bytes(const FrameFormat& format, const Mask& mask,
                                const CoarseSpacing& spacing) {
  const auto cells = static_cast<std::size_t>(largest_side(format)) +
                     static_cast<std::size_t>(std::max(mask.width, mask.height));
  const auto grid = [cells](int h) { return cells / static_cast<std::size_t>(h) + 64; };
  const std::size_t ghosts = 16 * static_cast<std::size_t>(spacing.row);
  const std::size_t line = (cells + ghosts + 64) * 33 / 32 + 2 * grid(spacing.row);
  // Eight rows of bytes, and of the grid.
  const std::size_t cross =
      2 * (cells + 16 * static_cast<std::size_t>(spacing.cross)) + 8 * grid(spacing.cross);
  const auto taps = static_cast<std::size_t>(std::max(mask.width, mask.height));
  const std::size_t tables = taps / 2 + 4 * kMostSpacing + 64;
  return sizeof(float) * (std::max(line, cross) + tables);
}

Epilogue make_coarse_epilogue(const Component& component, const Mask& mask, double scale,
                              double bias) {
  Epilogue e;
  e.max_code = component.max_code();
  e.in_float = true;
  e.wide.scale = scale;
  e.wide.base = component.black + bias_code(component, bias) +
                scale * (kCoarseMiddle - component.black) * mask.sum;
  e.narrow.scale = static_cast<float>(e.wide.scale);
  e.narrow.base = static_cast<float>(e.wide.base);
  return e;
}

}  // namespace convolve
