// SPDX-License-Identifier: LGPL-2.1-or-later
// What one frame takes on its way through a device. A device has as many slots as frames may be in
// flight at once.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/core/base/stop_signal.h"
#include "kernels/core/plan/backend.h"
#include "kernels/cuda/runtime/handles.h"
#include "kernels/cuda/runtime/spans.h"
#include "kernels/cuda/runtime/staging.h"

namespace convolve {

/// The streams of a frame: copies to the device, kernels, and copies from it. Three, so that frames
/// in flight, or the pieces of one, use both directions of the bus and the processors at once; or
/// one and the same, which spares a frame that is alone the time of waiting across streams.
struct FrameStreams {
  cudaStream_t upload = nullptr;
  cudaStream_t kernels = nullptr;
  cudaStream_t download = nullptr;
  /// How a frame on them is waited for.
  Waiting waiting = {};
  /// They are one stream of an owner of CUDA memory, who may destroy it once the frame is over.
  bool of_owner = false;

  bool apart() const { return upload != kernels; }
  bool are(const FrameStreams& others) const {
    return upload == others.upload && kernels == others.kernels && download == others.download;
  }
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

  /// Makes the device copies of source and destination at least `bytes` large each, in the order of
  /// `stream`. They never shrink. Nothing of the slot may be in flight.
  Status reserve(std::size_t bytes, cudaStream_t stream);
  /// Where `bytes` bytes of the source that comes next go, not more than were reserved. Both fields
  /// of a frame have room side by side; where they have not, the second waits for the first one's
  /// kernels. Errors: of CUDA.
  Result<std::uint8_t*> take_source(std::size_t bytes);
  std::uint8_t* destination() const { return static_cast<std::uint8_t*>(destination_.data()); }

  /// Page-locked buffers through which pageable memory crosses the bus.
  Staging& staging() { return staging_; }
  const FrameStreams& streams() const { return streams_; }

  /// A frame begins, or its second field: what is enqueued from here on finds the slot's memory
  /// free. Kernels come behind those on stream `kernels_before`, if there is one: frames use the
  /// same memory of a plan.
  Status begin(const FrameStreams& streams, cudaStream_t kernels_before = nullptr);
  /// After begin(): kernels that are enqueued from here on, and copies back, come behind all that
  /// stream `owner` has now. Copies to the device do not: they go to memory of the slot.
  Status await_owner(cudaStream_t owner);
  /// After begin(): source and destination lie in memory of these owners, so that nothing of the
  /// frame is anybody else's. If that is so for both of its fields, end() may let the owners'
  /// streams wait for the frame, and finish() does not then.
  void hand_over_to(cudaStream_t source_owner, cudaStream_t destination_owner);
  bool is_handed_over() const { return handed_over_; }
  /// A run of the frame was enqueued.
  bool has_begun() const { return begun_; }
  /// After end(): passes behind all of the frame, until the next one begins.
  const Event& done() const { return done_; }
  /// After end() of a frame that is handed over: what times its kernels, in exchange for another.
  StreamSpans exchange_kernel_spans(StreamSpans other) {
    return std::exchange(kernels_, std::move(other));
  }
  /// Around what is enqueued to bring the source, or a piece of it: kernels that are enqueued from
  /// await_source() on wait for what came before the last end_source().
  Status begin_source();
  Status end_source();
  Status await_source();
  /// Around the kernels of the frame, or of a piece: mark their first and last moment if they are
  /// timed, and let copies back that are enqueued from here on wait for them.
  Status begin_kernels();
  Status end_kernels();
  /// Around what is enqueued to give the destination back, or a piece of it.
  Status begin_destination();
  Status end_destination();
  /// All of the frame has been enqueued: nothing, if begin() was not called.
  Status end(const FrameStreams& streams, bool may_hand_over = false);

  /// The frame lies in device memory, which its owner may free after finish(): that waits for the
  /// device even where the stop signal is raised.
  void owe_wait() { owes_wait_ = true; }

  /// Waits for the frame, and brings what was downloaded to where it belongs. After an error
  /// nothing is written to host memory any more but to page-locked memory of frames.
  Status finish();

  /// The times of the frame that was finished last. That of kernels is 0 if they were not timed.
  const FrameTimes& times() const { return times_; }

  /// Whether the kernels of the next frame are timed. Nothing of the slot may be in flight.
  void time_kernels(bool timed) { times_kernels_ = timed; }
  bool kernels_are_timed() const { return times_kernels_; }
  /// Copies across the bus are timed from now on. Nothing of the slot may be in flight. Errors: of
  /// CUDA.
  Status measure_copies();

  /// Nothing of the slot was enqueued that is not known to be over.
  bool at_rest() const { return !working_; }
  /// Waits for that at most as long as `patience` says, whether or not the stop signal is raised:
  /// true if it is so.
  bool come_to_rest(std::chrono::milliseconds patience);

  /// Gives back everything, device memory in the order of the stream on which it was taken.
  void release();

 private:
  /// Everything that was enqueued is over.
  void rest();
  Status await_fresh_memory(const FrameStreams& streams);
  Status hand_over();
  Status grow(DeviceMemory& memory, std::size_t bytes, cudaStream_t stream);

  int device_;  ///< The ordinal that waits count for (wait.h).
  const StopSignal* stop_;
  FrameStreams streams_;
  Staging staging_;
  DeviceMemory source_, destination_;
  StreamSpans kernels_;
  StreamSpans upload_, download_;  ///< Not enabled before measure_copies().
  /// At the end of the source, twice, as of two pieces one comes while the other is awaited.
  std::array<Event, 2> uploaded_;
  std::size_t sent_ = 0, awaited_ = 0;  ///< Pieces whose source was enqueued, and is waited for.
  std::size_t taken_ = 0;               ///< Bytes of the source that runs of the frame have taken.
  Event filtered_;                      ///< At the end of kernels that are not timed.
  Event done_;
  bool times_kernels_ = true;
  /// The stream on which the copies were taken, until a frame on others has waited for that.
  cudaStream_t fresh_on_ = nullptr;
  bool begun_ = false;      ///< A run of the frame was enqueued,
  bool first_run_ = false;  ///< which is the first,
  bool whole_ = false;      ///< and the last one as far as the end of its kernels.
  bool owes_wait_ = false;
  std::array<cudaStream_t, 2> owners_{};  ///< Of hand_over_to(), which was called
  bool run_owned_ = false;                ///< for the run that has begun,
  bool runs_before_owned_ = false;        ///< and, with these owners, for those before.
  bool handed_over_ = false;              ///< The frame that has ended.
  std::atomic<bool> working_{false};
  FrameTimes times_;
};

}  // namespace convolve
