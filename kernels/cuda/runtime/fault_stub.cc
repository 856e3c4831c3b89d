// SPDX-License-Identifier: LGPL-2.1-or-later
// No faults, in every build but those of the tests.
#include "kernels/cuda/runtime/fault.h"

namespace convolve {

cudaError_t inject_fault_if_due(cudaStream_t) {
  return cudaSuccess;
}

}  // namespace convolve
