// SPDX-License-Identifier: LGPL-2.1-or-later
#include "plugin/session.h"

#include <utility>

#include "plugin/caps.h"
#include "plugin/formats.h"
#include "plugin/frames.h"
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

GstStructure* stats_structure(const Statistics& s) {
  return gst_structure_new("application/x-cudaconvolve-stats", "frames", G_TYPE_UINT64, s.frames,
                           "passthrough-frames", G_TYPE_UINT64, s.passthrough_frames,
                           "backend-switches", G_TYPE_UINT64, s.backend_switches, "bytes-in",
                           G_TYPE_UINT64, s.bytes_in, "bytes-out", G_TYPE_UINT64, s.bytes_out,
                           "kernel-ns-last", G_TYPE_UINT64, s.kernel_ns_last, nullptr);
}

bool Session::start(const Settings& settings) {
  choice_ = settings.backend;
  statistics_ = {};
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
  active_.reset();
  plan_was_stopped_ = false;
  devices_.close();
}

bool Session::set_format(const GstCaps* caps, const Settings& settings) {
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
  Result<std::unique_ptr<Active>> planned = plan(settings);
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

void Session::update(const Settings& settings) {
  if (plan_was_stopped_) plan_caps(settings);
  if (active_ == nullptr) return;
  bool served = active_->convolver->serves(settings.scale, settings.bias);
  const bool stale = settings.plan_generation != active_->settings.plan_generation || !served;
  if (stale && refused_generation_ != settings.plan_generation) {
    Result<std::unique_ptr<Active>> planned = plan(settings);
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

Result<std::unique_ptr<Session::Active>> Session::plan(const Settings& settings) {
  const Result<Mask> mask = Mask::make(*settings.mask, settings.normalize, settings.operation);
  if (!mask.ok()) return mask.status();
  GST_INFO_OBJECT(element_, "mask %dx%d, %s", mask.value().width, mask.value().height,
                  normalization_text(settings, mask.value()));

  Status cuda_refusal;
  if (devices_.has_cuda()) {
    Result<std::unique_ptr<Active>> planned =
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
  Result<std::unique_ptr<Active>> planned =
      plan_on(BackendKind::kCpu, mask.value(), settings, kernel);
  if (planned.ok()) return planned;
  if (!cuda_refusal.ok()) return cuda_refusal;
  if (!devices_.cuda_status().ok() && !convolve::has_kernel(convolve::BackendKind::kCpu, kernel))
    return Status(planned.status().code(),
                  planned.status().message() + "; no CUDA: " + devices_.cuda_status().message());
  return planned;
}

Result<std::unique_ptr<Session::Active>> Session::plan_on(BackendKind backend, const Mask& mask,
                                                          const Settings& settings,
                                                          KernelKind kernel) {
  auto device = devices_.get(backend);
  if (!device.ok()) return device.status();
  auto active = std::make_unique<Active>();
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

bool Session::may_leave_cuda(const Status& status) const {
  return active_->backend == BackendKind::kCuda && choice_ == BackendChoice::kAuto &&
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

Status Session::run(const FrameView& src, const FrameView& dst, bool fields) {
  Convolver& convolver = *active_->convolver;
  if (!fields) {
    if (Status status = convolver.run(src, dst, arguments_); !status.ok()) return status;
  } else {
    for (int parity = 0; parity < 2; ++parity) {
      const FrameView field = field_view(src, parity);
      if (!has_rows(field)) continue;
      if (Status status = convolver.run(field, field_view(dst, parity), arguments_); !status.ok())
        return status;
    }
  }
  return active_->device->finish();
}

GstFlowReturn Session::filter(GstBuffer* input, GstBuffer* output) {
  if (plan_was_stopped_) return GST_FLOW_FLUSHING;
  if (active_ == nullptr) return GST_FLOW_NOT_NEGOTIATED;
  MappedFrame source;
  if (Status status = source.map(input, info_, active_->format, GST_MAP_READ); !status.ok()) {
    post_bad_buffer(element_, "input", status);
    return GST_FLOW_ERROR;
  }
  MappedFrame destination;
  if (Status status = destination.map(output, info_, active_->format, GST_MAP_WRITE);
      !status.ok()) {
    post_bad_buffer(element_, "output", status);
    return GST_FLOW_ERROR;
  }

  const bool fields = holds_two_fields(info_, input);
  Status status = run(source.view(), destination.view(), fields);
  if (!status.ok() && may_leave_cuda(status)) {
    Settings settings = active_->settings;
    settings.scale = arguments_.scale;
    settings.bias = arguments_.bias;
    leave_cuda(status, settings);
    Result<std::unique_ptr<Active>> planned = plan(settings);
    if (planned.ok()) {
      active_ = std::move(planned.value());
      status = run(source.view(), destination.view(), fields);
    } else {
      status = planned.status();
      plan_was_stopped_ = status.code() == Code::kStopped;
      if (plan_was_stopped_) active_.reset();
    }
  }
  if (status.code() == Code::kStopped) return GST_FLOW_FLUSHING;
  if (!status.ok()) {
    post_error(element_, "the frame could not be filtered", status);
    return GST_FLOW_ERROR;
  }
  ++statistics_.frames;
  statistics_.bytes_in += gst_buffer_get_size(input);
  statistics_.bytes_out += gst_buffer_get_size(output);
  statistics_.kernel_ns_last = active_->device->last_kernel_ns();
  return GST_FLOW_OK;
}

void Session::count_passthrough(GstBuffer* buffer) {
  ++statistics_.frames;
  ++statistics_.passthrough_frames;
  statistics_.bytes_in += gst_buffer_get_size(buffer);
  statistics_.bytes_out += gst_buffer_get_size(buffer);
}

std::string Session::plan_text() const {
  if (active_ == nullptr) return {};
  if (passthrough_) return "passthrough (every component equals its input)";
  return active_->convolver->plan().to_string();
}

}  // namespace cudaconvolve
