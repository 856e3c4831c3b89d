// SPDX-License-Identifier: LGPL-2.1-or-later
// Starts and stops a pipeline many times, one frame each, and looks whether memory grows.
//
//   start_stop cuda|cpu CYCLES
//
// Device memory must not grow at all after the first cycles. Host memory may settle: it is measured
// from a tenth of the cycles on and may grow by 2 MiB.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "tests/gpu/device_memory.h"
#include "tests/gpu/element_pipeline.h"

namespace {

using cudaconvolve::gpu::Bytes;
using cudaconvolve::gpu::device_bytes_used;
using cudaconvolve::gpu::ElementPipeline;

constexpr long long kHostGrowthAllowed = 2 << 20;

/// Resident bytes of this process.
long long host_bytes_used() {
  long long pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * 4096;
}

bool cycle(const std::string& properties, const Bytes& frame) {
  ElementPipeline pipeline(properties, GST_VIDEO_FORMAT_NV12, 320, 240);
  return cudaconvolve::gpu::filter(pipeline, frame).has_value();
}

}  // namespace

int main(int argc, char** argv) {
  gst_init(&argc, &argv);
  const int cycles = argc == 3 ? std::atoi(argv[2]) : 0;
  const bool cuda = argc == 3 && std::strcmp(argv[1], "cuda") == 0;
  if (cycles < 10 || (!cuda && std::strcmp(argv[1], "cpu") != 0)) {
    std::fprintf(stderr, "usage: start_stop cuda|cpu CYCLES (at least 10)\n");
    return 2;
  }
  // Masks take turns, so that slots and buffers of several sizes come and go.
  const std::string masks[] = {"gaussian:2", "sharpen", "disk:5", "binomial:9"};
  const Bytes frame(320 * 240 * 3 / 2, 77);
  long passed = 0;
  long failed = 0;
  long long device_before = 0;
  long long host_before = 0;
  const int settled = cycles / 10;
  for (int n = 0; n < cycles; ++n) {
    if (n == settled) {
      device_before = cuda ? device_bytes_used() : 0;
      host_before = host_bytes_used();
    }
    const bool ok = cycle("backend=" + std::string(argv[1]) + " mask=" + masks[n % 4], frame);
    ++(ok ? passed : failed);
    if ((n + 1) % 1000 == 0) std::printf("%d cycles\n", n + 1), std::fflush(stdout);
  }
  const long long device_growth = cuda ? device_bytes_used() - device_before : 0;
  const long long host_growth = host_bytes_used() - host_before;
  std::printf("figure: %d cycles, device memory +%lld bytes, host memory +%lld KiB\n", cycles,
              device_growth, host_growth / 1024);
  ++(device_growth <= 0 ? passed : failed);
  ++(host_growth <= kHostGrowthAllowed ? passed : failed);
  return cudaconvolve::gpu::finish(passed, failed);
}
