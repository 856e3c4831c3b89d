// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/measure.h"

#include <chrono>
#include <cstdio>
#include <utility>

#include "tests/kernels/devices.h"
#include "tests/kernels/test_masks.h"

namespace convolve::benchmarks {
namespace {

constexpr int kFewestBatches = 5;
constexpr int kMostBatches = 60;

}  // namespace

std::unique_ptr<Target> open_target(BackendKind backend, int* status, int threads) {
  if (!measurable_build()) {
    std::fprintf(stderr, "this build is not optimised: its times would mean nothing\n");
    *status = 2;
    return nullptr;
  }
  std::string why;
  std::unique_ptr<Target> target =
      backend == BackendKind::kCuda ? make_cuda_target(&why) : make_cpu_target(threads);
  if (target == nullptr) {
    const bool required = testing::gpu_required();
    std::fprintf(stderr, "%s: %s\n", required ? "FAIL" : "SKIP", why.c_str());
    *status = required ? 1 : 77;
  }
  return target;
}

Setting setting_of(Target& target, BackendKind backend, const std::string& commit) {
  Setting setting;
  setting.backend = backend == BackendKind::kCuda ? "cuda" : "cpu";
  setting.device = target.description();
  setting.commit = commit;
  setting.fma_rate = target.measure_fma_rate();
  return setting;
}

std::vector<std::uint8_t> make_noise(std::size_t bytes) {
  testing::Random random(1);
  std::vector<std::uint8_t> noise(bytes);
  for (std::uint8_t& byte : noise)
    byte = static_cast<std::uint8_t>(random.bits() >> 56);
  return noise;
}

bool take_times(Target& target, double seconds, Spread* frames, Spread* copies) {
  std::vector<double> frame_us, copy_us;
  const auto start = std::chrono::steady_clock::now();
  for (int batch = 0; batch < kMostBatches; ++batch) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (batch >= kFewestBatches && elapsed.count() > seconds) break;
    frame_us.push_back(target.time_frames());
    copy_us.push_back(target.time_copies());
    if (frame_us.back() < 0 || copy_us.back() < 0) return false;
  }
  *frames = spread_of(std::move(frame_us));
  *copies = spread_of(std::move(copy_us));
  return true;
}

}  // namespace convolve::benchmarks
