// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/reference/weighted.h"

#include <algorithm>
#include <cmath>

#include "kernels/core/base/ratio.h"
#include "kernels/core/weights/arithmetic.h"
#include "kernels/reference/float128.h"

namespace convolve {
namespace {

__extension__ typedef __int128 Int128;

/// The sums of one output: sum w, sum |w|, S and T of the contract.
template <class Number>
struct Sums {
  Number weights = 0;
  Number magnitudes = 0;
  Number alpha = 0;
  Number products = 0;
};

template <class Number, class WeightAt>
Sums<Number> add_up(const Picture& input, const Picture& alpha, int black, const Mask& mask,
                    Border border, int x, int y, WeightAt&& weight_at) {
  Sums<Number> sums;
  for (int i = 0; i < mask.height; ++i)
    for (int j = 0; j < mask.width; ++j) {
      const Number weight = weight_at(i, j);
      sums.weights += weight;
      sums.magnitudes += weight < 0 ? -weight : weight;
      const int row = border_index(border, y - mask.anchor_y + i, input.height);
      const int column = border_index(border, x - mask.anchor_x + j, input.width);
      if (row == kNoSignal || column == kNoSignal) continue;
      const std::size_t at = static_cast<std::size_t>(row) * input.width + column;
      sums.alpha += weight * alpha.codes[at];
      sums.products += weight * alpha.codes[at] * (input.codes[at] - black);
    }
  return sums;
}

int offset_code(const Component& rule, double bias) {
  return rule.role == Role::kChroma ? 0 : static_cast<int>(std::nearbyint(bias * rule.range));
}

/// Nearest whole number, ties to even; `denominator` is not 0.
Int128 divide(Int128 numerator, Int128 denominator) {
  if (denominator < 0) {
    numerator = -numerator;
    denominator = -denominator;
  }
  Int128 quotient = numerator / denominator;
  if (quotient * denominator > numerator) --quotient;
  const Int128 twice = 2 * (numerator - quotient * denominator);
  return twice > denominator || (twice == denominator && quotient % 2 != 0) ? quotient + 1
                                                                            : quotient;
}

/// `gain`: from sums of integers to codes.
Truth whole_truth(const Sums<Int128>& sums, Ratio gain, int base, int in, int alpha_max,
                  int max_code) {
  Int128 numerator = gain.num * sums.products;
  Int128 denominator = gain.den;
  if (sums.weights != 0) {
    if (sums.alpha == 0 || (sums.alpha < 0) != (sums.weights < 0))
      return {static_cast<std::uint16_t>(in)};
    numerator *= sums.weights;
    denominator *= sums.alpha;
  } else {
    denominator *= alpha_max;
  }
  const Int128 code = divide(base * denominator + numerator, denominator);
  return {static_cast<std::uint16_t>(std::clamp<Int128>(code, 0, max_code))};
}

Truth real_truth(const Sums<Float128>& sums, double scale, int base, int in, int alpha_max,
                 int max_code, double zone_width) {
  const Float128 magnitude = sums.magnitudes;
  const bool edge = (sums.weights < 0 ? -sums.weights : sums.weights) <= magnitude * 0x1p-32;
  Float128 value = scale * sums.products;
  if (edge) {
    value /= alpha_max;
  } else {
    const Float128 oriented = sums.weights < 0 ? -sums.alpha : sums.alpha;
    if (oriented <= magnitude * alpha_max * 0x1p-40) return {static_cast<std::uint16_t>(in)};
    value *= sums.weights / sums.alpha;
  }
  value += base;
  const Float128 bounded = std::clamp<Float128>(value, -2, max_code + 2);
  const double rounded = std::nearbyint(static_cast<double>(bounded));
  Truth truth;
  truth.code = static_cast<std::uint16_t>(std::clamp(rounded, 0.0, static_cast<double>(max_code)));
  const Float128 code = truth.code;
  truth.lower_too = truth.code > 0 && value - (code - Float128{0.5}) <= zone_width;
  truth.higher_too = truth.code < max_code && (code + Float128{0.5}) - value <= zone_width;
  return truth;
}

}  // namespace

ReferenceResult reference_filter_weighted(const Picture& input, const Picture& alpha, int alpha_max,
                                          const Component& rule, const Mask& mask,
                                          const RunArguments& arguments, RowRange rows) {
  const int base = rule.black + offset_code(rule, arguments.bias);
  const int max_code = rule.max_code();
  ReferenceResult result;
  result.rational = is_rational(mask, arguments.scale, max_code);
  Ratio gain;
  if (result.rational && mask.integer_magnitude != 0)
    gain = *multiply(mask.gain, *ratio_of(arguments.scale));
  const auto integer_at = [&mask](int i, int j) -> Int128 {
    return mask.dense() ? mask.integers[static_cast<std::size_t>(i) * mask.width + j]
                        : mask.column_integers[i] * mask.row_integers[j];
  };
  const auto real_at = [&mask](int i, int j) -> Float128 {
    return mask.dense() ? mask.weights[static_cast<std::size_t>(i) * mask.width + j]
                        : mask.column[i] * mask.row[j];
  };
  auto k = static_cast<std::size_t>(rows.first) * input.width;
  for (int y = rows.first; y < rows.end(input.height); ++y)
    for (int x = 0; x < input.width; ++x, ++k) {
      const int in = input.codes[k];
      if (result.rational)
        result.samples.push_back(whole_truth(
            add_up<Int128>(input, alpha, rule.black, mask, arguments.border, x, y, integer_at),
            gain, base, in, alpha_max, max_code));
      else
        result.samples.push_back(real_truth(
            add_up<Float128>(input, alpha, rule.black, mask, arguments.border, x, y, real_at),
            arguments.scale, base, in, alpha_max, max_code,
            zone(mask, arguments.scale, rule.depth)));
    }
  return result;
}

Picture subsample(const Picture& picture, int step_x, int step_y, int width, int height) {
  Picture coarse{width, height, {}};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      coarse.codes.push_back(
          picture.codes[static_cast<std::size_t>(y * step_y) * picture.width + x * step_x]);
  return coarse;
}

}  // namespace convolve
