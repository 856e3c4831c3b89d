// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `box` in bands as wide as the picture (box_bands.cu), as box.cu calls it.
#pragma once

#include "kernels/cuda/device/variant.h"

namespace convolve {

cudaError_t load_box_bands(const LaunchArguments& arguments);
cudaError_t launch_box_bands(const LaunchArguments& arguments, cudaStream_t stream);

}  // namespace convolve
