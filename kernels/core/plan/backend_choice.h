// SPDX-License-Identifier: LGPL-2.1-or-later
// Where a small frame in system memory is filtered with less work: on the GPU, to which it must
// travel, or on the CPU. Pure, so that the choice is a test.
#pragma once

#include "kernels/core/plan/plan.h"

namespace convolve {

/// Microseconds that a frame in system memory takes, while others follow it.
struct FrameCost {
  double frame_us = 0;      ///< From one frame to the next.
  double processor_us = 0;  ///< Of the host's processors, all threads together.
};

/// By `plan`, of CUDA, with frames in flight.
FrameCost cuda_frame_cost(const FrameFormat& format, const Plan& plan);

/// By `plan`, of the CPU that `device` is; at most, as processors differ. 0 where nobody knows.
FrameCost cpu_frame_cost(const FrameFormat& format, const Mask& mask, const Plan& plan,
                         const DeviceCapabilities& device);

/// False for frames so large that no plan of the CPU can cost less than one of CUDA.
bool cpu_may_cost_less(const FrameFormat& format);

/// True if both costs are lower than those of `other`. What nobody can predict costs more than
/// anything.
bool costs_less(const FrameCost& cost, const FrameCost& other);

}  // namespace convolve
