// SPDX-License-Identifier: LGPL-2.1-or-later
// What bench_pipelines is asked for on its command line.
#pragma once

#include <string>
#include <vector>

#include "tests/benchmarks/pipelines/row_run.h"

namespace cudaconvolve::pipelines {

struct Arguments {
  std::vector<Case> cases;  ///< The rows, in the order of the table.
  Effort effort;
  std::string json, commit = "unknown";
};

/// False, having said why, if there is something that nobody understands. GStreamer is initialised.
bool parse_arguments(int argc, char** argv, Arguments* arguments);

/// Whether a row runs nowhere but on a GPU.
bool needs_gpu(const Case& asked);

}  // namespace cudaconvolve::pipelines
