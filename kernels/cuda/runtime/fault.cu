// SPDX-License-Identifier: LGPL-2.1-or-later
// Faults as broken kernels would raise them. Compiled in with the build option fault-injection
// only.
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "kernels/cuda/device/poll.cuh"
#include "kernels/cuda/runtime/fault.h"

namespace convolve {
namespace {

__device__ int never_set;

/// An illegal address.
__global__ void write_to(volatile int* address) {
  *address = 1;
}

/// A poll of our own, for what never comes.
__global__ void poll_for_ever() {
  const volatile int* flag = &never_set;
  poll([flag] { return *flag != 0; });
}

/// Stands for waits that poll() cannot bound, such as a barrier that some threads never reach: only
/// the host can see that the kernel hangs.
__global__ void hang() {
  const volatile int* flag = &never_set;
  while (*flag == 0)
    __nanosleep(1000);
}

}  // namespace

cudaError_t inject_fault_if_due(cudaStream_t stream) {
  static std::atomic<long> frames{0};
  static const char* const at_frame = std::getenv("CUDACONVOLVE_FAULT_AT_FRAME");
  if (at_frame == nullptr || ++frames != std::strtol(at_frame, nullptr, 10)) return cudaSuccess;
  const char* const named = std::getenv("CUDACONVOLVE_FAULT");
  const char* const fault = named != nullptr ? named : "address";
  if (std::strcmp(fault, "memory") == 0) return cudaErrorMemoryAllocation;
  volatile int* nowhere = nullptr;
  void* parameters[] = {&nowhere};
  const void* kernel = reinterpret_cast<const void*>(write_to);
  if (std::strcmp(fault, "poll") == 0) kernel = reinterpret_cast<const void*>(poll_for_ever);
  if (std::strcmp(fault, "hang") == 0) kernel = reinterpret_cast<const void*>(hang);
  return cudaLaunchKernel(kernel, dim3(1), dim3(1), parameters, 0, stream);
}

}  // namespace convolve
