// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `separable` on tensor cores, both passes in one launch: short masks. separable_tensor.cu
// calls these and has the two launches for all other masks.
#pragma once

#include "kernels/cuda/device/variant.h"

namespace convolve {

cudaError_t load_separable_fused(const LaunchArguments& arguments);
cudaError_t launch_separable_fused(const LaunchArguments& arguments, cudaStream_t stream);

}  // namespace convolve
