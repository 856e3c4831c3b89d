// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/mask/mask.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "kernels/core/base/int128.h"
#include "kernels/core/mask/mask_factors.h"
#include "kernels/core/mask/mask_source.h"
#include "kernels/core/mask/mask_text.h"

namespace convolve {
namespace {

/// Rational masks keep the sum of their integers' magnitudes exact as a double. The arithmetic's
/// own bound (2^52, arithmetic.h) is tighter, so nothing that could be rational is lost.
constexpr std::int64_t kMaxIntegerMagnitude = std::int64_t{1} << 53;

/// A real mask counts as rank 1 up to this share of its magnitude: far below what any sample depth
/// can show, far above the rounding of products of two doubles.
constexpr double kRankTolerance = 1e-9;

/// Unit roundoff of double: what typed weights are known to, relative to themselves. A sum within
/// this share of the magnitude, for each weight, is rounding alone.
constexpr double kRoundoff = 0x1p-53;

/// Values as primitive integers times a positive ratio.
struct Exact {
  std::vector<std::int64_t> integers;
  Ratio gain{1, 1};
  std::int64_t sum = 0;
  std::int64_t magnitude = 0;
};

/// Nothing if a value is no ratio, or the integers over the common denominator grow too large.
std::optional<Exact> exact_form(const std::vector<double>& values) {
  std::vector<Ratio> ratios;
  ratios.reserve(values.size());
  std::int64_t common_num = 0, common_den = 1;
  for (double v : values) {
    const std::optional<Ratio> ratio = ratio_of(v);
    if (!ratio) return std::nullopt;
    ratios.push_back(*ratio);
    // In lowest terms the greatest common divisor of fractions is gcd(nums) / lcm(dens).
    common_num = std::gcd(common_num, ratio->num);
    const std::optional<std::int64_t> den =
        narrow(Int128{common_den} / std::gcd(common_den, ratio->den) * ratio->den);
    if (!den) return std::nullopt;
    common_den = *den;
  }
  Exact exact;
  if (common_num == 0) {
    exact.integers.assign(values.size(), 0);
    return exact;
  }
  exact.gain = {common_num, common_den};
  Int128 magnitude = 0;
  for (const Ratio& ratio : ratios) {
    const Int128 n = Int128{ratio.num / common_num} * (common_den / ratio.den);
    magnitude += magnitude_of(n);
    if (magnitude > kMaxIntegerMagnitude) return std::nullopt;
    exact.integers.push_back(static_cast<std::int64_t>(n));
    exact.sum += exact.integers.back();
  }
  exact.magnitude = static_cast<std::int64_t>(magnitude);
  return exact;
}

/// What Normalize divides by.
enum class Division { kTyped, kSum, kMagnitude };

/// `sum` and `magnitude` are of the typed weights, before the divisor; `noise` is the part of the
/// sum that rounding alone may leave.
Result<Division> choose_division(const MaskSource& s, Normalize normalize, double sum,
                                 double magnitude, double noise) {
  switch (normalize) {
    case Normalize::kNone:
      return Division::kTyped;
    case Normalize::kSum:
      if (std::fabs(sum) <= noise)
        return invalid_argument("the weights sum to 0, so normalize=sum would divide by 0");
      return Division::kSum;
    case Normalize::kAbs:
      if (magnitude == 0)
        return invalid_argument("all weights are 0, so normalize=abs would divide by 0");
      return Division::kMagnitude;
    case Normalize::kAuto:
      if (s.divisor || s.normalized || magnitude == 0) return Division::kTyped;
      return sum >= magnitude / 16 ? Division::kSum : Division::kTyped;
  }
  return Division::kTyped;
}

/// `gain` over a typed divisor, or such that the sum (of magnitudes) becomes 1. Nothing if it is
/// not a ratio of 64-bit integers.
std::optional<Ratio> divided_gain(Ratio gain, const MaskSource& s, Division division,
                                  std::int64_t sum, std::int64_t magnitude) {
  if (division == Division::kSum) return make_ratio(1, sum);
  if (division == Division::kMagnitude)
    return make_ratio(s.divisor.value_or(1) < 0 ? -1 : 1, magnitude);
  if (!s.divisor) return gain;
  const std::optional<Ratio> divisor = ratio_of(*s.divisor);
  return divisor ? divide(gain, *divisor) : std::nullopt;
}

double real_divisor(const MaskSource& s, Division division, double sum, double magnitude) {
  if (division == Division::kSum) return sum;
  if (division == Division::kMagnitude) return std::copysign(magnitude, s.divisor.value_or(1));
  return s.divisor.value_or(1);
}

/// n * gain, rounded once wherever the reduced product fits 53 bits.
double scaled(std::int64_t n, Ratio gain) {
  const std::optional<Ratio> product = multiply({n, 1}, gain);
  return product ? product->value() : static_cast<double>(n) * gain.value();
}

std::vector<double> scaled(const std::vector<std::int64_t>& integers, Ratio gain) {
  std::vector<double> values;
  values.reserve(integers.size());
  for (std::int64_t n : integers)
    values.push_back(scaled(n, gain));
  return values;
}

/// Sums that lose nothing to cancellation (Neumaier's compensated summation).
struct Totals {
  double sum = 0;
  double magnitude = 0;
  double largest = 0;
  std::int64_t zeros = 0;
};

Totals totals_of(const std::vector<double>& values) {
  Totals t;
  double lost = 0, lost_magnitude = 0;
  const auto add = [](double& sum, double& rest, double v) {
    const double next = sum + v;
    rest += std::fabs(sum) >= std::fabs(v) ? (sum - next) + v : (v - next) + sum;
    sum = next;
  };
  for (double v : values) {
    add(t.sum, lost, v);
    add(t.magnitude, lost_magnitude, std::fabs(v));
    t.largest = std::max(t.largest, std::fabs(v));
    t.zeros += v == 0 ? 1 : 0;
  }
  t.sum += lost;
  t.magnitude += lost_magnitude;
  return t;
}

Totals product_of(const Totals& column, const Totals& row, int width, int height) {
  Totals t;
  t.sum = column.sum * row.sum;
  t.magnitude = column.magnitude * row.magnitude;
  t.largest = column.largest * row.largest;
  t.zeros =
      static_cast<std::int64_t>(width) * height - (height - column.zeros) * (width - row.zeros);
  return t;
}

template <class Number>
std::vector<Number> outer_product(const std::vector<Number>& column,
                                  const std::vector<Number>& row) {
  std::vector<Number> products;
  products.reserve(column.size() * row.size());
  for (Number c : column)
    for (Number r : row)
      products.push_back(c * r);
  return products;
}

void set_totals(Mask& mask, const Totals& totals) {
  mask.sum = totals.sum;
  mask.magnitude = totals.magnitude;
  mask.max_weight = totals.largest;
  mask.zero_taps = totals.zeros;
}

bool fits_dense(const MaskSource& s) {
  return s.width <= kMaxMaskSide && s.height <= kMaxMaskSide;
}

/// Fills in a rational mask. `whole` holds the integers, or of a factored source their totals.
/// Returns false if the gain is out of reach of 64-bit ratios, so that the mask is real.
Result<bool> make_exact(Mask& mask, const MaskSource& s, Normalize normalize) {
  Exact whole, column, row;
  const bool factored = s.weights.empty();
  if (factored) {
    std::optional<Exact> c = exact_form(s.column), r = exact_form(s.row);
    if (!c || !r || Int128{c->magnitude} * r->magnitude > kMaxIntegerMagnitude) return false;
    const std::optional<Ratio> gain = multiply(c->gain, r->gain);
    if (!gain) return false;
    column = std::move(*c);
    row = std::move(*r);
    whole.gain = *gain;
    whole.sum = column.sum * row.sum;
    whole.magnitude = column.magnitude * row.magnitude;
    if (fits_dense(s)) whole.integers = outer_product(column.integers, row.integers);
  } else {
    std::optional<Exact> w = exact_form(s.weights);
    if (!w) return false;
    whole = std::move(*w);
  }

  // The gain before division is positive, so signs and proportions are those of the integers.
  const Result<Division> division = choose_division(s, normalize, static_cast<double>(whole.sum),
                                                    static_cast<double>(whole.magnitude), 0);
  if (!division.ok()) return division.status();
  const std::optional<Ratio> gain =
      divided_gain(whole.gain, s, division.value(), whole.sum, whole.magnitude);
  if (!gain) return false;

  mask.rational = true;
  mask.gain = whole.magnitude == 0 ? Ratio{1, 1} : *gain;
  mask.divided_by_sum = normalize == Normalize::kAuto && division.value() == Division::kSum;
  mask.integers = std::move(whole.integers);
  mask.weights = scaled(mask.integers, mask.gain);
  if (factored) {
    mask.rank1 = true;
    mask.column_integers = std::move(column.integers);
    mask.row_integers = std::move(row.integers);
  } else if (auto factors = factor_integers(mask.integers, s.width, s.height)) {
    mask.rank1 = true;
    mask.column_integers = std::move(factors->column);
    mask.row_integers = std::move(factors->row);
  }
  if (mask.rank1) {
    // All of the gain goes to the column: the row stays exact and one rounding is left.
    mask.column = scaled(mask.column_integers, mask.gain);
    mask.row.assign(mask.row_integers.begin(), mask.row_integers.end());
  }
  set_totals(mask, mask.dense() ? totals_of(mask.weights)
                                : product_of(totals_of(mask.column), totals_of(mask.row), s.width,
                                             s.height));
  mask.sum = scaled(whole.sum, mask.gain);
  mask.magnitude = std::fabs(scaled(whole.magnitude, mask.gain));
  mask.integer_magnitude = static_cast<double>(whole.magnitude);
  return true;
}

void divide_all(std::vector<double>& values, double divisor) {
  for (double& v : values)
    v /= divisor;
}

/// Fills in a mask whose weights are doubles and no more.
Status make_real(Mask& mask, const MaskSource& s, Normalize normalize) {
  const bool factored = s.weights.empty();
  const Totals typed = factored
                           ? product_of(totals_of(s.column), totals_of(s.row), s.width, s.height)
                           : totals_of(s.weights);
  // Typed weights are rounded once. Those of named masks (log, dog) are less exact, and what is
  // left of their sums grows with the count.
  const double count = factored ? s.width + s.height : static_cast<double>(s.width) * s.height;
  const Result<Division> division = choose_division(s, normalize, typed.sum, typed.magnitude,
                                                    count * kRoundoff * typed.magnitude);
  if (!division.ok()) return division.status();
  const double divisor = real_divisor(s, division.value(), typed.sum, typed.magnitude);
  mask.divided_by_sum = normalize == Normalize::kAuto && division.value() == Division::kSum;

  if (factored) {
    mask.rank1 = true;
    mask.column = s.column;
    mask.row = s.row;
    divide_all(mask.column, divisor);
    if (fits_dense(s)) mask.weights = outer_product(mask.column, mask.row);
    set_totals(mask, product_of(totals_of(mask.column), totals_of(mask.row), s.width, s.height));
  } else {
    mask.weights = s.weights;
    divide_all(mask.weights, divisor);
    set_totals(mask, totals_of(mask.weights));
  }
  // NaN fails the comparison too.
  if (!(mask.max_weight <= kMaxWeight))
    return invalid_argument("after the division the largest weight is beyond +-1e38");
  if (!factored) {
    // Dividing may have underflowed everything to 0, which the cross cannot scale.
    if (mask.magnitude == 0) return invalid_argument("after the division all weights round to 0");
    Factors<double> cross = factor_cross(mask.weights, s.width, s.height);
    mask.rank1 =
        factoring_error(mask.weights, cross.column, cross.row) <= kRankTolerance * mask.magnitude;
    if (mask.rank1) {
      mask.column = std::move(cross.column);
      mask.row = std::move(cross.row);
    }
  }
  return {};
}

}  // namespace

Result<Mask> Mask::make(const MaskSource& source, Normalize normalize, Operation operation) {
  if (Status status = check_source(source); !status.ok()) return status;
  const MaskSource s = operation == Operation::kConvolve ? rotated(source) : source;
  Mask mask;
  mask.width = s.width;
  mask.height = s.height;
  mask.anchor_x = s.anchor_x;
  mask.anchor_y = s.anchor_y;
  const Result<bool> exact = make_exact(mask, s, normalize);
  if (!exact.ok()) return exact.status();
  if (!exact.value())
    if (Status status = make_real(mask, s, normalize); !status.ok()) return status;
  if (mask.rank1) {
    // Without weights the rational mask is the product, which the rounded column misses by little.
    mask.factor_error = mask.dense() ? factoring_error(mask.weights, mask.column, mask.row)
                                     : (mask.rational ? kRoundoff * mask.magnitude : 0);
  }
  return mask;
}

}  // namespace convolve
