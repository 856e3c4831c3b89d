// SPDX-License-Identifier: LGPL-2.1-or-later
// Stands in for the CUDA backend in a copy of the plugin, so that what the element does when a GPU
// fails is tested without one. It computes on the CPU and fails as the environment asks:
//
//   FAKE_CUDA_FAILS=open | prepare | frame:N   (N from 1 on, counted from the device's opening)
//   FAKE_CUDA_CODE=no-device | out-of-memory | device-error | device-lost | stopped
//   FAKE_CUDA_LOCKS=no          (there is no page-locked memory)
//   FAKE_CUDA_LOSES=memory      (with a lost device goes what is in its memory, as on a GPU)
//   FAKE_CUDA_MS=N              (a frame is finished N ms after it was sent, and after the one
//   before)
//
// All are read at every step. A device that is lost never comes to rest, and fails all its frames.
// Frames between memory of streams are handed over, but for the first one.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
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

/// The stand-in for the driver (tests/cuda_memory/fake_driver.h), where a test has one: then frames
/// may lie in its device memory, and the device works in one of its contexts.
struct FakeDriver {
  void* (*current)() = nullptr;
  void* (*primary)(int device) = nullptr;
  int (*device_of)(void* context) = nullptr;
  void* (*context_of)(const void* address) = nullptr;
  void (*wait_for)(void* stream) = nullptr;
  void (*fail_from_now_on)(int broken) = nullptr;
};

const FakeDriver& fake_driver() {
  static const FakeDriver found = [] {
    FakeDriver driver;
    if (void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD)) {
      const auto find = [library](const char* name, auto& function) {
        function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
      };
      find("fake_driver_current", driver.current);
      find("fake_driver_primary", driver.primary);
      find("fake_driver_device_of", driver.device_of);
      find("fake_driver_context_of", driver.context_of);
      find("fake_driver_wait_for", driver.wait_for);
      find("fake_driver_break", driver.fail_from_now_on);
      dlclose(library);
    }
    return driver;
  }();
  return found;
}

/// The context in which memory of the device was taken; null for memory of the host.
void* context_of(const void* address) {
  return fake_driver().context_of != nullptr ? fake_driver().context_of(address) : nullptr;
}

/// What a device and its frames know of each other.
struct Progress {
  std::atomic<int> sent{0};  ///< Frames.
  std::atomic<int> in_flight{0};
  std::atomic<bool> lost{false};
  std::atomic<bool> measures_copies{false};
  std::atomic<bool> owned{false};  ///< The planes of the last run have streams.
  std::shared_ptr<const StopSignal> stop;
  std::chrono::steady_clock::time_point last_end{};
  void* context = nullptr;
};

class FakeFrame final : public FrameInFlight {
 public:
  FakeFrame(std::shared_ptr<Progress> progress, int number)
      : progress_(std::move(progress)), number_(number) {
    const bool owned = progress_->owned.exchange(false);
    handed_over_ = owned && number_ > 1 && !progress_->measures_copies;
    const std::string ms = variable("FAKE_CUDA_MS");
    const auto takes = std::chrono::milliseconds(ms.empty() ? 0 : std::stoi(ms));
    end_ = std::max(std::chrono::steady_clock::now(), progress_->last_end) + takes;
    progress_->last_end = end_;
    ++progress_->in_flight;
  }
  ~FakeFrame() override {
    if (!finished_) (void)finish();
  }
  Status finish() override {
    finished_ = true;
    --progress_->in_flight;
    if (handed_over_) {
      // A frame that is handed over reports its fault with the frame that follows.
      const bool lost = progress_->lost;
      if (fails_at_frame(number_)) progress_->lost = true;
      return lost ? failure() : Status();
    }
    while (std::chrono::steady_clock::now() < end_) {
      if (progress_->stop != nullptr && progress_->stop->raised()) return stopped();
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    if (!fails_at_frame(number_) && !progress_->lost) return {};
    const Status status = failure();
    if (status.code() == Code::kDeviceLost) progress_->lost = true;
    return status;
  }
  bool is_handed_over() const override { return handed_over_; }
  /// As of a frame that is the more trouble the later it comes.
  FrameTimes times() const override {
    const auto n = static_cast<std::uint64_t>(number_);
    FrameTimes times;
    times.host_copy = 10;
    times.kernels = 1000;
    times.waiting = 100 * n;
    if (progress_->measures_copies) {
      times.upload = 2000 + n;
      times.download = 3000 + n;
    }
    return times;
  }

 private:
  std::shared_ptr<Progress> progress_;
  int number_;
  bool handed_over_ = false;
  bool finished_ = false;
  std::chrono::steady_clock::time_point end_;
};

/// `progress` outlives the job.
class FakeJob final : public Job {
 public:
  FakeJob(std::unique_ptr<Job> job, Progress& progress, int alignment)
      : job_(std::move(job)), progress_(progress), alignment_(alignment) {}
  MaskStorage storage() const override { return MaskStorage::kConstantMemory; }
  Status run(const FrameView& src, const FrameView& dst, const RunArguments& arguments) override {
    for (const FrameView* frame : {&src, &dst})
      if (Status status = check(*frame); !status.ok()) return status;
    for (const FrameView* frame : {&src, &dst})
      if (frame->owner_stream != nullptr) fake_driver().wait_for(frame->owner_stream);
    progress_.owned = src.owner_stream != nullptr && dst.owner_stream != nullptr;
    if (!fails_at_frame(progress_.sent + 1) && !progress_.lost) {
      FrameView from = src, to = dst;
      from.memory = to.memory = Memory::kHost;
      return job_->run(from, to, arguments);
    }
    if (variable("FAKE_CUDA_LOSES") == "memory") fake_driver().fail_from_now_on(1);
    // What a kernel that died leaves behind is no picture.
    for (int p = 0; p < dst.format.plane_count; ++p)
      for (int y = 0; y < dst.format.planes[p].rows; ++y)
        std::memset(dst.data[p] + y * dst.pitch[p], 0xA5,
                    static_cast<std::size_t>(dst.format.planes[p].row_bytes));
    return {};
  }

