// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/storm/device_block.h"

#include <cuda_runtime.h>

namespace storm {

const bool kHasDeviceBlocks = true;

std::unique_ptr<DeviceBlock> DeviceBlock::make(std::size_t size) {
  void* data = nullptr;
  if (cudaMalloc(&data, size) != cudaSuccess) return nullptr;
  return std::unique_ptr<DeviceBlock>(new DeviceBlock(static_cast<std::uint8_t*>(data)));
}

DeviceBlock::~DeviceBlock() {
  (void)cudaFree(data_);
}

// A copy out of pageable memory may return before its last bytes have arrived, and the engine's
// stream does not wait for it.
bool DeviceBlock::upload(const std::uint8_t* from, std::size_t size) {
  return cudaMemcpy(data_, from, size, cudaMemcpyHostToDevice) == cudaSuccess &&
         cudaStreamSynchronize(nullptr) == cudaSuccess;
}

bool DeviceBlock::download(std::uint8_t* to, std::size_t size) const {
  return cudaMemcpy(to, data_, size, cudaMemcpyDeviceToHost) == cudaSuccess;
}

}  // namespace storm
