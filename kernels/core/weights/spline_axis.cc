// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/weights/spline_axis.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/core/base/round.h"

namespace convolve {
namespace {

/// Rounded down, of any sign.
int floor_divide(int value, int unit) {
  return value >= 0 ? value / unit : -divide_up(-value, unit);
}

/// The cubic B-spline with knots at -2 .. 2.
double cubic(double u) {
  u = std::fabs(u);
  if (u >= 2) return 0;
  return u < 1 ? (4 - 6 * u * u + 3 * u * u * u) / 6 : (2 - u) * (2 - u) * (2 - u) / 6;
}

/// How the pixel at `phase` sees pixels through one weight of the grid, of 1 and at place 0: pixel
/// -spacing has index 0. Weight d sees them spacing * d further right.
class Views {
 public:
  explicit Views(int spacing)
      : spacing_(spacing), length_((2 * kSplinePieces - 1) * spacing), seen_() {
    const std::vector<std::int32_t> looks = spline_samples(spacing);
    const double gain = std::pow(spacing, -4);
    for (int phase = 0; phase < spacing; ++phase) {
      std::vector<double> seen(static_cast<std::size_t>(length_), 0.0);
      const std::array<double, kSplinePieces> draws = spline_weights(spacing, phase);
      for (int m = 0; m < kSplinePieces; ++m)
        for (std::size_t t = 0; t < looks.size(); ++t)
          seen[static_cast<std::size_t>(m * spacing) + t] +=
              draws[static_cast<std::size_t>(m)] * gain * looks[t];
      seen_.push_back(std::move(seen));
    }
  }

  int spacing() const { return spacing_; }
  /// From which pixel and before which weight d of the grid sees.
  int begin(int d) const { return spacing_ * (d - 1); }
  int end(int d) const { return begin(d) + length_; }
  const std::vector<double>& at(int phase) const { return seen_[static_cast<std::size_t>(phase)]; }

  /// Sum over all phases and pixels of what weights `apart` from each other both see.
  double overlap(int apart) const {
    double sum = 0;
    for (const std::vector<double>& seen : seen_)
      for (std::size_t t = static_cast<std::size_t>(apart * spacing_); t < seen.size(); ++t)
        sum += seen[t] * seen[t - static_cast<std::size_t>(apart * spacing_)];
    return sum;
  }

 private:
  int spacing_;
  int length_;
  std::vector<std::vector<double>> seen_;
};

/// A symmetric positive matrix whose entry (i, j) is diagonal[|i - j|], as lower times upper
/// triangle: Cholesky's, of a band.
class Band {
 public:
  Band(const std::vector<double>& diagonals, int size)
      : width_(static_cast<int>(diagonals.size())), lower_() {
    for (int i = 0; i < size && positive_; ++i) {
      const int first = std::max(0, i - width_ + 1);
      lower_.emplace_back(diagonals.size(), 0.0);
      for (int j = first; j <= i; ++j) {
        double rest = diagonals[static_cast<std::size_t>(i - j)];
        for (int k = first; k < j; ++k)
          rest -= at(i, i - k) * at(j, j - k);
        positive_ = j < i || rest > 0;
        if (positive_)
          lower_.back()[static_cast<std::size_t>(i - j)] =
              j < i ? rest / at(j, 0) : std::sqrt(rest);
      }
    }
  }

  bool positive() const { return positive_; }

  std::vector<double> solve(std::vector<double> right) const {
    const int size = static_cast<int>(right.size());
    for (int i = 0; i < size; ++i) {
      double& value = right[static_cast<std::size_t>(i)];
      for (int k = 1; k < width_ && k <= i; ++k)
        value -= at(i, k) * right[static_cast<std::size_t>(i - k)];
      value /= at(i, 0);
    }
    for (int i = size - 1; i >= 0; --i) {
      double& value = right[static_cast<std::size_t>(i)];
      for (int k = 1; k < width_ && i + k < size; ++k)
        value -= at(i + k, k) * right[static_cast<std::size_t>(i + k)];
      value /= at(i, 0);
    }
    return right;
  }

 private:
  double at(int row, int left) const {
    return lower_[static_cast<std::size_t>(row)][static_cast<std::size_t>(left)];
  }

