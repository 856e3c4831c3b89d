// SPDX-License-Identifier: LGPL-2.1-or-later
// A real GPU fault on demand, for the tests of what happens after one. A stub stands behind it
// unless the build option fault-injection is on.
#pragma once

#include <cuda_runtime.h>

namespace convolve {

/// Counts the frames of the process. At frame $CUDACONVOLVE_FAULT_AT_FRAME (the first is 1) the
/// fault $CUDACONVOLVE_FAULT happens on `stream`:
///   address  a kernel writes to an illegal address (the default),
///   poll     a kernel polls for what never comes, as poll.cuh lets it,
///   hang     a kernel never ends, and only the host can see it,
///   memory   the launch says that the GPU is out of memory.
/// Returns the launch's error.
cudaError_t inject_fault_if_due(cudaStream_t stream);

}  // namespace convolve
