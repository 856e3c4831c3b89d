// SPDX-License-Identifier: LGPL-2.1-or-later
#include "plugin/session.h"

#include <utility>

#include "kernels/core/plan/backend_choice.h"
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

std::string caps_text(const GstCaps* caps) {
  g_autofree gchar* text = gst_caps_to_string(caps);
  return text;
}

const char* normalization_text(const Settings& settings, const Mask& mask) {
  if (settings.normalize != convolve::Normalize::kAuto) return "normalized as asked";
  if (settings.mask->normalized) return "weights of its name";
  if (settings.mask->divisor.has_value()) return "divided by its divisor";
  return mask.divided_by_sum ? "divided by the sum of the weights" : "weights left as typed";
}

}  // namespace

bool Session::is_device_failure(Code code) {
  return code == Code::kOutOfMemory || code == Code::kDeviceError || code == Code::kDeviceLost;
}

bool Session::start(const Settings& settings) {
  choice_ = settings.backend;
  statistics_ = {};
  stage_times_.reset();
  refused_caps_.reset();
  refused_generation_.reset();
  replaced_kernel_.reset();
  told_loss_ = false;
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
  input_caps_.clear();
  devices_.close();
}

bool Session::set_format(const GstCaps* input, const GstCaps* output, const Settings& settings) {
  const std::lock_guard lock(mutex_);
  std::string input_text = caps_text(input);
  Attempt attempt = {input_text + " to " + caps_text(output), settings.plan_generation};
  // After a failure the base class tries again for the next query and the next buffer. One error
  // has been posted: it stands until something changes.
  if (refused_caps_ == attempt) return false;
  refused_caps_ = std::move(attempt);
  refused_generation_.reset();
  active_.reset();
  plan_was_stopped_ = false;

  const Result<GstVideoInfo> info = parse_caps(input);
  if (!info.ok()) {
    post_bad_caps(element_, info.status());
    return false;
  }
  info_ = info.value();
  input_in_cuda_memory_ = are_in_cuda_memory(input);
  output_in_cuda_memory_ = are_in_cuda_memory(output);
  alignment_ = convolve::kPlaneAlignment;
  // Output alone may have changed because memory ran out.
  if (input_caps_ != input_text) devices_.new_caps();
  input_caps_ = std::move(input_text);
  if (input_in_cuda_memory_ || output_in_cuda_memory_)
    if (Result<bool> shared = devices_.share_context(); !shared.ok()) {
      post_error(element_, "frames in CUDA memory cannot be filtered", shared.status());
      return false;
    }
  if (!plan_caps(settings)) return false;
  refused_caps_.reset();
  return true;
}

Settings Session::settings_in_force() const {
  Settings settings = active_->settings;
  settings.scale = arguments_.scale;
  settings.bias = arguments_.bias;
  return settings;
}

bool Session::is_foreign(GstBuffer* buffer) const {
  const std::lock_guard lock(mutex_);
  return devices_.is_foreign(buffer);
}

bool Session::adopt_context_of(GstBuffer* buffer) {
  const std::lock_guard lock(mutex_);
  if (active_ == nullptr) return true;
  const Settings settings = settings_in_force();
  active_.reset();
  Status status = devices_.adopt_context_of(buffer);
  if (status.ok()) return plan_caps(settings);
  post_bad_buffer(element_, "input", status);
  return false;
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
  if (devices_.has_cuda() && !cpu_is_cheaper(mask.value(), settings)) {
    Result<std::shared_ptr<ActivePlan>> planned =
        plan_on(BackendKind::kCuda, mask.value(), settings, settings.kernel);
    if (planned.ok() || choice_ == BackendChoice::kCuda ||
        planned.status().code() == Code::kStopped)
      return planned;
    // Without CUDA nobody could read what comes in its memory.
    if (input_in_cuda_memory_) return planned;
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

bool Session::cpu_is_cheaper(const Mask& mask, const Settings& settings) {
  const convolve::FrameFormat format = frame_format(info_, settings.channels);
  if (choice_ != BackendChoice::kAuto || settings.kernel != KernelKind::kAuto ||
      input_in_cuda_memory_ || output_in_cuda_memory_ || !convolve::cpu_may_cost_less(format))
    return false;
  const auto cuda = devices_.get(BackendKind::kCuda), cpu = devices_.get(BackendKind::kCpu);
  if (!cuda.ok() || !cpu.ok()) return false;
  const convolve::Options options = options_for(settings, KernelKind::kAuto);
  const auto on_cuda = convolve::make_plan(format, mask, options, cuda.value()->capabilities());
  const auto on_cpu = convolve::make_plan(format, mask, options, cpu.value()->capabilities());
  if (!on_cuda.ok() || !on_cpu.ok()) return false;
  const convolve::FrameCost there = convolve::cuda_frame_cost(format, on_cuda.value());
  const convolve::FrameCost here =
      convolve::cpu_frame_cost(format, mask, on_cpu.value(), cpu.value()->capabilities());
  const bool cheaper = convolve::costs_less(here, there);
  GST_INFO_OBJECT(element_,
                  "%s: a frame takes about %.0f us on CUDA, and %.0f of the processors; on the CPU "
                  "%.0f and %.0f",
                  cheaper ? "the CPU costs less" : "CUDA costs less", there.frame_us,
                  there.processor_us, here.frame_us, here.processor_us);
  return cheaper;
}

convolve::Options Session::options_for(const Settings& settings, KernelKind kernel) const {
  convolve::Options options;
  options.alignment = alignment_;
  options.kernel = kernel;
  options.tile_width = settings.tile_width;
  options.scale = settings.scale;
  options.bias = settings.bias;
  options.alpha_mode = settings.alpha_mode;
  return options;
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
  active->alignment = alignment_;

  auto convolver =
      Convolver::create(active->format, mask, options_for(settings, kernel), active->device);
  if (!convolver.ok()) return convolver.status();
  active->convolver = std::move(convolver.value());
  active->text = std::make_shared<std::string>(active->convolver->plan().to_string());
  return active;
}

void Session::take_arguments(const Settings& settings, bool served) {
  if (served) arguments_ = {settings.scale, settings.bias, settings.border};
  passthrough_ = input_in_cuda_memory_ == output_in_cuda_memory_ &&
                 convolve::is_passthrough(active_->format, active_->convolver->mask(),
                                          arguments_.scale, arguments_.bias);
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
  if (output_in_cuda_memory_ && !input_in_cuda_memory_) wanted = 0;
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

bool Session::may_hand_over() const {
  const std::lock_guard lock(mutex_);
  return input_in_cuda_memory_ && output_in_cuda_memory_ && cuda_memory_has_streams();
}

void Session::count_passthrough(GstBuffer* buffer) {
  const std::lock_guard lock(mutex_);
  ++statistics_.frames;
  ++statistics_.passthrough_frames;
  statistics_.bytes_in += gst_buffer_get_size(buffer);
  statistics_.bytes_out += gst_buffer_get_size(buffer);
}

bool Session::only_output_in_cuda_memory() const {
  const std::lock_guard lock(mutex_);
  return output_in_cuda_memory_ && !input_in_cuda_memory_;
}

bool Session::passthrough() const {
  const std::lock_guard lock(mutex_);
  return passthrough_;
}

Statistics Session::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

std::shared_ptr<const std::string> Session::plan_text() const {
  static const auto kPassthrough =
      std::make_shared<const std::string>("passthrough (every component equals its input)");
  const std::lock_guard lock(mutex_);
  if (active_ == nullptr) return nullptr;
  return passthrough_ ? kPassthrough : active_->text;
}

}  // namespace cudaconvolve
