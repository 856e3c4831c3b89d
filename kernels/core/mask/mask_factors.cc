// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/mask/mask_factors.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/core/base/int128.h"

namespace convolve {

std::optional<Factors<std::int64_t>> factor_integers(const std::vector<std::int64_t>& integers,
                                                     int width, int height) {
  Factors<std::int64_t> factors;
  factors.column.assign(static_cast<std::size_t>(height), 0);
  factors.row.assign(static_cast<std::size_t>(width), 0);
  const auto first =
      std::find_if(integers.begin(), integers.end(), [](std::int64_t n) { return n != 0; });
  if (first == integers.end()) return factors;

  // If the mask is of rank 1, every row is a whole multiple of the first one that is not zero,
  // reduced by its divisor.
  const std::ptrdiff_t at = first - integers.begin();
  const std::ptrdiff_t first_x = at % width;
  const auto row_begin = integers.begin() + (at - first_x);
  const std::int64_t common =
      std::accumulate(row_begin, row_begin + width, std::int64_t{0},
                      [](std::int64_t a, std::int64_t b) { return std::gcd(a, b); });
  for (std::ptrdiff_t x = 0; x < width; ++x)
    factors.row[x] = row_begin[x] / common;

  const std::int64_t pivot = factors.row[first_x];
  for (std::ptrdiff_t y = 0; y < height; ++y) {
    const auto row = integers.begin() + y * width;
    const std::int64_t multiple = row[first_x] / pivot;
    for (std::ptrdiff_t x = 0; x < width; ++x)
      if (Int128{multiple} * factors.row[x] != row[x]) return std::nullopt;
    factors.column[y] = multiple;
  }
  return factors;
}

Factors<double> factor_cross(const std::vector<double>& weights, int width, int height) {
  const auto largest = std::max_element(weights.begin(), weights.end(), [](double a, double b) {
    return std::fabs(a) < std::fabs(b);
  });
  const std::ptrdiff_t at = largest - weights.begin();
  const std::ptrdiff_t pivot_x = at % width;
  const std::ptrdiff_t pivot_y = at / width;
  Factors<double> factors;
  for (std::ptrdiff_t y = 0; y < height; ++y)
    factors.column.push_back(weights[y * width + pivot_x]);
  for (std::ptrdiff_t x = 0; x < width; ++x)
    factors.row.push_back(weights[pivot_y * width + x] / *largest);
  return factors;
}

double factoring_error(const std::vector<double>& weights, const std::vector<double>& column,
                       const std::vector<double>& row) {
  double error = 0;
  auto weight = weights.begin();
  for (double c : column)
    for (double r : row)
      error += std::fabs(std::fma(c, r, -*weight++));
  return error;
}

}  // namespace convolve
