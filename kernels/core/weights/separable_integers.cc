// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/weights/separable_integers.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace convolve {
namespace {

constexpr double kTwo31 = 2147483648.0;
constexpr double kMaxCode = 255;
constexpr double kMiddle = kMaxCode / 2;
constexpr double kLargestInteger = 32767;
constexpr int kMostShift = 15;

/// A factor in whole numbers of a unit, and what that leaves out.
struct IntegerFactor {
  double unit = 1;
  double error = 0;  ///< Sum of |weight - integer * unit|.
  double bias = 0;   ///< Sum of (weight - integer * unit).
};

/// The nearest whole number, as an addition rounds. Thousands of units are tried.
double integer_of(double weight, double per_unit) {
  constexpr double kRounding = 6755399441055744.0;  // 1.5 x 2^52
  return weight * per_unit + kRounding - kRounding;
}

IntegerFactor quantise(const std::vector<double>& weights, double unit) {
  IntegerFactor made;
  made.unit = unit;
  const double per_unit = 1 / unit;
  for (const double weight : weights) {
    const double missed = weight - integer_of(weight, per_unit) * unit;
    made.error += std::fabs(missed);
    made.bias += missed;
  }
  return made;
}

/// The best of some units from `finest` to twice that: many of them lie nearer to the weights than
/// the finest one, by up to a half where the weights are few. `cost` says what is best.
template <class Cost>
IntegerFactor quantise_best(const std::vector<double>& weights, double finest, const Cost& cost) {
  constexpr int kCandidates = 2048;
  IntegerFactor best = quantise(weights, finest);
  for (int i = 1; i < kCandidates; ++i) {
    const IntegerFactor made = quantise(weights, finest * (1 + i / double{kCandidates}));
    if (cost(made) < cost(best)) best = made;
  }
  return best;
}

std::vector<std::int16_t> integers_of(const std::vector<double>& weights, double unit) {
  std::vector<std::int16_t> integers;
  integers.reserve(weights.size());
  for (const double weight : weights)
    integers.push_back(static_cast<std::int16_t>(integer_of(weight, 1 / unit)));
  return integers;
}

/// The largest |v|: half the range of V, and what rounding and the middle's fraction add.
double largest_sum(double magnitude, int shift) {
  return std::floor((kMiddle * magnitude + 1) / std::ldexp(1, shift) + 1);
}

/// Sets the start that centres the range of V, whose middle is the result.
double centre(SeparableIntegers& integers) {
  const double middle = std::floor(kMiddle * factor_totals(integers.column).sum());
  const double half = integers.shift > 0 ? std::ldexp(1, integers.shift - 1) : 0;
  integers.column_start = static_cast<std::int32_t>(half - middle);
  return middle;
}

template <class Integer>
std::vector<std::int16_t> as_16_bits(const std::vector<Integer>& integers) {
  return std::vector<std::int16_t>(integers.begin(), integers.end());
}

std::optional<SeparableIntegers> exact_integers(const Mask& mask) {
  const FactorTotals row = factor_totals(mask.row_integers);
  const FactorTotals column = factor_totals(mask.column_integers);
  if (std::max(row.largest, column.largest) > kLargestInteger ||
      largest_sum(column.magnitude(), 0) > kLargestInteger)
    return std::nullopt;
  SeparableIntegers made;
  made.column = as_16_bits(mask.column_integers);
  made.row = as_16_bits(mask.row_integers);
  made.constant = centre(made) * row.sum();
  made.magnitude = kMaxCode * column.magnitude() * row.magnitude();
  return made;
}

/// The integers whose column sums lose `shift` bits.
std::optional<SeparableIntegers> real_integers(const Mask& mask, int shift) {
  const FactorTotals column = factor_totals(mask.column), row = factor_totals(mask.row);
  const double step = std::ldexp(1, shift);
  // Rounding may add half a unit for each weight. V is below 2^30 so that its start fits, too.
  const double taps = static_cast<double>(mask.column.size());
  const double most = std::min((kLargestInteger - 2) * step, kTwo31 / 2) / kMiddle - 0.5 * taps;
  if (most <= 0) return std::nullopt;
  const double finest = std::max(column.largest / kLargestInteger, column.magnitude() / most);
  const auto column_error = [step](const IntegerFactor& c) {
    return kMiddle * c.error + 0.5 * c.unit * step;
  };
  const IntegerFactor c = quantise_best(mask.column, finest, column_error);
  SeparableIntegers made;
  made.shift = shift;
  made.column = integers_of(mask.column, c.unit);
  const double largest = largest_sum(factor_totals(made.column).magnitude(), shift);
  const double v_unit = c.unit * step;
  if (largest > kLargestInteger) return std::nullopt;

  // |T| stays below 2^31: a filtered value is at most half a range, a code and an error from the
  // middle, which is rounded to a code.
  const double reach = 1.001 * (kMiddle * column.magnitude() * row.magnitude() + 2);
  const double finest_row = std::max(row.largest / kLargestInteger, reach / kTwo31 / v_unit);
  const IntegerFactor r =
      quantise_best(mask.row, finest_row, [](const IntegerFactor& factor) { return factor.error; });
  made.row = integers_of(mask.row, r.unit);
  made.unit = v_unit * r.unit;
  made.constant = (c.unit * centre(made) + kMiddle * c.bias) * row.sum();
  made.magnitude = reach / made.unit;
  // Filtered values reach from 255 times the negative weights to 255 times the positive ones.
  made.middle = kMiddle * mask.sum;
  made.error = row.magnitude() * column_error(c) + v_unit * largest * r.error;
  return made;
}

std::optional<SeparableIntegers> real_integers(const Mask& mask) {
  std::optional<SeparableIntegers> best;
  for (const std::vector<double>* factor : {&mask.column, &mask.row})
    if (const FactorTotals totals = factor_totals(*factor);
        !(totals.largest > 0) || !std::isfinite(totals.magnitude()))
      return best;
  // From some shift on it is the largest weight that sets the column's unit, and bits of v are
  // lost. The best one is near to that.
  const FactorTotals column = factor_totals(mask.column);
  const double bits = std::log2(kMiddle * column.magnitude() / column.largest);
  const int turn = std::clamp(static_cast<int>(std::lround(bits)), 2, kMostShift - 2);
  for (int shift = turn - 2; shift <= turn + 2; ++shift) {
    std::optional<SeparableIntegers> made = real_integers(mask, shift);
    if (made && (!best || made->error < best->error)) best = std::move(made);
  }
  return best;
}

}  // namespace

std::optional<SeparableIntegers> make_separable_integers(const FrameFormat& format,
                                                         const Mask& mask, bool rational) {
  if (!mask.rank1 || mask.row.empty() || !filters_bytes(format)) return std::nullopt;
  return rational ? exact_integers(mask) : real_integers(mask);
}

}  // namespace convolve
