// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/weights/fast_fir.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

#include "kernels/core/base/round.h"

namespace convolve {
namespace {

constexpr int kMost16Bits = std::numeric_limits<std::int16_t>::max();

template <class T>
using Rows = std::vector<std::vector<T>>;

template <class T>
Rows<T> transposed(const Rows<T>& rows) {
  Rows<T> made(rows[0].size(), std::vector<T>(rows.size()));
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < rows[i].size(); ++j)
      made[j][i] = rows[i][j];
  return made;
}

/// The weights of the three subfilters of one level: E - O, E and O.
template <class T>
std::array<Rows<T>, 3> split_rows(Rows<T> rows) {
  if (rows.size() % 2 != 0) rows.emplace_back(rows[0].size(), T{});
  std::array<Rows<T>, 3> made;
  auto& [difference, even, odd] = made;
  for (std::size_t i = 0; i < rows.size(); i += 2) {
    even.push_back(rows[i]);
    odd.push_back(rows[i + 1]);
    difference.push_back(rows[i]);
    for (std::size_t j = 0; j < difference.back().size(); ++j)
      difference.back()[j] -= odd.back()[j];
  }
  return made;
}

/// Adds the subfilters of `rows`, after so many levels, to `made`, each with its rows one after the
/// other.
template <class T>
void split(Rows<T> rows, int levels, Rows<T>& made) {
  if (levels == 0) {
    std::vector<T>& values = made.emplace_back();
    for (const std::vector<T>& row : rows)
      values.insert(values.end(), row.begin(), row.end());
    return;
  }
  const bool columns = fir_splits_columns(levels);
  for (Rows<T>& part : split_rows(columns ? transposed(rows) : std::move(rows)))
    split(columns ? transposed(part) : std::move(part), levels - 1, made);
}

template <class T>
Rows<T> subfilters_of(const Mask& mask, const std::vector<T>& weights, int levels) {
  Rows<T> rows, made;
  for (int i = 0; i < mask.height; ++i) {
    const auto row = weights.begin() + static_cast<std::ptrdiff_t>(i) * mask.width;
    rows.emplace_back(row, row + mask.width);
  }
  split(std::move(rows), levels, made);
  return made;
}

template <class T>
double largest_weight(const Mask& mask, const std::vector<T>& weights, int levels) {
  double largest = 0;
  for (const std::vector<T>& values : subfilters_of(mask, weights, levels))
    for (const T value : values)
      largest = std::max(largest, std::fabs(static_cast<double>(value)));
  return largest;
}

/// Weights whose subfilters fit 16 bits and that keep the contract. The best of some units, as a
/// slightly larger one may lie much nearer to the weights.
std::optional<DigitWeights> quantise_for_fir(const FrameFormat& format, const Mask& mask,
                                             double scale, int levels, int digits) {
  // Each value is rounded, so what 2^levels of them make may be larger by half a unit for each.
  const double finest =
      std::max(largest_weight(mask, mask.weights, levels) / (kMost16Bits - (1 << levels)),
               mask.max_weight / largest_value(digits));
  constexpr int kCandidates = 8;
  std::optional<DigitWeights> best;
  for (int i = 0; i < kCandidates; ++i) {
    DigitWeights made = quantise_weights(mask, finest * (1 + i / 64.0));
    if (!best || made.error < best->error) best = std::move(made);
  }
  best->digits = digits;
  if (!digits_serve(format, mask, *best, scale, false)) best.reset();
  return best;
}

}  // namespace

int fir_height(int height, int levels) {
  for (levels = fir_row_levels(levels); levels > 0; --levels)
    height = divide_up(height, 2);
  return height;
}

int fir_width(int width, int levels) {
  return fir_splits_columns(levels) ? divide_up(width, 2) : width;
}

double fir_products(const Mask& mask, int levels) {
  // Measured for none and from kFewestFirLevels on.
  constexpr double kElse[kMostFirLevels + 1] = {0, 15, 22, 45, 76};
  const double rows = 1.0 * fir_height(mask.height, levels) * fir_subfilters(levels);
  return divide_up(fir_width(mask.width, levels), 2) * rows / (1 << levels) + kElse[levels];
}

std::vector<std::vector<std::int32_t>> split_for_fir(const Mask& mask,
                                                     const std::vector<std::int32_t>& values,
                                                     int levels) {
  return subfilters_of(mask, values, levels);
}

int choose_fir_levels(const Mask& mask, const DigitWeights& weights, int max_code) {
  if (weights.wide) return 0;
  int best = 0;
  for (int levels = kFewestFirLevels; levels <= kMostFirLevels; ++levels)
    if (fir_products(mask, levels) < fir_products(mask, best) && fir_lines_fit(max_code, levels) &&
        largest_weight(mask, weights.values, levels) <= kMost16Bits)
      best = levels;
  return best;
}

double largest_fir_weight(const Mask& mask, const std::vector<std::int32_t>& values, int levels) {
  return largest_weight(mask, values, levels);
}

DigitWeights digits_for_fir(const FrameFormat& format, const Mask& mask, double scale,
                            DigitWeights digits) {
  const int max_code = largest_code(format);
  int best = choose_fir_levels(mask, digits, max_code);
  if (digits.wide) return digits;
  for (int levels = kFewestFirLevels; levels <= kMostFirLevels; ++levels) {
    if (fir_products(mask, levels) >= fir_products(mask, best) || !fir_lines_fit(max_code, levels))
      continue;
    if (auto made = quantise_for_fir(format, mask, scale, levels, digits.digits)) {
      digits = *std::move(made);
      best = levels;
    }
  }
  return digits;
}

}  // namespace convolve
