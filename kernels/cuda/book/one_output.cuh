// SPDX-License-Identifier: LGPL-2.1-or-later
// How the host loads and launches the kernels of which each thread makes one output: basic.cu and
// constant.cu.
#pragma once

#include "kernels/cuda/device/kernel.cuh"

namespace convolve {
namespace {

constexpr int kBlockWidth = 32;  // A warp is a row: its loads of neighbouring cells coalesce.
constexpr int kBlockHeight = 8;

/// The instance of a kernel for the types that the arguments ask for.
using SelectInstance = Kernel(const LaunchArguments&);

template <SelectInstance* kSelect>
cudaError_t load_one_output(const LaunchArguments& arguments) {
  return load_kernel(kSelect(arguments), 0);
}

template <SelectInstance* kSelect>
cudaError_t launch_one_output(const LaunchArguments& arguments, cudaStream_t stream) {
  return launch_kernel(kSelect(arguments),
                       grid_of_tiles(arguments.group, kBlockWidth, kBlockHeight),
                       dim3(kBlockWidth, kBlockHeight), 0, arguments, stream);
}

}  // namespace
}  // namespace convolve
