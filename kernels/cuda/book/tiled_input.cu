// SPDX-License-Identifier: LGPL-2.1-or-later
// Tiles with halo cells, one load per thread: PMPP 7.6, Fig. 7.19 to 7.21 ("input parallelism").
//
// The block is as large as the *input* tile: each thread loads one cell, halo and ghost cells
// included, with no loop and no test of who loads what. After the barrier only the inner threads,
// as many as the *output* tile has cells, compute. So an output tile of T x T needs (T + K - 1)^2
// loads from global memory instead of T^2 K^2: Fig. 7.22's reductions. The price is idle threads:
// with blocks of 32 x 32 and K = 9 the output tile is 24 x 24, and 44 % of the threads only load.
#include "kernels/cuda/device/bank.cuh"

namespace convolve {
namespace {

constexpr int kLargestInputTile = 32;  // 1024 threads, the most that a block can have.

template <class Arithmetic, class Stored, class Storage>
__global__ void tiled_input(const __grid_constant__ LaunchArguments arguments) {
  using Cell = typename Arithmetic::Cell;
  using Weight = typename Arithmetic::Weight;
  const GroupArguments& group = arguments.group;
  const MaskArguments& mask = arguments.mask;
  __shared__ Cell tile[kLargestInputTile][kLargestInputTile];

  // Consecutive blocks advance by the output tile; the thread's place in the input tile is its
  // place in the block, and the cell there lies `anchor` before the output of the same number.
  const int tile_x = static_cast<int>(threadIdx.x);
  const int tile_y = static_cast<int>(threadIdx.y);
  const int x = static_cast<int>(blockIdx.x) * arguments.tile_width + tile_x;
  const int y = static_cast<int>(blockIdx.y) * arguments.tile_height + tile_y;
  const bool inner = tile_x < arguments.tile_width && tile_y < arguments.tile_height &&
                     x < group.width && y < group.height;

  const Weight* weights = Storage::template weights<Weight>(mask);
  for (int c = 0; c < group.channels; ++c) {
    const ChannelArguments& channel = group.channel[c];
    if (!channel.filtered) {
      if (inner) copy_sample<Stored>(group, channel, x, y);
      continue;
    }
    __syncthreads();  // The channel before this one has been read.
    tile[tile_y][tile_x] =
        cell_row<Cell, Stored>(group, channel, y - mask.anchor_y).at(x - mask.anchor_x);
    __syncthreads();

    if (!inner) continue;
    typename Arithmetic::Sum sum{};
    for (int i = 0; i < mask.height; ++i)
      for (int j = 0; j < mask.width; ++j)
        Arithmetic::mac(sum, weights[i * mask.width + j], tile[tile_y + i][tile_x + j]);
    store_sum<Arithmetic, Stored>(group, channel, x, y, sum);
  }
}

Kernel select(const LaunchArguments& arguments) {
  return select_types_and_storage(
      arguments, [](auto arithmetic, auto stored, auto storage) -> Kernel {
        return tiled_input<decltype(arithmetic), decltype(stored), decltype(storage)>;
      });
}

cudaError_t load(const LaunchArguments& arguments) {
  return load_kernel(select(arguments), 0);
}

cudaError_t launch(const LaunchArguments& arguments, cudaStream_t stream) {
  const dim3 input_tile(static_cast<unsigned>(arguments.tile_width + arguments.mask.width - 1),
                        static_cast<unsigned>(arguments.tile_height + arguments.mask.height - 1));
  if (input_tile.x > kLargestInputTile || input_tile.y > kLargestInputTile)
    return cudaErrorInvalidConfiguration;
  return launch_kernel(select(arguments),
                       grid_of_tiles(arguments.group, arguments.tile_width, arguments.tile_height),
                       input_tile, 0, arguments, stream);
}

}  // namespace

const Variant kTiledInputVariant = {KernelKind::kTiledInput, true, upload_mask, load, launch};

}  // namespace convolve
