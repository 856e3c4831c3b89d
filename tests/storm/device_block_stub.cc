// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/storm/device_block.h"

namespace storm {

const bool kHasDeviceBlocks = false;

std::unique_ptr<DeviceBlock> DeviceBlock::make(std::size_t /*size*/) {
  return nullptr;
}

DeviceBlock::~DeviceBlock() = default;

bool DeviceBlock::upload(const std::uint8_t* /*from*/, std::size_t /*size*/) {
  return false;
}

bool DeviceBlock::download(std::uint8_t* /*to*/, std::size_t /*size*/) const {
  return false;
}

}  // namespace storm
