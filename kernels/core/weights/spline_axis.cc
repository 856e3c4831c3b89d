// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/weights/spline_axis.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "kernels/core/base/round.h"

namespace convolve {
namespace {

/// Quotient rounded down, also of a negative value.
int floor_divide(int value, int unit) {
  return value >= 0 ? value / unit : -divide_up(-value, unit);
}

/// The cubic B-spline with knots at -2 .. 2.
double cubic(double u) {
  u = std::fabs(u);
  if (u >= 2) return 0;
  return u < 1 ? (4 - 6 * u * u + 3 * u * u * u) / 6 : (2 - u) * (2 - u) * (2 - u) / 6;
}

/// The weights with which an output pixel at each phase sees the input pixels when the convolution
/// has a single weight of 1, at index 0. Element 0 is the weight of pixel -spacing. A weight at
/// index d moves the response by d * spacing pixels to the right.
class ImpulseResponses {
 public:
  explicit ImpulseResponses(int spacing)
      : spacing_(spacing), length_((2 * kSplineOrder - 1) * spacing), response_() {
    const std::vector<std::int32_t> analysis = spline_analysis_weights(spacing);
    const double gain = std::pow(spacing, -4);
    for (int phase = 0; phase < spacing; ++phase) {
      std::vector<double> response(static_cast<std::size_t>(length_), 0.0);
      const std::array<double, kSplineOrder> synthesis = spline_synthesis_weights(spacing, phase);
      for (int m = 0; m < kSplineOrder; ++m)
        for (std::size_t t = 0; t < analysis.size(); ++t)
          response[static_cast<std::size_t>(m * spacing) + t] +=
              synthesis[static_cast<std::size_t>(m)] * gain * analysis[t];
      response_.push_back(std::move(response));
    }
  }

  int spacing() const { return spacing_; }
  /// First pixel of the response to weight d, and the one behind its last.
  int begin(int d) const { return spacing_ * (d - 1); }
  int end(int d) const { return begin(d) + length_; }
  const std::vector<double>& at(int phase) const {
    return response_[static_cast<std::size_t>(phase)];
  }

  /// Sum over all phases of the product of two responses whose weights are `lag` indices apart.
  double autocorrelation(int lag) const {
    double sum = 0;
    for (const std::vector<double>& response : response_)
      for (std::size_t t = static_cast<std::size_t>(lag * spacing_); t < response.size(); ++t)
        sum += response[t] * response[t - static_cast<std::size_t>(lag * spacing_)];
    return sum;
  }

