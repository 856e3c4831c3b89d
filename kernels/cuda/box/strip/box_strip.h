// SPDX-License-Identifier: LGPL-2.1-or-later
// The form of kernel `box` on tensor cores (box_strip.cu), for box.cu to choose.
#pragma once

#include "kernels/cuda/device/variant.h"

namespace convolve {

cudaError_t load_box_strip(const LaunchArguments& arguments);
cudaError_t launch_box_strip(const LaunchArguments& arguments, cudaStream_t stream);

}  // namespace convolve
