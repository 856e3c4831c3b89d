// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/weights/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>

#include "kernels/core/base/int128.h"
#include "kernels/core/weights/box.h"

namespace convolve {
namespace {

constexpr double kTwo24 = 16777216.0;
constexpr double kTwo31 = 2147483648.0;
constexpr double kTwo52 = 4503599627370496.0;
constexpr double kFloatUlp = 1.0 / kTwo24;  // half an ulp of 1: one rounding, relative
constexpr double kDoubleUlp = 1.0 / (2 * kTwo52);

/// Real masks: largest error of the value before rounding that keeps "never more than 1 code off"
/// far away, whatever the zone.
constexpr double kLargestError = 0.25;

/// A row or a column whose weights are kept: one pass with the mask itself, the other with 1.
bool one_dimensional(const Mask& mask) {
  return mask.dense() && (mask.width == 1 || mask.height == 1);
}

bool is_power_of_two(std::int64_t v) {
  return v > 0 && (v & (v - 1)) == 0;
}

/// Roundings that the products of a pass go through, on average by the size of their weights: one
/// for the weight, one for the product where it is not fused with the addition, and one for each
/// addition. A pass adds up along its axis, from either end, so the first product goes through all
/// additions and the last through one: half of them where the weights are symmetric.
double pass_roundings(const std::vector<double>& weights) {
  const auto count = static_cast<double>(weights.size());
  double magnitude = 0, forwards = 0, backwards = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double weight = std::fabs(weights[i]);
    magnitude += weight;
    forwards += weight * (count - static_cast<double>(i));
    backwards += weight * static_cast<double>(i + 1);
  }
  return 2 + (magnitude > 0 ? std::max(forwards, backwards) / magnitude : count);
}

/// The same for a symmetric factor that is folded. The sum of a pair's cells is rounded, too,
/// unless these are codes; its product goes through the additions of the pairs further in. (Sums of
/// rational masks stay exact: that of a pair is no larger than the sums that rational_serves() asks
/// for, unless its weight is 0.)
double folded_roundings(const std::vector<double>& weights, bool of_codes) {
  const std::size_t sums = (weights.size() + 1) / 2;
  double magnitude = 0, additions = 0;
  for (std::size_t i = 0; i < sums; ++i) {
    const bool middle = 2 * i + 1 == weights.size();
    const double weight = std::fabs(weights[i]) * (middle ? 1 : 2);
    magnitude += weight;
    additions += weight * static_cast<double>(sums - i + (middle || of_codes ? 0 : 1));
  }
  return 2 + (magnitude > 0 ? additions / magnitude : static_cast<double>(sums + 1));
}

/// Roundings of a row pass and the column pass over its sums.
double roundings_of_passes(const Mask& mask, Passes passes) {
  const auto of = [&](const std::vector<double>& weights, bool of_codes) {
    return passes == Passes::kFolded && is_symmetric(weights) ? folded_roundings(weights, of_codes)
                                                              : pass_roundings(weights);
  };
  return of(mask.row, true) + of(mask.column, false);
}

/// Bound on |computed - exact| before rounding for a real mask, without the epilogue. In one pass,
/// each product goes through at most one rounding a tap and one for the weight itself, in any order
/// of summation.
double summation_error(const Mask& mask, double scale, int max_code, Passes passes, double ulp) {
  const double steps = passes == Passes::kDirect ? static_cast<double>(mask.taps()) + 1
                                                 : roundings_of_passes(mask, passes);
  const double factor_error = passes == Passes::kDirect ? 0 : mask.factor_error;
  const double full = std::fabs(scale) * max_code;
  return full * ((mask.magnitude + factor_error) * steps * ulp + factor_error);
}

/// The epilogue multiplies, adds and has two rounded constants, on values of at most three full
/// codes where the result is not clamped (black level and bias are at most two).
double epilogue_error(int max_code, double ulp) {
  return 4 * ulp * 3 * max_code;
}

double allowed_error(const Mask& mask, double scale, int depth) {
  return std::min(zone(mask, scale, depth), kLargestError);
}

bool real_serves(const Component& component, const Mask& mask, double scale, Passes passes,
                 Accumulator accumulator) {
  const int max_code = component.max_code();
  const double allowed = allowed_error(mask, scale, component.depth);
  switch (accumulator) {
    case Accumulator::kFloat32:
      return summation_error(mask, scale, max_code, passes, kFloatUlp) +
                 epilogue_error(max_code, kDoubleUlp) <=
             allowed;
    case Accumulator::kInt32:
      return false;
    case Accumulator::kFloat64:
      return summation_error(mask, scale, max_code, passes, kDoubleUlp) +
                 epilogue_error(max_code, kDoubleUlp) <=
             allowed;
    case Accumulator::kWide:
      // Digits of factors do not multiply, but a one-dimensional mask needs no factors.
      return passes == Passes::kDirect || one_dimensional(mask);
  }
  return false;
}

bool rational_serves(const Component& component, const Mask& mask, Passes passes,
                     Accumulator accumulator) {
  const double largest_sum = mask.integer_magnitude * component.max_code();
  if (passes != Passes::kDirect && !mask.rank1) return false;
  switch (accumulator) {
    case Accumulator::kFloat32:
      return largest_sum < kTwo24;
    case Accumulator::kInt32:
      return largest_sum < kTwo31;
    case Accumulator::kFloat64:
      return true;
    case Accumulator::kWide:
      return false;
  }
  return false;
}

template <class Real>
EpilogueOf<Real> linear(double scale, double base) {
  EpilogueOf<Real> e;
  e.scale = static_cast<Real>(scale);
  e.base = static_cast<Real>(base);
  return e;
}

/// base + gain * S for a rational mask. A power of two divides without a rounding. An odd divisor
/// knows no ties, and no result comes nearer to a rounding boundary than half of 1 / divisor: as
/// long as that is more than the error of multiplying, the multiplication decides right. Otherwise
/// the remainder has to.
template <class Real>
EpilogueOf<Real> rational_epilogue(Ratio gain, std::int64_t base, int max_code, double ulp) {
  const bool odd = gain.den % 2 != 0;
  if (is_power_of_two(gain.den) ||
      (odd && 0.5 / static_cast<double>(gain.den) > epilogue_error(max_code, ulp)))
    return linear<Real>(gain.value(), static_cast<double>(base));
  EpilogueOf<Real> e;
  e.divide = true;
  e.numerator = static_cast<Real>(gain.num);
  e.divisor = static_cast<Real>(gain.den);
  e.offset = static_cast<Real>(static_cast<double>(gain.den) * static_cast<double>(base));
  e.reciprocal = Real(1) / e.divisor;
  return e;
}

template <class T>
void put(std::vector<std::byte>& out, const T& value) {
  const std::size_t at = out.size();
  out.resize(at + sizeof(T));
  std::memcpy(out.data() + at, &value, sizeof(T));
}

/// `weight` as a fixed-point number of kWideLimbs digits, rounded to the last bit.
WideWeight to_limbs(double weight, int exponent) {
  WideWeight digits = {};
  int e = 0;
  const double fraction = std::frexp(std::fabs(weight), &e);
  auto mantissa = static_cast<std::int64_t>(std::ldexp(fraction, 53));
  int shift = e - 53 + exponent;
  if (shift < 0) {
    if (shift < -54) return digits;
    mantissa = (mantissa + (std::int64_t{1} << (-shift - 1))) >> -shift;
    shift = 0;
  }
  Int128 rest = static_cast<Int128>(mantissa) << (shift % kWideLimbBits);
  constexpr Int128 kDigit = (Int128{1} << kWideLimbBits) - 1;
  for (int l = shift / kWideLimbBits; l < kWideLimbs && rest != 0; ++l) {
    const auto digit = static_cast<std::int32_t>(rest & kDigit);
    digits.limb[l] = weight < 0 ? -digit : digit;
    rest >>= kWideLimbBits;
  }
  return digits;
}

void put_weight(std::vector<std::byte>& out, double real, std::int64_t integer, bool rational,
                Accumulator accumulator, int exponent) {
  const double value = rational ? static_cast<double>(integer) : real;
  switch (accumulator) {
    case Accumulator::kFloat32:
      return put(out, static_cast<float>(value));
    case Accumulator::kInt32:
      return put(out, static_cast<std::int32_t>(integer));
    case Accumulator::kFloat64:
      return put(out, value);
    case Accumulator::kWide:
      return put(out, to_limbs(value, exponent));
  }
}

}  // namespace

