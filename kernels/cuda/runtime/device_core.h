// SPDX-License-Identifier: LGPL-2.1-or-later
// What an opened CUDA device and its jobs share: context, stream, clock and the device planes of
// frames that come from host memory. It lives as long as any of them.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/core/base/recent_writes.h"
#include "kernels/core/base/stop_signal.h"
#include "kernels/core/plan/backend.h"
#include "kernels/cuda/runtime/context.h"
#include "kernels/cuda/runtime/frame_slot.h"
#include "kernels/cuda/runtime/handles.h"
#include "kernels/cuda/runtime/shared_streams.h"
#include "kernels/cuda/runtime/staging.h"

namespace convolve {

/// More would only add to a frame's latency: three keep both directions of the bus busy.
inline constexpr int kMostFramesInFlight = 9;

/// Used by one thread at a time, but for finish(slot) and at_rest(). But for open() and the
/// destructor, its functions want its context to be current.
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
  /// Those of a frame that crosses the bus: stream() is that of its kernels. If it `may_share`
  /// streams with other elements it does so where those are many and its kernels are known to take
  /// less than a crossing.
  FrameStreams streams(bool may_share) const;
  /// The streams of a frame that lies on the device before and after: one and the same. If it is
  /// alone its end is awaited eagerly, as kernels take less than the system takes to wake a thread.
  /// It is `owner`, unless that is null, for a frame that is going to be handed over and whose
  /// kernels are not timed: its owner's stream need not wait then. Each wait across streams takes
  /// the host and the device a microsecond.
  FrameStreams streams_on_device(cudaStream_t owner = nullptr) const;
  /// The streams of a lone frame that crosses in pieces. make_copy_streams() must have succeeded.
  FrameStreams streams_of_pieces() const;
  Status make_copy_streams();
  /// Begins the slot's frame, or its second field, on `streams`. Its kernels come behind those of
  /// the frame before, which may have had another stream.
  Status begin(FrameSlot& slot, const FrameStreams& streams);
  /// Memory that is freed on stream() from here on is freed behind the copies of all frames. Any
  /// thread may call this: the last frame of a plan may take it along. Of errors nobody needs to
  /// know: what is lost is lost.
  void order_frees();
  /// No more than one frame is in flight.
  bool one_at_a_time() const { return slots_.size() == 1; }
  void log(LogLevel level, const std::string& message) const;

  /// The way of masks and tables to the device.
  Staging& staging() { return staging_; }

  /// Waits until `event` has passed: see wait_for(). kStopped if the stop signal is raised.
  Status wait(const Event& event) const;
  bool stopped() const { return stop_ != nullptr && stop_->raised(); }

  /// How many frames may be in flight at once, from 1 to kMostFramesInFlight. None may be now.
  /// Errors: kOutOfMemory, with as many as before.
  Status set_frames_in_flight(int count);

  /// Makes room for the device copies of frames of `bytes` bytes. It never shrinks, so that a
  /// change of mask or size seldom allocates. A frame takes `most_launches` of kernels at most, 1
  /// or more. None may be in flight.
  Status reserve_frames(std::size_t bytes, int most_launches);

  /// The slot of the frame that is being enqueued: a free one if none is. kInvalidArgument if as
  /// many frames as there may be are in flight.
  Result<FrameSlot*> frame();

  /// Device::measure_stages().
  void measure_stages() { measures_stages_ = true; }

  /// What kernels on the stream may still write.
  RecentWrites& writes() { return writes_; }

  /// All of the frame that is being enqueued has been: its slot, to be waited for by finish(slot)
  /// in any thread, one at a time. Without such a frame, one that is of nothing.
  Result<FrameSlot*> end_frame(bool may_hand_over);
  /// FrameSlot::finish(), and the slot is free again. `times`: FrameSlot::times().
  Status finish(FrameSlot& slot, FrameTimes* times);

  /// Waits for everything on the stream, and for the frame that is being enqueued.
  Status finish();

  /// True if nothing that was enqueued can still read or write a frame.
  bool at_rest() const;
  /// Waits for that, but not for long, whether or not the stop signal is raised.
  bool come_to_rest();
  std::uint64_t last_kernel_ns() const { return last_kernel_ns_; }

 private:
  DeviceCore(const Context& context, LogCallback log, std::shared_ptr<const StopSignal> stop);
  Status initialise();
  Waiting waiting_among_others() const;
  bool hands_over() const;
  Status follow_owner();
  Status pace(FrameSlot& slot);
  Result<std::unique_ptr<FrameSlot>> make_slot() const;

  Context context_;
  LogCallback log_;
  std::shared_ptr<const StopSignal> stop_;
  DeviceCapabilities capabilities_;
  Stream stream_;
  Stream download_;  ///< With shared_: if frames, or pieces, overlap.
  SharedStreams shared_;
  cudaStream_t last_kernels_ = nullptr;  ///< The stream of the kernels that were enqueued last.
  Staging staging_;
  Event done_;
  std::mutex frees_mutex_;  ///< Guards the next two.
  Event frees_;             ///< Of order_frees().
  /// Passes behind the last kernels on an owner's stream, if stream_ has not waited for them.
  const Event* owner_done_ = nullptr;
  bool abandoned_ = false;  ///< come_to_rest() has waited in vain, once.
  std::atomic<std::uint64_t> last_kernel_ns_{0};
  std::chrono::steady_clock::time_point last_finish_;  ///< When a frame was found to be over.
  /// Time between the ends of two frames of this element, in the mean of the last ones.
  std::atomic<std::chrono::microseconds::rep> interval_us_{0};
  bool measures_stages_ = false;
  std::uint64_t frames_ = 0;   ///< That were begun since reserve_frames().
  bool times_kernels_ = true;  ///< Of the frame that was begun last.
  /// The kernels of such frames take less than a crossing.
  std::atomic<bool> short_kernels_{false};
  std::int64_t handed_over_ = 0;  ///< Frames since paced_ was recorded.
  int most_launches_ = 1;         ///< Of a frame.
  Event paced_;                   ///< Behind the last frame of pace().
  bool pace_known_ = false;       ///< paced_ has been recorded.
  /// Of a frame that was handed over and whose kernels are timed: before paced_, if that is known
  /// to be so, and after it.
  StreamSpans timed_before_, timed_after_;
  std::uint64_t timed_ns_ = 0;  ///< Of them, not told yet.
  RecentWrites writes_;
  std::size_t frame_bytes_ = 0;   ///< Of the largest frames that were reserved for,
  std::size_t coming_bytes_ = 0;  ///< and of the last.
  std::vector<std::unique_ptr<FrameSlot>> slots_;
  std::atomic<FrameSlot*> current_{nullptr};  ///< Of the frame that is being enqueued.
  std::mutex mutex_;                          ///< Guards what follows.
  std::vector<FrameSlot*> free_;
};

}  // namespace convolve
