// SPDX-License-Identifier: LGPL-2.1-or-later
// Tiles with halo cells, several loads per thread: PMPP Fig. 7.11 in two dimensions, exercises 9
// and 10 ("output parallelism").
//
// The block is as large as the *output* tile, so every thread computes; the input tile is larger by
// K - 1 a side, so the threads walk over it with the block as stride and some load more cells than
// others. The same global loads as tiled_input.cu for the same output tile, but the tile no longer
// shrinks with the mask: shared memory is the limit, not the 1024 threads of a block. A tile of
// 64 x 64 outputs, the largest of Fig. 7.22, has four outputs for each thread of a 64 x 16 block.
#include "kernels/cuda/device/bank.cuh"

namespace convolve {
namespace {

template <class Arithmetic, class Stored, class Storage>
__global__ void tiled_output(const __grid_constant__ LaunchArguments arguments) {
  using Cell = typename Arithmetic::Cell;
  using Weight = typename Arithmetic::Weight;
  const GroupArguments& group = arguments.group;
  const MaskArguments& mask = arguments.mask;
  Cell* tile = shared_cells<Cell>();

  const int width = arguments.tile_width, height = arguments.tile_height;
  const int input_width = width + mask.width - 1;
  const int input_height = height + mask.height - 1;
  const int block_height = static_cast<int>(blockDim.y);
  const int tile_x = static_cast<int>(threadIdx.x);
  const int tile_y = static_cast<int>(threadIdx.y);
  const int first_x = static_cast<int>(blockIdx.x) * width;
  const int first_y = static_cast<int>(blockIdx.y) * height;
  const int x = first_x + tile_x;
  // Outputs of this thread: rows tile_y, tile_y + block_height, ... of the tile.
  const int end_y = x < group.width ? min(height, group.height - first_y) : 0;

  const Weight* weights = Storage::template weights<Weight>(mask);
  for (int c = 0; c < group.channels; ++c) {
    const ChannelArguments& channel = group.channel[c];
    if (!channel.filtered) {
      for (int ty = tile_y; ty < end_y; ty += block_height)
        copy_sample<Stored>(group, channel, x, first_y + ty);
      continue;
    }
    __syncthreads();  // The channel before this one has been read.
    for (int ty = tile_y; ty < input_height; ty += block_height) {
      const auto row = cell_row<Cell, Stored>(group, channel, first_y - mask.anchor_y + ty);
      for (int tx = tile_x; tx < input_width; tx += width)
        tile[ty * input_width + tx] = row.at(first_x - mask.anchor_x + tx);
    }
    __syncthreads();

    for (int ty = tile_y; ty < end_y; ty += block_height) {
      typename Arithmetic::Sum sum{};
      for (int i = 0; i < mask.height; ++i) {
        const Cell* row = tile + (ty + i) * input_width + tile_x;
        for (int j = 0; j < mask.width; ++j)
          Arithmetic::mac(sum, weights[i * mask.width + j], row[j]);
      }
      store_sum<Arithmetic, Stored>(group, channel, x, first_y + ty, sum);
    }
  }
}

Kernel select(const LaunchArguments& arguments) {
  return select_types_and_storage(
      arguments, [](auto arithmetic, auto stored, auto storage) -> Kernel {
        return tiled_output<decltype(arithmetic), decltype(stored), decltype(storage)>;
      });
}

std::size_t input_tile_bytes(const LaunchArguments& arguments) {
  return sizeof(float) * static_cast<std::size_t>(arguments.tile_width + arguments.mask.width - 1) *
         static_cast<std::size_t>(arguments.tile_height + arguments.mask.height - 1);
}

cudaError_t load(const LaunchArguments& arguments) {
  return load_kernel(select(arguments), input_tile_bytes(arguments));
}

cudaError_t launch(const LaunchArguments& arguments, cudaStream_t stream) {
  constexpr int kMaxThreads = 1024;
  const int rows = kMaxThreads / arguments.tile_width;
  const dim3 block(
      static_cast<unsigned>(arguments.tile_width),
      static_cast<unsigned>(rows < arguments.tile_height ? rows : arguments.tile_height));
  return launch_kernel(select(arguments),
                       grid_of_tiles(arguments.group, arguments.tile_width, arguments.tile_height),
                       block, input_tile_bytes(arguments), arguments, stream);
}

}  // namespace

const Variant kTiledOutputVariant = {KernelKind::kTiledOutput, true, upload_mask, load, launch};

}  // namespace convolve
