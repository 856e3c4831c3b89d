// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/base/ratio.h"

#include <cmath>

#include "kernels/core/base/int128.h"

namespace convolve {
namespace {

/// Doubles beyond this are not all integers, and those below it are exact as std::int64_t.
constexpr double kMaxInteger = 0x1p53;

std::optional<Ratio> reduced(Int128 num, Int128 den) {
  if (den == 0) return std::nullopt;
  if (den < 0) {
    num = -num;
    den = -den;
  }
  const Int128 common = greatest_common_divisor(num, den);
  const std::optional<std::int64_t> n = narrow(num / common);
  const std::optional<std::int64_t> d = narrow(den / common);
  if (!n || !d) return std::nullopt;
  return Ratio{*n, *d};
}

/// The fraction with the smallest denominator strictly between low / unit and high / unit, where
/// 0 <= low < high. Walks the continued fraction that both ends share: while an integer part lies
/// between them it is the answer, otherwise the integer part is common and the remainders are
/// turned over. Nothing once the denominator passes kMaxRatioDenominator.
std::optional<Ratio> simplest_between(Int128 low, Int128 high, Int128 unit) {
  Int128 low_den = unit, high_den = unit;
  // Convergents: the last two numerators and denominators.
  Int128 num = 1, den = 0, last_num = 0, last_den = 1;
  while (true) {
    const Int128 whole = low / low_den;
    const Int128 next = whole + 1;
    // A zero denominator of `high` stands for infinity, after an end that was an integer.
    const bool found = high_den == 0 || next * high_den < high;
    const Int128 term = found ? next : whole;
    const Int128 next_den = term * den + last_den;
    if (next_den > kMaxRatioDenominator) return std::nullopt;
    const Int128 next_num = term * num + last_num;
    if (found) {
      const std::optional<std::int64_t> n = narrow(next_num);
      if (!n) return std::nullopt;
      return Ratio{*n, static_cast<std::int64_t>(next_den)};
    }
    last_num = num;
    last_den = den;
    num = next_num;
    den = next_den;
    const Int128 low_rest = low - whole * low_den;
    const Int128 high_rest = high - whole * high_den;
    low = high_den;
    const Int128 turned = low_den;
    low_den = high_rest;
    high = turned;
    high_den = low_rest;
  }
}

}  // namespace

std::optional<Ratio> make_ratio(std::int64_t num, std::int64_t den) {
  return reduced(num, den);
}

std::optional<Ratio> ratio_of(double x) {
  if (!std::isfinite(x) || std::fabs(x) > kMaxInteger) return std::nullopt;
  if (x == std::floor(x)) return Ratio{static_cast<std::int64_t>(x), 1};
  const double a = std::fabs(x);
  // Below half of the smallest ratio nothing but 0 is near, and 0 is not the nearest double.
  if (a * 2 * static_cast<double>(kMaxRatioDenominator) < 1) return std::nullopt;

  // The doubles' neighbours bound what rounds to `a`. The ends themselves are midpoints with 54
  // significant bits, which no ratio in reach can be, so the interval may be taken as open.
  int exponent = 0;
  const double fraction = std::frexp(a, &exponent);
  const Int128 mantissa = static_cast<std::int64_t>(std::ldexp(fraction, 53));
  const bool power_of_two = fraction == 0.5;
  // In units of 2^(exponent - 55): a quarter of the spacing of doubles at `a`. a >= 2^-21 and not
  // an integer, so the unit is at most 2^76 to the one and everything below fits 128 bits.
  const Int128 unit = Int128{1} << (55 - exponent);
  const Int128 low = 4 * mantissa - (power_of_two ? 1 : 2);
  const Int128 high = 4 * mantissa + 2;
  std::optional<Ratio> ratio = simplest_between(low, high, unit);
  if (!ratio || ratio->value() != a) return std::nullopt;
  if (x < 0) ratio->num = -ratio->num;
  return ratio;
}

std::optional<Ratio> multiply(Ratio a, Ratio b) {
  return reduced(Int128{a.num} * b.num, Int128{a.den} * b.den);
}

std::optional<Ratio> divide(Ratio a, Ratio b) {
  return reduced(Int128{a.num} * b.den, Int128{a.den} * b.num);
}

std::optional<Ratio> add(Ratio a, Ratio b) {
  return reduced(Int128{a.num} * b.den + Int128{b.num} * a.den, Int128{a.den} * b.den);
}

}  // namespace convolve
