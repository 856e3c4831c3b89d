// SPDX-License-Identifier: LGPL-2.1-or-later
// Rank 1: masks that are a column times a row, so that two short passes replace a long one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace convolve {

template <class Number>
struct Factors {
  std::vector<Number> column;  ///< height values.
  std::vector<Number> row;     ///< width values.
};

/// Factors with integers(y, x) == column[y] * row[x] exactly, or nothing. `integers` is primitive
/// (greatest common divisor 1, or all 0), and then so are the factors.
std::optional<Factors<std::int64_t>> factor_integers(const std::vector<std::int64_t>& integers,
                                                     int width, int height);

/// The cross through the largest weight, scaled to reproduce its own row and column: exact up to
/// rounding if the mask is of rank 1. `weights` are not all 0.
Factors<double> factor_cross(const std::vector<double>& weights, int width, int height);

/// Sum over all taps of |weight - column * row|, each difference rounded once.
double factoring_error(const std::vector<double>& weights, const std::vector<double>& column,
                       const std::vector<double>& row);

}  // namespace convolve
