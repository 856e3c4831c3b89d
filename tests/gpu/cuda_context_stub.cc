// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/gpu/cuda_context.h"

namespace cudaconvolve::gpu {

GstContext* new_cuda_context() {
  return nullptr;
}

}  // namespace cudaconvolve::gpu
