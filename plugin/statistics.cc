// SPDX-License-Identifier: LGPL-2.1-or-later
#include "plugin/statistics.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

namespace cudaconvolve {
namespace {

constexpr const char* kNames[] = {"host-copy", "upload", "kernels", "download", "waiting"};

}  // namespace

GstStructure* stats_structure(const Statistics& s, std::size_t frames_in_flight) {
  return gst_structure_new("application/x-cudaconvolve-stats", "frames", G_TYPE_UINT64, s.frames,
                           "passthrough-frames", G_TYPE_UINT64, s.passthrough_frames,
                           "backend-switches", G_TYPE_UINT64, s.backend_switches, "bytes-in",
                           G_TYPE_UINT64, s.bytes_in, "bytes-out", G_TYPE_UINT64, s.bytes_out,
                           "kernel-ns-last", G_TYPE_UINT64, s.kernel_ns_last, "frames-in-flight",
                           G_TYPE_UINT64, guint64{frames_in_flight}, nullptr);
}

void StageTimes::add(const convolve::FrameTimes& times) {
  const std::uint64_t stages[kStages] = {times.host_copy, times.upload, times.kernels,
                                         times.download, times.waiting};
  const std::lock_guard lock(mutex_);
  for (std::size_t s = 0; s < kStages; ++s)
    times_[s][count_ % kFrames] = stages[s];
  ++count_;
}

void StageTimes::reset() {
  const std::lock_guard lock(mutex_);
  count_ = 0;
}

void StageTimes::describe(GstStructure* stats) {
  static_assert(std::size(kNames) == kStages, "a name for each stage");
  wanted_ = true;
  std::unique_lock lock(mutex_);
  const auto frames = static_cast<std::size_t>(std::min<std::uint64_t>(count_, kFrames));
  const auto times = times_;
  lock.unlock();
  gst_structure_set(stats, "measured-frames", G_TYPE_UINT64, std::uint64_t{frames}, nullptr);
  for (std::size_t s = 0; s < kStages; ++s) {
    std::vector<std::uint64_t> sorted(times[s].begin(),
                                      times[s].begin() + static_cast<std::ptrdiff_t>(frames));
    std::sort(sorted.begin(), sorted.end());
    const auto quantile = [&sorted](std::size_t percent) {
      return sorted.empty() ? 0 : sorted[(sorted.size() - 1) * percent / 100];
    };
    const std::uint64_t sum = std::accumulate(sorted.begin(), sorted.end(), std::uint64_t{0});
    const std::uint64_t mean = sorted.empty() ? 0 : sum / sorted.size();
    const std::string name = std::string(kNames[s]) + "-ns-";
    gst_structure_set(stats, (name + "mean").c_str(), G_TYPE_UINT64, mean, (name + "p50").c_str(),
                      G_TYPE_UINT64, quantile(50), (name + "p99").c_str(), G_TYPE_UINT64,
                      quantile(99), nullptr);
  }
}

}  // namespace cudaconvolve
