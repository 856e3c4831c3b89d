// SPDX-License-Identifier: LGPL-2.1-or-later
// The part of the planner that knows kernel `tensor`, and what both parts say.
#pragma once

#include <string>

#include "kernels/core/base/status.h"
#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/plan/plan.h"

namespace convolve {

/// Mapping, arithmetic and tile of tensor, or why it cannot serve.
Status plan_tensor(const FrameFormat& format, const Mask& mask, const Options& options,
                   const DeviceCapabilities& device, Plan& plan);

/// "5x3"
std::string size_text(const Mask& mask);

/// True if colour is to be weighted by alpha, and there is both.
bool weights_by_alpha(const FrameFormat& format, const Options& options);

}  // namespace convolve
