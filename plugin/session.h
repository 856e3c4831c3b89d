// SPDX-License-Identifier: LGPL-2.1-or-later
// What the streaming thread works with: the devices, the plan in force and the choice of what to do
// when either fails. Knows nothing of properties beyond their snapshot, nothing of
// GstBaseTransform.
#pragma once

#include <gst/video/video.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "kernels/convolver.h"
#include "plugin/devices.h"
#include "plugin/frames/doubtful_memory.h"
#include "plugin/frames/sent_frame.h"
#include "plugin/properties.h"
#include "plugin/statistics.h"

namespace cudaconvolve {

/// start() and stop() are called while no data flows, finish() by any thread, the rest by the
/// streaming thread. Posts its errors and warnings itself.
class Session {
 public:
  /// `stop`: while it is raised, no frame is filtered to its end.
  Session(GstElement* element, SharedCudaContext& shared,
          std::shared_ptr<const convolve::StopSignal> stop)
      : element_(element), devices_(element, shared, std::move(stop)) {}

  /// READY->PAUSED: opens the devices. False after posting an error.
  bool start(const Settings& settings);

  /// PAUSED->READY: frees everything.
  void stop();

  /// New caps of both pads, which differ in nothing but the memory. False after posting an error,
  /// once: frames cannot be filtered. If the plan was not finished because of a stop, the next
  /// update() makes it.
  bool set_format(const GstCaps* input, const GstCaps* output, const Settings& settings);

  /// True if `buffer`, which comes next, lies in another CUDA context than the one in use: then no
  /// frame may be in flight when adopt_context_of() takes it over, and output wants a new pool.
  bool is_foreign(GstBuffer* buffer) const;
  /// False after posting an error.
  bool adopt_context_of(GstBuffer* buffer);

  /// A frame boundary: takes `settings` over. If they need a plan that cannot be had, posts one
  /// warning for them, and the last good plan runs on.
  void update(const Settings& settings);

  /// True if `settings` need another plan than the one in force: then no frame may be in flight
  /// when update() takes them over.
  bool needs_plan(const Settings& settings) const;

  /// How many frames may be in flight behind the one that is being sent; at most `wanted`, and 0
  /// where the backend works at one at a time, or where a frame that fails must renegotiate. None
  /// may be now.
  int set_depth(int wanted);

  /// False once the plan in force is one of the CPU.
  bool on_cuda() const;

  /// After a flush, with no frame in flight: waits until the device has left those that it worked
  /// at.
  void settle();

  /// Maps two buffers, from one of which a frame goes to the other. Unless `flow` is GST_FLOW_OK
  /// that is what to return; of a buffer that cannot be mapped the frame says which and why.
  std::unique_ptr<SentFrame> open(GstBuffer* input, GstBuffer* output, GstFlowReturn* flow);

  /// True once the stream has ended with an error because a frame was lost with its device.
  bool has_told_loss() const;

  /// For a buffer that goes back unfiltered: keeps it for good if it is in the memory of a device
  /// that is lost.
  void keep_if_lost(GstBuffer* buffer);

  /// True if the frame lies where the plan in force does not serve: then no other may be in flight
  /// when send() makes one that does.
  bool needs_plan(const SentFrame& frame) const;

  /// Enqueues the filtering of an opened frame. Anything but GST_FLOW_OK after posting an error. A
  /// frame that could not be enqueued is sent all the same: finish() tells.
  GstFlowReturn send(SentFrame& frame);

  /// Waits for the frame. GST_FLOW_ERROR after posting an error, GST_FLOW_FLUSHING without a word
  /// after a stop; nothing may be pushed then. A frame that fails on CUDA is redone on the CPU if
  /// the backend is `auto` and it came in system memory; kRenegotiate if its output is in CUDA
  /// memory, which nobody may write any more.
  GstFlowReturn finish(SentFrame& frame);

  /// Waits for frames that finish() has not waited for, at the end of the stream: what went wrong
  /// with them is told now. GST_FLOW_ERROR after posting an error.
  GstFlowReturn finish_handed_over();

  /// The caps must be negotiated anew, with output in system memory, and the frame filtered again.
  static constexpr GstFlowReturn kRenegotiate = GST_FLOW_CUSTOM_ERROR_1;

  /// Counts a buffer that is passed on untouched.
  void count_passthrough(GstBuffer* buffer);

  /// True if the settings in force leave every component as it is.
  bool passthrough() const;

