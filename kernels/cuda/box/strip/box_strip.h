// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `box` in strips on tensor cores (box_strip.cu), as box.cu calls it.
#pragma once

#include "kernels/cuda/device/variant.h"

namespace convolve {

cudaError_t load_box_strip(const LaunchArguments& arguments);
cudaError_t launch_box_strip(const LaunchArguments& arguments, cudaStream_t stream);

}  // namespace convolve
