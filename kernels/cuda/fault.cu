// SPDX-License-Identifier: LGPL-2.1-or-later
// A sticky fault as a broken kernel would raise it. Compiled in with the build option
// fault-injection only.
#include <atomic>
#include <cstdlib>

#include "kernels/cuda/fault.h"

namespace convolve {
namespace {

__global__ void write_to(volatile int* address) {
  *address = 1;
}

}  // namespace

cudaError_t inject_fault_if_due(cudaStream_t stream) {
  static std::atomic<long> frames{0};
  static const char* const at_frame = std::getenv("CUDACONVOLVE_FAULT_AT_FRAME");
  if (at_frame == nullptr || ++frames != std::strtol(at_frame, nullptr, 10)) return cudaSuccess;
  volatile int* nowhere = nullptr;
  void* parameters[] = {&nowhere};
  return cudaLaunchKernel(reinterpret_cast<const void*>(write_to), dim3(1), dim3(1), parameters, 0,
                          stream);
}

}  // namespace convolve
