// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks of every kind that the grammar has.
#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/storm/draw.h"

namespace storm {
namespace {

constexpr int kMaxTypedSide = 63;

struct Shape {
  int width;
  int height;
};

/// Sides whose product is at most `taps`; a row or a column now and then.
Shape draw_shape(Random& random, std::int64_t taps) {
  const int longest = static_cast<int>(std::clamp<std::int64_t>(taps, 1, kMaxTypedSide));
  const int kind = random.integer(1, 100);
  if (kind <= 8) return {random.integer(1, longest), 1};
  if (kind <= 16) return {1, random.integer(1, longest)};
  const int most = kind <= 70 ? 17 : kind <= 92 ? 33 : kMaxTypedSide;
  Shape shape;
  do {
    shape = {random.integer(1, most), random.integer(1, most)};
  } while (shape.width * shape.height > std::max<std::int64_t>(taps, 9));
  return shape;
}

/// "5x3: ", "5x3+0+2: " with a free anchor.
std::string head(Random& random, Shape shape) {
  std::string text = std::to_string(shape.width) + "x" + std::to_string(shape.height);
  if (random.chance(25)) {
    text += "+" + std::to_string(random.integer(0, shape.width - 1));
    text += "+" + std::to_string(random.integer(0, shape.height - 1));
  }
  return text + ":";
}

/// " / 16", " / 37", or nothing.
std::string divisor(Random& random, double magnitude) {
  const int kind = random.integer(1, 100);
  if (kind <= 15) return {};
  // About the sum of magnitudes, so that most results stay inside the range of codes.
  const int about = std::max(1, static_cast<int>(std::min(magnitude, 1e9)));
  if (kind <= 50) {
    int power = 1;
    while (power < about / 2)
      power *= 2;
    return " / " + std::to_string(power);
  }
  const int number = random.integer(std::max(1, about / 4), about);
  return kind <= 60 ? " / -" + std::to_string(number) : " / " + std::to_string(number);
}

std::string list(Random& random, Shape shape, const std::vector<int>& weights) {
  double magnitude = 0;
  std::string text = head(random, shape);
  for (const int weight : weights) {
    text += " " + std::to_string(weight);
    magnitude += std::abs(weight);
  }
  return text + divisor(random, magnitude);
}

/// Each of `count` drawn from -limit .. limit, or 0 .. limit.
std::vector<int> numbers(Random& random, int count, int limit, bool negative) {
  std::vector<int> all;
  for (int k = 0; k < count; ++k)
    all.push_back(random.integer(negative ? -limit : 0, limit));
  return all;
}

std::string draw_integers(Random& random, std::int64_t taps) {
  const Shape shape = draw_shape(random, taps);
  const int limit = random.pick<int>({1, 2, 9, 9, 9, 127, 127, 255, 1000, 40'000});
  return list(random, shape, numbers(random, shape.width * shape.height, limit, random.chance(75)));
}

std::string draw_rank1(Random& random, std::int64_t taps) {
  const Shape shape = draw_shape(random, taps);
  const std::vector<int> row = numbers(random, shape.width, 5, random.chance(70));
  const std::vector<int> column = numbers(random, shape.height, 5, random.chance(70));
  std::vector<int> weights;
  for (const int factor : column)
    for (const int weight : row)
      weights.push_back(factor * weight);
  return list(random, shape, weights);
}

/// All zero, or with some taps alone.
std::string draw_sparse(Random& random, std::int64_t taps) {
  const Shape shape = draw_shape(random, taps);
  std::vector<int> weights(static_cast<std::size_t>(shape.width * shape.height), 0);
  for (int k = random.pick<int>({0, 1, 1, 1, 2, 5}); k > 0; --k)
    weights[random.bits() % weights.size()] = random.integer(-9, 9);
  return list(random, shape, weights);
}

/// A weight in one of the grammar's ways to write it, about `1 / share` large.
std::string real_number(Random& random, int share) {
  const int kind = random.integer(1, 4);
  const int small = random.integer(-9, 9);
  const int large = random.integer(1, 999'999);
  if (kind == 1) return std::to_string(small) + "/" + std::to_string(1 + large % 999);
  const std::string fraction = std::to_string(1'000'000 + large).substr(1);
  if (kind == 2) return (small < -2 ? "-." : ".") + fraction;
  const int whole = random.integer(-999'999, 999'999) / share;
  return std::to_string(whole) + "." + fraction + "e-" + std::to_string(4 + large % 4);
}

std::string draw_reals(Random& random, std::int64_t taps) {
  const Shape shape = draw_shape(random, taps);
  std::string text = head(random, shape);
  const int count = shape.width * shape.height;
  for (int k = 0; k < count; ++k)
    text += " " + real_number(random, count);
  return text + (random.chance(70) ? " / " + std::to_string(random.integer(1, count)) : "");
}

/// Rows parted by ';', or a square without a size.
std::string draw_rows(Random& random) {
  const int side = random.integer(1, 5);
  const bool parted = random.chance(50);
  std::string text;
  for (int k = 0; k < side * side; ++k) {
    if (k > 0) text += parted && k % side == 0 ? "; " : " ";
    text += std::to_string(random.integer(-5, 9));
  }
  return text + (random.chance(50) ? " / " + std::to_string(random.integer(1, 30)) : "");
}

/// A decimal between `low` and `high`, which count thousandths.
std::string decimal(Random& random, int low, int high) {
  const int thousandths = random.integer(low, std::max(low, high));
  if (random.chance(40)) return std::to_string(std::max(1, thousandths / 1000));
  const std::string fraction = std::to_string(1000 + thousandths % 1000).substr(1);
  return std::to_string(thousandths / 1000) + "." + fraction;
}

/// A mask by its name whose dense form has at most `taps` weights; separable ones may be larger.
std::string draw_named(Random& random, std::int64_t taps) {
  // The radius of the largest square with so many weights.
  const int radius = std::max(1, static_cast<int>((std::sqrt(static_cast<double>(taps)) - 1) / 2));
  const auto sigma = [&](int parts, int low, int most) {
    return decimal(random, low, std::clamp(1000 * radius / parts, low, most));
  };
  static const std::vector<std::string> kPlain = {
      "identity",  "laplacian", "laplacian8", "sharpen",  "sobel-x", "sobel-y",
      "prewitt-x", "prewitt-y", "scharr-x",   "scharr-y", "emboss"};
  // Each argument in a statement of its own: operands of a sum have no order.
  std::string text;
  switch (random.integer(1, 13)) {
    case 1:
      return "disk:" + sigma(1, 100, 60'000);
    case 2:
      text = "motion:" + decimal(random, 1000, std::clamp(2000 * radius, 1000, 120'000));
      return text + "," + decimal(random, 0, 360'000);
    case 3:
      return "sharpen:" + decimal(random, 0, 5000);
    case 4:
      text = "unsharp:" + sigma(3, 100, 20'000);
      return text + "," + decimal(random, 0, 3000);
    case 5:
      return "log:" + sigma(4, 300, 15'000);
    case 6:
      text = "dog:" + sigma(3, 100, 20'000);
      return text + "," + sigma(3, 100, 20'000);
    case 7:
      return "binomial:" + std::to_string(random.log_uniform(60));
    case 8:
      return "gaussian:" + decimal(random, 100, 5000);
    case 9:
      text = "gaussian:" + decimal(random, 100, 1000 * random.log_uniform(20));
      return text + "," + decimal(random, 100, 1000 * random.log_uniform(20));
    default:
      return random.pick(kPlain);
  }
}

/// Masks that are kept as their factors, up to thousands of taps a side. The exact reference and
/// direct kernels have no time for them.
std::string draw_large(Random& random, std::int64_t row_work) {
  const int most = static_cast<int>(std::clamp<std::int64_t>(row_work, 3, 4001));
  if (random.chance(70)) {
    const std::string text = "box:" + std::to_string(random.log_uniform(most));
    return random.chance(50) ? text + "," + std::to_string(random.log_uniform(most)) : text;
  }
  return "gaussian:" + decimal(random, 1000, std::clamp(1000 * most / 6, 1000, 60'000));
}

}  // namespace

std::string draw_matrix(Random& random) {
  const int side = random.integer(1, 7);
  std::string text;
  for (int k = 0; k < side * side; ++k) {
    if (k > 0) text += k % side == 0 ? "; " : " ";
    text += std::to_string(random.integer(-5, 9));
    if (random.chance(20)) text += "." + std::to_string(random.integer(1, 99));
  }
  return text;
}

std::string draw_mask(Random& random, const Extent& extent, std::int64_t work) {
  const std::int64_t taps = std::max<std::int64_t>(1, work / extent.pixels());
  const int kind = random.integer(1, 100);
  if (kind <= 34) return draw_integers(random, taps);
  if (kind <= 44) return draw_reals(random, taps);
  if (kind <= 56) return draw_rank1(random, taps);
  if (kind <= 63) return draw_sparse(random, taps);
  if (kind <= 68) return draw_rows(random);
  if (kind <= 90) return draw_named(random, taps);
  if (kind <= 99) return draw_large(random, taps);
  return random.pick<std::string>({"1,,2", "gaussian", "box:0", "3x3: 1 2", "none:1", "1 2 3"});
}

}  // namespace storm
