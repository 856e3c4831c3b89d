// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs a plan on a CUDA device.
#pragma once

#include <memory>

#include "kernels/core/plan/backend.h"
#include "kernels/cuda/runtime/device_core.h"

namespace convolve {

/// Uploads the mask, allocates memory and loads the kernels of the plan. The context of `core` must
/// be current. Errors: kUnsupported if the plan requires constant memory and the bank is full;
/// kOutOfMemory, kDeviceError, kDeviceLost.
Result<std::unique_ptr<Job>> prepare_cuda_job(std::shared_ptr<DeviceCore> core,
                                              const FrameFormat& format,
                                              const PreparedPlan& planned);

}  // namespace convolve
