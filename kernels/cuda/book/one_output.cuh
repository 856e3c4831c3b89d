// SPDX-License-Identifier: LGPL-2.1-or-later
// The kernels of which each thread makes one output, basic.cu and constant.cu: what a thread does,
// and how the host loads and launches them.
#pragma once

#include "kernels/cuda/device/kernel.cuh"

namespace convolve {
namespace {

constexpr int kBlockWidth = 32;  // A warp is a row: its loads of neighbouring cells coalesce.
constexpr int kBlockHeight = 8;

/// What a thread of both kernels does. Storage is the only difference: where the weights lie.
template <class Arithmetic, class Stored, class Storage>
__device__ __forceinline__ void make_one_output(const LaunchArguments& arguments) {
  using Cell = typename Arithmetic::Cell;
  using Weight = typename Arithmetic::Weight;
  const GroupArguments& group = arguments.group;
  const MaskArguments& mask = arguments.mask;

  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x >= group.width || y >= group.height) return;

  // Only i and j choose a weight, never the thread: the condition for a broadcast.
  const Weight* weights = Storage::template weights<Weight>(mask);
  for (int c = 0; c < group.channels; ++c) {
    const ChannelArguments& channel = group.channel[c];
    if (!channel.filtered) {
      copy_sample<Stored>(group, channel, x, y);
      continue;
    }
    // The book's N_start_point, here on both axes.
    const int start_x = x - mask.anchor_x;
    const int start_y = y - mask.anchor_y;
    typename Arithmetic::Sum sum{};
    for (int i = 0; i < mask.height; ++i) {
      const auto row = cell_row<Cell, Stored>(group, channel, start_y + i);
      // The book asks at every step whether the cell is a ghost; once a row is enough.
      if (row.covers(start_x, mask.width)) {
        for (int j = 0; j < mask.width; ++j)
          Arithmetic::mac(sum, weights[i * mask.width + j], row.inner(start_x + j));
      } else {
        for (int j = 0; j < mask.width; ++j)
          Arithmetic::mac(sum, weights[i * mask.width + j], row.at(start_x + j));
      }
    }
    store_sum<Arithmetic, Stored>(group, channel, x, y, sum);
  }
}

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
