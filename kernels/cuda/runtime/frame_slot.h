// SPDX-License-Identifier: LGPL-2.1-or-later
// What one frame takes on its way through a device. A device has as many slots as frames may be in
// flight at once.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "kernels/core/base/stop_signal.h"
#include "kernels/core/plan/backend.h"
#include "kernels/cuda/runtime/handles.h"
#include "kernels/cuda/runtime/staging.h"

namespace convolve {

/// The streams of a device: copies to it, kernels, and copies from it. Three, so that frames in
/// flight use both directions of the bus and the processors at once, or one and the same, which
/// spares a frame that is alone the time of waiting across streams.
struct FrameStreams {
  cudaStream_t upload = nullptr;
  cudaStream_t kernels = nullptr;
  cudaStream_t download = nullptr;

  bool apart() const { return upload != kernels; }
  /// How a frame on them is waited for.
  Waiting waiting() const { return apart() ? Waiting::kFrugal : Waiting::kEager; }
};

/// Used by one thread at a time: first by the one that enqueues the frame, then by the one that
/// waits for it. The context must be current.
class FrameSlot {
 public:
  /// `stop` may be null and outlives this.
  FrameSlot(const Context& context, const StopSignal* stop)
      : device_(context.device), stop_(stop), staging_(context, stop) {}
  ~FrameSlot();
  FrameSlot(const FrameSlot&) = delete;
  FrameSlot& operator=(const FrameSlot&) = delete;

  /// After the constructor. Errors: of CUDA.
  Status initialise();

  /// Makes the device copies of source and destination at least `bytes` large each. They never
  /// shrink. Nothing of the slot may be in flight.
  Status reserve(std::size_t bytes, const FrameStreams& streams);
  std::uint8_t* source() const { return static_cast<std::uint8_t*>(source_.data()); }
  std::uint8_t* destination() const { return static_cast<std::uint8_t*>(destination_.data()); }

  /// Page-locked buffers through which pageable memory crosses the bus.
  Staging& staging() { return staging_; }
  const FrameStreams& streams() const { return streams_; }

  /// A frame begins, or its second field: what is enqueued from here on finds the slot's memory
  /// free.
  Status begin(const FrameStreams& streams);
  /// The source is on its way: kernels that are enqueued from here on wait for it.
  Status source_enqueued();
  /// Around the frame's kernels: mark their first and last moment, and let copies back wait for
  /// them.
  Status kernels_begin();
  Status kernels_end();
  /// All of the frame has been enqueued: nothing, if begin() was not called.
  Status end(const FrameStreams& streams);

  /// The frame lies in device memory, which its owner may free after finish(): that waits for the
  /// device even where the stop signal is raised.
  void owe_wait() { owes_wait_ = true; }

  /// Waits for the frame, and brings what was downloaded to where it belongs. After an error
  /// nothing is written to host memory any more but to page-locked memory of frames.
  Status finish();

  /// The times of the frame that was finished last.
  const FrameTimes& times() const { return times_; }

  /// Copies across the bus are timed from now on. Nothing of the slot may be in flight. Errors: of
  /// CUDA.
  Status measure_copies();

  /// Nothing of the slot was enqueued that is not known to be over.
  bool at_rest() const { return !working_; }
  /// Everything that was enqueued is over.
  void come_to_rest();

  /// Gives back everything, in the order of the streams.
  void release();

 private:
  /// Two moments of a stream.
  struct Span {
    Event first, last;
    bool marked = false;  ///< Both, and not read yet.

    /// Where there are no events, nothing is marked.
    Status begin(cudaStream_t stream);
    Status end(cudaStream_t stream);
    /// Nanoseconds in between once both have passed; 0 if that is not known.
    std::uint64_t read();
  };

  Status grow(DeviceMemory& memory, std::size_t bytes, cudaStream_t stream);

  int device_;  ///< The ordinal that waits count for (wait.h).
  const StopSignal* stop_;
  FrameStreams streams_;
  Staging staging_;
  DeviceMemory source_, destination_;
  Span kernels_;
  Span upload_, download_;  ///< Without events until measure_copies().
  Event uploaded_, done_;
  bool begun_ = false;  ///< A run of the frame was enqueued,
  bool whole_ = false;  ///< and the last one as far as the end of its kernels.
  bool owes_wait_ = false;
  std::atomic<bool> working_{false};
  FrameTimes times_;
};

}  // namespace convolve
