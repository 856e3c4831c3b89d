// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/pipelines/mask_texts.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

namespace cudaconvolve::pipelines {
namespace {

constexpr const char* kReals = "reals-";
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

}  // namespace

std::string mask_text(const std::string& name) {
  if (name == "3x3") return "1 2 1; 2 4 2; 1 2 1";
  if (name.rfind(kReals, 0) != 0) return name;
  const int side = std::atoi(name.c_str() + std::char_traits<char>::length(kReals));
  return side >= 1 && side <= kLargestSide ? reals(side) : "";
}

}  // namespace cudaconvolve::pipelines
