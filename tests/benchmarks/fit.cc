// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>

namespace convolve::benchmarks {
namespace {

constexpr std::size_t kTerms = kCostTermCount;
using Matrix = std::array<CostTerms, kTerms>;

/// The sum of squares (row . x - 1)^2 as x^T gram x - 2 right x + count.
struct Squares {
  Matrix gram{};
  CostTerms right{};

  void add(const CostTerms& row) {
    for (std::size_t i = 0; i < kTerms; ++i) {
      right[i] += row[i];
      for (std::size_t j = 0; j < kTerms; ++j)
        gram[i][j] += row[i] * row[j];
    }
  }
};

/// Solves for the terms in the bit set `chosen`, others 0. Nothing if they do not decide x.
std::optional<CostTerms> solve(const Squares& squares, unsigned chosen) {
  std::array<std::size_t, kTerms> index{};
  std::size_t n = 0;
  for (std::size_t i = 0; i < kTerms; ++i)
    if ((chosen >> i & 1) != 0) index[n++] = i;
  // Cholesky, on a matrix scaled to a diagonal of ones: terms differ by orders of magnitude.
  constexpr double kLeastPivot = 1e-9;
  Matrix l{};
  CostTerms y{}, scale{};
  for (std::size_t i = 0; i < n; ++i) {
    const double diagonal = squares.gram[index[i]][index[i]];
    if (diagonal <= 0) return std::nullopt;
    scale[i] = 1 / std::sqrt(diagonal);
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = squares.gram[index[i]][index[j]] * scale[i] * scale[j];
      for (std::size_t k = 0; k < j; ++k)
        sum -= l[i][k] * l[j][k];
      if (i == j && sum < kLeastPivot) return std::nullopt;
      l[i][j] = i == j ? std::sqrt(sum) : sum / l[j][j];
    }
    double sum = squares.right[index[i]] * scale[i];
    for (std::size_t k = 0; k < i; ++k)
      sum -= l[i][k] * y[k];
    y[i] = sum / l[i][i];
  }
  CostTerms x{};
  for (std::size_t i = n; i-- > 0;) {
    double sum = y[i];
    for (std::size_t k = i + 1; k < n; ++k)
      sum -= l[k][i] * x[index[k]] / scale[k];
    x[index[i]] = sum / l[i][i] * scale[i];
  }
  return x;
}

/// The least sum of squares with no x below 0: of all sets of terms that may be above 0 the best
/// whose own solution keeps to that. With ten terms these are few enough to try.
CostTerms solve_not_negative(const Squares& squares) {
  CostTerms best{};
  double least = 0;  // Of the sum of squares less the number of cases: 0 is x = 0.
  for (unsigned chosen = 1; chosen < 1u << kTerms; ++chosen) {
    const std::optional<CostTerms> x = solve(squares, chosen);
    if (!x || *std::min_element(x->begin(), x->end()) < 0) continue;
    double gain = 0;  // At a solution x^T gram x = right x.
    for (std::size_t i = 0; i < kTerms; ++i)
      gain -= squares.right[i] * (*x)[i];
    if (gain < least) {
      least = gain;
      best = *x;
    }
  }
  return best;
}

double dot(const CostTerms& a, const CostTerms& b) {
  double sum = 0;
  for (std::size_t i = 0; i < kTerms; ++i)
    sum += a[i] * b[i];
  return sum;
}

/// The regime of `launch` that takes longest with these constants.
const CostTerms& dearest(const CostTerms& constants, const LaunchWork& launch) {
  return *std::max_element(launch.regimes.begin(), launch.regimes.end(),
                           [&](const CostTerms& a, const CostTerms& b) {
                             return dot(constants, a) < dot(constants, b);
                           });
}

double squared_error(const CostTerms& constants, const std::vector<FitCase>& cases) {
  double sum = 0;
  for (const FitCase& tested : cases) {
    const double error = predicted_microseconds(constants, tested) / tested.microseconds - 1;
    sum += error * error;
  }
  return sum;
}

/// Refits, with each launch in the regime that the constants put it in, until that helps no more.
CostTerms refine(CostTerms constants, const std::vector<FitCase>& cases) {
  constexpr int kMostRounds = 50;
  CostTerms best = constants;
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kMostRounds; ++round) {
    Squares squares;
    for (const FitCase& tested : cases) {
      CostTerms row{};
      for (const LaunchWork& launch : tested.launches) {
        const CostTerms& regime = dearest(constants, launch);
        for (std::size_t i = 0; i < kTerms; ++i)
          row[i] += regime[i] / tested.microseconds;
      }
      squares.add(row);
    }
    constants = solve_not_negative(squares);
    const double error = squared_error(constants, cases);
    if (error >= least) break;
    least = error;
    best = constants;
  }
  return best;
}

/// Where one tile's time and the device's are equal for `samples` million of them.
CostTerms balanced_at(double samples) {
  CostTerms start{};
  start[kCostLoneTile] = samples;
  start[kCostLoneWork] = samples;
  start[kCostSamples] = 1;
  start[kCostWork] = 1;
  return start;
}

}  // namespace

double predicted_microseconds(const CostTerms& constants, const FitCase& tested) {
  double sum = 0;
  for (const LaunchWork& launch : tested.launches)
    sum += launch_microseconds(constants, launch);
  return sum;
}

CostTerms fit_terms(const std::vector<FitCase>& cases) {
  CostTerms best{};
  double least = std::numeric_limits<double>::infinity();
  // Which launches fill the device is not known beforehand, and refine() only looks nearby: begin
  // with guesses from pictures of 64 x 64 to beyond 8K.
  for (double samples = 1.0 / 256; samples < 64; samples *= 2) {
    const CostTerms fitted = refine(balanced_at(samples), cases);
    const double error = squared_error(fitted, cases);
    if (error < least) {
      least = error;
      best = fitted;
    }
  }
  return best;
}

}  // namespace convolve::benchmarks