const char* accumulator_name(Accumulator accumulator) {
  switch (accumulator) {
    case Accumulator::kFloat32:
      return "float32";
    case Accumulator::kInt32:
      return "int32";
    case Accumulator::kFloat64:
      return "float64";
    case Accumulator::kWide:
      return "wide";
  }
  return "?";
}

std::size_t weight_bytes(Accumulator accumulator) {
  switch (accumulator) {
    case Accumulator::kFloat32:
      return sizeof(float);
    case Accumulator::kInt32:
      return sizeof(std::int32_t);
    case Accumulator::kFloat64:
      return sizeof(double);
    case Accumulator::kWide:
      return sizeof(WideWeight);
  }
  return 0;
}

int wide_exponent(const Mask& mask) {
  int e = 0;
  std::frexp(mask.max_weight, &e);
  return kWideLimbs * kWideLimbBits - 1 - e;
}

std::optional<Ratio> total_gain(const Mask& mask, double scale) {
  if (!mask.rational) return std::nullopt;
  if (mask.integer_magnitude == 0) return Ratio{0, 1};
  const std::optional<Ratio> s = ratio_of(scale);
  return s ? multiply(mask.gain, *s) : std::nullopt;
}

bool is_rational(const Mask& mask, double scale, int max_code) {
  const std::optional<Ratio> gain = total_gain(mask, scale);
  if (!gain || static_cast<double>(gain->den) >= kTwo31) return false;
  const double magnitude =
      std::fabs(static_cast<double>(gain->num)) * mask.integer_magnitude;  // sum|n|
  return max_code * (magnitude + 2 * static_cast<double>(gain->den)) < kTwo52;
}