 private:
  /// What would be an illegal address on a GPU, or a plane that the kernel does not serve.
  Status check(const FrameView& frame) {
    for (int p = 0; p < frame.format.plane_count; ++p) {
      const PlaneFormat& plane = frame.format.planes[p];
      if (plane.rows == 0) continue;
      void* const context = context_of(frame.data[p]);
      if (context != (frame.memory == Memory::kCuda ? progress_.context : nullptr)) {
        progress_.lost = true;
        return Status(Code::kDeviceLost, "the fake device met an illegal address");
      }
      if (frame.memory == Memory::kCuda && has_filtered(plane) &&
          !rows_lie_on(reinterpret_cast<std::uintptr_t>(frame.data[p]), frame.pitch[p], plane.rows,
                       alignment_))
        return invalid_argument("the form was planned for planes that lie otherwise");
    }
    return {};
  }

  std::unique_ptr<Job> job_;
  Progress& progress_;
  int alignment_;
};

class FakeDevice final : public Device {
 public:
  FakeDevice(std::shared_ptr<Device> cpu, void* context, std::shared_ptr<const StopSignal> stop)
      : cpu_(std::move(cpu)) {
    progress_->stop = std::move(stop);
    progress_->context = context;
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
    return std::unique_ptr<Job>(
        new FakeJob(std::move(job.value()), *progress_, form_info(planned.plan.form).alignment));
  }

  /// Here an error of any call before comes to light.
  Status finish() override {
    Result<std::unique_ptr<FrameInFlight>> frame = send();
    return frame.ok() ? frame.value()->finish() : frame.status();
  }
  void measure_stages() override { progress_->measures_copies = true; }

  bool at_rest() const override { return !progress_->lost && progress_->in_flight == 0; }

  Status set_frames_in_flight(int) override { return {}; }
  Result<std::unique_ptr<FrameInFlight>> send() override {
    return std::unique_ptr<FrameInFlight>(new FakeFrame(progress_, ++progress_->sent));
  }

  Result<std::shared_ptr<std::uint8_t>> page_locked_memory(std::size_t bytes) override {
    if (variable("FAKE_CUDA_LOCKS") == "no")
      return Status(Code::kOutOfMemory, "the fake device locks no pages");
    return std::shared_ptr<std::uint8_t>(new std::uint8_t[bytes],
                                         std::default_delete<std::uint8_t[]>());
  }

  std::uint64_t last_kernel_ns() const override { return cpu_->last_kernel_ns(); }

  NativeContext native_context() const override {
    void* const context = progress_->context;
    return {context, context != nullptr ? fake_driver().device_of(context) : 0};
  }

 private:
  std::shared_ptr<Device> cpu_;
  DeviceCapabilities capabilities_;
  const std::shared_ptr<Progress> progress_ = std::make_shared<Progress>();
};

}  // namespace

bool has_cuda_backend() {
  return true;
}

Result<std::shared_ptr<Device>> open_cuda_device(int device_id, bool use_current_context,
                                                 LogCallback log,
                                                 std::shared_ptr<const StopSignal> stop) {
  if (fails_at("open")) return failure();
  void* context = nullptr;
  if (fake_driver().primary != nullptr) {
    context = use_current_context ? fake_driver().current()
                                  : fake_driver().primary(device_id < 0 ? 0 : device_id);
    if (context == nullptr) return Status(Code::kNoDevice, "there is no such fake device");
  }
  if (log)
    log(LogLevel::kInfo, std::string("the fake device is open in the ") +
                             (use_current_context ? "current" : "primary") + " context");
  Result<std::shared_ptr<Device>> cpu = open_cpu_device(0, {}, stop);
  if (!cpu.ok()) return cpu.status();
  return std::shared_ptr<Device>(
      std::make_shared<FakeDevice>(std::move(cpu.value()), context, std::move(stop)));
}

}  // namespace convolve