 private:
  int spacing_;
  int length_;
  std::vector<std::vector<double>> response_;
};

/// The Cholesky factor of a symmetric positive definite matrix, whose entries (i, j) are 0 where
/// |i - j| is `width` or more.
class BandedCholesky {
 public:
  /// `entry(i, j)`: of row i, where j is at most i.
  template <class Entry>
  BandedCholesky(int size, int width, const Entry& entry) : width_(width), lower_() {
    for (int i = 0; i < size && positive_; ++i) {
      const int first = std::max(0, i - width_ + 1);
      lower_.emplace_back(static_cast<std::size_t>(width), 0.0);
      for (int j = first; j <= i; ++j) {
        double rest = entry(i, j);
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

/// Weights on a factor's taps from tap `first` on, the same at every phase.
struct Addend {
  int first = 0;
  std::vector<double> values;
};

double dot(const Addend& a, const Addend& b) {
  const auto end = [](const Addend& addend) {
    return addend.first + static_cast<int>(addend.values.size());
  };
  double sum = 0;
  for (int i = std::max(a.first, b.first); i < std::min(end(a), end(b)); ++i)
    sum += a.values[static_cast<std::size_t>(i - a.first)] *
           b.values[static_cast<std::size_t>(i - b.first)];
  return sum;
}

/// The right side of the normal equations: for each weight the sum over all phases of its response
/// times the addend.
std::vector<double> correlations(const ImpulseResponses& responses, const Addend& addend,
                                 int anchor, int first, int count) {
  std::vector<double> made(static_cast<std::size_t>(count), 0.0);
  const int n = static_cast<int>(addend.values.size());
  for (int d = 0; d < count; ++d)
    for (int phase = 0; phase < responses.spacing(); ++phase) {
      // For the output pixel at this phase, the addend begins on input pixel `left`.
      const int begin = responses.begin(first + d), left = phase - anchor + addend.first;
      const std::vector<double>& response = responses.at(phase);
      for (int u = std::max(begin, left); u < std::min(responses.end(first + d), left + n); ++u)
        made[static_cast<std::size_t>(d)] += response[static_cast<std::size_t>(u - begin)] *
                                             addend.values[static_cast<std::size_t>(u - left)];
    }
  return made;
}

/// The addends of a fit: none, a box over `n` taps, or each tap of both runs.
std::vector<Addend> addends_of(SplineEnds ends, int n, int spacing) {
  if (ends == SplineEnds::kNone) return {};
  if (ends == SplineEnds::kBox) return {{0, std::vector<double>(static_cast<std::size_t>(n), 1.0)}};
  std::vector<Addend> addends;
  const int reach = kEndIntervals * spacing;
  for (const int end : {0, n})
    for (int tap = end - reach; tap < end + reach; ++tap)
      addends.push_back({tap, {1.0}});
  return addends;
}

/// The box and the runs as weights, the same at every phase.
std::vector<Addend> weighted_ends(const SplineAxis& axis, int n, int anchor) {
  std::vector<Addend> made = {
      {0, std::vector<double>(static_cast<std::size_t>(n), axis.box_weight)}};
  for (int run = 0; run < 2; ++run) {
    const auto begin = axis.ends.weights.begin() + run * axis.ends.length;
    made.push_back({anchor + axis.ends.first[run], {begin, begin + axis.ends.length}});
  }
  return made;
}

/// Sum over all input pixels of |tap - weight of the spline, the box and the runs|, for the output
/// pixel at `phase`.
double error_at(const ImpulseResponses& responses, const SplineAxis& axis,
                const std::vector<double>& taps, int anchor, int phase) {
  const int count = axis.taps(), n = static_cast<int>(taps.size());
  const int begin = std::min(responses.begin(axis.first), phase - anchor);
  const int end = std::max(responses.end(axis.first + count - 1), phase - anchor + n);
  std::vector<double> missed(static_cast<std::size_t>(end - begin), 0.0);
  const auto tap = [&](int i) -> double& {
    return missed[static_cast<std::size_t>(phase - anchor + i - begin)];
  };
  for (int i = 0; i < n; ++i)
    tap(i) = taps[static_cast<std::size_t>(i)];
  for (const Addend& addend : weighted_ends(axis, n, anchor))
    for (std::size_t i = 0; i < addend.values.size(); ++i)
      tap(addend.first + static_cast<int>(i)) -= addend.values[i];
  const std::vector<double>& response = responses.at(phase);
  for (int d = 0; d < count; ++d)
    for (std::size_t t = 0; t < response.size(); ++t)
      missed[static_cast<std::size_t>(responses.begin(axis.first + d) - begin) + t] -=
          axis.weights[static_cast<std::size_t>(d)] * response[t];
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

std::vector<std::int32_t> spline_analysis_weights(int spacing) {
  std::vector<std::int32_t> samples = {1};
  for (int box = 0; box < kSplineOrder; ++box) {
    std::vector<std::int32_t> wider(samples.size() + static_cast<std::size_t>(spacing) - 1, 0);
    for (std::size_t i = 0; i < samples.size(); ++i)
      for (int k = 0; k < spacing; ++k)
        wider[i + static_cast<std::size_t>(k)] += samples[i];
    samples = std::move(wider);
  }
  samples.resize(static_cast<std::size_t>(kSplineOrder * spacing), 0);
  return samples;
}

std::array<double, kSplineOrder> spline_synthesis_weights(int spacing, int phase) {
  std::array<double, kSplineOrder> weights{};
  for (int m = 0; m < kSplineOrder; ++m)
    weights[static_cast<std::size_t>(m)] = cubic(static_cast<double>(phase) / spacing + 1 - m);
  return weights;
}

std::optional<SplineAxis> fit_spline_axis(const std::vector<double>& taps, int anchor, int spacing,
                                          SplineEnds ends) {
  const int n = static_cast<int>(taps.size());
  if (ends == SplineEnds::kTaps && n < 4 * kEndIntervals * spacing) return std::nullopt;
  const ImpulseResponses responses(spacing);
  SplineAxis axis;
  axis.spacing = spacing;
  // All weights whose response is centred near a tap.
  axis.first = floor_divide(-anchor, spacing) - kSplineOrder;
  const int count = floor_divide(n - 1 - anchor, spacing) + 2 - axis.first;
  std::vector<double> diagonals;
  for (int lag = 0; lag < 2 * kSplineOrder - 1; ++lag)
    diagonals.push_back(responses.autocorrelation(lag));
  const BandedCholesky splines(count, 2 * kSplineOrder - 1, [&](int i, int j) {
    return diagonals[static_cast<std::size_t>(i - j)];
  });
  if (!splines.positive()) return std::nullopt;
  const Addend factor = {0, taps};
  const std::vector<double> factor_side =
      correlations(responses, factor, anchor, axis.first, count);
  axis.weights = splines.solve(factor_side);

  // Addends are fitted to what the splines cannot follow: an addend's residual is what
  // remains of it when the splines have followed it as well as they can.
  const std::vector<Addend> addends = addends_of(ends, n, spacing);
  std::vector<std::vector<double>> sides, followed;
  std::vector<double> right_side;
  for (const Addend& addend : addends) {
    sides.push_back(correlations(responses, addend, anchor, axis.first, count));
    followed.push_back(splines.solve(sides.back()));
    right_side.push_back(spacing * dot(addend, factor) - dot(followed.back(), factor_side));
  }
  const int size = static_cast<int>(addends.size());
  const BandedCholesky residuals(size, size, [&](int i, int j) {
    const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(j);
    return spacing * dot(addends[a], addends[b]) - dot(sides[a], followed[b]);
  });
  if (!residuals.positive()) return std::nullopt;
  const std::vector<double> weights = residuals.solve(std::move(right_side));
  for (std::size_t k = 0; k < weights.size(); ++k)
    for (std::size_t d = 0; d < axis.weights.size(); ++d)
      axis.weights[d] -= weights[k] * followed[k][d];
  if (ends == SplineEnds::kBox) axis.box_weight = weights[0];
  if (ends == SplineEnds::kTaps) {
    const int reach = kEndIntervals * spacing;
    axis.ends = {2 * reach, {-anchor - reach, n - anchor - reach}, weights};
  }
  for (int phase = 0; phase < spacing; ++phase)
    axis.error = std::max(axis.error, error_at(responses, axis, taps, anchor, phase));
  if (!std::isfinite(axis.error) || !std::isfinite(axis.box_weight)) return std::nullopt;
  return axis;
}

}  // namespace convolve
