// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/core/base/status.h"
#include "kernels/core/plan/plan.h"
#include "kernels/cuda/runtime/context.h"

namespace convolve {

/// What the device of `context`, which is current, can do. Errors: kNoDevice if it has no
/// stream-ordered device memory; of CUDA.
Result<DeviceCapabilities> query_capabilities(const Context& context);

}  // namespace convolve