bool is_rational(const FrameFormat& format, const Mask& mask, double scale) {
  // mask.rational is asked for itself: a format without filtered components asks nothing.
  return mask.rational && all_filtered(format, [&](const Component& c) {
           return is_rational(mask, scale, c.max_code());
         });
}

double zone(const Mask& mask, double scale, int depth) {
  const double g = std::fabs(scale) * mask.magnitude;
  return std::ldexp(1.0, -6) * std::max(1.0, g) * std::max(1.0, std::ldexp(1.0, depth - 13));
}

bool accumulator_serves(const FrameFormat& format, const Mask& mask, double scale, double /*bias*/,
                        Passes passes, bool rational, Accumulator accumulator) {
  // The bias is a whole code whatever its value: it adds no error, and the bounds leave room for
  // the largest one.
  if (rational != is_rational(format, mask, scale)) return false;
  return all_filtered(format, [&](const Component& c) {
    return rational ? rational_serves(c, mask, passes, accumulator)
                    : real_serves(c, mask, scale, passes, accumulator);
  });
}

Result<Accumulator> choose_accumulator(const FrameFormat& format, const Mask& mask, double scale,
                                       double bias, Passes passes, bool with_int32) {
  if (passes != Passes::kDirect && !mask.rank1)
    return unsupported("the mask is not of rank 1, a column times a row");
  const bool rational = is_rational(format, mask, scale);
  for (const Accumulator a :
       {Accumulator::kFloat32, Accumulator::kInt32, Accumulator::kFloat64, Accumulator::kWide}) {
    if (a == Accumulator::kInt32 && !with_int32) continue;
    if (accumulator_serves(format, mask, scale, bias, passes, rational, a)) return a;
  }
  return unsupported("no column times a row is close enough to the mask: it is not of rank 1");
}

int bias_code(const Component& component, double bias) {
  if (component.role == Role::kChroma || component.role == Role::kAlpha) return 0;
  return static_cast<int>(std::nearbyint(bias * component.range));
}

