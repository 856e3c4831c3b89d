// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/pipelines/row_report.h"

#include "tests/benchmarks/figures.h"

namespace cudaconvolve::pipelines {
namespace {

using convolve::benchmarks::number;
using convolve::benchmarks::quoted;

/// The kernels' time of the last frame in microseconds; 0 if no element says it.
double kernel_us(const Row& row) {
  for (const auto& [name, value] : row.stats)
    if (name == "kernel-ns-last") return 1e-3 * std::stod(value);
  return 0;
}

/// A mask or an element stands in a cell of a table.
std::string cell(const std::string& text) {
  std::string result;
  for (const char c : text)
    result += c == '|' ? std::string("\\|") : std::string(1, c == '\n' ? ' ' : c);
  return result;
}

std::string bus_percent(const Row& row) {
  if (row.bus_per_second <= 0) return "-";
  return number(100 * row.bus_share, 1);
}

std::string json_stats(const Row& row) {
  std::string result;
  for (const auto& [name, value] : row.stats)
    result += (result.empty() ? "" : ",") + quoted(name) + ":" + value;
  return "{" + result + "}";
}

}  // namespace

void print_heading(const Setting& setting, std::FILE* out) {
  const Effort& effort = setting.effort;
  std::fprintf(out, "GPU %s; host %s; GStreamer %s, commit %s.\n", setting.device.c_str(),
               setting.host.c_str(), setting.gstreamer.c_str(), setting.commit.c_str());
  std::fprintf(out,
               "Medians of %d rounds after %llu frames of warm-up in each pipeline. A frame's time "
               "goes from the source's having its buffer to the sink's getting it; CPU is that of "
               "all threads of the process, a frame; the bus is measured after each round.\n",
               effort.rounds, static_cast<unsigned long long>(effort.warm_up));
  if (effort.live_fps != 0)
    std::fprintf(out, "Live sources of %d frames a second; no frame came too late to be shown.\n",
                 effort.live_fps);
  std::fprintf(
      out,
      "\n| size | format | pipelines | pool | got | elements | mask | frames | frames/s | "
      "slowest/mean | p50 us | p99 us | most us | reported us | CPU us | kernels us | %% of bus | "
      "picture |\n"
      "|---|---|---:|---|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|\n");
}

void print_markdown_row(const Row& row, std::FILE* out) {
  const Case& asked = row.asked;
  std::fprintf(out, "| %s | %s | %d | %s | %s | %s | %s |", asked.size.c_str(),
               asked.format.c_str(), asked.pipelines, pool_name(asked.pool), row.pool.c_str(),
               cell(asked.elements).c_str(), asked.mask.empty() ? "-" : cell(asked.mask).c_str());
  if (!row.problem.empty()) {
    std::fprintf(out, " FAIL: %s |\n", cell(row.problem).c_str());
    return;
  }
  std::fprintf(out, " %llu | %.1f | %.2f | %.1f | %.1f | %.1f | %.0f | %.1f | %s | %s | %s |\n",
               static_cast<unsigned long long>(row.frames), row.per_second, row.slowest_to_mean,
               row.p50_us, row.p99_us, row.most_us, row.reported_us, row.cpu_us,
               number(kernel_us(row), 1).c_str(), bus_percent(row).c_str(),
               row.changed ? "changed" : "same");
}

void print_json_row(const Setting& setting, const Row& row, std::FILE* out) {
  const Case& asked = row.asked;
  std::fprintf(out,
               "{\"device\":%s,\"host\":%s,\"gstreamer\":%s,\"commit\":%s,\"rounds\":%d,"
               "\"warm_up\":%llu,\"live_fps\":%d,",
               quoted(setting.device).c_str(), quoted(setting.host).c_str(),
               quoted(setting.gstreamer).c_str(), quoted(setting.commit).c_str(),
               setting.effort.rounds, static_cast<unsigned long long>(setting.effort.warm_up),
               setting.effort.live_fps);
  std::fprintf(out,
               "\"size\":%s,\"width\":%d,\"height\":%d,\"format\":%s,\"frame_bytes\":%zu,"
               "\"pipelines\":%d,\"pool\":%s,\"pool_got\":%s,\"elements\":%s,\"mask\":%s,",
               quoted(asked.size).c_str(), asked.width, asked.height, quoted(asked.format).c_str(),
               row.frame_bytes, asked.pipelines, quoted(pool_name(asked.pool)).c_str(),
               quoted(row.pool).c_str(), quoted(asked.elements).c_str(),
               quoted(asked.mask).c_str());
  std::fprintf(out,
               "\"problem\":%s,\"frames\":%llu,\"per_second\":%.3f,\"fewest_per_second\":%.3f,"
               "\"most_per_second\":%.3f,\"slowest_to_mean\":%.4f,\"p50_us\":%.3f,\"p99_us\":%.3f,"
               "\"most_us\":%.3f,\"reported_us\":%.3f,"
               "\"cpu_us\":%.3f,\"bus_per_second\":%.3f,\"bus_share\":%.4f,\"changed\":%s,\"plan\":"
               "%s,\"stats\":%s}\n",
               quoted(row.problem).c_str(), static_cast<unsigned long long>(row.frames),
               row.per_second, row.fewest_per_second, row.most_per_second, row.slowest_to_mean,
               row.p50_us, row.p99_us, row.most_us, row.reported_us, row.cpu_us, row.bus_per_second,
               row.bus_share, row.changed ? "true" : "false", quoted(row.plan).c_str(),
               json_stats(row).c_str());
}

}  // namespace cudaconvolve::pipelines
