// SPDX-License-Identifier: LGPL-2.1-or-later
// What the bus between host and GPU lets through at best, measured now. bus_limit.cc in builds with
// CUDA, bus_limit_stub.cc in others.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace cudaconvolve::pipelines {

/// "NVIDIA H100, driver 580.1, runtime 13.0" of device 0; empty, and why, without one.
std::string gpu_description(std::string* why);

/// Copies of whole frames between page-locked memory and device 0, in both directions at once.
class BusLimit {
 public:
  /// Takes page-locked memory and device memory for a few frames.
  explicit BusLimit(std::size_t frame_bytes);
  ~BusLimit();
  BusLimit(const BusLimit&) = delete;
  BusLimit& operator=(const BusLimit&) = delete;

  /// Frames a second that the device can both receive and send back, as it is for the next tenth of
  /// a second: others may use the host's buses, too. 0 if CUDA failed, or without it.
  double frames_per_second();

 private:
  class Copies;
  std::unique_ptr<Copies> copies_;
};

}  // namespace cudaconvolve::pipelines
