// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/gpu/device_memory.h"

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

namespace cudaconvolve::gpu {

long long device_bytes_used() {
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  const cudaError_t error = cudaMemGetInfo(&free_bytes, &total);
  if (error != cudaSuccess) {
    std::printf("FAIL cudaMemGetInfo: %s\n", cudaGetErrorString(error));
    std::exit(1);
  }
  return static_cast<long long>(total - free_bytes);
}

}  // namespace cudaconvolve::gpu
