// SPDX-License-Identifier: LGPL-2.1-or-later
#include "plugin/devices.h"

#include <string>

#include "plugin/frames/page_locked_allocator.h"
#include "plugin/log.h"
#include "plugin/report.h"

namespace cudaconvolve {

using convolve::BackendKind;
using convolve::Code;
using convolve::Device;
using convolve::Result;
using convolve::Status;

Status Devices::open_cuda() {
  if (!convolve::has_backend(BackendKind::kCuda)) {
    cuda_status_ = Status(Code::kNoDevice, "this build has no CUDA backend");
    without_cuda_ = true;
    return cuda_status_;
  }
  // After a sticky fault the engine fails without a CUDA call, and nobody else makes one either.
  if (cuda_status_.code() != Code::kDeviceLost) shared_.acquire(element_, options_.cuda_device_id);
  return open_in_shared_context();
}

Status Devices::open_in_shared_context() {
  const SharedCudaContext::Scope scope(shared_);
  // Only a context that is kept until the device is closed: any other that happens to be current
  // here belongs to an application that may destroy it while frames flow.
  options_.use_current_context = scope.pushed();
  Result<std::shared_ptr<Device>> device = convolve::open_device(BackendKind::kCuda, options_);
  cuda_status_ = device.status();
  without_cuda_ = !device.ok();
  if (!device.ok()) return cuda_status_;
  cuda_ = std::move(device.value());
  allocator_ = new_page_locked_allocator(cuda_);
  return cuda_status_;
}

Status Devices::open(const Settings& settings) {
  choice_ = settings.backend;
  options_.cuda_device_id = settings.cuda_device_id;
  options_.threads = settings.threads;
  options_.log = make_log_callback(element_);
  if (choice_ == BackendChoice::kCpu) {
    cuda_status_ = {};
    without_cuda_ = true;
    return {};
  }
  Status status = open_cuda();
  if (status.ok() || choice_ == BackendChoice::kCuda) return status;
  GST_INFO_OBJECT(element_, "no CUDA (%s): the filter runs on the CPU", status.message().c_str());
  return {};
}

/// The allocator keeps the device only until it is closed, and pools may keep the allocator.
void Devices::close_cuda() {
  if (allocator_ != nullptr) {
    close_page_locked_allocator(allocator_);
    gst_clear_object(&allocator_);
  }
  cuda_.reset();
}

void Devices::close() {
  close_cuda();
  cpu_.reset();
  shared_.release();
  without_cuda_ = false;
}

Result<bool> Devices::share_context() {
  if (cuda_ == nullptr)
    return cuda_status_.ok() ? Status(Code::kUnsupported, "backend=cpu filters system memory only")
                             : cuda_status_;
  const convolve::Device::NativeContext native = cuda_->native_context();
  if (shared_.handle() == nullptr) {
    if (!shared_.provide(element_, native))
      return Status(Code::kDeviceError, "GStreamer's CUDA library takes no context");
    return false;
  }
  if (shared_.handle() == native.handle) return false;
  close_cuda();
  if (Status status = open_in_shared_context(); !status.ok()) return status;
  if (cuda_->native_context().handle != shared_.handle())
    return Status(Code::kDeviceError, "no frame can be filtered in the pipeline's CUDA context");
  return true;
}

bool Devices::is_foreign(GstBuffer* buffer) const {
  return cuda_ != nullptr && is_in_cuda_memory(buffer) && shared_.is_foreign(buffer);
}

Status Devices::adopt_context_of(GstBuffer* buffer) {
  const int asked = options_.cuda_device_id;
  if (!shared_.adopt(element_, buffer, asked))
    return convolve::unsupported("its memory is of another CUDA device than cuda-device-id=" +
                                 std::to_string(asked));
  close_cuda();
  return open_in_shared_context();
}

void Devices::new_caps() {
  if (cuda_status_.code() != Code::kOutOfMemory || choice_ != BackendChoice::kAuto) return;
  if (Status status = open_cuda(); !status.ok())
    GST_INFO_OBJECT(element_, "still no CUDA (%s)", status.message().c_str());
}

Result<std::shared_ptr<Device>> Devices::get(BackendKind backend) {
  if (backend == BackendKind::kCuda) {
    if (cuda_ == nullptr) return cuda_status_;
    return cuda_;
  }
  if (cpu_ == nullptr) {
    Result<std::shared_ptr<Device>> device = convolve::open_device(BackendKind::kCpu, options_);
    if (!device.ok()) return device.status();
    cpu_ = std::move(device.value());
  }
  return cpu_;
}

void Devices::give_up_cuda(const Status& why) {
  cuda_status_ = why;
  close_cuda();
  without_cuda_ = true;
}

}  // namespace cudaconvolve
