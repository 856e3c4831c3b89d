// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/pipelines/bus_limit.h"

namespace cudaconvolve::pipelines {

std::string gpu_description(std::string* why) {
  *why = "this build has no CUDA backend";
  return "";
}

class BusLimit::Copies {};

BusLimit::BusLimit(std::size_t /*frame_bytes*/) {}
BusLimit::~BusLimit() = default;

double BusLimit::frames_per_second() {
  return 0;
}

}  // namespace cudaconvolve::pipelines
