// SPDX-License-Identifier: LGPL-2.1-or-later
// Exact ratios of integers, and which doubles count as one.
#pragma once

#include <cstdint>
#include <optional>

namespace convolve {

/// num / den in lowest terms, den > 0.
struct Ratio {
  std::int64_t num = 0;
  std::int64_t den = 1;

  double value() const { return static_cast<double>(num) / static_cast<double>(den); }
  friend bool operator==(const Ratio& a, const Ratio& b) {
    return a.num == b.num && a.den == b.den;
  }
};

/// Largest denominator of a ratio that a double stands for (DESIGN: "q up to 10^6").
inline constexpr std::int64_t kMaxRatioDenominator = 1000000;

/// num / den in lowest terms; nothing if den is 0 or the result does not fit.
std::optional<Ratio> make_ratio(std::int64_t num, std::int64_t den);

/// The ratio with the smallest denominator, at most kMaxRatioDenominator, whose nearest double is
/// `x`: 0.1 gives 1/10. Nothing if there is none, or if x is not finite or beyond +-2^53.
std::optional<Ratio> ratio_of(double x);

/// a * b, a / b and a + b; nothing on overflow or division by zero.
std::optional<Ratio> multiply(Ratio a, Ratio b);
std::optional<Ratio> divide(Ratio a, Ratio b);
std::optional<Ratio> add(Ratio a, Ratio b);

}  // namespace convolve
