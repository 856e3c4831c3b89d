// SPDX-License-Identifier: LGPL-2.1-or-later
// Memory that a device's kernels read and write, with nothing between it and a test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/convolver.h"

namespace convolve::testing {

/// Begins on kDeviceBytesAlignment bytes.
class DeviceBytes {
 public:
  /// Nothing if there is no memory.
  static std::unique_ptr<DeviceBytes> make(std::shared_ptr<Device> device, std::size_t size);
  ~DeviceBytes();
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;

  std::uint8_t* data() const { return data_; }
  /// Where frames in it lie.
  Memory memory() const { return memory_; }

  /// Copies `bytes`, of which there are no more than it has, and waits for that.
  bool write(const std::vector<std::uint8_t>& bytes);
  /// Fills `bytes` after all that the device has been given to do.
  bool read(std::vector<std::uint8_t>& bytes) const;

 private:
  explicit DeviceBytes(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  std::shared_ptr<Device> device_;
  std::vector<std::uint8_t> host_;  ///< On the CPU.
  std::uint8_t* data_ = nullptr;
  Memory memory_ = Memory::kHost;
};

inline constexpr std::size_t kDeviceBytesAlignment = 256;

// CUDA's part. In builds without it there is no memory.
std::uint8_t* allocate_cuda_bytes(std::size_t size);
void free_cuda_bytes(std::uint8_t* data);
/// On the stream of `device`; waits for it.
bool copy_cuda_bytes(const Device& device, void* to, const void* from, std::size_t size);

}  // namespace convolve::testing
