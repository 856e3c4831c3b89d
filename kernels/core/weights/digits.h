// SPDX-License-Identifier: LGPL-2.1-or-later
// Weights as whole numbers of one to three digits of 8 bits, the form that integer matrix units
// take: which masks they serve within the contract, and how the sums are quantised to codes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/core/base/epilogue.h"
#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"

namespace convolve {

inline constexpr int kMostDigits = 3;

/// weight(y, x) ~ values[y * width + x] * unit. Exact for rational masks, where unit is 1 and the
/// values are the integers of the mask.
struct DigitWeights {
  int digits = 0;  ///< 1 .. kMostDigits: each value is sum of d_i * 256^i, -128 <= d_i <= 127.
  std::vector<std::int32_t> values;
  double unit = 1;
  /// Sums leave 32 bits: those of digit 0 and the lowest byte of codes are kept apart from the
  /// others, unless a kernel has another way.
  bool wide = false;
  std::int64_t sum = 0;  ///< Of the values.
  double magnitude = 0;  ///< Sum of |value|.
  double error = 0;      ///< Sum of |weight - value * unit|.
  double bias = 0;       ///< Sum of (weight - value * unit): the error for a flat picture.
};

/// The largest value that `digits` balanced digits hold: digits go from -128 to 127, so the
/// positive side is the smaller one.
double largest_value(int digits);

/// The whole numbers nearest to weight / unit, and their errors. The caller sets `digits`.
DigitWeights quantise_weights(const Mask& mask, double unit);

/// The weights in the fewest digits that keep the contract for every filtered component of `format`
/// with this scale; `rational`: as is_rational() says. Nothing if kMostDigits digits do not keep
/// it, or if sums would leave 32 bits.
std::optional<DigitWeights> choose_digits(const FrameFormat& format, const Mask& mask, double scale,
                                          bool rational);

/// The weights in the fewest digits that keep the contract in kernels that sum the products of the
/// lowest digit and byte apart from the others (DigitWeights::wide), for masks whose sums leave 32
/// bits. Nothing if kMostDigits do not keep it, if one of these sums leaves 32 bits, or if all
/// products are of the lowest digit and byte.
std::optional<DigitWeights> choose_wide_digits(const FrameFormat& format, const Mask& mask,
                                               double scale, bool rational);

/// The weights in `digits` digits, a number that choose_digits() has chosen for the plan;
/// `rational`: as is_rational() says.
std::optional<DigitWeights> make_digits(const FrameFormat& format, const Mask& mask, bool rational,
                                        int digits);

/// True if `weights` keep the contract with this scale, too.
bool digits_serve(const FrameFormat& format, const Mask& mask, const DigitWeights& weights,
                  double scale, bool rational);

/// Digit `index` of `value`, 0 the lowest: -128 .. 127.
constexpr int balanced_digit(std::int32_t value, int index) {
  for (; index > 0; --index)
    value = (value - static_cast<std::int8_t>(value)) / 256;
  return static_cast<std::int8_t>(value);
}

/// From an int32 sum S = start + sum of value * code to a code.
struct DigitEpilogue {
  std::int32_t start = 0;  ///< Subtracts the black level from every code of the sum.
  /// If the weights are wide, S is wide_start + 256 * sum of the others + sum of the lowest digit
  /// and byte, and `start` is 0.
  bool wide = false;
  double wide_start = 0;
  Epilogue general;  ///< For any S; general.in_float: S may be rounded to a float.
  /// The proven ways to quantise, the most general one first.
  enum class Quantiser : int {
    kGeneral,  ///< By `general`.
    kFloat,    ///< The low 16 bits of fma(float(S), scale, base), signed, clamped: base contains
               ///< 1.5 x 2^23, so that the addition rounds to an integer in the low bits.
    kBits,     ///< As kFloat, with the bits of S reinterpreted as a float in place of a
               ///< conversion: `start` contains the bits of 1.5 x 2^23.
  };
  Quantiser quantiser = Quantiser::kGeneral;
  float scale = 1;
  float base = 0;
};

/// The number by which the S of an epilogue differs from the sum of value * code: `start` without
/// the bits that kBits keeps there, and `wide_start`.
double offset_of_sums(const DigitEpilogue& e);

/// The epilogue of `component`, where digits_serve(). Its quantiser is the latest one of the enum
/// up to `most` that is proven.
DigitEpilogue make_digit_epilogue(const Component& component, const Mask& mask,
                                  const DigitWeights& weights, double scale, double bias,
                                  bool rational, DigitEpilogue::Quantiser most);

/// True if the epilogues of `a` and `b` serve each other's sums: the same codes become the same
/// value by either, as where weights times scale add up to 1, so that black levels do not matter.
/// For real masks the values may differ by 2^-40 codes.
bool share_epilogue(const Component& a, const Component& b, const Mask& mask,
                    const DigitWeights& weights, double scale, double bias, bool rational);

}  // namespace convolve
