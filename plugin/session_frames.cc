// SPDX-License-Identifier: LGPL-2.1-or-later
// The part of a session that works at single frames: how they are mapped, sent and waited for, and
// what becomes of one that fails.
#include <algorithm>
#include <utility>

#include "plugin/frames/cudamemory.h"
#include "plugin/frames/frames.h"
#include "plugin/log.h"
#include "plugin/report.h"
#include "plugin/session.h"

namespace cudaconvolve {

using convolve::BackendKind;
using convolve::Code;
using convolve::FrameView;
using convolve::Result;
using convolve::Status;

namespace {

bool has_rows(const FrameView& view) {
  for (int p = 0; p < view.format.plane_count; ++p)
    if (view.format.planes[p].rows > 0) return true;
  return false;
}

/// True if the buffer holds two fields, which were taken at two times and must not mix.
bool holds_two_fields(const GstVideoInfo& info, GstBuffer* buffer) {
  switch (GST_VIDEO_INFO_INTERLACE_MODE(&info)) {
    case GST_VIDEO_INTERLACE_MODE_INTERLEAVED:
      return true;
    case GST_VIDEO_INTERLACE_MODE_MIXED:
      return GST_BUFFER_FLAG_IS_SET(buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED);
    case GST_VIDEO_INTERLACE_MODE_PROGRESSIVE:
    case GST_VIDEO_INTERLACE_MODE_FIELDS:
    case GST_VIDEO_INTERLACE_MODE_ALTERNATE:
      return false;
  }
  return false;
}

/// Memory that nobody else knows in the place of the buffer's, as large and laid out as it was.
void give_fresh_memory(GstBuffer* buffer) {
  gst_buffer_replace_all_memory(buffer,
                                gst_allocator_alloc(nullptr, gst_buffer_get_size(buffer), nullptr));
}

}  // namespace

/// A frame that came in CUDA memory has no copy that the CPU could filter.
bool Session::may_leave_cuda(const SentFrame& frame, const Status& status) const {
  return frame.plan->backend == BackendKind::kCuda && choice_ == BackendChoice::kAuto &&
         is_device_failure(status.code()) && !frame.comes_in_cuda_memory();
}

void Session::settle() {
  const std::lock_guard lock(mutex_);
  if (!doubtful_.empty() && active_ != nullptr && active_->device->come_to_rest())
    doubtful_.release();
}

Status Session::send_on(const ActivePlan& plan, SentFrame& frame) {
  const FrameView& src = frame.source->view();
  const FrameView& dst = frame.destination->view();
  for (int parity = 0; parity < (frame.fields ? 2 : 1); ++parity) {
    const FrameView from = frame.fields ? field_view(src, parity) : src;
    const FrameView to = frame.fields ? field_view(dst, parity) : dst;
    if (frame.fields && !has_rows(from)) continue;
    if (Status status = plan.convolver->run(from, to, frame.arguments); !status.ok()) return status;
  }
  Result<std::unique_ptr<convolve::FrameInFlight>> sent = plan.device->send();
  if (!sent.ok()) return sent.status();
  frame.frame = std::move(sent.value());
  return {};
}

Status Session::map(SentFrame& frame) {
  const bool on_device = active_->backend == BackendKind::kCuda;
  if (Status status =
          frame.source->map(frame.input, info_, active_->format, GST_MAP_READ, on_device);
      !status.ok()) {
    frame.unmapped = "input";
    return status;
  }
  Status status =
      on_device && devices_.is_foreign(frame.output)
          ? convolve::invalid_argument("its CUDA memory is of another context than the input's")
          : frame.destination->map(frame.output, info_, active_->format, GST_MAP_WRITE, on_device);
  if (!status.ok()) frame.unmapped = "output";
  return status;
}

std::unique_ptr<SentFrame> Session::open(GstBuffer* input, GstBuffer* output, GstFlowReturn* flow) {
  const std::lock_guard lock(mutex_);
  auto frame = std::make_unique<SentFrame>(input, output);
  *flow = GST_FLOW_FLUSHING;
  if (plan_was_stopped_) return nullptr;
  *flow = GST_FLOW_NOT_NEGOTIATED;
  if (active_ == nullptr) return nullptr;
  frame->sent = map(*frame);
  *flow = frame->sent.ok() ? GST_FLOW_OK : GST_FLOW_ERROR;
  frame->fields = holds_two_fields(info_, input);
  return frame;
}

int Session::least_alignment(const SentFrame& frame) const {
  return std::min(alignment_of(frame.source->view()), alignment_of(frame.destination->view()));
}

bool Session::needs_plan(const SentFrame& frame) const {
  const std::lock_guard lock(mutex_);
  return active_ != nullptr && least_alignment(frame) < active_->alignment;
}

GstFlowReturn Session::send(SentFrame& frame) {
  const std::lock_guard lock(mutex_);
  if (active_ != nullptr && least_alignment(frame) < active_->alignment) {
    alignment_ = least_alignment(frame);
    const Settings settings = settings_in_force();
    active_.reset();
    if (!plan_caps(settings)) return GST_FLOW_ERROR;
  }
  if (active_ == nullptr) return plan_was_stopped_ ? GST_FLOW_FLUSHING : GST_FLOW_NOT_NEGOTIATED;
  frame.plan = active_;
  frame.arguments = arguments_;
  // The frames before it have given up CUDA since it was mapped, or the plan was not to be had.
  if (active_->backend == BackendKind::kCpu && frame.leaves_in_cuda_memory()) return kRenegotiate;
  frame.measured = stage_times_.wanted();
  if (frame.measured) active_->device->measure_stages();
  frame.sent = send_on(*active_, frame);
  return GST_FLOW_OK;
}

void Session::keep_if_doubtful(const SentFrame& frame) {
  if (lost_) {
    keep_in_cuda_memory(frame.input);
    keep_in_cuda_memory(frame.output);
  }
  if (frame.plan->device->at_rest()) return;
  doubtful_.keep(frame.input);
  doubtful_.keep(frame.output);
}

bool Session::has_told_loss() const {
  const std::lock_guard lock(mutex_);
  return told_loss_;
}

void Session::keep_if_lost(GstBuffer* buffer) {
  const std::lock_guard lock(mutex_);
  if (lost_) keep_in_cuda_memory(buffer);
}

void Session::keep_in_cuda_memory(GstBuffer* buffer) {
  if (is_in_cuda_memory(buffer)) keep_for_good(buffer);
}

Settings Session::settings_of(const SentFrame& frame) {
  Settings settings = frame.plan->settings;
  settings.scale = frame.arguments.scale;
  settings.bias = frame.arguments.bias;
  return settings;
}

/// On the CPU, into memory that a lost device does not know.
Status Session::redo(SentFrame& frame, const Status& why) {
  const Settings settings = settings_of(frame);
  // The frames behind the first that failed find the plan that it made.
  if (devices_.has_cuda()) leave_cuda(why, settings);
  doubtful_.abandon();
  if (frame.source->view().memory == convolve::Memory::kPageLocked ||
      frame.destination->view().memory == convolve::Memory::kPageLocked) {
    frame.destination.reset();
    give_fresh_memory(frame.output);
    frame.destination.emplace();
    if (Status status =
            frame.destination->map(frame.output, info_, frame.plan->format, GST_MAP_WRITE);
        !status.ok())
      return status;
  }
  if (active_ == nullptr || active_->backend != BackendKind::kCpu ||
      active_->settings.plan_generation != settings.plan_generation ||
      !active_->convolver->serves(settings.scale, settings.bias)) {
    Result<std::shared_ptr<ActivePlan>> planned = plan(settings);
    if (!planned.ok()) {
      plan_was_stopped_ = planned.status().code() == Code::kStopped;
      if (plan_was_stopped_) active_.reset();
      return planned.status();
    }
    active_ = std::move(planned.value());
  }
  frame.frame.reset();
  Status status = send_on(*active_, frame);
  return status.ok() ? frame.frame->finish() : status;
}

GstFlowReturn Session::finish(SentFrame& frame) {
  Status status = frame.frame != nullptr ? frame.frame->finish() : frame.sent;
  const std::lock_guard lock(mutex_);
  lost_ = lost_ || status.code() == Code::kDeviceLost;
  if (!status.ok()) {
    if (lost_) handed_over_ = false;  // Those are lost with it.
    keep_if_doubtful(frame);
    if (frame.dropped) return GST_FLOW_ERROR;
    if (may_leave_cuda(frame, status)) {
      if (frame.leaves_in_cuda_memory()) {
        if (devices_.has_cuda()) leave_cuda(status, settings_of(frame));
        doubtful_.abandon();
        return kRenegotiate;
      }
      status = redo(frame, status);
    }
  } else if (frame.plan->device->at_rest()) {
    doubtful_.release();
  }
  if (status.code() == Code::kStopped) return GST_FLOW_FLUSHING;
  if (!status.ok()) {
    told_loss_ = told_loss_ || status.code() == Code::kDeviceLost;
    post_error(element_, "the frame could not be filtered", status);
    return GST_FLOW_ERROR;
  }
  if (frame.is_handed_over()) {
    mark_read_on_stream(frame.input);
    handed_over_ = true;
  }
  if (!frame.dropped) count(frame);
  return GST_FLOW_OK;
}

GstFlowReturn Session::finish_handed_over() {
  std::shared_ptr<ActivePlan> plan;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(handed_over_, false)) plan = active_;
  }
  if (plan == nullptr) return GST_FLOW_OK;
  const Status status = plan->device->finish();
  if (status.ok()) return GST_FLOW_OK;
  if (status.code() == Code::kStopped) return GST_FLOW_FLUSHING;
  {
    const std::lock_guard lock(mutex_);
    told_loss_ = lost_ = lost_ || status.code() == Code::kDeviceLost;
  }
  post_error(element_, "the last frames could not be filtered", status);
  return GST_FLOW_ERROR;
}

void Session::count(const SentFrame& frame) {
  ++statistics_.frames;
  statistics_.bytes_in += gst_buffer_get_size(frame.input);
  statistics_.bytes_out += gst_buffer_get_size(frame.output);
  const convolve::FrameTimes times = frame.frame->times();
  if (times.kernels > 0) statistics_.kernel_ns_last = times.kernels;
  if (frame.measured) stage_times_.add(times);
}

}  // namespace cudaconvolve
