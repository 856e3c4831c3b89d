// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/runtime/device_core.h"

#include <cmath>
#include <string>
#include <utility>

#include "kernels/cuda/device/variant.h"
#include "kernels/cuda/runtime/check.h"
#include "kernels/cuda/runtime/mask_bank.h"
#include "kernels/cuda/runtime/wait.h"

namespace convolve {
namespace {

Status attribute(int& value, cudaDeviceAttr which, int device) {
  return CONVOLVE_CUDA(cudaDeviceGetAttribute(&value, which, device));
}

/// What predictions are scaled by. A driver that does not say leaves 0, which stands for that.
void query_figures(const Context& context, DeviceCapabilities& capabilities) {
  int processors = 0, clock_khz = 0, memory_khz = 0, bus_bits = 0;
  (void)attribute(processors, cudaDevAttrMultiProcessorCount, context.device);
  (void)attribute(clock_khz, cudaDevAttrClockRate, context.device);
  (void)attribute(memory_khz, cudaDevAttrMemoryClockRate, context.device);
  (void)attribute(bus_bits, cudaDevAttrGlobalMemoryBusWidth, context.device);
  capabilities.processors = processors;
  capabilities.clock_mhz = clock_khz / 1000;
  // Two transfers a clock, eight bits a byte.
  capabilities.gigabytes_a_second = static_cast<int>(2e-6 * memory_khz * bus_bits / 8);
}

Result<DeviceCapabilities> query_capabilities(const Context& context) {
  int major = 0, minor = 0, shared = 0, pools = 0;
  Status status = attribute(major, cudaDevAttrComputeCapabilityMajor, context.device);
  if (status.ok()) status = attribute(minor, cudaDevAttrComputeCapabilityMinor, context.device);
  if (status.ok())
    status = attribute(shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, context.device);
  if (status.ok()) status = attribute(pools, cudaDevAttrMemoryPoolsSupported, context.device);
  char name[256] = "";
  if (status.ok())
    status = CONVOLVE_CUDA(static_cast<cudaError_t>(
        context.driver.device_name(name, static_cast<int>(sizeof name), context.device)));
  if (!status.ok()) return status;
  if (pools == 0)
    return Status(Code::kNoDevice, std::string(name) + " has no stream-ordered device memory");
  DeviceCapabilities capabilities;
  capabilities.backend = BackendKind::kCuda;
  capabilities.name = name;
  capabilities.compute_capability = major * 10 + minor;
  capabilities.shared_bytes = static_cast<std::size_t>(shared);
  query_figures(context, capabilities);
  return capabilities;
}

}  // namespace

DeviceCore::DeviceCore(const Context& context, LogCallback log,
                       std::shared_ptr<const StopSignal> stop)
    : context_(context),
      log_(std::move(log)),
      stop_(std::move(stop)),
      staging_(context.device, stop_.get()) {}

Result<std::shared_ptr<DeviceCore>> DeviceCore::open(const Context& context, LogCallback log,
                                                     std::shared_ptr<const StopSignal> stop) {
  std::shared_ptr<DeviceCore> core(new DeviceCore(context, std::move(log), std::move(stop)));
  const CurrentContext current(core->context_);
  Status status = current.status();
  if (status.ok()) status = core->initialise();
  if (!status.ok()) return status;
  return core;
}

Status DeviceCore::initialise() {
  Result<DeviceCapabilities> capabilities = query_capabilities(context_);
  if (!capabilities.ok()) return capabilities.status();
  capabilities_ = capabilities.value();

  // Any kernel will do to learn whether this build has code for the GPU.
  LaunchArguments any;
  any.storage = MaskStorage::kGlobalMemory;
  if (Status status = CONVOLVE_CUDA(kBasicVariant.load(any)); !status.ok()) return status;

  Result<Stream> stream = Stream::make();
  if (!stream.ok()) return stream.status();
  stream_ = std::move(stream.value());
  staging_.use(stream_.get());
  for (Event* event : {&begin_, &end_}) {
    Result<Event> made = Event::make(cudaEventDefault);
    if (!made.ok()) return made.status();
    *event = std::move(made.value());
  }
  Result<Event> done = Event::make(cudaEventDisableTiming);
  if (!done.ok()) return done.status();
  done_ = std::move(done.value());
  return {};
}

DeviceCore::~DeviceCore() {
  // Handles go while their context is current. Device memory is freed in the order of the stream,
  // and the wait lets it go back from the pool to the device. A device that hangs is left behind:
  // the driver keeps a stream until its work is done, and staging keeps what still crosses.
  constexpr std::chrono::milliseconds kPatience{100};
  const CurrentContext current(context_);
  src_ = {};
  dst_ = {};
  if (done_.get() != nullptr && CONVOLVE_CUDA(cudaEventRecord(done_.get(), stream_.get())).ok())
    (void)passes_within(done_.get(), kPatience);
  staging_.release();
  sweep_mask_slots(context_.id);
  begin_ = Event();
  end_ = Event();
  done_ = Event();
  stream_ = Stream();
}

void DeviceCore::log(LogLevel level, const std::string& message) const {
  if (log_) log_(level, message);
}

Status DeviceCore::grow(DeviceMemory& memory, std::size_t bytes) {
  if (memory.bytes() >= bytes) return {};
  // The old memory stays until the new is there: an earlier job may have to run on without it.
  Result<DeviceMemory> larger = DeviceMemory::make(bytes, stream());
  if (!larger.ok()) return larger.status();
  memory = std::move(larger.value());
  // Bytes between the components of a plane are copied with it and written by nobody: what other
  // programs left in this memory must not leave through them.
  return CONVOLVE_CUDA(cudaMemsetAsync(memory.data(), 0, bytes, stream()));
}

Status DeviceCore::reserve_plane(int plane, std::size_t bytes) {
  const std::size_t p = static_cast<std::size_t>(plane);
  Status status = grow(src_[p], bytes);
  return status.ok() ? grow(dst_[p], bytes) : status;
}

Status DeviceCore::kernels_begin() {
  timing_ = false;
  return CONVOLVE_CUDA(cudaEventRecord(begin_.get(), stream()));
}

Status DeviceCore::kernels_end() {
  Status status = CONVOLVE_CUDA(cudaEventRecord(end_.get(), stream()));
  timing_ = status.ok();
  return status;
}

Status DeviceCore::wait(const Event& event) const {
  return wait_for(event.get(), context_.device, stop_.get());
}

Status DeviceCore::finish() {
  Status status = staging_.finish();
  if (status.ok() || status.code() == Code::kStopped) {
    const Status recorded = CONVOLVE_CUDA(cudaEventRecord(done_.get(), stream()));
    const Status ended =
        recorded.ok() && (status.ok() || owes_wait_)
            ? wait_for(done_.get(), context_.device, owes_wait_ ? nullptr : stop_.get())
            : recorded;
    if (!ended.ok()) status = ended;
  }
  owes_wait_ = false;
  staging_.forget_downloads();
  if (status.ok()) writes_.clear();
  if (!status.ok() || !timing_) return status;
  timing_ = false;
  float milliseconds = 0;
  status = CONVOLVE_CUDA(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()));
  if (status.ok()) last_kernel_ns_ = static_cast<std::uint64_t>(std::lround(milliseconds * 1e6));
  return status;
}

}  // namespace convolve
