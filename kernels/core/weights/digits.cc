// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/weights/digits.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/core/weights/arithmetic.h"

namespace convolve {
namespace {

constexpr double kTwo31 = 2147483648.0;
constexpr double kTwo22 = 4194304.0;

/// 1.5 x 2^23, as a float and its bits.
constexpr double kRounding = 12582912.0;
constexpr std::int32_t kRoundingBits = 0x4B400000;

/// Half of the largest code. Errors are counted from mid-scale: the error of a picture that is flat
/// at mid-scale is known, and DigitEpilogue::start takes it back.
double middle(int max_code) {
  return 0.5 * max_code;
}

/// True if the largest sum, the start included, fits 32 bits.
bool sums_fit(const DigitWeights& weights, int max_code) {
  return weights.magnitude * max_code + std::fabs(weights.bias / weights.unit) * max_code + 1 <
         kTwo31;
}

/// The largest sum of the products of the lowest digits and the lowest bytes.
double lowest_products(const Mask& mask) {
  return 128.0 * 255 * static_cast<double>(mask.taps());
}

/// True if the sums of the lowest digit and byte and those of all others fit 32 bits each.
bool halves_fit(const Mask& mask, const DigitWeights& weights, int max_code) {
  const double low = lowest_products(mask);
  const double high = (weights.magnitude * max_code + low) / 256;
  return std::max(low, high) + 1 < kTwo31;
}

/// Bound on |computed - exact| before rounding, for a real mask.
double value_error(const DigitWeights& weights, double scale, int max_code) {
  // The start is a whole number of units; the sum becomes a float, or a double if it is wide, and
  // is scaled and added to in one more rounding, on values of at most three full codes where the
  // result is not clamped.
  const double ulp = weights.wide ? std::ldexp(1, -53) : std::ldexp(1, -24);
  return std::fabs(scale) * (middle(max_code) * weights.error + 0.5 * weights.unit) +
         4 * ulp * 3 * max_code;
}

/// The best of some units from the smallest one on that `digits` and the sums allow, which are
/// `wide` or of 32 bits: a slightly larger unit may lie much nearer to the weights.
std::optional<DigitWeights> quantise_weights_best(const Mask& mask, int digits, int max_code,
                                                  bool wide) {
  if (!(mask.max_weight > 0) || !std::isfinite(mask.magnitude)) return std::nullopt;
  constexpr double kSumMargin = 0.999;
  const double taps = static_cast<double>(mask.taps());
  const double largest_sum = wide ? 256 * kTwo31 - lowest_products(mask) : kTwo31;
  const double most = kSumMargin * (largest_sum / max_code - 2 * taps);
  const double finest =
      std::max(mask.max_weight / largest_value(digits), most > 0 ? mask.magnitude / most : 1e300);
  const int candidates = mask.taps() <= 4096 ? 24 : 1;
  std::optional<DigitWeights> best;
  for (int i = 0; i < candidates; ++i) {
    DigitWeights made = quantise_weights(mask, finest * (1 + i / 64.0));
    if (!best || made.error < best->error) best = std::move(made);
  }
  best->digits = digits;
  best->wide = wide;
  return best;
}

/// The fewest digits that hold all integers of the mask; 0 if kMostDigits do not.
int exact_digit_count(const Mask& mask) {
  std::int64_t low = 0, high = 0;
  for (const std::int64_t value : mask.integers) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  for (int digits = 1; digits <= kMostDigits; ++digits) {
    const double largest = largest_value(digits);
    const double smallest = -largest / 127 * 128;
    if (static_cast<double>(high) <= largest && static_cast<double>(low) >= smallest) return digits;
  }
  return 0;
}

/// From sums of a real mask to codes: in float unless the sums are wide.
Epilogue real_epilogue(const Component& component, const DigitWeights& weights, double scale,
                       double bias) {
  Epilogue e;
  e.max_code = component.max_code();
  e.in_float = !weights.wide;
  e.wide.scale = scale * weights.unit;
  e.wide.base = component.black + bias_code(component, bias);
  e.narrow.scale = static_cast<float>(e.wide.scale);
  e.narrow.base = static_cast<float>(e.wide.base);
  return e;
}

/// What the sums of a real mask begin with: subtracts the black level, and the error of a picture
/// that is flat at mid-scale.
double real_start(const Component& component, const Mask& mask, const DigitWeights& weights) {
  return std::nearbyint((middle(component.max_code()) * weights.bias - component.black * mask.sum) /
                        weights.unit);
}

DigitWeights exact_digits(const Mask& mask, int digits) {
  DigitWeights made;
  made.digits = digits;
  made.magnitude = mask.integer_magnitude;
  made.values.reserve(mask.integers.size());
  for (const std::int64_t value : mask.integers) {
    made.values.push_back(static_cast<std::int32_t>(value));
    made.sum += value;
  }
  return made;
}

}  // namespace

double largest_value(int digits) {
  double largest = 0;
  for (int d = 0; d < digits; ++d)
    largest = largest * 256 + 127;
  return largest;
}

DigitWeights quantise_weights(const Mask& mask, double unit) {
  DigitWeights made;
  made.unit = unit;
  made.values.reserve(mask.weights.size());
  for (const double weight : mask.weights) {
    const double value = std::nearbyint(weight / unit);
    const double missed = weight - value * unit;
    made.values.push_back(static_cast<std::int32_t>(value));
    made.sum += made.values.back();
    made.magnitude += std::fabs(value);
    made.error += std::fabs(missed);
    made.bias += missed;
  }
  return made;
}

bool digits_serve(const FrameFormat& format, const Mask& mask, const DigitWeights& weights,
                  double scale, bool rational) {
  if (rational != is_rational(format, mask, scale)) return false;
  return all_filtered(format, [&](const Component& component) {
    const int max_code = component.max_code();
    if (weights.wide ? !halves_fit(mask, weights, max_code) : !sums_fit(weights, max_code))
      return false;
    return rational || value_error(weights, scale, max_code) <=
                           std::min(zone(mask, scale, component.depth), 0.25);
  });
}

std::optional<DigitWeights> make_digits(const FrameFormat& format, const Mask& mask, bool rational,
                                        int digits) {
  if (!mask.dense()) return std::nullopt;
  if (!rational) return quantise_weights_best(mask, digits, largest_code(format), false);
  const int needed = exact_digit_count(mask);
  if (needed == 0 || needed > digits) return std::nullopt;
  return exact_digits(mask, digits);
}

std::optional<DigitWeights> choose_digits(const FrameFormat& format, const Mask& mask, double scale,
                                          bool rational) {
  for (int digits = 1; digits <= kMostDigits; ++digits) {
    std::optional<DigitWeights> made = make_digits(format, mask, rational, digits);
    if (made && digits_serve(format, mask, *made, scale, rational)) return made;
  }
  return std::nullopt;
}

std::optional<DigitWeights> choose_wide_digits(const FrameFormat& format, const Mask& mask,
                                               double scale, bool rational) {
  if (!mask.dense()) return std::nullopt;
  // One digit times one byte has no upper half.
  const int max_code = largest_code(format);
  const int fewest = max_code > 255 ? 1 : 2;
  if (rational) {
    const int digits = exact_digit_count(mask);
    if (digits < fewest) return std::nullopt;
    DigitWeights made = exact_digits(mask, digits);
    made.wide = true;
    if (!digits_serve(format, mask, made, scale, rational)) return std::nullopt;
    return made;
  }
  for (int digits = fewest; digits <= kMostDigits; ++digits) {
    std::optional<DigitWeights> made = quantise_weights_best(mask, digits, max_code, true);
    if (made && digits_serve(format, mask, *made, scale, rational)) return made;
  }
  return std::nullopt;
}

double offset_of_sums(const DigitEpilogue& e) {
  const int bits = e.quantiser == DigitEpilogue::Quantiser::kBits ? kRoundingBits : 0;
  return static_cast<double>(e.start - bits) + e.wide_start;
}

DigitEpilogue make_digit_epilogue(const Component& component, const Mask& mask,
                                  const DigitWeights& weights, double scale, double bias,
                                  bool rational, DigitEpilogue::Quantiser most) {
  const int max_code = component.max_code();
  DigitEpilogue e;
  if (weights.wide) {
    e.wide = true;
    if (rational) {
      e.general = make_epilogue(component, mask, scale, bias, rational, Accumulator::kFloat64,
                                Passes::kDirect);
      e.wide_start = -static_cast<double>(component.black) * static_cast<double>(weights.sum);
      return e;
    }
    e.general = real_epilogue(component, weights, scale, bias);
    e.wide_start = real_start(component, mask, weights);
    return e;
  }
  double to_codes = 0;  ///< Largest |S| in codes.
  bool in_float = false;
  if (rational) {
    // The sums may be converted to float where the largest one is exact, as for kFloat32.
    e.general = make_epilogue(component, mask, scale, bias, rational, Accumulator::kFloat32,
                              Passes::kDirect);
    e.start = static_cast<std::int32_t>(-component.black * weights.sum);
    in_float = e.general.in_float && !e.general.narrow.divide;
    to_codes = std::fabs(e.general.wide.scale) * weights.magnitude * max_code;
  } else {
    e.general = real_epilogue(component, weights, scale, bias);
    e.start = static_cast<std::int32_t>(real_start(component, mask, weights));
    in_float = true;
    to_codes = std::fabs(e.general.wide.scale) * weights.magnitude * max_code;
  }
  e.scale = e.general.narrow.scale;
  const double base = e.general.narrow.base;
  constexpr double kFastRange = 32000;
  if (most == DigitEpilogue::Quantiser::kGeneral || !in_float ||
      std::fabs(base) + to_codes >= kFastRange)
    return e;
  e.quantiser = DigitEpilogue::Quantiser::kFloat;
  e.base = static_cast<float>(base + kRounding);
  // Reinterpreted as a float the sum is kRounding + S; the base subtracts scale * kRounding again,
  // if it can do so exactly.
  const double bits_base = base + kRounding - kRounding * static_cast<double>(e.scale);
  const double largest = weights.magnitude * max_code + std::abs(static_cast<double>(e.start));
  if (most == DigitEpilogue::Quantiser::kBits && largest < kTwo22 &&
      static_cast<double>(static_cast<float>(bits_base)) == bits_base) {
    e.quantiser = DigitEpilogue::Quantiser::kBits;
    e.base = static_cast<float>(bits_base);
    e.start += kRoundingBits;
  }
  return e;
}

bool share_epilogue(const Component& a, const Component& b, const Mask& mask,
                    const DigitWeights& weights, double scale, double bias, bool rational) {
  if (a.max_code() != b.max_code() || bias_code(a, bias) != bias_code(b, bias)) return false;
  if (a.black == b.black) return true;
  if (!rational) return std::fabs((a.black - b.black) * (mask.sum * scale - 1)) <= 0x1p-40;
  // A rational mask's values are its integers, which the gain multiplies; is_rational() keeps their
  // products below 2^52.
  const std::optional<Ratio> gain = total_gain(mask, scale);
  return gain && weights.sum * gain->num == gain->den;
}

}  // namespace convolve
