// SPDX-License-Identifier: LGPL-2.1-or-later
// Page-locked memory through which frames and masks cross the bus.
//
// A copy between pageable memory and the device goes through the driver, which waits inside the
// call for what is before it on the stream: after a kernel that never ends, for ever. So pageable
// memory is copied here by the host, part by part, and each part crosses asynchronously. While
// one part crosses, the host copies the next. One thread copies far less than the bus takes, so
// the parts of a frame are shared among several threads of the process's pool.
#pragma once

#include <cuda_runtime.h>

#include <chrono>
#include <cstddef>
#include <vector>

#include "kernels/core/base/stop_signal.h"
#include "kernels/cuda/runtime/context.h"
#include "kernels/cuda/runtime/staging_ring.h"

namespace convolve {

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
  bool has_more() const;

  /// Waits for everything noted for download, and brings it to host memory.
  Status finish();

  /// How long rows of one ring were copied on the host since begin_times(), on their way to the
  /// device and back: of the ring that took longest.
  std::chrono::nanoseconds sent() const;
  std::chrono::nanoseconds landed() const;
  void begin_times();

  /// Forgets what was noted: nothing is written to host memory any more, downloads on their way are
  /// left where they are.
  void forget();

  /// Gives back the memory of buffers that have crossed. What the device may still write stays
  /// allocated for good.
  void release();

 private:
  /// How many threads share a frame. One brings some 9 GB/s each way, the bus takes 49 GB/s.
  static constexpr std::size_t kThreads = 4;
  /// Of each ring. While one of two crosses to the device, the other is filled. Copies back are
  /// enqueued before anybody waits for them: so many that a frame of up to 16 MiB finds room.
  static constexpr std::size_t kBuffersUp = 2, kBuffersDown = 4;

  Status make_rings();
  Status add_buffers(std::size_t count);
  template <class Add>
  void cut(const PlaneMemory& host, const PlaneMemory& device, int row_bytes, int rows,
           const Add& add) const;
  template <class Work>
  Status on_rings(std::size_t parts, const Work& work);

  /// A pair of rings is used by one thread at a time, so that no two threads wait for each other.
  struct Rings {
    StagingRing up, down;
  };

  const Context context_;
  StagingWay up_, down_;
  std::vector<Rings> rings_;         ///< None until they are needed.
  bool made_ = false;                ///< They are as many as frames of the size expected want.
  std::vector<StagedRows> uploads_;  ///< Noted.
  std::size_t downloads_ = 0;        ///< How many parts were noted.
  std::size_t frame_bytes_ = 0;      ///< Of a frame that is expected,
  std::size_t part_bytes_;           ///< and of a part of it.
};

}  // namespace convolve
