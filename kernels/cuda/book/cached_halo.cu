// SPDX-License-Identifier: LGPL-2.1-or-later
// Tiles without halo cells: PMPP 7.5, Fig. 7.13 and 7.14, in two dimensions.
//
// The halo cells of one block are internal cells of its neighbours, which load them at about the
// same time: they probably lie in L2 already. So only the internal cells go to shared memory, where
// input tile, output tile and block have one size, and each thread loads one cell. What the load
// gains in simplicity the inner loop pays: each step asks whether its cell is internal, halo or
// ghost.
#include "kernels/cuda/device/bank.cuh"

namespace convolve {
namespace {

template <class Arithmetic, class Stored, class Storage>
__global__ void cached_halo(const __grid_constant__ LaunchArguments arguments) {
  using Cell = typename Arithmetic::Cell;
  using Weight = typename Arithmetic::Weight;
  const GroupArguments& group = arguments.group;
  const MaskArguments& mask = arguments.mask;
  Cell* tile = shared_cells<Cell>();

  const int tile_width = static_cast<int>(blockDim.x);
  const int tile_height = static_cast<int>(blockDim.y);
  const int tile_x = static_cast<int>(threadIdx.x);
  const int tile_y = static_cast<int>(threadIdx.y);
  const int x = static_cast<int>(blockIdx.x) * tile_width + tile_x;
  const int y = static_cast<int>(blockIdx.y) * tile_height + tile_y;
  const bool inner = x < group.width && y < group.height;

  const Weight* weights = Storage::template weights<Weight>(mask);
  for (int c = 0; c < group.channels; ++c) {
    const ChannelArguments& channel = group.channel[c];
    if (!channel.filtered) {
      if (inner) copy_sample<Stored>(group, channel, x, y);
      continue;
    }
    __syncthreads();  // The channel before this one has been read.
    // Where the last tiles stick out of the picture they hold ghost cells.
    tile[tile_y * tile_width + tile_x] = cell_row<Cell, Stored>(group, channel, y).at(x);
    __syncthreads();

    if (!inner) continue;
    typename Arithmetic::Sum sum{};
    for (int i = 0; i < mask.height; ++i) {
      const int dy = i - mask.anchor_y;
      const int cell_y = tile_y + dy;
      const bool internal_row = cell_y >= 0 && cell_y < tile_height;
      const auto halo_row = cell_row<Cell, Stored>(group, channel, y + dy);
      for (int j = 0; j < mask.width; ++j) {
        const int dx = j - mask.anchor_x;
        const int cell_x = tile_x + dx;
        const bool internal = internal_row && cell_x >= 0 && cell_x < tile_width;
        const Cell cell = internal ? tile[cell_y * tile_width + cell_x] : halo_row.at(x + dx);
        Arithmetic::mac(sum, weights[i * mask.width + j], cell);
      }
    }
    store_sum<Arithmetic, Stored>(group, channel, x, y, sum);
  }
}

Kernel select(const LaunchArguments& arguments) {
  return select_types_and_storage(
      arguments, [](auto arithmetic, auto stored, auto storage) -> Kernel {
        return cached_halo<decltype(arithmetic), decltype(stored), decltype(storage)>;
      });
}

std::size_t tile_bytes(const LaunchArguments& arguments) {
  return sizeof(float) * static_cast<std::size_t>(arguments.tile_width) *
         static_cast<std::size_t>(arguments.tile_height);
}

cudaError_t load(const LaunchArguments& arguments) {
  return load_kernel(select(arguments), tile_bytes(arguments));
}

cudaError_t launch(const LaunchArguments& arguments, cudaStream_t stream) {
  const dim3 tile(static_cast<unsigned>(arguments.tile_width),
                  static_cast<unsigned>(arguments.tile_height));
  return launch_kernel(select(arguments),
                       grid_of_tiles(arguments.group, arguments.tile_width, arguments.tile_height),
                       tile, tile_bytes(arguments), arguments, stream);
}

}  // namespace

const Variant kCachedHaloVariant = {KernelKind::kCachedHalo, true, upload_mask, load, launch};

}  // namespace convolve
