// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/cpu_device.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <utility>

#include "kernels/core/base/thread_pool.h"
#include "kernels/cpu/instruction_set.h"
#include "kernels/cpu/job/cpu_job.h"

namespace convolve {
namespace {

class CpuDevice final : public Device, public std::enable_shared_from_this<CpuDevice> {
 public:
  CpuDevice(int threads, std::shared_ptr<const StopSignal> stop) : stop_(std::move(stop)) {
    const int cores = usable_cores();
    capabilities_.backend = BackendKind::kCpu;
    capabilities_.name = vector_instruction_set();
    capabilities_.threads = threads <= 0 ? cores : std::min(threads, cores);
  }

  const DeviceCapabilities& capabilities() const override { return capabilities_; }

  Result<std::unique_ptr<Job>> prepare(const FrameFormat& format,
                                       const PreparedPlan& planned) override {
    return CpuJob::make(format, planned, shared_from_this(), stop_.get(), &kernel_ns_);
  }

  /// Jobs run synchronously.
  Status finish() override { return {}; }

  std::uint64_t last_kernel_ns() const override { return kernel_ns_; }

 private:
  std::shared_ptr<const StopSignal> stop_;
  DeviceCapabilities capabilities_;
  std::atomic<std::uint64_t> kernel_ns_{0};  ///< Statistics may be read while a frame runs.
};

/// Kernels use no instructions beyond those of $CUDACONVOLVE_INSTRUCTION_SET: for tests, and to see
/// what another machine would take. Errors: kUnsupported, there is no such set here.
const Status& limit_by_environment() {
  static const Status status = [] {
    const char* const name = std::getenv("CUDACONVOLVE_INSTRUCTION_SET");
    if (name == nullptr || *name == '\0') return Status();
    const Status limited = limit_instruction_set(name);
    return limited.ok()
               ? limited
               : Status(limited.code(), "CUDACONVOLVE_INSTRUCTION_SET: " + limited.message());
  }();
  return status;
}

}  // namespace

Result<std::shared_ptr<Device>> open_cpu_device(int threads, LogCallback log,
                                                std::shared_ptr<const StopSignal> stop) {
  if (const Status& status = limit_by_environment(); !status.ok()) return status;
  auto device = std::make_shared<CpuDevice>(threads, std::move(stop));
  if (log)
    log(LogLevel::kInfo, "cpu: " + device->capabilities().name + ", " +
                             std::to_string(device->capabilities().threads) + " threads");
  return std::shared_ptr<Device>(std::move(device));
}

}  // namespace convolve
