// SPDX-License-Identifier: LGPL-2.1-or-later
// What bench_planes found out, as Markdown for people and as JSON lines for programs.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/benchmarks/report.h"

namespace convolve::benchmarks {

/// Whole frames of one format and size through one kernel with one mask.
struct FrameRow {
  std::string format;  ///< "NV12"
  std::string size;    ///< "4k"
  int width = 0;
  int height = 0;
  std::size_t bytes = 0;  ///< Of a frame: what copy moves.
  double samples = 0;     ///< Of a frame, that are filtered.
  std::string kind;       ///< Of the mask: "rational".
  int side = 0;           ///< K: the mask is K x K.
  std::string kernel;     ///< As asked for: "auto"; or a library's name.
  std::string plan;       ///< Or why there is no time.
  bool served = false;
  Spread time;
  Spread copy;       ///< Of the same bytes, sampled between the batches.
  double floor = 0;  ///< Microseconds that the multiply-adds take at the measured rate; 0 = none.
  double predicted = 0;  ///< Plan::predicted_us; 0 = none.
};

void print_markdown(const Setting& setting, const std::vector<FrameRow>& rows, std::FILE* out);
void print_json_lines(const Setting& setting, const std::vector<FrameRow>& rows, std::FILE* out);

}  // namespace convolve::benchmarks
