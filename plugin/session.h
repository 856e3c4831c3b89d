// SPDX-License-Identifier: LGPL-2.1-or-later
// What the streaming thread works with: the devices, the plan in force and the choice of what to do
// when either fails. Knows nothing of properties beyond their snapshot, nothing of
// GstBaseTransform.
#pragma once

#include <gst/video/video.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "kernels/convolver.h"
#include "plugin/devices.h"
#include "plugin/properties.h"

namespace cudaconvolve {

/// The numbers of property `stats`.
struct Statistics {
  guint64 frames = 0;              ///< Passed on, filtered or not.
  guint64 passthrough_frames = 0;  ///< Of these not filtered.
  guint64 backend_switches = 0;    ///< From CUDA to the CPU while running.
  guint64 bytes_in = 0;
  guint64 bytes_out = 0;
  guint64 kernel_ns_last = 0;  ///< Nanoseconds in kernels for the last filtered frame; 0 = unknown.
};

/// As the property gives them; the caller's own.
GstStructure* stats_structure(const Statistics& statistics);

/// Used by one thread at a time: start() and stop() while no data flows, the rest by the streaming
/// thread. Posts its errors and warnings itself.
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

  /// New caps. False after posting an error, once: frames cannot be filtered. If the plan was not
  /// finished because of a stop, the next update() makes it.
  bool set_format(const GstCaps* caps, const Settings& settings);

  /// A frame boundary: takes `settings` over. If they need a plan that cannot be had, posts one
  /// warning for them, and the last good plan runs on.
  void update(const Settings& settings);

  /// Filters one buffer into another. GST_FLOW_ERROR after posting an error, GST_FLOW_FLUSHING
  /// without a word after a stop; nothing may be pushed then. A frame that fails on CUDA is redone
  /// on the CPU if the backend is `auto`.
  GstFlowReturn filter(GstBuffer* input, GstBuffer* output);

  /// Counts a buffer that is passed on untouched.
  void count_passthrough(GstBuffer* buffer);

  /// True if the settings in force leave every component as it is.
  bool passthrough() const { return passthrough_; }

  /// The plan in force in one line; empty before caps.
  std::string plan_text() const;

  const Statistics& statistics() const { return statistics_; }

 private:
  struct Active {
    Settings settings;
    convolve::BackendKind backend = convolve::BackendKind::kCpu;
    convolve::FrameFormat format;
    std::shared_ptr<convolve::Device> device;
    std::unique_ptr<convolve::Convolver> convolver;
  };

  /// Caps and settings that an error has been posted for.
  struct Attempt {
    std::string caps;
    guint64 plan_generation;
    friend bool operator==(const Attempt& a, const Attempt& b) {
      return a.caps == b.caps && a.plan_generation == b.plan_generation;
    }
  };

  convolve::Result<std::unique_ptr<Active>> plan(const Settings& settings);
  convolve::Result<std::unique_ptr<Active>> plan_on(convolve::BackendKind backend,
                                                    const convolve::Mask& mask,
                                                    const Settings& settings,
                                                    convolve::KernelKind kernel);
  /// Makes the first plan for the caps in force. False after posting an error.
  bool plan_caps(const Settings& settings);
  /// `served`: the plan in force serves scale and bias of `settings`; otherwise the last ones stay.
  void take_arguments(const Settings& settings, bool served);
  bool may_leave_cuda(const convolve::Status& status) const;
  void leave_cuda(const convolve::Status& why, const Settings& settings);
  convolve::Status run(const convolve::FrameView& src, const convolve::FrameView& dst, bool fields);

  GstElement* element_;
  Devices devices_;
  BackendChoice choice_ = BackendChoice::kAuto;
  GstVideoInfo info_ = {};
  std::unique_ptr<Active> active_;
  bool plan_was_stopped_ = false;  ///< There are caps, and no plan for them yet.
  convolve::RunArguments arguments_;
  bool passthrough_ = false;
  std::optional<Attempt> refused_caps_;
  /// The settings that a warning has been posted for.
  std::optional<guint64> refused_generation_;
  /// A CUDA-only kernel that stands for `auto` since CUDA was left.
  std::optional<convolve::KernelKind> replaced_kernel_;
  Statistics statistics_;
};

}  // namespace cudaconvolve
