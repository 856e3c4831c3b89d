// SPDX-License-Identifier: LGPL-2.1-or-later
// What bench_pipelines found out, as Markdown for people and as JSON lines for programs.
#pragma once

#include <cstdio>
#include <string>

#include "tests/benchmarks/pipelines/row_run.h"

namespace cudaconvolve::pipelines {

/// Where and how: printed above the table and in every JSON line.
struct Setting {
  std::string device;  ///< "NVIDIA H100, driver 580.1, runtime 13.0", or "none".
  std::string host;    ///< "AMD EPYC, 16 threads"
  std::string gstreamer;
  std::string commit;
  Effort effort;
};

void print_heading(const Setting& setting, std::FILE* out);

/// A line of the table; a row with a problem says that instead.
void print_markdown_row(const Row& row, std::FILE* out);

void print_json_row(const Setting& setting, const Row& row, std::FILE* out);

}  // namespace cudaconvolve::pipelines
