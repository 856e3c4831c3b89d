// SPDX-License-Identifier: LGPL-2.1-or-later
// What the benchmark found out, as Markdown for people and as JSON lines for programs.
#pragma once

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/core/plan/plan.h"
#include "tests/benchmarks/figures.h"

namespace convolve::benchmarks {

/// The different answers of `value`, a function or member of a row, in the order of `rows`.
template <class AnyRow, class Value>
auto distinct_of(const std::vector<AnyRow>& rows, Value value) {
  std::vector<std::decay_t<std::invoke_result_t<Value, const AnyRow&>>> values;
  for (const AnyRow& row : rows)
    if (std::find(values.begin(), values.end(), std::invoke(value, row)) == values.end())
      values.push_back(std::invoke(value, row));
  return values;
}

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

/// The lines that say where and what.
void print_setting(const Setting& setting, std::FILE* out);

void print_markdown(const Setting& setting, const std::vector<Row>& rows, std::FILE* out);
void print_json_lines(const Setting& setting, const std::vector<Row>& rows, std::FILE* out);

/// Writes the JSON lines to `path`, unless that is empty. False, having said so, if it cannot.
template <class AnyRow>
bool write_json(const Setting& setting, const std::vector<AnyRow>& rows, const std::string& path) {
  if (path.empty()) return true;
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    std::fprintf(stderr, "cannot write %s\n", path.c_str());
    return false;
  }
  print_json_lines(setting, rows, file);
  std::fclose(file);
  return true;
}

/// Prints the Markdown to stdout, and write_json().
template <class AnyRow>
bool publish(const Setting& setting, const std::vector<AnyRow>& rows, const std::string& path) {
  print_markdown(setting, rows, stdout);
  return write_json(setting, rows, path);
}

}  // namespace convolve::benchmarks
