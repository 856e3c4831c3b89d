// SPDX-License-Identifier: LGPL-2.1-or-later
// From the two sums of a weighted component (alpha_weighting.h) to its code: the quotient,
// correctly rounded, or the answer that the sums do not decide.
//
// Kernels make S and T in float or double. Mostly that decides: the error of the quotient, bounded
// below, does not reach a rounding boundary. Where it might, the sums decide exactly if they are
// whole numbers without error. Otherwise they are made again for this one sample without error:
// from the row sums of the first of two passes where these are whole numbers, so that a mask of
// millions of weights takes as many steps as it has rows, and else tap by tap in twice the
// precision. So every kernel is exact whatever the mask, and pays for it only where it must.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/core/base/epilogue.h"
#include "kernels/core/base/host_device.h"
#include "kernels/core/base/int128.h"

namespace convolve {

/// How one component turns S and T into a code. Both are counted in units of the encoded weights;
/// see make_weighted_epilogue() (weighted_arithmetic.h).
struct WeightedEpilogue {
  int base = 0;            ///< o + B
  double factor = 1;       ///< The value is base + factor * T / S.
  double orientation = 1;  ///< The sign of W, which S is multiplied by.
  bool zero_sum = false;   ///< W is 0: S is `alpha_max`, whatever lies below the mask.
  int alpha_max = 255;     ///< M
  int max_code = 255;      ///< The component's own.
  double floor = 0;        ///< S * orientation up to this value counts as 0: nothing opaque.

  /// Bounds on the errors of the sums as the kernel adds them up: |S' - S| <= sum_error +
  /// relative_error * |S|, |T' - T| <= product_error + relative_error * max_code * |S|.
  double sum_error = 0;
  double product_error = 0;
  double relative_error = 0;
  /// Real masks: half the width of the zone around a rounding boundary. Rational ones: 0.
  double tolerance = 0;

  bool rational = true;
  bool exact_sums = true;   ///< S and T are whole numbers without error.
  bool exact_rows = false;  ///< So are the row sums of the first of two passes, in double.
  /// Rational: factor = numerator / denominator exactly; denominator > 0.
  std::int64_t numerator = 1;
  std::int64_t denominator = 1;
};

/// Results of weighted_code() that are no code values and tell its caller what to do.
inline constexpr int kKeepSample = -1;  ///< Nothing opaque: the output is the input.
inline constexpr int kUndecided = -2;   ///< The sums are not precise enough: make ExactSums.

CONVOLVE_HD inline int clamp_code(int code, int max_code) {
  return code < 0 ? 0 : (code > max_code ? max_code : code);
}

/// Converts a double that is a whole number, |v| < 2^110, in two steps, as devices have no such
/// conversion.
CONVOLVE_HD inline Int128 whole(double v) {
  const double high = std::trunc(v * 0x1p-48);
  return static_cast<Int128>(static_cast<std::int64_t>(high)) * (std::int64_t{1} << 48) +
         static_cast<std::int64_t>(v - high * 0x1p48);
}

/// The code for whole sums of a rational mask, `s` > 0 oriented, where `code` is the right one or
/// its neighbour. With a gain of 0 nothing of T remains. Otherwise, with p / q the gain, n the
/// integers and C = max_code, all within |p| sum|n| C < 2^52 and q < 2^31 by the definition of the
/// class: |numerator * t| <= (|p| sum|n| C) (sum|n| M) < 2^52 * 2^60 and |code - base| denominator
/// s <= 2^18 * 2^31 * 2^60, as sum|n| < 2^44 and M < 2^16. So everything fits 127 bits.
CONVOLVE_HD inline int round_exactly(Int128 s, Int128 t, int code, const WeightedEpilogue& e) {
  const Int128 unit = s * e.denominator;
  const Int128 twice = 2 * (t * e.numerator - unit * (code - e.base));
  const bool odd = (code & 1) != 0;
  if (twice > unit || (twice == unit && odd)) ++code;
  if (-twice > unit || (-twice == unit && odd)) --code;
  return clamp_code(code, e.max_code);
}

/// The code for the sums `s` and `t` of a kernel, or kKeepSample, or kUndecided.
CONVOLVE_HD inline int weighted_code(double s, double t, const WeightedEpilogue& e) {
  double sum_error = 0;
  if (e.zero_sum) {
    s = e.alpha_max;
  } else {
    s *= e.orientation;
    // Weights of one sign have only a relative error, so that a sum of 0 is 0.
    if (s <= e.floor) return s + e.sum_error <= e.floor ? kKeepSample : kUndecided;
    sum_error = e.sum_error + e.relative_error * s;
    if (s - sum_error <= 0 || s - e.sum_error <= e.floor) return kUndecided;
  }
  const double product_error = e.product_error + e.relative_error * e.max_code * s;
  const double quotient = t / s;
  const double step = e.factor * quotient;
  const double value = e.base + step;
  // T'/S' - T/S = (T' - T) / S + T' (S - S') / (S S'); and at most six roundings from here on.
  const double error =
      std::fabs(e.factor) * (product_error + std::fabs(quotient) * sum_error) / (s - sum_error) +
      0x1p-50 * (std::fabs(step) + std::fabs(value));
  const double bounded = clamp_to(value, -1.0, e.max_code + 1.0);
  const int code = round_to_even(bounded);
  // How far from `code` the exact value may lie; its distance outside the codes does not count.
  const double doubt = std::fabs(bounded - code) + error - std::fabs(value - bounded);
  if (doubt < 0.5 + e.tolerance) return clamp_code(code, e.max_code);
  if (!e.rational || !e.exact_sums) return kUndecided;
  return round_exactly(whole(s), whole(t), code, e);
}

/// A sum in two doubles, 106 bits (Dekker, 1971). Whole numbers below 2^106 have no error: every
/// low part is a whole number below 2^53.
struct DoubleDouble {
  double high = 0;
  double low = 0;

