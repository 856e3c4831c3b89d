// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs the pipelines of one row: builds them, takes their rounds, checks them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/benchmarks/pipelines/bus_limit.h"
#include "tests/benchmarks/pipelines/source.h"

namespace cudaconvolve::pipelines {

/// What is measured.
struct Case {
  std::string format;  ///< By GStreamer's name.
  std::string size;    ///< "4k"
  int width = 0;
  int height = 0;
  Pool pool = Pool::kOffered;
  std::string elements;  ///< As asked for: %MASK% stands for the mask, %DEVICE% for a GPU.
  std::string mask;      ///< Its name; empty if elements take none.
  int pipelines = 1;     ///< At once.
  int devices = 1;       ///< GPUs that %DEVICE% counts through, from pipeline to pipeline.
};

/// How long.
struct Effort {
  std::uint64_t frames = 2000;  ///< A round, of all pipelines together; rounded up to shares.
  double seconds = 0;           ///< More frames, if the warm-up says that these take less.
  std::uint64_t warm_up = 200;  ///< Of each pipeline.
  int rounds = 5;
  int live_fps = 0;
};

/// What came out: medians of the rounds.
struct Row {
  Case asked;
  std::string problem;       ///< Empty, or why there is no figure.
  std::string pool;          ///< Whose buffers the source got.
  std::string plan;          ///< `active-plan` of the element that has it.
  std::uint64_t frames = 0;  ///< A round, of all pipelines together.
  std::size_t frame_bytes = 0;
  double per_second = 0;                              ///< Frames, of all pipelines together.
  double fewest_per_second = 0, most_per_second = 0;  ///< Of the rounds.
  double slowest_to_mean = 0;                         ///< The slowest pipeline's rate to the mean.
  double p50_us = 0, p99_us = 0;                      ///< Of a frame.
  double most_us = 0;                                 ///< Of all frames of all rounds.
  double reported_us = 0;                             ///< The pipeline's latency, by its query.
  double cpu_us = 0;                                  ///< A frame, of all threads.
  bool changed = false;  ///< The last picture was another behind the elements.
  std::vector<std::pair<std::string, std::string>> stats;  ///< As JSON; empty if there are none.
  double bus_per_second = 0;  ///< What the bus lets through; 0 = not measured.
  double bus_share = 0;       ///< Of that, by what it let through just after each round.
};

/// `bus` is that of frames of this size, or null where there is none.
Row run_row(const Case& asked, const Effort& effort, BusLimit* bus);

/// Bytes of one frame.
std::size_t frame_bytes(const Case& asked, const Effort& effort);

}  // namespace cudaconvolve::pipelines
