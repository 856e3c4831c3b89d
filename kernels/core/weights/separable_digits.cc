// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/weights/separable_digits.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/core/base/round.h"

namespace convolve {
namespace {

constexpr double kTwo16 = 65536;
constexpr double kTwo31 = 2147483648.0;
constexpr double kMaxCode = 255;
constexpr double kMiddle = kMaxCode / 2;

/// The largest value of two balanced digits: 127 * 256 + 127, as the positive side is the smaller
/// one.
constexpr double kLargestValue = 127 * 256 + 127;

/// Weights as whole numbers of a unit, and their errors.
struct QuantisedWeights {
  std::vector<std::int32_t> values;
  double unit = 1;
  double error = 0;       ///< Sum of |weight - value * unit|.
  double bias = 0;        ///< Sum of (weight - value * unit).
  double low_digits = 0;  ///< Sum of |low digit| of all values.
  double low_bias = 0;    ///< Sum of the low digits.
};

QuantisedWeights quantise_weights(const std::vector<double>& weights, double unit) {
  QuantisedWeights made;
  made.unit = unit;
  made.values.reserve(weights.size());
  for (const double weight : weights) {
    const double value = std::nearbyint(weight / unit);
    const double missed = weight - value * unit;
    made.values.push_back(static_cast<std::int32_t>(value));
    made.error += std::fabs(missed);
    made.bias += missed;
    const int low = balanced_digit(made.values.back(), 0);
    made.low_digits += std::abs(low);
    made.low_bias += low;
  }
  return made;
}

/// The best of some units from the smallest one on that two digits and sums of magnitudes up to
/// `most` allow: a slightly larger unit may lie much nearer to the weights. `cost` says what is
/// best.
template <class Cost>
std::optional<QuantisedWeights> quantise_weights_best(const std::vector<double>& weights,
                                                      double most, const Cost& cost) {
  const FactorTotals totals = factor_totals(weights);
  // Rounding may add half a unit for each weight to the sum.
  most -= 0.5 * static_cast<double>(weights.size());
  if (!(totals.largest > 0) || !std::isfinite(totals.magnitude()) || most <= 0) return std::nullopt;
  const double finest = std::max(totals.largest / kLargestValue, totals.magnitude() / most);
  constexpr int kCandidates = 32;
  std::optional<QuantisedWeights> best;
  for (int i = 0; i < kCandidates; ++i) {
    QuantisedWeights made = quantise_weights(weights, finest * (1 + i / 64.0));
    if (!best || cost(made) < cost(*best)) best = std::move(made);
  }
  return best;
}

std::optional<SeparableDigits> exact_digits(const Mask& mask) {
  const FactorTotals row = factor_totals(mask.row_integers),
                     column = factor_totals(mask.column_integers);
  for (const std::int64_t weight : mask.column_integers)
    if (weight < -128 || weight > 127) return std::nullopt;
  const double span = row.magnitude() * kMaxCode;
  if (span >= kTwo16) return std::nullopt;
  SeparableDigits made;
  made.column_digits = 1;
  made.row.assign(mask.row_integers.begin(), mask.row_integers.end());
  for (const std::int64_t weight : mask.column_integers)
    made.column.push_back(static_cast<std::int32_t>(256 * weight));
  made.multiplier = static_cast<std::uint32_t>(kTwo16);
  const double offset = row.negative * kMaxCode;
  made.row_start = static_cast<std::uint32_t>(offset) << 16;
  made.constant = -offset * column.sum();
  made.magnitude = column.magnitude() * span;
  return made;
}

std::optional<SeparableDigits> real_digits(const Mask& mask) {
  constexpr double kTwo32 = 2 * kTwo31;
  const std::optional<QuantisedWeights> row =
      quantise_weights_best(mask.row, (kTwo32 - 2 * kTwo16) / kMaxCode,
                            [](const QuantisedWeights& q) { return q.error; });
  if (!row) return std::nullopt;
  const FactorTotals sums = factor_totals(row->values);
  const double span = sums.magnitude() * kMaxCode;  // Of a row's sum.
  const double multiplier = std::floor(std::min(kTwo16, (kTwo32 - 2 * kTwo16) / span));
  const double v_unit = row->unit * kTwo16 / multiplier;
  const double v_half = 0.5 * span * multiplier / kTwo16;
  const double row_error = kMiddle * row->error + 0.5 * v_unit;
  const double row_constant = -row->unit * sums.negative * kMaxCode + kMiddle * row->bias;

  // The error of the column pass, in units of v.
  const auto column_error = [v_half](const QuantisedWeights& q) {
    return v_half * q.error + kMiddle * q.unit * q.low_digits;
  };
  // T counts from 0, or from the middle of its range where fine weights need twice the range.
  const FactorTotals downwards = factor_totals(mask.column);
  constexpr double kMost = 0.99 * kTwo31 / 256;
  const bool from_middle = downwards.magnitude() / downwards.largest > kMost / kLargestValue;
  const std::optional<QuantisedWeights> column =
      quantise_weights_best(mask.column, from_middle ? 2 * kMost : kMost, column_error);
  if (!column) return std::nullopt;
  SeparableDigits made;
  made.column_digits = column->low_digits == 0 ? 1 : 2;
  made.row = row->values;
  made.column = column->values;
  made.multiplier = static_cast<std::uint32_t>(multiplier);
  made.row_start = static_cast<std::uint32_t>(sums.negative * kMaxCode * multiplier) + 32768u;
  made.unit = 256 * v_unit * column->unit;
  made.constant = v_unit * column->unit * kMiddle * column->low_bias +
                  v_unit * v_half * column->bias + row_constant * factor_totals(mask.column).sum();
  made.magnitude =
      factor_totals(column->values).magnitude() * (from_middle ? 128 : 256) + column->low_digits;
  if (from_middle) {
    // Filtered values reach from 255 times the negative weights to 255 times the positive ones.
    made.magnitude += 1 / made.unit;
    made.middle = kMiddle * mask.sum;
  }
  made.error = factor_totals(mask.column).magnitude() * row_error + v_unit * column_error(*column);
  return made;
}

}  // namespace

std::optional<SeparableDigits> make_separable_digits(const FrameFormat& format, const Mask& mask,
                                                     bool rational) {
  if (!mask.rank1 || mask.row.empty() || !filters_bytes(format)) return std::nullopt;
  return rational ? exact_digits(mask) : real_digits(mask);
}

SeparableWindow separable_window(const Mask& mask) {
  SeparableWindow window;
  window.left = round_up(mask.anchor_x, 8);
  window.row_chunks = divide_up(31 + window.left - mask.anchor_x + mask.width, 32);
  window.column_chunks = divide_up(31 + mask.height, 32);
  return window;
}

}  // namespace convolve
