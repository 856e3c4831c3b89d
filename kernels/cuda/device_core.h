// SPDX-License-Identifier: LGPL-2.1-or-later
// What an opened CUDA device and its jobs share: context, stream, clock and the device planes of
// frames that come from host memory. It lives as long as any of them.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/core/backend.h"
#include "kernels/core/recent_writes.h"
#include "kernels/cuda/context.h"
#include "kernels/cuda/handles.h"

namespace convolve {

/// Used by one thread at a time. But for open() and the destructor, its functions want its context
/// to be current.
class DeviceCore {
 public:
  /// Errors: kNoDevice if this build has no code for the device, kOutOfMemory, kDeviceLost.
  static Result<std::shared_ptr<DeviceCore>> open(const Context& context, LogCallback log);
  ~DeviceCore();
  DeviceCore(const DeviceCore&) = delete;
  DeviceCore& operator=(const DeviceCore&) = delete;

  const Context& context() const { return context_; }
  const DeviceCapabilities& capabilities() const { return capabilities_; }
  cudaStream_t stream() const { return stream_.get(); }
  void log(LogLevel level, const std::string& message) const;

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

  /// Waits for everything on the stream.
  Status finish();
  std::uint64_t last_kernel_ns() const { return last_kernel_ns_; }

 private:
  DeviceCore(const Context& context, LogCallback log);
  Status initialise();
  Status grow(DeviceMemory& memory, std::size_t bytes);

  Context context_;
  LogCallback log_;
  DeviceCapabilities capabilities_;
  Stream stream_;
  Event begin_, end_;
  bool timing_ = false;  ///< A frame's end was marked and not read yet.
  std::uint64_t last_kernel_ns_ = 0;
  RecentWrites writes_;
  std::array<DeviceMemory, kMaxPlanes> src_, dst_;
};

}  // namespace convolve