  int width_;
  std::vector<std::vector<double>> lower_;
  bool positive_ = true;
};

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

/// For each weight of the grid: sum over phases and pixels of what it sees times the tap there.
std::vector<double> projected(const Views& views, const std::vector<double>& taps, int anchor,
                              int first, int count) {
  std::vector<double> made(static_cast<std::size_t>(count), 0.0);
  const int n = static_cast<int>(taps.size());
  for (int d = 0; d < count; ++d)
    for (int phase = 0; phase < views.spacing(); ++phase) {
      // Tap i of the pixel lies on pixel phase - anchor + i.
      const int begin = views.begin(first + d), left = phase - anchor;
      const std::vector<double>& seen = views.at(phase);
      for (int u = std::max(begin, left); u < std::min(views.end(first + d), left + n); ++u)
        made[static_cast<std::size_t>(d)] +=
            seen[static_cast<std::size_t>(u - begin)] * taps[static_cast<std::size_t>(u - left)];
    }
  return made;
}

/// Sum of |tap - what grid and box make of it|, of the pixel at `phase`.
double error_at(const Views& views, const SplineAxis& axis, const std::vector<double>& taps,
                int anchor, int phase) {
  const int count = axis.taps(), n = static_cast<int>(taps.size());
  const int begin = std::min(views.begin(axis.first), phase - anchor);
  const int end = std::max(views.end(axis.first + count - 1), phase - anchor + n);
  std::vector<double> missed(static_cast<std::size_t>(end - begin), 0.0);
  for (int i = 0; i < n; ++i)
    missed[static_cast<std::size_t>(phase - anchor + i - begin)] =
        taps[static_cast<std::size_t>(i)] - axis.step;
  const std::vector<double>& seen = views.at(phase);
  for (int d = 0; d < count; ++d)
    for (std::size_t t = 0; t < seen.size(); ++t)
      missed[static_cast<std::size_t>(views.begin(axis.first + d) - begin) + t] -=
          axis.weights[static_cast<std::size_t>(d)] * seen[t];
  double sum = 0;
  for (const double value : missed)
    sum += std::fabs(value);
  return sum;
}

}  // namespace

double SplineAxis::magnitude() const {
  double sum = 0;
  for (const double weight : weights)
    sum += std::fabs(weight);
  return sum;
}

std::vector<std::int32_t> spline_samples(int spacing) {
  std::vector<std::int32_t> samples = {1};
  for (int box = 0; box < kSplinePieces; ++box) {
    std::vector<std::int32_t> wider(samples.size() + static_cast<std::size_t>(spacing) - 1, 0);
    for (std::size_t i = 0; i < samples.size(); ++i)
      for (int k = 0; k < spacing; ++k)
        wider[i + static_cast<std::size_t>(k)] += samples[i];
    samples = std::move(wider);
  }
  samples.resize(static_cast<std::size_t>(kSplinePieces * spacing), 0);
  return samples;
}

std::array<double, kSplinePieces> spline_weights(int spacing, int phase) {
  std::array<double, kSplinePieces> weights{};
  for (int m = 0; m < kSplinePieces; ++m)
    weights[static_cast<std::size_t>(m)] = cubic(static_cast<double>(phase) / spacing + 1 - m);
  return weights;
}

std::optional<SplineAxis> fit_spline_axis(const std::vector<double>& taps, int anchor, int spacing,
                                          bool with_step) {
  const int n = static_cast<int>(taps.size());
  const Views views(spacing);
  SplineAxis axis;
  axis.spacing = spacing;
  // All weights whose view has its middle near a tap.
  axis.first = floor_divide(-anchor, spacing) - kSplinePieces;
  const int count = floor_divide(n - 1 - anchor, spacing) + 2 - axis.first;
  std::vector<double> diagonals;
  for (int apart = 0; apart < 2 * kSplinePieces - 1; ++apart)
    diagonals.push_back(views.overlap(apart));
  const Band band(diagonals, count);
  if (!band.positive()) return std::nullopt;
  const std::vector<double> seen = projected(views, taps, anchor, axis.first, count);
  axis.weights = band.solve(seen);
  if (with_step) {
    // What the grid leaves of the box, and how much of that is in what it leaves of the taps.
    const std::vector<double> box(taps.size(), 1.0);
    const std::vector<double> box_seen = projected(views, box, anchor, axis.first, count);
    const std::vector<double> box_weights = band.solve(box_seen);
    const double left = spacing * static_cast<double>(n) - dot(box_weights, box_seen);
    axis.step = (spacing * dot(taps, box) - dot(box_weights, seen)) / left;
    for (std::size_t d = 0; d < axis.weights.size(); ++d)
      axis.weights[d] -= axis.step * box_weights[d];
  }
  for (int phase = 0; phase < spacing; ++phase)
    axis.error = std::max(axis.error, error_at(views, axis, taps, anchor, phase));
  if (!std::isfinite(axis.error) || !std::isfinite(axis.step)) return std::nullopt;
  return axis;
}

}  // namespace convolve
