// SPDX-License-Identifier: LGPL-2.1-or-later
// The one way in which this backend calls CUDA: CONVOLVE_CUDA(call).
//
// A sticky error (an illegal address and its kin) makes every later CUDA call of the process fail,
// in every context, also in ones made anew; after a kernel that never ends many calls never return;
// and a child forked after CUDA began can never use it. All three are latched here for the whole
// process. From then on no CUDA call is made at all, not even to free memory: the driver takes
// everything back when the process ends.
#pragma once

#include <cuda_runtime.h>

#include "kernels/core/base/status.h"

namespace convolve {

/// To be called before the first CUDA call of an entry point that opens a device: from here on a
/// forked child knows that CUDA had begun. Errors: as cuda_unusable().
Status begin_cuda();

/// False once a sticky error was seen anywhere in this backend, and in a child forked after CUDA
/// began. Any thread.
bool cuda_usable();

/// Why cuda_usable() is false: kDeviceLost.
Status cuda_unusable();

/// Latches that a device does not answer any more, as a sticky error would, and says so:
/// kDeviceLost.
Status lose_cuda();

/// The Status for what `call` returned. Latches sticky errors (kDeviceLost); clears the others from
/// the thread's last error, where they would be taken for somebody else's. Errors: kNoDevice if the
/// machine has nothing that this build can run on, kOutOfMemory, kDeviceError.
Status cuda_status(cudaError_t error, const char* call);

}  // namespace convolve

/// Evaluates a call that returns cudaError_t, unless CUDA is not usable any more, to a Status.
#define CONVOLVE_CUDA(call) \
  (::convolve::cuda_usable() ? ::convolve::cuda_status((call), #call) : ::convolve::cuda_unusable())
