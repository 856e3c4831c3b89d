// SPDX-License-Identifier: LGPL-2.1-or-later
// Weights as whole numbers of one to three 8-bit digits, the form that integer matrix units take:
// which masks they serve within the contract, and how sums of them become codes.
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
/// values are the mask's integers.
struct DigitWeights {
  int digits = 0;  ///< 1 .. kMostDigits: each value is sum of d_i * 256^i, -128 <= d_i <= 127.
  std::vector<std::int32_t> values;
  double unit = 1;
  std::int64_t sum = 0;  ///< Of the values.
  double magnitude = 0;  ///< Sum of |value|.
  double error = 0;      ///< Sum of |weight - value * unit|,
  double bias = 0;       ///< and the same without the bars: what it means to a flat picture.
};

/// Largest magnitude of a value in `digits` balanced digits on its positive side, the smaller one.
double largest_value(int digits);

/// Whole numbers nearest to weight / unit, and what they miss; `digits` is left to the caller.
DigitWeights quantise(const Mask& mask, double unit);

/// The weights in the fewest digits that keep the contract for every filtered component of `format`
/// with this scale, `rational` as is_rational() says. Nothing if kMostDigits do
/// not, or sums would leave 32 bits.
std::optional<DigitWeights> choose_digits(const FrameFormat& format, const Mask& mask, double scale,
                                          bool rational);

/// The weights in `digits` digits, as the plan that choose_digits() led to says; `rational`
/// likewise.
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

/// From S = start + sum of value * code, an int32, to a code.
struct DigitEpilogue {
  std::int32_t start = 0;  ///< What makes of codes their distance from black.
  Epilogue general;        ///< For any S. As a float S may be rounded where general.in_float.
  enum class Codes : int {
    kGeneral,  ///< By `general`.
    kFloat,    ///< The low 16 bits of fma(float(S), scale, base), signed, clamped: base brings
               ///< 1.5 x 2^23, so that the addition rounds to an integer in the low bits.
    kBits,     ///< The same of S taken for a float: `start` brings the bits of 1.5 x 2^23.
  };
  Codes codes = Codes::kGeneral;
  float scale = 1;
  float base = 0;
};

/// The epilogue of `component`, where digits_serve(); `codes` is `most` or what comes before it.
DigitEpilogue make_digit_epilogue(const Component& component, const Mask& mask,
                                  const DigitWeights& weights, double scale, double bias,
                                  bool rational, DigitEpilogue::Codes most);

}  // namespace convolve
