// SPDX-License-Identifier: LGPL-2.1-or-later
// Page-locked memory through which frames and masks cross the bus.
//
// A copy between pageable memory and the device goes through the driver, which waits inside the
// call for what is before it on the stream: after a kernel that never ends, for ever. So pageable
// memory is copied here by the host, part by part, and each part crosses asynchronously. While
// one part crosses, the host copies the next.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <list>

#include "kernels/core/base/stop_signal.h"
#include "kernels/cuda/runtime/handles.h"
#include "kernels/cuda/runtime/planes.h"

namespace convolve {

/// A ring of page-locked buffers that belongs to a stream. Used by one thread at a time, while the
/// context of the stream is current. Errors of all functions: kOutOfMemory, kStopped, kDeviceLost
/// and those of CUDA.
class Staging {
 public:
  /// `device` is the ordinal that waits count for (wait.h); `stop` may be null and outlives this.
  Staging(int device, const StopSignal* stop) : device_(device), stop_(stop) {}
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// After the constructor: the streams that copies go to.
  void use(cudaStream_t upload, cudaStream_t download) {
    upload_ = upload;
    download_ = download;
  }

  /// Takes the memory for frames of `bytes` now, so that none is taken while they cross.
  Status reserve(std::size_t bytes);

  /// Copies `rows` rows of `row_bytes` from host memory to the device. The source may be used again
  /// when this returns.
  Status upload(const PlaneMemory& dst, const PlaneMemory& src, int row_bytes, int rows);

  /// Copies `bytes` bytes of host memory to wherever copy(from, offset, count) takes them: it
  /// enqueues a copy of `count` bytes, those from `offset` on, out of page-locked memory. The
  /// source may be used again when this returns.
  using EnqueueCopy =
      std::function<cudaError_t(const void* from, std::size_t offset, std::size_t count)>;
  Status upload(const void* src, std::size_t bytes, const EnqueueCopy& copy);

  /// Copies `bytes` bytes of host memory to device memory. The source may be used again when this
  /// returns.
  Status upload(void* dst, const void* src, std::size_t bytes);

  /// Copies `rows` rows of `row_bytes` from the device to host memory, which is complete only after
  /// finish().
  Status download(const PlaneMemory& dst, const PlaneMemory& src, int row_bytes, int rows);

  /// Waits for all downloads and brings them to where they belong.
  Status finish();

  /// Nothing is written to host memory any more: downloads on their way are left where they are.
  void forget_downloads();

  /// Gives back the memory of buffers that have crossed. What the device may still write stays
  /// allocated for good.
  void release();

 private:
  /// One buffer, and what it waits for.
  struct Slot {
    void* memory = nullptr;
    Event crossed;
    bool busy = false;  ///< `crossed` was recorded and not waited for.
    /// Rows on their way to host memory; no address if there are none.
    PlaneMemory dst;
    int row_bytes = 0;
    int rows = 0;
  };

  using Slots = std::list<Slot>;

  Result<Slot*> take();
  Slots::iterator last_passed();
  Status add();
  Status settle(Slot& slot);
  Status cross(Slot& slot, cudaStream_t stream);

  int device_;
  const StopSignal* stop_;
  cudaStream_t upload_ = nullptr, download_ = nullptr;
  Slots slots_;  ///< In the order in which they were taken, the last one behind.
};

}  // namespace convolve
