// SPDX-License-Identifier: LGPL-2.1-or-later
// Memory of the CUDA device. Builds without CUDA have a stub that has none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace storm {

/// True in builds with CUDA.
extern const bool kHasDeviceBlocks;

class DeviceBlock {
 public:
  /// Null if there is no memory.
  static std::unique_ptr<DeviceBlock> make(std::size_t size);
  ~DeviceBlock();
  DeviceBlock(const DeviceBlock&) = delete;
  DeviceBlock& operator=(const DeviceBlock&) = delete;

  std::uint8_t* data() const { return data_; }

  /// Both return when the bytes have arrived.
  bool upload(const std::uint8_t* from, std::size_t size);
  bool download(std::uint8_t* to, std::size_t size) const;

 private:
  explicit DeviceBlock(std::uint8_t* data) : data_(data) {}

  std::uint8_t* data_;
};

}  // namespace storm
