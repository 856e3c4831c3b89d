// SPDX-License-Identifier: LGPL-2.1-or-later
// A ring of page-locked buffers, through which one host thread at a time brings pageable memory
// across the bus: while one buffer crosses, the thread fills or empties the next.
#pragma once

#include <cuda_runtime.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

#include "kernels/core/base/stop_signal.h"
#include "kernels/cuda/runtime/handles.h"
#include "kernels/cuda/runtime/planes.h"
#include "kernels/cuda/runtime/wait.h"

namespace convolve {

/// Rows of a plane that cross the bus together. They fit a buffer.
struct StagedRows {
  PlaneMemory host;    ///< Rows may lie bottom-up.
  PlaneMemory device;  ///< Rows lie top-down.
  int row_bytes = 0;
  int rows = 0;
};

/// Copies `count` bytes of page-locked memory, those from `offset` on of what is uploaded, to where
/// they belong: it only enqueues.
using EnqueueCopy =
    std::function<cudaError_t(const void* from, std::size_t offset, std::size_t count)>;

/// The stream on which buffers cross, and how their crossing is waited for (wait.h).
struct StagingWay {
  cudaStream_t stream = nullptr;
  int device = 0;
  const StopSignal* stop = nullptr;
  Waiting waiting = Waiting::kEager;
};

/// Used by one thread at a time, while the context of the stream is current; for copies in one
/// direction. Errors of all functions: kOutOfMemory, kStopped, kDeviceLost and those of CUDA.
class StagingRing {
 public:
  StagingRing() = default;
  StagingRing(StagingRing&&) = default;
  StagingRing& operator=(StagingRing&&) = delete;
  ~StagingRing() { release(); }

  Status add_buffer();
  /// Takes memory for so many rows to be noted.
  void reserve_rows(std::size_t count) { rows_.reserve(count); }
  std::size_t buffers() const { return buffers_.size(); }

  /// Copies rows from the host to the device. The host's may be used again when this returns.
  Status send(const StagedRows& rows, const StagingWay& way);
  /// Copies `bytes` bytes, not more than a buffer holds, to where `copy` takes them. The host's may
  /// be used again when this returns.
  Status send(const void* src, std::size_t offset, std::size_t bytes, const EnqueueCopy& copy,
              const StagingWay& way);

  /// Notes rows that are to come from the device.
  void add(const StagedRows& rows) { rows_.push_back(rows); }
  /// Enqueues the copy of the rows noted next into a buffer, if there are such rows and a buffer
  /// that none waits in.
  Status fetch(const StagingWay& way);
  /// True if rows are noted that no copy is enqueued for.
  bool has_more() const { return fetched_ < rows_.size(); }
  /// Waits for the rows that were fetched first.
  Status await(const StagingWay& way);
  /// Waits for all rows noted, and brings them to the host.
  Status land(const StagingWay& way);
  /// Forgets rows noted: nothing is written to the host any more.
  void forget();

  /// How long rows were copied on the host since begin_times().
  std::chrono::nanoseconds copied() const { return copied_; }
  void begin_times() { copied_ = {}; }

  /// Gives back the memory of buffers that have crossed. What the device may still write stays
  /// allocated for good.
  void release();

 private:
  struct Buffer {
    void* memory = nullptr;
    Event crossed;
    bool busy = false;  ///< `crossed` was recorded and not waited for.
  };

  /// The buffer whose turn it is, when nothing crosses in it any more.
  Result<Buffer*> take(const StagingWay& way);
  Buffer& landing();
  Status settle(Buffer& buffer, const StagingWay& way);
  Status cross(Buffer& buffer, const StagingWay& way);
  void copy_rows(const PlaneMemory& dst, const PlaneMemory& src, int row_bytes, int rows);

  std::vector<Buffer> buffers_;
  std::size_t next_ = 0;          ///< The buffer whose turn it is.
  std::vector<StagedRows> rows_;  ///< From the device; those before fetched_ are in buffers,
  std::size_t fetched_ = 0;
  std::size_t landed_ = 0;  ///< and those before landed_ on the host.
  std::chrono::nanoseconds copied_{};
};

}  // namespace convolve
