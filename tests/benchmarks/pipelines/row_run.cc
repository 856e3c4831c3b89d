// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/pipelines/row_run.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "tests/benchmarks/figures.h"
#include "tests/benchmarks/pipelines/course.h"
#include "tests/benchmarks/pipelines/line.h"

namespace cudaconvolve::pipelines {
namespace {

using convolve::benchmarks::quantile;

/// All that runs at once, and stops when this goes.
class Running {
 public:
  Running(const Case& asked, const Effort& effort)
      : asked_(asked), effort_(effort), course_(asked.pipelines) {
    for (int k = 0; k < asked.pipelines && course_.problem().empty(); ++k)
      lines_.push_back(
          std::make_unique<Line>(asked, k, effort.live_fps, course_, course_.track(k)));
    for (const std::unique_ptr<Line>& line : lines_)
      line->play();
  }

  std::string problem() { return course_.problem(); }

  /// False after a problem.
  bool measure(Row* row, BusLimit* bus) {
    // The first half fills and finds what is found once, and the second says how fast it goes on.
    const std::uint64_t half = std::max<std::uint64_t>(effort_.warm_up / 2, 1);
    if (!course_.run(half)) return false;
    const std::optional<std::uint64_t> in_time = frames_in_time(half);
    if (!in_time) return false;
    const auto pipelines = static_cast<std::uint64_t>(asked_.pipelines);
    const std::uint64_t share = std::max((effort_.frames + pipelines - 1) / pipelines, *in_time);
    row->frames = share * pipelines;

    std::vector<Round> rounds;
    std::vector<double> bus_rates, bus_shares;
    for (int k = 0; k < effort_.rounds; ++k) {
      const std::optional<Round> round = course_.run(share);
      if (!round) return false;
      rounds.push_back(*round);
      if (bus == nullptr) continue;
      bus_rates.push_back(bus->frames_per_second());
      bus_shares.push_back(static_cast<double>(row->frames) / round->seconds / bus_rates.back());
    }
    summarize(rounds, row);
    if (bus != nullptr && quantile(bus_rates, 0) > 0) {
      row->bus_per_second = quantile(bus_rates, 0.5);
      row->bus_share = quantile(bus_shares, 0.5);
    }
    return course_.run_sampled() && course_.finish();
  }

  void inspect(Row* row) const {
    row->pool = lines_.front()->pool();
    lines_.front()->read_element(row);
    row->changed = lines_.front()->changed();
  }

 private:
  /// How many frames of each pipeline take as long as a round shall, by rounds that begin with
  /// `frames` and are repeated with more while they are too short to tell.
  std::optional<std::uint64_t> frames_in_time(std::uint64_t frames) {
    constexpr double kShare = 0.2, kAimedShare = 0.3, kMostGrowth = 10;
    for (;;) {
      const std::optional<Round> round = course_.run(frames);
      if (!round) return {};
      const double times = effort_.seconds / round->seconds;
      const bool enough = times * kShare <= 1;
      const double growth = enough ? times : std::min(times * kAimedShare, kMostGrowth);
      const auto wanted = std::ceil(growth * static_cast<double>(frames));
      if (enough) return static_cast<std::uint64_t>(wanted);
      frames = static_cast<std::uint64_t>(wanted);
    }
  }

  static void summarize(const std::vector<Round>& rounds, Row* row) {
    const auto frames = static_cast<double>(row->frames);
    const auto all = [&](auto&& value) {
      std::vector<double> values;
      for (const Round& round : rounds)
        values.push_back(value(round));
      return values;
    };
    const std::vector<double> rates = all([&](const Round& r) { return frames / r.seconds; });
    row->per_second = quantile(rates, 0.5);
    row->fewest_per_second = quantile(rates, 0);
    row->most_per_second = quantile(rates, 1);
    row->slowest_to_mean = quantile(all([](const Round& r) { return r.slowest_to_mean; }), 0.5);
    row->p50_us = quantile(all([](const Round& r) { return r.p50_us; }), 0.5);
    row->p99_us = quantile(all([](const Round& r) { return r.p99_us; }), 0.5);
    row->most_us = quantile(all([](const Round& r) { return r.most_us; }), 1);
    row->cpu_us = quantile(all([&](const Round& r) { return 1e6 * r.cpu_seconds / frames; }), 0.5);
  }

  Case asked_;
  Effort effort_;
  Course course_;  ///< Outlives the lines, whose threads use it.
  std::vector<std::unique_ptr<Line>> lines_;
};

}  // namespace

std::size_t frame_bytes(const Case& asked, const Effort& effort) {
  const GstVideoInfo info = video_info(asked, effort.live_fps);
  return GST_VIDEO_INFO_SIZE(&info);
}

Row run_row(const Case& asked, const Effort& effort, BusLimit* bus) {
  Row row;
  row.asked = asked;
  row.frame_bytes = frame_bytes(asked, effort);
  Running running(asked, effort);
  if (running.measure(&row, bus)) running.inspect(&row);
  row.problem = running.problem();
  // A mask that leaves the picture as it was has not been applied.
  const auto has = [&](const char* text) { return asked.elements.find(text) != std::string::npos; };
  const bool filters = has("mask=") && !has("mask=identity");
  if (row.problem.empty() && filters && !row.changed) row.problem = "the picture did not change";
  if (row.problem.empty() && bus != nullptr && row.bus_per_second <= 0)
    row.problem = "the bus cannot be measured";
  return row;
}

}  // namespace cudaconvolve::pipelines
