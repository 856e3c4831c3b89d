// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/mask/mask_source.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "kernels/core/mask/mask_text.h"

namespace convolve {
namespace {

Status check_values(const std::vector<double>& values, const char* what) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string name = std::string(what) + " " + std::to_string(i + 1);
    if (!std::isfinite(values[i])) return invalid_argument(name + " is not a finite number");
    if (std::fabs(values[i]) > kMaxWeight)
      return invalid_argument(name + ", " + shortest_text(values[i]) + ", is beyond +-1e38");
  }
  return {};
}

Status check_side(int side, int limit, const char* what) {
  if (side >= 1 && side <= limit) return {};
  return invalid_argument("mask " + std::string(what) + " " + std::to_string(side) +
                          " is not within 1 .. " + std::to_string(limit));
}

Status check_count(std::size_t count, std::int64_t expected, const char* what) {
  if (static_cast<std::int64_t>(count) == expected) return {};
  return invalid_argument(std::to_string(count) + " " + what + " given, the mask's size asks for " +
                          std::to_string(expected));
}

}  // namespace

Status check_source(const MaskSource& s) {
  const bool factored = s.weights.empty();
  const int limit = factored ? kMaxFactorLength : kMaxMaskSide;
  if (Status status = check_side(s.width, limit, "width"); !status.ok()) return status;
  if (Status status = check_side(s.height, limit, "height"); !status.ok()) return status;
  if (s.anchor_x < 0 || s.anchor_x >= s.width || s.anchor_y < 0 || s.anchor_y >= s.height)
    return invalid_argument("anchor " + std::to_string(s.anchor_x) + ", " +
                            std::to_string(s.anchor_y) + " lies outside the mask of " +
                            std::to_string(s.width) + " x " + std::to_string(s.height));
  if (factored) {
    if (Status status = check_count(s.column.size(), s.height, "column factors"); !status.ok())
      return status;
    if (Status status = check_count(s.row.size(), s.width, "row factors"); !status.ok())
      return status;
    if (Status status = check_values(s.column, "column factor"); !status.ok()) return status;
    if (Status status = check_values(s.row, "row factor"); !status.ok()) return status;
  } else {
    if (!s.column.empty() || !s.row.empty())
      return invalid_argument("a mask is given by weights or by factors, not by both");
    const std::int64_t taps = static_cast<std::int64_t>(s.width) * s.height;
    if (Status status = check_count(s.weights.size(), taps, "weights"); !status.ok()) return status;
    if (Status status = check_values(s.weights, "weight"); !status.ok()) return status;
  }
  if (s.divisor && !std::isfinite(*s.divisor))
    return invalid_argument("the divisor is not a finite number");
  if (s.divisor && *s.divisor == 0) return invalid_argument("the divisor is 0");
  return {};
}

MaskSource rotated(MaskSource s) {
  std::reverse(s.weights.begin(), s.weights.end());
  std::reverse(s.column.begin(), s.column.end());
  std::reverse(s.row.begin(), s.row.end());
  s.anchor_x = s.width - 1 - s.anchor_x;
  s.anchor_y = s.height - 1 - s.anchor_y;
  return s;
}

}  // namespace convolve
