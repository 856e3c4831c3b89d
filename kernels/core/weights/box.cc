// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/weights/box.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/core/base/int128.h"

namespace convolve {
namespace {

constexpr Int128 kTwo32 = Int128{1} << 32;

template <class Number>
bool all_equal(const std::vector<Number>& values) {
  return std::all_of(values.begin(), values.end(),
                     [&values](Number value) { return value == values.front(); });
}

/// ceil(a / b), for b > 0 and any a.
Int128 divide_up(Int128 a, Int128 b) {
  return a > 0 ? (a + b - 1) / b : -(-a / b);
}

/// Makes box_quotient() exact for numerators up to `largest`, where 2^shift <= divisor; false if it
/// cannot. The reciprocal has 32 bits and is too large by less than one; what that adds to a
/// quotient stays below 1 / divisor as long as largest * excess < 2^(32 + shift).
bool set_reciprocal(BoxDivision& d, Int128 largest, int shift) {
  const Int128 divisor = d.divisor;
  const Int128 power = Int128{1} << (32 + shift);
  const Int128 reciprocal = (power + divisor - 1) / divisor;
  if (reciprocal >= kTwo32 || largest * (reciprocal * divisor - power) >= power) return false;
  d.reciprocal = static_cast<std::uint32_t>(reciprocal);
  d.shift = shift;
  return true;
}

/// The same with a shift of its own choice. Without ties it is whole bytes if these are exact, as a
/// byte permutation shifts by whole bytes for nothing. Otherwise it is the largest one, which
/// leaves most digits to tell ties by.
bool set_reciprocal(BoxDivision& d, Int128 largest) {
  int digits = 0;
  while (Int128{1} << (digits + 1) < d.divisor)
    ++digits;
  return (!d.ties && set_reciprocal(d, largest, digits / 8 * 8)) ||
         set_reciprocal(d, largest, digits);
}

/// Let inverse = (1 + e) / divisor, rounded, with |e| at most 2^-24. If e is not negative, n *
/// inverse is at least n / divisor, and less than (n + 1) / divisor, as n e < 1. Otherwise the same
/// holds for (n + 1) * inverse, as (n + 1) |e| <= 1.
void set_inverse(BoxDivision& d) {
  d.inverse = static_cast<float>(1.0 / d.divisor);
  // The product is exact: its factors have 24 bits each, the divisor as far as it matters.
  d.inverse_raise = static_cast<double>(d.inverse) * d.divisor < 1 ? 1 : 0;
}

constexpr std::int64_t kTwo23 = 1 << 23;

/// For sums that are `smallest` .. `largest` when `start` is added to them.
FloatBoxDivision float_division(std::int64_t divisor, std::int64_t start, std::int64_t smallest,
                                std::int64_t largest) {
  FloatBoxDivision made;
  // A multiple of the divisor that is added to a sum adds a whole number to its quotient.
  const std::int64_t raised = (kTwo23 - smallest + divisor - 1) / divisor;
  largest += raised * divisor;
  made.empty =
      static_cast<std::int32_t>(FloatBoxDivision::kCodeBits - kTwo23 + raised * divisor + start);
  made.divisor = static_cast<float>(divisor);
  made.reciprocal = static_cast<float>(1.0 / static_cast<double>(divisor));
  made.offset = static_cast<float>(kTwo23 - raised);
  // The product is exact: its factors have 24 bits each. Quotients are multiples of 1 / divisor,
  // and none comes nearer to a tie than half of that, as the divisor is odd.
  const double product = static_cast<double>(made.reciprocal) * static_cast<double>(divisor);
  made.serves = largest < 2 * kTwo23 && std::abs(product - 1) * static_cast<double>(largest) < 0.5;
  return made;
}

}  // namespace

std::optional<BoxWeight> box_weight(const Mask& mask) {
  BoxWeight weight;
  if (mask.rational) {
    if (mask.dense() ? !all_equal(mask.integers)
                     : !all_equal(mask.column_integers) || !all_equal(mask.row_integers))
      return std::nullopt;
    weight.integer = mask.dense() ? mask.integers.front()
                                  : mask.column_integers.front() * mask.row_integers.front();
  } else if (mask.dense() ? !all_equal(mask.weights)
                          : !all_equal(mask.column) || !all_equal(mask.row)) {
    return std::nullopt;
  }
  weight.real = mask.dense() ? mask.weights.front() : mask.column.front() * mask.row.front();
  return weight;
}

bool box_sums_fit(const FrameFormat& format, const Mask& mask) {
  return all_filtered(
      format, [&mask](const Component& c) { return Int128{mask.taps()} * c.max_code() < kTwo32; });
}

bool box_packed(const PlaneFormat& plane, const Mask& mask) {
  return std::all_of(plane.components, plane.components + plane.component_count,
                     [&mask](const Component& c) {
                       return !c.filtered || std::int64_t{c.max_code()} * mask.height <= 0xFFFF;
                     });
}

BoxDivision make_box_division(const Component& component, const Mask& mask, const BoxWeight& weight,
                              double scale, double bias, bool rational) {
  BoxDivision d;
  const std::optional<Ratio> gain = total_gain(mask, scale);
  if (!rational || !gain) return d;

  Int128 multiplier = Int128{gain->num} * weight.integer;
  Int128 divisor = gain->den;
  Int128 offset = divisor * (component.black + bias_code(component, bias)) -
                  multiplier * mask.taps() * component.black;
  // A division by 1 is made one by 2, as ceil(2^32 / 1) needs more than 32 bits.
  if (divisor == 1) {
    multiplier *= 2;
    divisor *= 2;
    offset *= 2;
  }
  const Int128 reach = multiplier * mask.taps() * component.max_code();
  const Int128 lowest = offset + std::min<Int128>(reach, 0);
  const Int128 subtract = 2 * divide_up(-lowest, 2 * divisor);
  offset += subtract * divisor + divisor / 2;
  const Int128 largest = offset + std::max<Int128>(reach, 0);
  if (largest >= kTwo32 || magnitude_of(subtract) > std::numeric_limits<int>::max() / 2) return d;

  // Modulo 2^32, which negative multipliers survive.
  d.multiplier = static_cast<std::uint32_t>(multiplier);
  d.offset = static_cast<std::uint32_t>(offset);
  d.divisor = static_cast<std::uint32_t>(divisor);
  d.subtract = static_cast<int>(subtract);
  d.ties = divisor % 2 == 0;
  d.serves = set_reciprocal(d, largest);
  set_inverse(d);
  d.direct =
      d.serves && multiplier == 1 && subtract == 0 && largest / divisor <= component.max_code();
  d.plain = d.direct && !d.ties && d.shift % 8 == 0 && d.shift <= 16;
  return d;
}

NarrowBoxDivision make_narrow_division(const BoxDivision& division, std::int64_t largest) {
  constexpr std::int64_t kTwo16 = 1 << 16;
  NarrowBoxDivision narrow;
  const std::int64_t divisor = division.divisor;
  largest += division.offset;
  if (!division.direct || division.ties || divisor < 2 || divisor >= kTwo16 || largest >= kTwo16)
    return narrow;
  // The largest shift whose reciprocal has 16 bits.
  while (kTwo16 << (narrow.shift + 1) <= divisor * (kTwo16 - 1))
    ++narrow.shift;
  const std::int64_t power = kTwo16 << narrow.shift;
  const std::int64_t reciprocal = (power + divisor - 1) / divisor;
  narrow.offset = static_cast<std::uint16_t>(division.offset);
  narrow.reciprocal = static_cast<std::uint16_t>(reciprocal);
  // What the reciprocal is too large by moves no quotient if it adds up to less than 1 / divisor.
  narrow.serves = reciprocal < kTwo16 && (reciprocal * divisor - power) * largest < power;
  return narrow;
}

FloatBoxDivision make_float_division(const BoxDivision& division, std::int64_t largest,
                                     std::int64_t change) {
  const std::int64_t divisor = division.divisor;
  // What is rounded to nearest is the division without the half of a divisor that is for rounding
  // down. It is not negative, as a direct division has nothing to subtract.
  const std::int64_t start = static_cast<std::int64_t>(division.offset) - divisor / 2;
  if (!division.direct || division.ties || divisor >= kTwo23 || start >= kTwo23) return {};
  const FloatBoxDivision whole = float_division(divisor, start, start, start + largest);
  if (whole.serves) return whole;
  const std::int64_t reach = divisor / 2 + change;
  FloatBoxDivision pivoted = float_division(divisor, start, -reach, reach);
  pivoted.pivoted = true;
  // Codes that differ by more leave a byte.
  pivoted.serves = pivoted.serves && reach / divisor < FloatBoxDivision::kRaise - 1;
  pivoted.offset += FloatBoxDivision::kRaise;
  return pivoted;
}

}  // namespace convolve
