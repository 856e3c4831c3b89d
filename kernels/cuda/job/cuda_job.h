// SPDX-License-Identifier: LGPL-2.1-or-later
// A plan on a CUDA device.
#pragma once

#include <memory>

#include "kernels/core/plan/backend.h"
#include "kernels/cuda/runtime/device_core.h"

namespace convolve {

/// Uploads the mask, takes memory and loads the kernels of the plan. The context of `core` is
/// current. Errors: kUnsupported if the plan insists on constant memory and the bank is full,
/// kOutOfMemory, kDeviceError, kDeviceLost.
Result<std::unique_ptr<Job>> prepare_cuda_job(std::shared_ptr<DeviceCore> core,
                                              const FrameFormat& format,
                                              const PreparedPlan& planned);

}  // namespace convolve
