// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/pipelines/bus_limit.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>

namespace cudaconvolve::pipelines {
namespace {

constexpr double kSeconds = 0.1;
constexpr int kFirstFrames = 16;
/// Buffers of each direction that are used by turns: pictures do not wait in a cache either.
constexpr int kTurns = 4;

bool ok(cudaError_t error) {
  return error == cudaSuccess;
}

/// The version of NVIDIA's driver, such as 580.159.04, which CUDA itself does not tell; empty where
/// the kernel module does not show it.
std::string driver_version() {
  std::ifstream file("/sys/module/nvidia/version");
  std::string version;
  std::getline(file, version);
  return version;
}

std::string dotted(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

std::string gpu_description(std::string* why) {
  cudaDeviceProp properties;
  int driver = 0, runtime = 0;
  const cudaError_t error = cudaGetDeviceProperties(&properties, 0);
  if (!ok(error)) {
    *why = cudaGetErrorString(error);
    return "";
  }
  (void)cudaDriverGetVersion(&driver);
  (void)cudaRuntimeGetVersion(&runtime);
  const std::string named = driver_version();
  return std::string(properties.name) + ", driver " +
         (named.empty() ? "for CUDA " + dotted(driver) : named) + ", runtime " + dotted(runtime);
}

/// Both directions, each with a stream and memory of its own at both ends.
class BusLimit::Copies {
 public:
  explicit Copies(std::size_t bytes) : bytes_(bytes) {
    for (cudaStream_t& stream : streams_)
      good_ = good_ && ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (void*& host : host_) {
      good_ = good_ && ok(cudaHostAlloc(&host, bytes, cudaHostAllocPortable));
      if (good_) std::memset(host, 1, bytes);
    }
    for (void*& device : device_)
      good_ = good_ && ok(cudaMalloc(&device, bytes));
  }
  ~Copies() {
    for (void* device : device_)
      (void)cudaFree(device);
    for (void* host : host_)
      (void)cudaFreeHost(host);
    for (cudaStream_t stream : streams_)
      if (stream != nullptr) (void)cudaStreamDestroy(stream);
  }
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

  bool good() const { return good_; }

  /// Seconds for `frames` up and as many down; negative if CUDA failed.
  double copy(int frames) {
    const auto begin = std::chrono::steady_clock::now();
    for (int k = 0; k < frames && good_; ++k) {
      const auto up = static_cast<std::size_t>(k % kTurns), down = up + kTurns;
      good_ = ok(cudaMemcpyAsync(device_[up], host_[up], bytes_, cudaMemcpyHostToDevice,
                                 streams_[0])) &&
              ok(cudaMemcpyAsync(host_[down], device_[down], bytes_, cudaMemcpyDeviceToHost,
                                 streams_[1]));
    }
    for (cudaStream_t stream : streams_)
      good_ = good_ && ok(cudaStreamSynchronize(stream));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    return good_ ? took.count() : -1;
  }

 private:
  std::size_t bytes_;
  bool good_ = true;
  std::array<cudaStream_t, 2> streams_{};
  std::array<void*, 2 * kTurns> host_{}, device_{};
};

BusLimit::BusLimit(std::size_t frame_bytes) : copies_(std::make_unique<Copies>(frame_bytes)) {}
BusLimit::~BusLimit() = default;

double BusLimit::frames_per_second() {
  if (!copies_->good()) return 0;
  // The first copies touch everything once; then there are more until they take long enough.
  double took = copies_->copy(kFirstFrames);
  int frames = kFirstFrames;
  while (took >= 0) {
    took = copies_->copy(frames);
    if (took >= kSeconds) return frames / took;
    frames = static_cast<int>(std::ceil(std::clamp(1.2 * kSeconds / took, 1.5, 64.0) * frames));
  }
  return 0;
}

}  // namespace cudaconvolve::pipelines
