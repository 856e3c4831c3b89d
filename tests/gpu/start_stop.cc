// SPDX-License-Identifier: LGPL-2.1-or-later
// Starts and stops a pipeline many times, one frame each, and looks whether memory grows.
//
//   start_stop cuda|cpu CYCLES [in-flight]
//
// With `in-flight` each pipeline is stopped with frames on their way, at another moment each time.
// Device memory must not grow at all after the first cycles. Host memory settles, in steps of a
// MiB, up to three of them, that the driver takes and gives back, also after thousands of cycles.
// So it is measured twenty times, and what grows is the median of the slopes between any two of
// these: a few steps do not move it, and a cycle that loses memory each time does.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/gpu/device_memory.h"
#include "tests/gpu/element_pipeline.h"
#include "tests/gpu/host_memory.h"

namespace {

using cudaconvolve::gpu::Bytes;
using cudaconvolve::gpu::device_bytes_used;
using cudaconvolve::gpu::ElementPipeline;
using cudaconvolve::gpu::host_bytes_used;

/// Bytes a cycle, and for few cycles at least so much in all. Frames in flight leave page-locked
/// buffers of 1 MiB behind, which go when the next device rests.
constexpr double kHostGrowthAllowed = 100;
constexpr double kHostNoise = 4 << 20, kHostNoiseInFlight = 8 << 20;

struct Sample {
  int cycle = 0;
  long long bytes = 0;
};

/// Bytes a cycle: the median of the slopes between all pairs of samples (Theil and Sen).
double growth_of(const std::vector<Sample>& samples) {
  std::vector<double> slopes;
  for (std::size_t i = 0; i < samples.size(); ++i)
    for (std::size_t j = i + 1; j < samples.size(); ++j)
      slopes.push_back(static_cast<double>(samples[j].bytes - samples[i].bytes) /
                       (samples[j].cycle - samples[i].cycle));
  if (slopes.empty()) return 0;
  const auto middle = slopes.begin() + static_cast<std::ptrdiff_t>(slopes.size() / 2);
  std::nth_element(slopes.begin(), middle, slopes.end());
  return *middle;
}

/// `behind`: frames that are pushed behind the one that is looked at, and left on their way.
bool cycle(const std::string& properties, const Bytes& frame, int behind) {
  ElementPipeline pipeline(properties, GST_VIDEO_FORMAT_NV12, 320, 240);
  if (!cudaconvolve::gpu::filter(pipeline, frame)) return false;
  for (int n = 0; n < behind; ++n)
    pipeline.push(frame);
  if (behind > 0) std::this_thread::sleep_for(std::chrono::microseconds(behind * 37 % 200));
  const ElementPipeline::Messages messages = pipeline.messages();
  return messages.warnings + messages.errors == 0;
}

}  // namespace

int main(int argc, char** argv) {
  gst_init(&argc, &argv);
  const bool in_flight = argc == 4 && std::strcmp(argv[3], "in-flight") == 0;
  const int cycles = argc == 3 || in_flight ? std::atoi(argv[2]) : 0;
  const bool cuda = cycles > 0 && std::strcmp(argv[1], "cuda") == 0;
  if (cycles < 10 || (!cuda && std::strcmp(argv[1], "cpu") != 0)) {
    std::fprintf(stderr, "usage: start_stop cuda|cpu CYCLES (at least 10) [in-flight]\n");
    return 2;
  }
  // Masks take turns, so that slots and buffers of several sizes come and go.
  const std::string masks[] = {"gaussian:2", "sharpen", "disk:5", "binomial:9"};
  const Bytes frame(320 * 240 * 3 / 2, 77);
  long passed = 0;
  long failed = 0;
  long long device_before = 0;
  std::vector<Sample> host;
  const int settled = cycles / 10;
  const int stride = std::max(1, (cycles - settled) / 20);
  for (int n = 0; n < cycles; ++n) {
    if (n == settled) device_before = cuda ? device_bytes_used() : 0;
    if (n >= settled && (n - settled) % stride == 0) host.push_back({n, host_bytes_used()});
    std::string properties = "backend=" + std::string(argv[1]) + " mask=" + masks[n % 4];
    if (in_flight) properties += " async-depth=" + std::to_string(1 + n % 8);
    const bool ok = cycle(properties, frame, in_flight ? 1 + n % 11 : 0);
    ++(ok ? passed : failed);
    if ((n + 1) % 1000 == 0) std::printf("%d cycles\n", n + 1), std::fflush(stdout);
  }
  const long long device_growth = cuda ? device_bytes_used() - device_before : 0;
  host.push_back({cycles, host_bytes_used()});
  for (const Sample& sample : host)
    std::printf("%d cycles: %+lld KiB\n", sample.cycle, (sample.bytes - host.front().bytes) / 1024);
  const double host_growth = growth_of(host);
  std::printf("figure: %d cycles, device memory %+lld bytes, host memory %+.0f bytes a cycle\n",
              cycles, device_growth, host_growth);
  ++(device_growth <= 0 ? passed : failed);
  const double noise = in_flight ? kHostNoiseInFlight : kHostNoise;
  ++(host_growth <= std::max(kHostGrowthAllowed, noise / cycles) ? passed : failed);
  return cudaconvolve::gpu::finish(passed, failed);
}
