// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/figures.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>

namespace convolve::benchmarks {
namespace {

#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
constexpr bool kMeasurableBuild = true;
#else
constexpr bool kMeasurableBuild = false;
#endif

double at(const std::vector<double>& sorted, double part) {
  return sorted[static_cast<std::size_t>(
      std::lround(part * static_cast<double>(sorted.size() - 1)))];
}

}  // namespace

bool measurable_build() {
  return kMeasurableBuild;
}

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {at(values, 0.1), at(values, 0.5), at(values, 0.9)};
}

double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return at(values, part);
}

std::string number(double value, int decimals) {
  if (value <= 0) return "-";
  char text[32];
  std::snprintf(text, sizeof(text), "%.*f", decimals, value);
  return text;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return result + "\"";
}

}  // namespace convolve::benchmarks
