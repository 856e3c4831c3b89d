// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/kernels/device_bytes.h"

#include <algorithm>
#include <utility>

namespace convolve::testing {

std::unique_ptr<DeviceBytes> DeviceBytes::make(std::shared_ptr<Device> device, std::size_t size) {
  std::unique_ptr<DeviceBytes> bytes(new DeviceBytes(std::move(device)));
  if (bytes->device_->capabilities().backend == BackendKind::kCuda) {
    bytes->memory_ = Memory::kCuda;
    bytes->data_ = allocate_cuda_bytes(size);
  } else {
    bytes->host_.resize(size + kDeviceBytesAlignment);
    const auto from = reinterpret_cast<std::uintptr_t>(bytes->host_.data());
    bytes->data_ = bytes->host_.data() + (kDeviceBytesAlignment - from % kDeviceBytesAlignment);
  }
  return bytes->data_ == nullptr ? nullptr : std::move(bytes);
}

DeviceBytes::~DeviceBytes() {
  if (memory_ == Memory::kCuda) free_cuda_bytes(data_);
}

bool DeviceBytes::write(const std::vector<std::uint8_t>& bytes) {
  if (memory_ == Memory::kCuda) return copy_cuda_bytes(*device_, data_, bytes.data(), bytes.size());
  std::copy(bytes.begin(), bytes.end(), data_);
  return true;
}

bool DeviceBytes::read(std::vector<std::uint8_t>& bytes) const {
  if (memory_ == Memory::kCuda) return copy_cuda_bytes(*device_, bytes.data(), data_, bytes.size());
  std::copy_n(data_, bytes.size(), bytes.begin());
  return true;
}

}  // namespace convolve::testing
