// SPDX-License-Identifier: LGPL-2.1-or-later
#include "plugin/session.h"

#include <utility>

#include "plugin/caps.h"
#include "plugin/formats.h"
#include "plugin/frames/frames.h"
#include "plugin/log.h"
#include "plugin/report.h"

namespace cudaconvolve {

using convolve::BackendKind;
using convolve::Code;
using convolve::Convolver;
using convolve::FrameView;
using convolve::KernelKind;
using convolve::Mask;
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

/// Failures of the device, not of what was asked of it.
bool is_device_failure(Code code) {
  return code == Code::kOutOfMemory || code == Code::kDeviceError || code == Code::kDeviceLost;
}

const char* normalization_text(const Settings& settings, const Mask& mask) {
  if (settings.normalize != convolve::Normalize::kAuto) return "normalized as asked";
  if (settings.mask->normalized) return "weights of its name";
  if (settings.mask->divisor.has_value()) return "divided by its divisor";
  return mask.divided_by_sum ? "divided by the sum of the weights" : "weights left as typed";
}

}  // namespace

bool Session::start(const Settings& settings) {
  choice_ = settings.backend;
  statistics_ = {};
  stage_times_.reset();
  refused_caps_.reset();
  refused_generation_.reset();
  replaced_kernel_.reset();
  if (Status status = devices_.open(settings); !status.ok()) {
    post_error(element_, "backend=cuda", status);
    devices_.close();
    return false;
  }
  return true;
}

void Session::stop() {
  if (!doubtful_.empty()) {
    if (active_ != nullptr && active_->device->come_to_rest())
      doubtful_.release();
    else
      doubtful_.abandon();
  }
  active_.reset();
  plan_was_stopped_ = false;
  devices_.close();
}

bool Session::set_format(const GstCaps* caps, const Settings& settings) {
  const std::lock_guard lock(mutex_);
  gchar* text = gst_caps_to_string(caps);
  Attempt attempt = {text, settings.plan_generation};
  g_free(text);
  // After a failure the base class tries again for the next query and the next buffer. One error
  // has been posted: it stands until something changes.
  if (refused_caps_ == attempt) return false;
  refused_caps_ = std::move(attempt);
  refused_generation_.reset();
  active_.reset();
  plan_was_stopped_ = false;

  const Result<GstVideoInfo> info = parse_caps(caps);
  if (!info.ok()) {
    post_bad_caps(element_, info.status());
    return false;
  }
  info_ = info.value();
  devices_.new_caps();
  if (!plan_caps(settings)) return false;
  refused_caps_.reset();
  return true;
}

bool Session::plan_caps(const Settings& settings) {
  Result<std::shared_ptr<ActivePlan>> planned = plan(settings);
  plan_was_stopped_ = planned.status().code() == Code::kStopped;
  if (plan_was_stopped_) {
    passthrough_ = false;
    return true;
  }
  if (!planned.ok()) {
    post_error(element_, "these settings cannot be served", planned.status());
    return false;
  }
  active_ = std::move(planned.value());
  take_arguments(settings, /*served=*/true);
  return true;
}

bool Session::needs_plan(const Settings& settings) const {
  const std::lock_guard lock(mutex_);
  return plan_was_stopped_ ||
         (active_ != nullptr && (settings.plan_generation != active_->settings.plan_generation ||
                                 !active_->convolver->serves(settings.scale, settings.bias)));
}

void Session::update(const Settings& settings) {
  const std::lock_guard lock(mutex_);
  if (plan_was_stopped_) plan_caps(settings);
  if (active_ == nullptr) return;
  bool served = active_->convolver->serves(settings.scale, settings.bias);
  const bool stale = settings.plan_generation != active_->settings.plan_generation || !served;
  if (stale && refused_generation_ != settings.plan_generation) {
    Result<std::shared_ptr<ActivePlan>> planned = plan(settings);
    if (planned.ok()) {
      refused_generation_.reset();
      active_ = std::move(planned.value());
      served = true;
    } else if (planned.status().code() != Code::kStopped) {
      refused_generation_ = settings.plan_generation;
      post_warning(element_, "the new settings cannot be served", planned.status(),
                   "the last ones stay in force");
    }
  }
  take_arguments(settings, served);
}

