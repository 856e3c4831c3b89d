// SPDX-License-Identifier: LGPL-2.1-or-later
// Page-locked memory through which frames and masks cross the bus.
//
// A copy between pageable memory and the device goes through the driver, which waits inside the
// call for what is before it on the stream: after a kernel that never ends, for ever. So pageable
// memory is copied here by the host, to or from a buffer that holds a whole frame of up to 16 MiB,
// and crosses asynchronously. One thread copies far less than the bus takes: rows are shared among
// several (host_copy.h). Only the caller enqueues, as threads that do so at once wait for each
// other in the driver: 8 of them 58 us for each copy, in the place of 7.
#pragma once

#include <cuda_runtime.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

#include "kernels/core/base/stop_signal.h"
#include "kernels/cuda/runtime/context.h"
#include "kernels/cuda/runtime/host_copy.h"
#include "kernels/cuda/runtime/planes.h"
#include "kernels/cuda/runtime/staging_buffers.h"

namespace convolve {

/// Copies `count` bytes of page-locked memory, those from `offset` on of what is uploaded, to where
/// they belong: it only enqueues.
using EnqueueCopy =
    std::function<cudaError_t(const void* from, std::size_t offset, std::size_t count)>;

/// Used by one thread at a time, while `context` is current. Errors of all functions: kOutOfMemory,
/// kStopped, kDeviceLost and those of CUDA.
class Staging {
 public:
  /// `context` is that of the streams; `stop` may be null and outlives this.
  Staging(const Context& context, const StopSignal* stop);
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// After the constructor: the streams that copies go to, and how threads wait for them.
  void use(cudaStream_t upload, cudaStream_t download, Waiting waiting);

  /// Frames of `bytes` bytes come from now on. Memory for them is taken when the first one is
  /// noted, as frames in page-locked memory need none. None may be on its way.
  void expect(std::size_t bytes);

  /// Notes `rows` rows of `row_bytes` of host memory for upload().
  Status add_upload(const PlaneMemory& dst, const PlaneMemory& src, int row_bytes, int rows);
  /// Copies what was noted to the device. The sources may be used again when this returns.
  Status upload();

  /// Copies `bytes` bytes of host memory to wherever `copy` takes them. The source may be used
  /// again when this returns.
  Status upload(const void* src, std::size_t bytes, const EnqueueCopy& copy);

  /// Copies `bytes` bytes of host memory to device memory. The source may be used again when this
  /// returns.
  Status upload(void* dst, const void* src, std::size_t bytes);

  /// Notes `rows` rows of `row_bytes` of the device for download().
  Status add_download(const PlaneMemory& dst, const PlaneMemory& src, int row_bytes, int rows);
  /// Enqueues copies of as much of what was noted as there are buffers for.
  Status download();
  /// True if finish() has copies to enqueue itself, out of device memory that must stay as it is
  /// until then.
  bool has_more() const { return fetched_ < downloads_.size(); }

  /// Waits for everything noted for download, and brings it to host memory.
  Status finish();

  /// How long the host copied rows since begin_times(), on their way to the device and back.
  std::chrono::nanoseconds sent() const { return sent_; }
  std::chrono::nanoseconds landed() const { return landed_; }
  void begin_times() { sent_ = landed_ = {}; }

  /// Forgets what was noted: nothing is written to host memory any more, downloads on their way are
  /// left where they are.
  void forget();

  /// Gives back the memory of buffers that have crossed. What the device may still write stays
  /// allocated for good.
  void release();

 private:
  /// Rows of a plane, and where they lie in a buffer, row behind row.
  struct Rows {
    PlaneMemory host;  ///< Rows may lie bottom-up.
    PlaneMemory device;
    int row_bytes = 0;
    int rows = 0;
    std::size_t offset = 0;
  };
  /// Rows of one or more planes that cross the bus together in one buffer.
  struct Load {
    std::vector<Rows> rows;
    std::size_t bytes = 0;
    StagingBuffer* buffer = nullptr;
  };
  using Loads = std::vector<Load>;  ///< What was noted, in the order in which it crosses.

  static void add(Loads& loads, Rows rows, std::size_t most);
  std::size_t most_of_load(const StagingBuffers& buffers) const;
  Status copy_on_host(const Load& load, const StagingBuffer& buffer, bool up);
  Status copy_across(const Load& load, const StagingBuffer& buffer, bool up);
  Status fetch();

  const Context context_;
  StagingWay up_way_, down_way_;
  std::size_t wanted_;  ///< Bytes of a buffer.
  StagingBuffers up_, down_;
  Loads uploads_, downloads_;
  std::size_t fetched_ = 0;  ///< Downloads before this one are on their way,
  std::size_t landing_ = 0;  ///< and those before this one on the host.
  std::vector<HostRows> host_rows_;
  std::chrono::nanoseconds sent_{}, landed_{};
};

}  // namespace convolve