  /// Adds a * b.
  CONVOLVE_HD void add_product(double a, double b) {
    // fma, not a * b, which a compiler may contract with the addition below: the rounding of the
    // product must happen here.
    const double product = std::fma(a, b, 0.0);
    const double product_low = std::fma(a, b, -product);
    const double sum = high + product;
    const double from_product = sum - high;
    const double sum_low = (high - (sum - from_product)) + (product - from_product);
    const double rest = low + (sum_low + product_low);
    high = sum + rest;
    low = rest - (high - sum);
  }
};

/// S and T of one output in twice the precision. Whole numbers have no error.
struct ExactSums {
  DoubleDouble s, t;

  /// Adds a cell: its weight, its alpha code, and c - o.
  CONVOLVE_HD void add(double weight, int alpha, int difference) {
    s.add_product(weight, alpha);
    t.add_product(weight, static_cast<double>(alpha) * difference);
  }
};

/// A mask as the exact sums read it: all weights, or a column and a row. For
/// WeightedEpilogue::exact_rows it is always a column and a row.
struct ExactWeights {
  int width = 1;
  int height = 1;
  const double* dense = nullptr;  ///< Row-major, or null:
  const double* row = nullptr;    ///< then weight(y, x) = column[y] * row[x].
  const double* column = nullptr;

  CONVOLVE_HD double at(int y, int x) const {
    return dense != nullptr ? dense[static_cast<std::int64_t>(y) * width + x] : column[y] * row[x];
  }
};

/// S and T of one output from row sums, for exact_rows. Both fit with 40 bits to spare: sum|n| <
/// 2^53 in any case, so |S| < 2^69 and |T| < 2^85.
struct WholeSums {
  Int128 s = 0, t = 0;

  /// Adds a row: its weight in the column, and its sums of alpha and of alpha times c - o.
  CONVOLVE_HD void add(double weight, double alpha_sum, double product_sum) {
    const auto w = static_cast<std::int64_t>(weight);
    s += static_cast<Int128>(w) * static_cast<std::int64_t>(alpha_sum);
    t += static_cast<Int128>(w) * static_cast<std::int64_t>(product_sum);
  }
};

/// The nearest double, or its neighbour, as devices have no such conversion. The low half is taken
/// with its sign: otherwise a small negative number would be a difference of two large ones.
CONVOLVE_HD inline double to_double(Int128 v) {
  const auto low = static_cast<std::int64_t>(v);
  return static_cast<double>(static_cast<std::int64_t>((v - low) >> 64)) * 0x1p64 +
         static_cast<double>(low);
}

/// The code from whole sums of a rational mask, or kKeepSample.
CONVOLVE_HD inline int code_of_whole_sums(const WholeSums& sums, const WeightedEpilogue& e) {
  const Int128 s = e.zero_sum ? e.alpha_max : (e.orientation < 0 ? -sums.s : sums.s);
  if (s <= 0) return kKeepSample;
  const double value = e.base + e.factor * (to_double(sums.t) / to_double(s));
  const int code = round_to_even(clamp_to(value, -1.0, e.max_code + 1.0));
  return round_exactly(s, sums.t, code, e);
}

/// The code from sums with twice the digits, or kKeepSample.
CONVOLVE_HD inline int code_of_exact_sums(const ExactSums& sums, const WeightedEpilogue& e) {
  if (e.rational)
    return code_of_whole_sums(
        {whole(sums.s.high) + whole(sums.s.low), whole(sums.t.high) + whole(sums.t.low)}, e);
  const double s = e.zero_sum ? e.alpha_max : sums.s.high * e.orientation;
  if (!e.zero_sum && s <= e.floor) return kKeepSample;
  const double value = e.base + e.factor * (sums.t.high / s);
  return clamp_code(round_to_even(clamp_to(value, -1.0, e.max_code + 1.0)), e.max_code);
}

/// The code of one output by one thread, row by row, for exact_rows, or kKeepSample. `rows`: a
/// callable (i, &alpha_sum, &product_sum) that gives the sums of the first pass below row i of the
/// mask, or leaves them 0.
template <class Rows>
CONVOLVE_HD inline int code_of_rows(const ExactWeights& weights, const WeightedEpilogue& e,
                                    Rows&& rows) {
  WholeSums sums;
  for (int i = 0; i < weights.height; ++i) {
    double alpha_sum = 0, product_sum = 0;
    rows(i, alpha_sum, product_sum);
    sums.add(weights.column[i], alpha_sum, product_sum);
  }
  return code_of_whole_sums(sums, e);
}

/// The code of one output by one thread, tap by tap, or kKeepSample. `cells`: a callable (i, j,
/// &alpha, &difference) that gives the alpha code and c - o below weight (i, j).
template <class Cells>
CONVOLVE_HD inline int exact_weighted_code(const ExactWeights& weights, const WeightedEpilogue& e,
                                           Cells&& cells) {
  ExactSums sums;
  for (int i = 0; i < weights.height; ++i)
    for (int j = 0; j < weights.width; ++j) {
      int alpha = 0, difference = 0;
      cells(i, j, alpha, difference);
      if (alpha != 0) sums.add(weights.at(i, j), alpha, difference);
    }
  return code_of_exact_sums(sums, e);
}

}  // namespace convolve
