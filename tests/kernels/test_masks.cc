// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/kernels/test_masks.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "kernels/core/mask/mask_grammar.h"

namespace convolve::testing {
namespace {

constexpr double kPi = 3.14159265358979323846;

/// A test program with a mask that cannot be made has nothing to test.
TestMaskPtr made(std::string name, const MaskSource& source, Normalize normalize) {
  Result<Mask> mask = Mask::make(source, normalize);
  if (!mask.ok()) {
    std::fprintf(stderr, "test mask %s: %s\n", name.c_str(), mask.status().message().c_str());
    std::exit(1);
  }
  return std::make_shared<const TestMask>(TestMask{std::move(name), std::move(mask.value())});
}

MaskSource sized(int width, int height) {
  MaskSource source;
  source.width = width;
  source.height = height;
  source.anchor_x = width / 2;
  source.anchor_y = height / 2;
  return source;
}

std::string size_name(const char* kind, int width, int height, Weights weights) {
  return std::string(kind) + "-" + std::to_string(width) + "x" + std::to_string(height) +
         (weights == Weights::kRational ? "-rational" : "-real");
}

double sum_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values)
    sum += value;
  return sum;
}

/// Values of both signs, mostly positive; their sum is positive.
std::vector<double> random_values(Random& random, int count, Weights weights) {
  std::vector<double> values(count);
  for (double& value : values)
    value = weights == Weights::kRational ? random.integer(-2, 7) : random.real(-0.3, 1);
  values[count / 2] = weights == Weights::kRational ? 7 : random.real(1, 2);
  while (sum_of(values) <= 0)
    values[count / 2] += weights == Weights::kRational ? 7 : 1.1;
  return values;
}

/// The next even number above, so that real ties occur.
double even_above(double sum) {
  const auto whole = static_cast<std::int64_t>(sum);
  return static_cast<double>(whole + 2 - whole % 2);
}

std::uint64_t seed_of(int width, int height, Weights weights) {
  return static_cast<std::uint64_t>(width) * 1000003u + static_cast<std::uint64_t>(height) * 101u +
         static_cast<std::uint64_t>(weights);
}

}  // namespace

TestMaskPtr random_mask(int width, int height, Weights weights) {
  Random random(seed_of(width, height, weights));
  MaskSource source = sized(width, height);
  source.weights = random_values(random, width * height, weights);
  const double sum = sum_of(source.weights);
  if (weights == Weights::kRational) {
    source.divisor = even_above(sum);
  } else {
    for (double& weight : source.weights)
      weight *= 0.97 / sum;
  }
  return made(size_name("random", width, height, weights), source, Normalize::kNone);
}

TestMaskPtr random_rank1_mask(int width, int height, Weights weights) {
  Random random(seed_of(width, height, weights) + 7);
  MaskSource source = sized(width, height);
  std::vector<double> row = random_values(random, width, weights);
  std::vector<double> column = random_values(random, height, weights);
  const double sum = sum_of(row) * sum_of(column);
  if (weights == Weights::kReal)
    for (double& weight : column)
      weight *= 0.97 / sum;
  for (const double y : column)
    for (const double x : row)
      source.weights.push_back(y * x);
  if (weights == Weights::kRational) source.divisor = even_above(sum);
  return made(size_name("rank1", width, height, weights), source, Normalize::kNone);
}

TestMaskPtr skewed_mask(int width, int height) {
  const auto bell = [](int taps) {
    std::vector<double> values;
    for (int i = 0; i < taps; ++i) {
      const double u = (i + 0.5) / taps;
      const double lean = std::sin(kPi * (u + 0.3 * u * (1 - u)));
      values.push_back(lean * lean * (1 - 1.4 * u));
    }
    return values;
  };
  const std::vector<double> row = bell(width), column = bell(height);
  const double sum = sum_of(row) * sum_of(column);
  MaskSource source = sized(width, height);
  for (const double y : column)
    for (const double x : row)
      source.weights.push_back(y * x * 0.97123456789 / sum);
  return made("skewed-" + std::to_string(width) + "x" + std::to_string(height), source,
              Normalize::kNone);
}

TestMaskPtr box_mask(int width, int height, Weights weights) {
  const double taps = 1.0 * width * height;
  MaskSource source = sized(width, height);
  const double weight = weights == Weights::kRational ? 1 : 0.97123456789 / taps;
  source.weights.assign(static_cast<std::size_t>(width) * height, weight);
  if (weights == Weights::kRational) source.divisor = taps;
  return made(size_name("box", width, height, weights), source, Normalize::kNone);
}

TestMaskPtr tap_mask(int width, int height, int x, int y, double weight, double divisor) {
  std::vector<double> weights(static_cast<std::size_t>(width) * height);
  weights[static_cast<std::size_t>(y) * width + x] = weight;
  char text[64];
  std::snprintf(text, sizeof text, "tap-%dx%d-%d,%d-%g/%g", width, height, x, y, weight, divisor);
  return typed_mask(text, width, height, std::move(weights), divisor);
}

TestMaskPtr typed_mask(std::string name, int width, int height, std::vector<double> weights,
                       double divisor) {
  MaskSource source = sized(width, height);
  source.weights = std::move(weights);
  source.divisor = divisor;
  return made(std::move(name), source, Normalize::kNone);
}

TestMaskPtr unit_gain_mask(int width, int height, int largest) {
  Random random(seed_of(width, height, Weights::kRational) + 13);
  std::vector<double> weights;
  double sum = 0;
  for (int i = 0; i < width * height; ++i) {
    weights.push_back(random.integer(-largest / 2, largest));
    sum += weights.back();
  }
  weights.back() += sum < 1 ? 1 - sum : 0;
  return typed_mask("unit-gain-" + std::to_string(width) + "x" + std::to_string(height), width,
                    height, weights, std::max(sum, 1.0));
}

TestMaskPtr anchored(const TestMaskPtr& mask, int anchor_x, int anchor_y) {
  TestMask moved = *mask;
  moved.name += "+" + std::to_string(anchor_x) + "+" + std::to_string(anchor_y);
  moved.mask.anchor_x = anchor_x;
  moved.mask.anchor_y = anchor_y;
  return std::make_shared<const TestMask>(std::move(moved));
}

TestMaskPtr parsed_mask(const std::string& text) {
  Result<MaskSource> source = parse_mask(text);
  if (!source.ok()) {
    std::fprintf(stderr, "test mask '%s': %s\n", text.c_str(), source.status().message().c_str());
    std::exit(1);
  }
  return made(text, source.value(), Normalize::kAuto);
}

}  // namespace convolve::testing
