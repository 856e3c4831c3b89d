// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/mask/named_formulas.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>

#include "kernels/core/base/ratio.h"
#include "kernels/core/mask/mask_shapes.h"

namespace convolve {
namespace {

/// A finished mask, centred, that automatic normalisation leaves alone.
MaskSource centred(int width, int height) {
  MaskSource mask;
  mask.width = width;
  mask.height = height;
  mask.anchor_x = width / 2;
  mask.anchor_y = height / 2;
  mask.normalized = true;
  return mask;
}

MaskSource dense(int width, int height, std::vector<double> weights) {
  MaskSource mask = centred(width, height);
  mask.weights = std::move(weights);
  return mask;
}

MaskSource factored(std::vector<double> column, std::vector<double> row) {
  MaskSource mask = centred(static_cast<int>(row.size()), static_cast<int>(column.size()));
  mask.column = std::move(column);
  mask.row = std::move(row);
  return mask;
}

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

void divide_by_sum(std::vector<double>& values) {
  const double sum = sum_of(values);
  for (double& v : values)
    v /= sum;
}

void subtract_mean(std::vector<double>& values) {
  const double mean = sum_of(values) / static_cast<double>(values.size());
  for (double& v : values)
    v -= mean;
}

/// Exact where it matters: a double nearest to k / 3 times 3 rounds to k again.
int sigma_radius(int multiple, double sigma) {
  return static_cast<int>(std::ceil(multiple * sigma));
}

/// exp(-x^2 / 2 sigma^2) at -radius .. radius, divided by the sum. A sigma of 0 is a single tap.
std::vector<double> gaussian_taps(double sigma) {
  const int radius = sigma_radius(3, sigma);
  std::vector<double> taps;
  for (int x = -radius; x <= radius; ++x)
    taps.push_back(x == 0 ? 1 : std::exp(-(static_cast<double>(x) * x) / (2 * sigma * sigma)));
  divide_by_sum(taps);
  return taps;
}

/// Adds `amount` times the square of `taps`, centred, to a larger square.
void add_product(std::vector<double>& square, std::size_t side, double amount,
                 const std::vector<double>& taps) {
  const std::size_t first = (side - taps.size()) / 2;
  for (std::size_t y = 0; y < taps.size(); ++y)
    for (std::size_t x = 0; x < taps.size(); ++x)
      square[(first + y) * side + first + x] += amount * (taps[y] * taps[x]);
}

/// C(n, 0) .. C(n, n), exact while they stay below 2^53.
std::vector<double> pascal_row(int n) {
  std::vector<double> row = {1};
  for (int k = 1; k <= n; ++k)
    row.push_back(row.back() * (n - k + 1) / k);
  return row;
}

/// The largest n for which 4^n is an exact ratio (ratio.h); pascal_row is exact much further.
constexpr int kMaxExactBinomial = 26;

}  // namespace

MaskSource identity_mask(const std::vector<double>&) {
  return dense(1, 1, {1});
}

MaskSource box_mask(const std::vector<double>& width_height) {
  const double width = width_height[0], height = width_height[1];
  MaskSource mask = factored(std::vector<double>(static_cast<std::size_t>(height), 1),
                             std::vector<double>(static_cast<std::size_t>(width), 1));
  mask.divisor = width * height;
  return mask;
}

MaskSource gaussian_mask(const std::vector<double>& sigma_x_y) {
  return factored(gaussian_taps(sigma_x_y[1]), gaussian_taps(sigma_x_y[0]));
}

MaskSource binomial_mask(const std::vector<double>& taps) {
  const int n = static_cast<int>(taps[0]) - 1;
  if (n <= kMaxExactBinomial) {
    const std::vector<double> row = pascal_row(n);
    MaskSource mask = factored(row, row);
    mask.divisor = std::ldexp(1.0, 2 * n);
    return mask;
  }
  // Outwards from the middle, where long rows neither overflow nor lose their small ends early.
  std::vector<double> row(static_cast<std::size_t>(n) + 1, 1);
  for (int k = n / 2; k-- > 0;) {
    const std::size_t at = static_cast<std::size_t>(k);
    row[at] = row[at + 1] * (k + 1) / (n - k);
    row[static_cast<std::size_t>(n) - at] = row[at];
  }
  divide_by_sum(row);
  return factored(row, row);
}

MaskSource disk_mask(const std::vector<double>& radius) {
  Coverage cover = cover_disk(radius[0]);
  divide_by_sum(cover.area);
  const int side = 2 * cover.radius + 1;
  return dense(side, side, std::move(cover.area));
}

MaskSource motion_mask(const std::vector<double>& length_angle) {
  const Coverage cover = cover_bar(length_angle[0], length_angle[1]);
  // A flat bar leaves rows empty, an upright one columns: they are cut off, evenly on both sides.
  const int side = 2 * cover.radius + 1;
  int half_width = 0, half_height = 0;
  for (int y = -cover.radius; y <= cover.radius; ++y)
    for (int x = -cover.radius; x <= cover.radius; ++x) {
      if (cover.area[static_cast<std::size_t>((y + cover.radius) * side + x + cover.radius)] == 0)
        continue;
      half_width = std::max(half_width, std::abs(x));
      half_height = std::max(half_height, std::abs(y));
    }
  std::vector<double> weights;
  for (int y = -half_height; y <= half_height; ++y)
    for (int x = -half_width; x <= half_width; ++x)
      weights.push_back(
          cover.area[static_cast<std::size_t>((y + cover.radius) * side + x + cover.radius)]);
  divide_by_sum(weights);
  return dense(2 * half_width + 1, 2 * half_height + 1, std::move(weights));
}

MaskSource laplacian_mask(const std::vector<double>&) {
  return dense(3, 3, {0, -1, 0, -1, 4, -1, 0, -1, 0});
}

MaskSource laplacian8_mask(const std::vector<double>&) {
  return dense(3, 3, {-1, -1, -1, -1, 8, -1, -1, -1, -1});
}

MaskSource sharpen_mask(const std::vector<double>& amount) {
  // Over a common denominator 1 + 4 A is exact too, which doubles of A would not promise.
  const std::optional<Ratio> ratio = ratio_of(amount[0]);
  const double a = ratio ? static_cast<double>(ratio->num) : amount[0];
  const double one = ratio ? static_cast<double>(ratio->den) : 1;
  MaskSource mask = dense(3, 3, {0, -a, 0, -a, one + 4 * a, -a, 0, -a, 0});
  if (one != 1) mask.divisor = one;
  return mask;
}

MaskSource unsharp_mask(const std::vector<double>& sigma_amount) {
  const std::vector<double> taps = gaussian_taps(sigma_amount[0]);
  const std::size_t side = taps.size();
  std::vector<double> weights(side * side, 0.0);
  add_product(weights, side, -sigma_amount[1], taps);
  weights[weights.size() / 2] += 1 + sigma_amount[1];
  return dense(static_cast<int>(side), static_cast<int>(side), std::move(weights));
}

MaskSource log_mask(const std::vector<double>& sigma) {
  const double s2 = sigma[0] * sigma[0];
  const int radius = sigma_radius(4, sigma[0]);
  std::vector<double> bell, weights;
  for (int y = -radius; y <= radius; ++y)
    for (int x = -radius; x <= radius; ++x) {
      const double r2 = static_cast<double>(x) * x + static_cast<double>(y) * y;
      bell.push_back(std::exp(-r2 / (2 * s2)));
      weights.push_back((2 - r2 / s2) / s2 * bell.back());
    }
  const double volume = sum_of(bell);
  for (double& w : weights)
    w /= volume;
  subtract_mean(weights);
  return dense(2 * radius + 1, 2 * radius + 1, std::move(weights));
}

MaskSource dog_mask(const std::vector<double>& sigma1_sigma2) {
  const std::vector<double> first = gaussian_taps(sigma1_sigma2[0]);
  const std::vector<double> second = gaussian_taps(sigma1_sigma2[1]);
  const std::size_t side = std::max(first.size(), second.size());
  std::vector<double> weights(side * side, 0.0);
  add_product(weights, side, 1, first);
  add_product(weights, side, -1, second);
  subtract_mean(weights);
  return dense(static_cast<int>(side), static_cast<int>(side), std::move(weights));
}

MaskSource sobel_x_mask(const std::vector<double>&) {
  return dense(3, 3, {-1, 0, 1, -2, 0, 2, -1, 0, 1});
}

MaskSource sobel_y_mask(const std::vector<double>&) {
  return dense(3, 3, {-1, -2, -1, 0, 0, 0, 1, 2, 1});
}

MaskSource prewitt_x_mask(const std::vector<double>&) {
  return dense(3, 3, {-1, 0, 1, -1, 0, 1, -1, 0, 1});
}

MaskSource prewitt_y_mask(const std::vector<double>&) {
  return dense(3, 3, {-1, -1, -1, 0, 0, 0, 1, 1, 1});
}

MaskSource scharr_x_mask(const std::vector<double>&) {
  return dense(3, 3, {-3, 0, 3, -10, 0, 10, -3, 0, 3});
}

MaskSource scharr_y_mask(const std::vector<double>&) {
  return dense(3, 3, {-3, -10, -3, 0, 0, 0, 3, 10, 3});
}

MaskSource emboss_mask(const std::vector<double>&) {
  return dense(3, 3, {-2, -1, 0, -1, 1, 1, 0, 1, 2});
}

}  // namespace convolve
