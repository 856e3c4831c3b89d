// SPDX-License-Identifier: LGPL-2.1-or-later
// Where a benchmark runs: frames in a backend's memory, and timed batches of frames and copies.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/convolver.h"

namespace convolve::benchmarks {

/// Runs or enqueues one frame; false if that failed.
using FrameWork = std::function<bool(const FrameView& src, const FrameView& dst)>;

/// Frames of one format in the backend's memory, in pairs of source and destination: enough of them
/// that caches hold nothing of a pair when its turn comes again.
class Target {
 public:
  virtual ~Target() = default;

  virtual std::string description() const = 0;
  /// Multiply-adds a second of the device, measured now; 0 where that has no one answer.
  virtual double measure_fma_rate() = 0;

  /// Lays out pairs for frames of `format`. Every source is a stretch of `noise`, plane after
  /// plane; the first starts at its begin. False if memory is out.
  virtual bool lay_out(const FrameFormat& format, const std::vector<std::uint8_t>& noise) = 0;

  /// A fresh device for one convolver.
  virtual Result<std::shared_ptr<Device>> open() = 0;

  /// Readies `work`, which goes to `device`, for batches on the pairs. False if that failed.
  virtual bool load(const FrameWork& work, Device& device) = 0;

  /// One batch; microseconds a frame, negative if it failed.
  virtual double time_frames() = 0;
  virtual double time_copies() = 0;

  /// The first destination, packed (frames.h). Empty if that failed.
  virtual std::vector<std::uint8_t> first_output() = 0;
};

/// `threads`: 0 = all cores.
std::unique_ptr<Target> make_cpu_target(int threads);
/// Null, and why, if there is no GPU.
std::unique_ptr<Target> make_cuda_target(std::string* why);

}  // namespace convolve::benchmarks
