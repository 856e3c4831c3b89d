// SPDX-License-Identifier: LGPL-2.1-or-later
// Stands in for the CUDA backend in builds without it.
#include "kernels/cuda/cuda_device.h"

namespace convolve {

bool has_cuda_backend() {
  return false;
}

Result<std::shared_ptr<Device>> open_cuda_device(int, bool, LogCallback,
                                                 std::shared_ptr<const StopSignal>) {
  return Status(Code::kNoDevice, "this build has no CUDA backend");
}

void set_least_bytes_of_piece(std::size_t) {}

}  // namespace convolve
