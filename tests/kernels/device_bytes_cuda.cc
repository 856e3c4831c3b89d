// SPDX-License-Identifier: LGPL-2.1-or-later
#include <cuda_runtime.h>

#include "tests/kernels/device_bytes.h"

namespace convolve::testing {

std::uint8_t* allocate_cuda_bytes(std::size_t size) {
  void* data = nullptr;
  return cudaMalloc(&data, size) == cudaSuccess ? static_cast<std::uint8_t*>(data) : nullptr;
}

void free_cuda_bytes(std::uint8_t* data) {
  (void)cudaFree(data);
}

bool copy_cuda_bytes(const Device& device, void* to, const void* from, std::size_t size) {
  const auto stream = static_cast<cudaStream_t>(device.native_stream());
  return cudaMemcpyAsync(to, from, size, cudaMemcpyDefault, stream) == cudaSuccess &&
         cudaStreamSynchronize(stream) == cudaSuccess;
}

}  // namespace convolve::testing
