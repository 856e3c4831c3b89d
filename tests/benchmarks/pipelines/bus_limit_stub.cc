// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/pipelines/bus_limit.h"

namespace cudaconvolve::pipelines {

std::string gpu_description(std::string* why) {
  *why = "this build has no CUDA backend";
  return "";
}

double bus_frames_per_second(std::size_t /*frame_bytes*/) {
  return 0;
}

}  // namespace cudaconvolve::pipelines
