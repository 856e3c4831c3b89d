// SPDX-License-Identifier: LGPL-2.1-or-later
// What the benchmark found out, as Markdown for people and as JSON lines for programs.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "kernels/core/plan.h"

namespace convolve::benchmarks {

/// Times of one launch in microseconds, over all batches.
struct Spread {
  double p10 = 0;
  double median = 0;
  double p90 = 0;
};

/// Of `values`, which must not be empty.
Spread spread_of(std::vector<double> values);

struct Row {
  std::string picture;  ///< "1080p"
  int width = 0;
  int height = 0;
  int side = 0;  ///< K: the mask is K x K.
  KernelKind kernel = KernelKind::kBasic;
  std::string plan;  ///< Or why the kernel does not serve.
  bool served = false;
  Spread time;
  Spread copy;       ///< Of the same bytes, sampled between the batches.
  double floor = 0;  ///< Microseconds that the multiply-adds take at the measured rate; 0 = none.
  double predicted_reduction =
      0;  ///< Of global loads, by the book's formula; 0 = not a tiled kernel.
  double counted_reduction = 0;  ///< The same, counted.
};

/// Where and what: printed above the tables and in every JSON line.
struct Setting {
  std::string backend;
  std::string device;
  std::string commit;
  double fma_rate = 0;  ///< Multiply-adds a second, 0 = not measured.
};

void print_markdown(const Setting& setting, const std::vector<Row>& rows, std::FILE* out);
void print_json_lines(const Setting& setting, const std::vector<Row>& rows, std::FILE* out);

}  // namespace convolve::benchmarks