Epilogue make_epilogue(const Component& component, const Mask& mask, double scale, double bias,
                       bool rational, Accumulator accumulator, Passes passes) {
  const int base = component.black + bias_code(component, bias);
  const int max_code = component.max_code();
  Epilogue e;
  e.max_code = max_code;
  if (!rational) {
    const double unit =
        accumulator == Accumulator::kWide ? std::ldexp(scale, -wide_exponent(mask)) : scale;
    e.narrow = linear<float>(unit, base);
    e.wide = linear<double>(unit, base);
    e.in_float = accumulator == Accumulator::kFloat32 &&
                 summation_error(mask, scale, max_code, passes, kFloatUlp) +
                         epilogue_error(max_code, kFloatUlp) <=
                     allowed_error(mask, scale, component.depth);
    return e;
  }
  const Ratio gain = total_gain(mask, scale).value_or(Ratio{0, 1});
  e.narrow = rational_epilogue<float>(gain, base, max_code, kFloatUlp);
  e.wide = rational_epilogue<double>(gain, base, max_code, kDoubleUlp);
  // Largest integer that the epilogue meets: t, and q * divisor for q one beyond the codes.
  const double numerator = std::fabs(static_cast<double>(gain.num));
  const double divisor = static_cast<double>(gain.den);
  const double largest = numerator * std::max(1.0, mask.integer_magnitude * max_code) +
                         divisor * (std::abs(base) + max_code + 2.0);
  e.in_float = accumulator == Accumulator::kFloat32 && largest < kTwo24;
  return e;
}

Epilogue make_box_epilogue(const Component& component, const Mask& mask, const BoxWeight& weight,
                           double scale, double bias, bool rational) {
  const int max_code = component.max_code();
  const bool float_sums = static_cast<double>(mask.taps()) * max_code < kTwo24;
  if (rational)
    return make_epilogue(component, mask, weight.integer < 0 ? -scale : scale, bias, true,
                         float_sums ? Accumulator::kFloat32 : Accumulator::kFloat64,
                         Passes::kDirect);
  const int base = component.black + bias_code(component, bias);
  const double unit = scale * weight.real;
  Epilogue e;
  e.max_code = max_code;
  e.wide = linear<double>(unit, base);
  // Beyond, it might be infinite in float, and 0 times that is no number.
  e.in_float = float_sums && std::fabs(unit) < 1e30 &&
               epilogue_error(max_code, kFloatUlp) <= allowed_error(mask, scale, component.depth);
  if (e.in_float) e.narrow = linear<float>(unit, base);
  return e;
}

bool is_passthrough(const FrameFormat& format, const Mask& mask, double scale, double bias) {
  const bool nothing_filtered = all_filtered(format, [](const Component&) { return false; });
  if (nothing_filtered) return true;
  // One tap, at the anchor, with gain 1. Only then is every sample of every picture its own result.
  if (mask.taps() - mask.zero_taps != 1) return false;
  double at_anchor = 0;
  if (mask.dense())
    at_anchor = mask.weights[static_cast<std::size_t>(mask.anchor_y) * mask.width + mask.anchor_x];
  else
    at_anchor = mask.column[mask.anchor_y] * mask.row[mask.anchor_x];
  return at_anchor * scale == 1.0 &&
         all_filtered(format, [bias](const Component& c) { return bias_code(c, bias) == 0; });
}

std::vector<std::byte> encode_weights(const Mask& mask, Accumulator accumulator, bool rational) {
  std::vector<std::byte> out;
  const std::size_t taps = static_cast<std::size_t>(mask.taps());
  out.reserve(taps * weight_bytes(accumulator));
  const int exponent = wide_exponent(mask);
  for (std::size_t i = 0; i < taps; ++i)
    put_weight(out, mask.weights[i], rational ? mask.integers[i] : 0, rational, accumulator,
               exponent);
  return out;
}

std::vector<std::byte> encode_factors(const Mask& mask, Accumulator accumulator, bool rational) {
  std::vector<std::byte> out;
  out.reserve((mask.row.size() + mask.column.size()) * weight_bytes(accumulator));
  for (std::size_t i = 0; i < mask.row.size(); ++i)
    put_weight(out, mask.row[i], rational ? mask.row_integers[i] : 0, rational, accumulator, 0);
  for (std::size_t i = 0; i < mask.column.size(); ++i)
    put_weight(out, mask.column[i], rational ? mask.column_integers[i] : 0, rational, accumulator,
               0);
  return out;
}

}  // namespace convolve
