// SPDX-License-Identifier: LGPL-2.1-or-later
#include "plugin/devices.h"

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
    return cuda_status_;
  }
  // After a sticky fault the engine fails without a CUDA call, and nobody else makes one either.
  if (cuda_status_.code() != Code::kDeviceLost) shared_.acquire(element_, options_.cuda_device_id);
  const SharedCudaContext::Scope scope(shared_);
  // Only a context that is kept until the device is closed: any other that happens to be current
  // here belongs to an application that may destroy it while frames flow.
  options_.use_current_context = scope.pushed();
  Result<std::shared_ptr<Device>> device = convolve::open_device(BackendKind::kCuda, options_);
  cuda_status_ = device.status();
  if (!device.ok()) return cuda_status_;
  drop_allocator();
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
    return {};
  }
  Status status = open_cuda();
  if (status.ok() || choice_ == BackendChoice::kCuda) return status;
  GST_INFO_OBJECT(element_, "no CUDA (%s): the filter runs on the CPU", status.message().c_str());
  return {};
}

/// The allocator keeps the device only until it is closed, and pools may keep the allocator.
void Devices::drop_allocator() {
  if (allocator_ == nullptr) return;
  close_page_locked_allocator(allocator_);
  gst_clear_object(&allocator_);
}

void Devices::close() {
  drop_allocator();
  cuda_.reset();
  cpu_.reset();
  shared_.release();
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
  drop_allocator();
  cuda_.reset();
}

}  // namespace cudaconvolve
