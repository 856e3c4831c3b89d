// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/kernels/device_bytes.h"

namespace convolve::testing {

std::uint8_t* allocate_cuda_bytes(std::size_t) {
  return nullptr;
}

void free_cuda_bytes(std::uint8_t*) {}

bool copy_cuda_bytes(const Device&, void*, const void*, std::size_t) {
  return false;
}

}  // namespace convolve::testing
