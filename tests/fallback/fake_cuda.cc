// SPDX-License-Identifier: LGPL-2.1-or-later
// Stands in for the CUDA backend in a copy of the plugin, so that what the element does when a GPU
// fails is tested without one. It computes on the CPU and fails as the environment asks:
//
//   FAKE_CUDA_FAILS=open | prepare | frame:N   (N from 1 on, counted from the device's opening)
//   FAKE_CUDA_CODE=no-device | out-of-memory | device-error | device-lost | stopped
//
// Both are read at every step.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "kernels/core/plan/prepared_plan.h"
#include "kernels/cpu/cpu_device.h"
#include "kernels/cuda/cuda_device.h"

namespace convolve {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

Status failure() {
  const std::string code = variable("FAKE_CUDA_CODE");
  const std::string text = "the fake device fails with " + code;
  if (code == "no-device") return Status(Code::kNoDevice, text);
  if (code == "out-of-memory") return Status(Code::kOutOfMemory, text);
  if (code == "stopped") return stopped();
  if (code == "device-error") return Status(Code::kDeviceError, text);
  return Status(Code::kDeviceLost, text);
}

bool fails_at(const std::string& step) {
  return variable("FAKE_CUDA_FAILS") == step;
}

bool fails_at_frame(int n) {
  return fails_at("frame:" + std::to_string(n));
}

/// `frames`: how many the device has finished; outlives the job.
class FakeJob final : public Job {
 public:
  FakeJob(std::unique_ptr<Job> job, const int& frames) : job_(std::move(job)), frames_(frames) {}
  MaskStorage storage() const override { return MaskStorage::kConstantMemory; }
  Status run(const FrameView& src, const FrameView& dst, const RunArguments& arguments) override {
    if (!fails_at_frame(frames_ + 1)) return job_->run(src, dst, arguments);
    // What a kernel that died leaves behind is no picture.
    for (int p = 0; p < dst.format.plane_count; ++p)
      for (int y = 0; y < dst.format.planes[p].rows; ++y)
        std::memset(dst.data[p] + y * dst.pitch[p], 0xA5,
                    static_cast<std::size_t>(dst.format.planes[p].row_bytes));
    return {};
  }

 private:
  std::unique_ptr<Job> job_;
  const int& frames_;
};

class FakeDevice final : public Device {
 public:
  explicit FakeDevice(std::shared_ptr<Device> cpu) : cpu_(std::move(cpu)) {
    capabilities_.backend = BackendKind::kCuda;
    capabilities_.name = "fake";
    capabilities_.compute_capability = 90;
    capabilities_.shared_bytes = 227 * 1024;
    capabilities_.processors = 132;
  }
  const DeviceCapabilities& capabilities() const override { return capabilities_; }

  Result<std::unique_ptr<Job>> prepare(const FrameFormat& format,
                                       const PreparedPlan& planned) override {
    if (fails_at("prepare")) return failure();
    const auto on_cpu = prepare_plan(format, planned.weights->mask, {}, cpu_->capabilities());
    if (!on_cpu.ok()) return on_cpu.status();
    auto job = cpu_->prepare(format, on_cpu.value());
    if (!job.ok()) return job.status();
    return std::unique_ptr<Job>(new FakeJob(std::move(job.value()), frames_));
  }

  /// Here an error of any call before comes to light.
  Status finish() override { return fails_at_frame(++frames_) ? failure() : Status(); }
  std::uint64_t last_kernel_ns() const override { return cpu_->last_kernel_ns(); }

 private:
  std::shared_ptr<Device> cpu_;
  DeviceCapabilities capabilities_;
  int frames_ = 0;
};

}  // namespace

bool has_cuda_backend() {
  return true;
}

Result<std::shared_ptr<Device>> open_cuda_device(int, bool use_current_context, LogCallback log,
                                                 std::shared_ptr<const StopSignal> stop) {
  if (fails_at("open")) return failure();
  if (log)
    log(LogLevel::kInfo, std::string("the fake device is open in the ") +
                             (use_current_context ? "current" : "primary") + " context");
  Result<std::shared_ptr<Device>> cpu = open_cpu_device(0, {}, std::move(stop));
  if (!cpu.ok()) return cpu.status();
  return std::shared_ptr<Device>(std::make_shared<FakeDevice>(std::move(cpu.value())));
}

}  // namespace convolve
