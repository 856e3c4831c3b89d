// SPDX-License-Identifier: LGPL-2.1-or-later
// Page-locked buffers through which rows cross the bus in one direction.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/core/base/stop_signal.h"
#include "kernels/cuda/runtime/context.h"
#include "kernels/cuda/runtime/handles.h"
#include "kernels/cuda/runtime/wait.h"

namespace convolve {

/// The stream on which buffers cross, and how their crossing is waited for (wait.h).
struct StagingWay {
  cudaStream_t stream = nullptr;
  int device = 0;
  const StopSignal* stop = nullptr;
  Waiting waiting = {};
};

struct StagingBuffer {
  std::shared_ptr<std::uint8_t> memory;
  Event crossed;
  bool crossing = false;  ///< `crossed` was recorded and not waited for.
  bool full = false;      ///< What came from the device in it is still wanted.
};

/// At most two buffers, of which the second is taken when it is first needed: while one crosses,
/// the host fills or empties the other. Used by one thread at a time, in the context. Errors of all
/// functions: kOutOfMemory, kStopped, kDeviceLost and those of CUDA.
class StagingBuffers {
 public:
  ~StagingBuffers() { release(); }

  /// Sees to it that there is a buffer, of `bytes` bytes if they can be had, or else of
  /// kLeastBytes.
  Status provide(const Context& context, std::size_t bytes);
  /// The size of each buffer; 0 before provide().
  std::size_t bytes() const { return bytes_; }

  /// A buffer that nothing crosses in, which is waited for, and that is not full; null if all are.
  Result<StagingBuffer*> take(const Context& context, const StagingWay& way);
  /// The copy of `buffer` is enqueued.
  static Status cross(StagingBuffer& buffer, const StagingWay& way);
  /// Waits until it is over.
  static Status settle(StagingBuffer& buffer, const StagingWay& way);

  /// No buffer is full any more.
  void forget();
  /// Gives the memory back. What the device may still write stays allocated for good.
  void release();

  /// A row of the widest picture, 32,768 pixels of 8 bytes, fits four times.
  static constexpr std::size_t kLeastBytes = std::size_t{1} << 20;

 private:
  Status add(const Context& context, std::size_t bytes);

  std::vector<std::unique_ptr<StagingBuffer>> buffers_;  ///< In the order of their last use.
  std::size_t bytes_ = 0;
};

}  // namespace convolve
