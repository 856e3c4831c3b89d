// SPDX-License-Identifier: LGPL-2.1-or-later
// What every benchmark does with figures: quantiles of them, and their text in tables and JSON.
#pragma once

#include <string>
#include <vector>

namespace convolve::benchmarks {

/// Whether times of this build mean anything.
bool measurable_build();

/// Times of one launch in microseconds, over all batches.
struct Spread {
  double p10 = 0;
  double median = 0;
  double p90 = 0;
};

/// Of `values`, which must not be empty.
Spread spread_of(std::vector<double> values);

/// The value below which this part of `values`, which must not be empty, lies.
double quantile(std::vector<double> values, double part);

/// "12.3", or "-" for nothing.
std::string number(double value, int decimals);

/// As a string of JSON.
std::string quoted(const std::string& text);

}  // namespace convolve::benchmarks
