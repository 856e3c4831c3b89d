// SPDX-License-Identifier: LGPL-2.1-or-later
// A real GPU fault on demand, for the tests of what happens after one. A stub stands behind it
// unless the build option fault-injection is on.
#pragma once

#include <cuda_runtime.h>

namespace convolve {

/// Counts the frames of the process. At frame $CUDACONVOLVE_FAULT_AT_FRAME (the first is 1) it
/// enqueues a write to an illegal address on `stream`. Returns its own launch's error.
cudaError_t inject_fault_if_due(cudaStream_t stream);

}  // namespace convolve
