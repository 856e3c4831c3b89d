// SPDX-License-Identifier: LGPL-2.1-or-later
// What an opened CUDA device and its jobs share: context, stream, clock and the device planes of
// frames that come from host memory. It lives as long as any of them.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/core/base/recent_writes.h"
#include "kernels/core/base/stop_signal.h"
#include "kernels/core/plan/backend.h"
#include "kernels/cuda/runtime/context.h"
#include "kernels/cuda/runtime/handles.h"
#include "kernels/cuda/runtime/staging.h"

namespace convolve {

/// Used by one thread at a time. But for open() and the destructor, its functions want its context
/// to be current.
class DeviceCore {
 public:
  /// Errors: kNoDevice if this build has no code for the device, kOutOfMemory, kDeviceLost.
  /// `stop` may be null.
  static Result<std::shared_ptr<DeviceCore>> open(const Context& context, LogCallback log,
                                                  std::shared_ptr<const StopSignal> stop);
  ~DeviceCore();
  DeviceCore(const DeviceCore&) = delete;
  DeviceCore& operator=(const DeviceCore&) = delete;

  const Context& context() const { return context_; }
  const DeviceCapabilities& capabilities() const { return capabilities_; }
  cudaStream_t stream() const { return stream_.get(); }
  void log(LogLevel level, const std::string& message) const;

  /// The way of host memory to the device and back.
  Staging& staging() { return staging_; }

  /// Waits until `event` has passed: see wait_for(). kStopped if the stop signal is raised.
  Status wait(const Event& event) const;
  bool stopped() const { return stop_ != nullptr && stop_->raised(); }

  /// Makes the device copies of plane `plane` of a source and a destination frame at least `bytes`
  /// large each. They never shrink, so that a change of mask or size seldom allocates.
  Status reserve_plane(int plane, std::size_t bytes);
  void* src_plane(int plane) const { return src_[static_cast<std::size_t>(plane)].data(); }
  void* dst_plane(int plane) const { return dst_[static_cast<std::size_t>(plane)].data(); }

  /// What kernels on the stream may still write.
  RecentWrites& writes() { return writes_; }

  /// Marks the first and the last moment of a frame's kernels on the stream.
  Status kernels_begin();
  Status kernels_end();

  /// The frames that are enqueued from here on lie in device memory, which their owner may free
  /// after finish(): it waits for the device even where the stop signal is raised.
  void owe_wait() { owes_wait_ = true; }

  /// Waits for everything on the stream, and brings what was downloaded to where it belongs. After
  /// an error nothing is written to host memory any more.
  Status finish();
  std::uint64_t last_kernel_ns() const { return last_kernel_ns_; }

 private:
  DeviceCore(const Context& context, LogCallback log, std::shared_ptr<const StopSignal> stop);
  Status initialise();
  Status grow(DeviceMemory& memory, std::size_t bytes);

  Context context_;
  LogCallback log_;
  std::shared_ptr<const StopSignal> stop_;
  DeviceCapabilities capabilities_;
  Stream stream_;
  Staging staging_;
  Event begin_, end_, done_;
  bool owes_wait_ = false;
  bool timing_ = false;  ///< A frame's end was marked and not read yet.
  std::uint64_t last_kernel_ns_ = 0;
  RecentWrites writes_;
  std::array<DeviceMemory, kMaxPlanes> src_, dst_;
};

}  // namespace convolve
