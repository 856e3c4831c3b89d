// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/cuda_device.h"

#include <cuda_runtime.h>

#include <optional>
#include <string>
#include <utility>

#include "kernels/cuda/job/cuda_job.h"
#include "kernels/cuda/job/overlapped_pieces.h"
#include "kernels/cuda/runtime/check.h"
#include "kernels/cuda/runtime/context.h"
#include "kernels/cuda/runtime/device_core.h"
#include "kernels/cuda/runtime/page_locked.h"

namespace convolve {
namespace {

class CudaFrameInFlight final : public FrameInFlight {
 public:
  CudaFrameInFlight(std::shared_ptr<DeviceCore> core, FrameSlot& slot)
      : core_(std::move(core)), slot_(slot), handed_over_(slot.is_handed_over()) {}

  ~CudaFrameInFlight() override {
    if (!finished_) (void)finish();
  }

  Status finish() override {
    finished_ = true;
    const CurrentContext current(core_->context());
    return core_->finish(slot_, &times_);
  }

  bool is_handed_over() const override { return handed_over_; }

  FrameTimes times() const override { return times_; }

 private:
  std::shared_ptr<DeviceCore> core_;
  FrameSlot& slot_;
  const bool handed_over_;
  bool finished_ = false;
  FrameTimes times_;
};

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(std::shared_ptr<DeviceCore> core) : core_(std::move(core)) {}

  const DeviceCapabilities& capabilities() const override { return core_->capabilities(); }

  Result<std::unique_ptr<Job>> prepare(const FrameFormat& format,
                                       const PreparedPlan& planned) override {
    const CurrentContext current(core_->context());
    if (!current.status().ok()) return current.status();
    return prepare_cuda_job(core_, format, planned);
  }

  Status finish() override {
    const CurrentContext current(core_->context());
    return current.status().ok() ? core_->finish() : current.status();
  }

  Status set_frames_in_flight(int count) override {
    const CurrentContext current(core_->context());
    return current.status().ok() ? core_->set_frames_in_flight(count) : current.status();
  }

  Result<std::unique_ptr<FrameInFlight>> send() override {
    const CurrentContext current(core_->context());
    if (!current.status().ok()) return current.status();
    Result<FrameSlot*> slot = core_->end_frame(/*may_hand_over=*/true);
    if (!slot.ok()) return slot.status();
    return std::unique_ptr<FrameInFlight>(new CudaFrameInFlight(core_, *slot.value()));
  }

  void measure_stages() override { core_->measure_stages(); }

  bool at_rest() const override { return core_->at_rest(); }

  bool come_to_rest() override {
    const CurrentContext current(core_->context());
    return current.status().ok() && core_->come_to_rest();
  }

  Result<std::shared_ptr<std::uint8_t>> page_locked_memory(std::size_t bytes) override {
    const CurrentContext current(core_->context());
    if (!current.status().ok()) return current.status();
    return make_page_locked(core_->context(), bytes);
  }

  std::uint64_t last_kernel_ns() const override { return core_->last_kernel_ns(); }

  NativeContext native_context() const override {
    return {core_->context().handle, core_->context().device};
  }

  void* native_stream() const override { return core_->stream(); }

 private:
  std::shared_ptr<DeviceCore> core_;
};

using Stop = std::shared_ptr<const StopSignal>;

Result<std::shared_ptr<DeviceCore>> open_core(const DriverFunctions& driver, int device,
                                              const LogCallback& log, const Stop& stop) {
  Result<Context> context = Context::primary(driver, device);
  if (!context.ok()) return context.status();
  return DeviceCore::open(context.value(), log, stop);
}

/// The first device in order that works; the first failure tells why none of them does.
Result<std::shared_ptr<DeviceCore>> open_any(const DriverFunctions& driver, int count,
                                             const LogCallback& log, const Stop& stop) {
  Status first;
  for (int device = 0; device < count && cuda_usable(); ++device) {
    Result<std::shared_ptr<DeviceCore>> core = open_core(driver, device, log, stop);
    if (core.ok()) return core;
    if (first.ok()) first = core.status();
  }
  return first;
}

}  // namespace

bool has_cuda_backend() {
  return true;
}

Result<std::shared_ptr<Device>> open_cuda_device(int device_id, bool use_current_context,
                                                 LogCallback log, Stop stop) {
  if (Status status = begin_cuda(); !status.ok()) return status;
  int count = 0;
  if (Status status = CONVOLVE_CUDA(cudaGetDeviceCount(&count)); !status.ok()) return status;
  if (device_id < -1 || device_id >= count)
    return Status(Code::kNoDevice, "there is no CUDA device " + std::to_string(device_id) +
                                       ": this process sees " + std::to_string(count));
  Result<DriverFunctions> driver = DriverFunctions::load();
  if (!driver.ok()) return driver.status();
  std::optional<Context> current;
  if (use_current_context) {
    Result<std::optional<Context>> found = Context::current(driver.value());
    if (!found.ok()) return found.status();
    current = found.value();
  }
  Result<std::shared_ptr<DeviceCore>> core =
      current.has_value() && (device_id == -1 || device_id == current->device)
          ? DeviceCore::open(*current, log, stop)
      : device_id == -1 ? open_any(driver.value(), count, log, stop)
                        : open_core(driver.value(), device_id, log, stop);
  if (!core.ok()) return core.status();
  return std::shared_ptr<Device>(std::make_shared<CudaDevice>(std::move(core.value())));
}

void set_least_bytes_of_piece(std::size_t bytes) {
  OverlappedPieces::set_least_bytes(bytes);
}

}  // namespace convolve