Result<std::shared_ptr<ActivePlan>> Session::plan(const Settings& settings) {
  const Result<Mask> mask = Mask::make(*settings.mask, settings.normalize, settings.operation);
  if (!mask.ok()) return mask.status();
  GST_INFO_OBJECT(element_, "mask %dx%d, %s", mask.value().width, mask.value().height,
                  normalization_text(settings, mask.value()));

  Status cuda_refusal;
  if (devices_.has_cuda()) {
    Result<std::shared_ptr<ActivePlan>> planned =
        plan_on(BackendKind::kCuda, mask.value(), settings, settings.kernel);
    if (planned.ok() || choice_ == BackendChoice::kCuda ||
        planned.status().code() == Code::kStopped)
      return planned;
    if (is_device_failure(planned.status().code()))
      leave_cuda(planned.status(), settings);
    else
      cuda_refusal = planned.status();
  }
  const KernelKind kernel =
      replaced_kernel_ == settings.kernel ? KernelKind::kAuto : settings.kernel;
  Result<std::shared_ptr<ActivePlan>> planned =
      plan_on(BackendKind::kCpu, mask.value(), settings, kernel);
  if (planned.ok()) return planned;
  if (!cuda_refusal.ok()) return cuda_refusal;
  if (!devices_.cuda_status().ok() && !convolve::has_kernel(convolve::BackendKind::kCpu, kernel))
    return Status(planned.status().code(),
                  planned.status().message() + "; no CUDA: " + devices_.cuda_status().message());
  return planned;
}

Result<std::shared_ptr<ActivePlan>> Session::plan_on(BackendKind backend, const Mask& mask,
                                                     const Settings& settings, KernelKind kernel) {
  auto device = devices_.get(backend);
  if (!device.ok()) return device.status();
  auto active = std::make_shared<ActivePlan>();
  active->settings = settings;
  active->backend = backend;
  active->format = frame_format(info_, settings.channels);
  active->device = std::move(device.value());

  convolve::Options options;
  options.kernel = kernel;
  options.tile_width = settings.tile_width;
  options.scale = settings.scale;
  options.bias = settings.bias;
  options.alpha_mode = settings.alpha_mode;
  auto convolver = Convolver::create(active->format, mask, options, active->device);
  if (!convolver.ok()) return convolver.status();
  active->convolver = std::move(convolver.value());
  return active;
}

void Session::take_arguments(const Settings& settings, bool served) {
  if (served) arguments_ = {settings.scale, settings.bias, settings.border};
  passthrough_ = convolve::is_passthrough(active_->format, active_->convolver->mask(),
                                          arguments_.scale, arguments_.bias);
}

bool Session::may_leave_cuda(const ActivePlan& plan, const Status& status) const {
  return plan.backend == BackendKind::kCuda && choice_ == BackendChoice::kAuto &&
         is_device_failure(status.code());
}

void Session::leave_cuda(const Status& why, const Settings& settings) {
  std::string consequence = "the filter goes on on the CPU";
  if (!convolve::has_kernel(convolve::BackendKind::kCpu, settings.kernel)) {
    replaced_kernel_ = settings.kernel;
    consequence += std::string(", with kernel=auto for the CUDA kernel ") +
                   convolve::kernel_info(settings.kernel).nick;
  }
  devices_.give_up_cuda(why);
  ++statistics_.backend_switches;
  post_warning(element_, "CUDA failed", why, consequence);
}

