// SPDX-License-Identifier: LGPL-2.1-or-later
// The work of kernel `tensor`, which takes all planes of a frame in one launch.
#pragma once

#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/plan/cost.h"
#include "kernels/core/plan/plan.h"

namespace convolve {

/// The work of its launch, as work_of() says, on a device of so many processors.
LaunchWork tensor_work(const Plan& plan, const FrameFormat& format, const Mask& mask,
                       int processors);

}  // namespace convolve
