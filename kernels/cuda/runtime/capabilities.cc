// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/runtime/capabilities.h"

#include <cuda_runtime.h>

#include <string>

#include "kernels/cuda/runtime/check.h"

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

}  // namespace

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

}  // namespace convolve
