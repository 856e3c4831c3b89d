// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/pipelines/mask_texts.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace cudaconvolve::pipelines {
namespace {

constexpr const char* kReals = "reals-";
constexpr const char* kIntegers = "integers-";
constexpr int kLargestInteger = 127;
constexpr int kLeastInteger = -kLargestInteger / 4;
constexpr int kLargestSide = 63;

std::string reals(int side) {
  std::mt19937 random(static_cast<std::mt19937::result_type>(side));
  std::vector<double> weights(static_cast<std::size_t>(side) * static_cast<std::size_t>(side));
  std::generate(weights.begin(), weights.end(),
                [&] { return (static_cast<double>(random()) + 0.5) / 4294967296.0; });
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::string text;
  for (std::size_t k = 0; k < weights.size(); ++k) {
    char weight[32];
    std::snprintf(weight, sizeof(weight), "%.9f", weights[k] / sum);
    if (k > 0) text += k % static_cast<std::size_t>(side) == 0 ? "; " : " ";
    text += weight;
  }
  return text;
}

std::string integers(int side) {
  std::mt19937 random(static_cast<std::mt19937::result_type>(side));
  std::string text;
  int sum = 0;
  for (int k = 0; k < side * side; ++k) {
    const int weight =
        kLeastInteger + static_cast<int>(random() % (kLargestInteger - kLeastInteger + 1));
    if (k > 0) text += k % side == 0 ? "; " : " ";
    text += std::to_string(weight);
    sum += weight;
  }
  return text + " / " + std::to_string(std::max(1, sum));
}

/// K of `name`, which starts with `family`; 0 if it is none.
int side_of(const std::string& name, const char* family) {
  const int side = std::atoi(name.c_str() + std::char_traits<char>::length(family));
  return side >= 1 && side <= kLargestSide ? side : 0;
}

}  // namespace

std::string mask_text(const std::string& name) {
  if (name == "3x3") return "1 2 1; 2 4 2; 1 2 1";
  for (const auto& [family, text] : {std::pair{kReals, reals}, std::pair{kIntegers, integers}}) {
    if (name.rfind(family, 0) != 0) continue;
    const int side = side_of(name, family);
    return side > 0 ? text(side) : "";
  }
  return name;
}

}  // namespace cudaconvolve::pipelines