int Session::set_depth(int wanted) {
  const std::lock_guard lock(mutex_);
  if (active_ == nullptr || active_->backend != BackendKind::kCuda) return 0;
  const Status status = active_->device->set_frames_in_flight(wanted + 1);
  if (status.ok()) return wanted;
  GST_INFO_OBJECT(element_, "one frame at a time is in flight: %s", status.message().c_str());
  (void)active_->device->set_frames_in_flight(1);
  return 0;
}

bool Session::on_cuda() const {
  const std::lock_guard lock(mutex_);
  return active_ != nullptr && active_->backend == BackendKind::kCuda;
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

std::unique_ptr<SentFrame> Session::send(GstBuffer* input, GstBuffer* output, GstFlowReturn* flow) {
  const std::lock_guard lock(mutex_);
  auto frame = std::make_unique<SentFrame>(input, output);
  *flow = GST_FLOW_FLUSHING;
  if (plan_was_stopped_) return nullptr;
  *flow = GST_FLOW_NOT_NEGOTIATED;
  if (active_ == nullptr) return nullptr;
  *flow = GST_FLOW_ERROR;
  if (Status status = frame->source->map(input, info_, active_->format, GST_MAP_READ);
      !status.ok()) {
    post_bad_buffer(element_, "input", status);
    return nullptr;
  }
  if (Status status = frame->destination->map(output, info_, active_->format, GST_MAP_WRITE);
      !status.ok()) {
    post_bad_buffer(element_, "output", status);
    return nullptr;
  }
  *flow = GST_FLOW_OK;
  frame->fields = holds_two_fields(info_, input);
  frame->plan = active_;
  frame->arguments = arguments_;
  frame->measured = stage_times_.wanted();
  if (frame->measured) active_->device->measure_copies();
  frame->sent = send_on(*active_, *frame);
  return frame;
}

void Session::keep_if_doubtful(const SentFrame& frame) {
  if (frame.plan->device->at_rest()) return;
  doubtful_.keep(frame.input);
  doubtful_.keep(frame.output);
}

/// On the CPU, into memory that a lost device does not know.
Status Session::redo(SentFrame& frame, const Status& why) {
  Settings settings = frame.plan->settings;
  settings.scale = frame.arguments.scale;
  settings.bias = frame.arguments.bias;
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
  if (!status.ok()) {
    keep_if_doubtful(frame);
    if (frame.dropped) return GST_FLOW_ERROR;
    if (may_leave_cuda(*frame.plan, status)) status = redo(frame, status);
  } else if (frame.plan->device->at_rest()) {
    doubtful_.release();
  }
  if (status.code() == Code::kStopped) return GST_FLOW_FLUSHING;
  if (!status.ok()) {
    post_error(element_, "the frame could not be filtered", status);
    return GST_FLOW_ERROR;
  }
  if (!frame.dropped) count(frame);
  return GST_FLOW_OK;
}

void Session::count(const SentFrame& frame) {
  ++statistics_.frames;
  statistics_.bytes_in += gst_buffer_get_size(frame.input);
  statistics_.bytes_out += gst_buffer_get_size(frame.output);
  const convolve::FrameTimes times = frame.frame->times();
  statistics_.kernel_ns_last = times.kernels;
  if (frame.measured) stage_times_.add(times);
}

void Session::count_passthrough(GstBuffer* buffer) {
  const std::lock_guard lock(mutex_);
  ++statistics_.frames;
  ++statistics_.passthrough_frames;
  statistics_.bytes_in += gst_buffer_get_size(buffer);
  statistics_.bytes_out += gst_buffer_get_size(buffer);
}

bool Session::passthrough() const {
  const std::lock_guard lock(mutex_);
  return passthrough_;
}

Statistics Session::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

std::string Session::plan_text() const {
  const std::lock_guard lock(mutex_);
  if (active_ == nullptr) return {};
  if (passthrough_) return "passthrough (every component equals its input)";
  return active_->convolver->plan().to_string();
}

}  // namespace cudaconvolve