  /// False where there is known to be no CUDA: then no pad has CUDA memory. Any thread may ask.
  bool may_have_cuda() const { return !devices_.without_cuda(); }

  /// True if output is in CUDA memory and input is not, so that finish() may give kRenegotiate.
  bool only_output_in_cuda_memory() const;

  /// True if frames go from CUDA memory to CUDA memory, whose streams may wait for them.
  bool may_hand_over() const;

  /// The plan in force in one line; null before caps.
  std::shared_ptr<const std::string> plan_text() const;

  /// Gives the memory that frames are moved to and from the device in place; null for ordinary
  /// memory.
  GstAllocator* allocator() const { return devices_.allocator(); }

  Statistics statistics() const;

  /// Where the time of finished frames went; any thread may ask.
  StageTimes& stage_times() { return stage_times_; }

 private:
  /// Caps and settings that an error has been posted for.
  struct Attempt {
    std::string caps;
    guint64 plan_generation;
    friend bool operator==(const Attempt& a, const Attempt& b) {
      return a.caps == b.caps && a.plan_generation == b.plan_generation;
    }
  };

  convolve::Result<std::shared_ptr<ActivePlan>> plan(const Settings& settings);
  convolve::Result<std::shared_ptr<ActivePlan>> plan_on(convolve::BackendKind backend,
                                                        const convolve::Mask& mask,
                                                        const Settings& settings,
                                                        convolve::KernelKind kernel);
  /// True if `auto` is to filter frames of these caps on the CPU though there is CUDA, as they cost
  /// less there. In CUDA memory they stay where they are, and a kernel that is asked for by name is
  /// one of CUDA.
  bool cpu_is_cheaper(const convolve::Mask& mask, const Settings& settings);
  convolve::Options options_for(const Settings& settings, convolve::KernelKind kernel) const;
  /// Makes the first plan for the caps in force. False after posting an error.
  bool plan_caps(const Settings& settings);
  /// `served`: the plan in force serves scale and bias of `settings`; otherwise the last ones stay.
  void take_arguments(const Settings& settings, bool served);
  /// Failures of the device, not of what was asked of it.
  static bool is_device_failure(convolve::Code code);
  bool may_leave_cuda(const SentFrame& frame, const convolve::Status& status) const;
  void leave_cuda(const convolve::Status& why, const Settings& settings);
  convolve::Status send_on(const ActivePlan& plan, SentFrame& frame);
  convolve::Status map(SentFrame& frame);
  int least_alignment(const SentFrame& frame) const;
  /// After a frame failed: keeps its memory from others if the device may still be at it.
  void keep_if_doubtful(const SentFrame& frame);
  static void keep_in_cuda_memory(GstBuffer* buffer);
  convolve::Status redo(SentFrame& frame, const convolve::Status& why);
  /// The settings of the active plan, with the scale and bias that new frames are sent with.
  Settings settings_in_force() const;
  /// The settings of the plan that `frame` was sent with, with the scale and bias of the frame.
  static Settings settings_of(const SentFrame& frame);
  void count(const SentFrame& frame);

  GstElement* element_;
  mutable std::mutex mutex_;  ///< Guards all that follows, but for what start() and stop() do.
  Devices devices_;
  BackendChoice choice_ = BackendChoice::kAuto;
  std::string input_caps_;
  GstVideoInfo info_ = {};
  bool input_in_cuda_memory_ = false;  ///< As the caps say.
  bool output_in_cuda_memory_ = false;
  int alignment_ = convolve::kPlaneAlignment;  ///< Of the frames so far under these caps.
  std::shared_ptr<ActivePlan> active_;
  bool plan_was_stopped_ = false;  ///< There are caps, and no plan for them yet.
  convolve::RunArguments arguments_;
  bool passthrough_ = false;
  std::optional<Attempt> refused_caps_;
  /// The settings that a warning has been posted for.
  std::optional<guint64> refused_generation_;
  /// A CUDA-only kernel that stands for `auto` since CUDA was left.
  std::optional<convolve::KernelKind> replaced_kernel_;
  DoubtfulMemory doubtful_;
  bool lost_ = false;       ///< A frame was, with its device: CUDA is not used again.
  bool told_loss_ = false;  ///< See has_told_loss().
  Statistics statistics_;
  bool handed_over_ = false;  ///< A frame was, since finish_handed_over().
  StageTimes stage_times_;    ///< Guards itself.
};

}  // namespace cudaconvolve
