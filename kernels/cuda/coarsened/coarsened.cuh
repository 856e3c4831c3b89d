// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `coarsened`: several outputs for each thread, in registers (ECE408 lecture 9, last
// slides). For any dense mask, in every accumulator.
//
// With one output for each thread every multiply-add reads a cell from shared memory, which feeds
// only 32 of the 128 multipliers of an SM. Here a thread owns a register tile of kThreadColumns x
// kThreadRows outputs. A cell is read once and serves all outputs of its row whose mask covers it,
// in both rows, with different rows of the mask; a weight is the same for all threads and is read
// into a uniform register. So a mask row of nine weights takes six wide shared loads and five
// uniform loads for 288 multiply-adds.
//
// Operands: cells in shared memory, the quads of a row distributed to kParts parts against bank
// conflicts (tile_load.cuh); weights in constant memory, or in shared memory where the mask does
// not fit it.
//
// What binds: the multipliers.
//
// The arithmetics have files of their own, as instances take long to compile: coarsened.cu,
// coarsened_int.cu and coarsened_wide.cu. Each has a constant bank of its own; the accumulator of
// the plan decides which is used.
#pragma once

#include <algorithm>

#include "kernels/cuda/coarsened/coarsened_add.cuh"
#include "kernels/cuda/coarsened/coarsened_store.cuh"
#include "kernels/cuda/coarsened/coarsened_variants.h"
#include "kernels/cuda/device/bank.cuh"
#include "kernels/cuda/device/overlap.cuh"

namespace convolve {
namespace {

/// Most shared memory of a block, unless the mask is so wide that even kFewestRows of its rows need
/// more.
constexpr std::size_t kSharedBudget = 48 * 1024;
constexpr int kFewestRows = 8;

/// Quads that a thread has in flight at once: for masks of up to 17 rows all of its columns.
constexpr int kBatch = 12;

/// Blocks that an SM should hold, so that some load or store while others multiply. With eight a
/// thread has 64 registers; a kernel for several segments, which loads a tile while it holds sums,
/// needs more.
constexpr int kMostBlocks = 8;
template <class A, class Policy>
constexpr int resident_coarsened_blocks() {
  if (sizeof(typename A::Sum) > 4) return sizeof(typename A::Sum) > 8 ? 1 : 4;
  return Policy::kSegments ? kMostBlocks - 1 : kMostBlocks;
}

/// Quads of a row of the tile: the outputs and the halo. Wide reads never reach beyond the last
/// quad.
__host__ __device__ constexpr int tile_quads(int mask_width) {
  return padded(kTileWidth + mask_width - 1) / 4;
}

/// Rows of memory of a tile for `mask_rows` rows of the mask: a multiple of four, as TileLoader
/// requires.
__host__ __device__ constexpr int tile_memory_rows(int mask_rows) {
  return padded(kTileHeight + mask_rows - 1);
}

/// Copies `rows` rows of the mask to shared memory, each padded with zeros to `pitch` weights.
template <class Weight>
__device__ void load_shared_weights(const LaunchArguments& arguments, int first, int rows,
                                    int pitch, Weight* weights) {
  const unsigned width = static_cast<unsigned>(arguments.mask.width);
  const bool constant = arguments.storage == MaskStorage::kConstantMemory;
  const Weight* from = (constant ? ConstantStorage::weights<Weight>(arguments.mask)
                                 : GlobalStorage::weights<Weight>(arguments.mask)) +
                       static_cast<unsigned>(first) * width;
  const unsigned count = static_cast<unsigned>(rows * pitch);
#pragma unroll 1
  for (unsigned i = threadIdx.y * 32 + threadIdx.x; i < count; i += kTileThreads) {
    const unsigned row = i / static_cast<unsigned>(pitch);
    const unsigned column = i - row * static_cast<unsigned>(pitch);
    weights[i] = column < width ? from[row * width + column] : Weight{};
  }
}

/// Copies a tile of a component that is not filtered.
template <class Stored>
__device__ void copy_tile(const GroupArguments& group, const ChannelArguments& channel, int x0,
                          int y0) {
  for (int y = y0 + threadIdx.y; y < min(y0 + kTileHeight, group.height); y += kTileThreads / 32)
    for (int x = x0 + threadIdx.x; x < min(x0 + kTileWidth, group.width); x += 32)
      copy_sample<Stored>(group, channel, x, y);
}

/// Mask rows of each of `segments` segments but the last: an even number, so that the weights of
/// every segment begin on 8 bytes.
__host__ __device__ constexpr int rows_each(int segments, int mask_height) {
  return segments == 1 ? mask_height : ((mask_height + segments - 1) / segments + 1) / 2 * 2;
}

/// Loads the cells of `box` into shared memory, with the quads of kAtOnce bytes in flight for each
/// thread. A barrier must follow.
template <int kAtOnce, class Cell>
__device__ __forceinline__ void load_tile(const GroupArguments& group,
                                          const ChannelArguments& channel, const TileBox& box,
                                          const std::uint8_t** source_rows, Cell* tile) {
  const auto load = [&](auto stored) {
    constexpr int kThreadQuads = sizeof(stored) == 1 ? kAtOnce : (2 * kAtOnce + 2) / 3;
    TileLoader<kTileThreads / 32, kTileHeight, kThreadQuads, Cell, decltype(stored)>(
        group, channel, box, source_rows)
        .load(tile);
  };
  if (group.sample_bytes == 1)
    load(std::uint8_t{});
  else
    load(std::uint16_t{});
}

/// Filters one tile of one channel. Tall masks, whose input tile would not fit shared memory, are
/// processed in `segments` segments of rows. Sample type and storage of the mask matter only
/// outside the inner loops, so they are decided at run time: that keeps the module small. The first
/// `first_wave_rows` rows of blocks prefetch their tile while the launch before still runs.
template <class Policy, class A>
__global__ void __launch_bounds__(kTileThreads, resident_coarsened_blocks<A, Policy>())
    coarsened_kernel(const __grid_constant__ LaunchArguments arguments, int segments,
                     int first_wave_rows) {
  using Cell = typename A::Cell;
  using Weight = typename A::Weight;
  const GroupArguments& group = arguments.group;
  const MaskArguments& mask = arguments.mask;
  const ChannelArguments& channel = group.channel[blockIdx.z];
  admit_next_launch();
  const int columns = Policy::columns(mask.width);
  const bool bytes = group.sample_bytes == 1;
  const int lane = threadIdx.x, line = threadIdx.y;  // as warps: 32 x 4
  const int thread_x = lane % kThreadsX;             // as a tile: 8 x 16
  const int thread_y = line * 4 + lane / kThreadsX;
  const int tile_x = blockIdx.x * kTileWidth, tile_y = blockIdx.y * kTileHeight;
  const int quads = tile_quads(columns), part = part_pitch(4 * quads);
  // The cells that mask rows `first` to `end` - 1 cover for the outputs that are stored.
  const auto box_of = [&](int first, int end) {
    return TileBox{tile_x - mask.anchor_x, tile_y - mask.anchor_y + first,
                   min(kTileWidth, group.width - tile_x) + columns - 1,
                   min(kTileHeight, group.height - tile_y) + end - first - 1, quads};
  };
  const int most_rows = Policy::kSegments ? rows_each(segments, mask.height) : mask.height;
  if (blockIdx.z == 0 && static_cast<int>(blockIdx.y) < first_wave_rows)
    prefetch_tile<kTileThreads>(group, box_of(0, most_rows));
  await_previous_launch();

  if (!channel.filtered) {
    if (bytes)
      copy_tile<std::uint8_t>(group, channel, tile_x, tile_y);
    else
      copy_tile<std::uint16_t>(group, channel, tile_x, tile_y);
    return;
  }

  const int tile_rows = tile_memory_rows(most_rows);
  Cell* tile = shared_cells<Cell>();
  const std::uint8_t** source_rows = reinterpret_cast<const std::uint8_t**>(
      tile + static_cast<std::size_t>(tile_rows) * kParts * part);
  Weight* shared_weights = reinterpret_cast<Weight*>(source_rows + tile_rows);
  typename A::Sum sum[kThreadRows][kThreadColumns] = {};
  // Nearly all masks are one segment. The first segment is loaded before the loop: there no sums
  // occupy registers yet, so more words can be in flight at once.
  int first = 0, end = most_rows;
  load_tile<kBatch>(group, channel, box_of(first, end), source_rows, tile);
#pragma unroll 1
  for (int next = 1;; ++next) {
    if constexpr (Policy::kSharedWeights)
      load_shared_weights(arguments, first, end - first, columns, shared_weights);
    __syncthreads();
    const Weight* weights = shared_weights;
    if constexpr (!Policy::kSharedWeights)
      weights = ConstantStorage::weights<Weight>(mask) + first * mask.width;
    const Cell* row = tile + thread_y * kThreadRows * kParts * part + thread_x * kQuad;
    Policy::template add<A>(sum, Cells<Cell>::of(row, part), weights, columns, end - first);
    if (!Policy::kSegments || next >= segments) break;
    first = next * most_rows;
    end = min(first + most_rows, mask.height);
    __syncthreads();  // Slower warps still read the tile that is overwritten now.
    load_tile<1>(group, channel, box_of(first, end), source_rows, tile);
  }

  const int y = tile_y + thread_y * kThreadRows;
  if constexpr (std::is_same_v<typename A::Sum, float>) {
    if (stores_words(group, channel, tile_x)) {
      store_words(group, channel, tile_x + thread_x * kThreadColumns, y, sum);
      return;
    }
  }
  __syncthreads();
  // All warps have read the tile, so its memory can be used for the outputs.
  const OutputExchange<A> exchange(tile, thread_x, thread_y);
  exchange.put(sum, channel.epilogue);
  __syncwarp();
  const int x = tile_x + thread_x * kQuad;
  if (bytes)
    store_tile<A, std::uint8_t>(group, channel, x, y, exchange);
  else
    store_tile<A, std::uint16_t>(group, channel, x, y, exchange);
}

/// A kernel, and what its policy requires.
struct CoarsenedKernel {
  void (*function)(LaunchArguments, int, int);
  int columns;                 ///< Columns of the mask, padding included.
  std::size_t weight_bytes;    ///< Shared memory for each weight, 0 if there are none.
  std::size_t exchange_bytes;  ///< Shared memory of the OutputExchange.
};

template <class Policy, class A>
CoarsenedKernel kernel_of(int mask_width) {
  return {coarsened_kernel<Policy, A>, Policy::columns(mask_width),
          Policy::kSharedWeights ? sizeof(typename A::Weight) : 0, OutputExchange<A>::kBytes};
}

/// Widths up to this have a kernel of their own: as the compiler knows their offsets and they take
/// no second segment, more blocks fit a processor (GRAY16 in int32, 1080p, on an H200: 15x15 takes
/// 48.1 us, and 60.3 as any width).
constexpr int kMostNarrow = 16;

template <class A>
CoarsenedKernel select_narrow(int mask_width) {
  using Kernel = CoarsenedKernel (*)(int);
  static constexpr Kernel kNarrow[kMostNarrow] = {
      kernel_of<Narrow<1>, A>,  kernel_of<Narrow<2>, A>,  kernel_of<Narrow<3>, A>,
      kernel_of<Narrow<4>, A>,  kernel_of<Narrow<5>, A>,  kernel_of<Narrow<6>, A>,
      kernel_of<Narrow<7>, A>,  kernel_of<Narrow<8>, A>,  kernel_of<Narrow<9>, A>,
      kernel_of<Narrow<10>, A>, kernel_of<Narrow<11>, A>, kernel_of<Narrow<12>, A>,
      kernel_of<Narrow<13>, A>, kernel_of<Narrow<14>, A>, kernel_of<Narrow<15>, A>,
      kernel_of<Narrow<16>, A>};
  return kNarrow[mask_width - 1](mask_width);
}

/// The number of input tiles that the rows of the mask are split into, and the shared memory for
/// one.
struct Segments {
  int count;
  std::size_t bytes;
};

Segments segments_of(const LaunchArguments& arguments, const CoarsenedKernel& kernel) {
  const std::size_t cell_row =
      static_cast<std::size_t>(part_pitch(4 * tile_quads(kernel.columns))) * kParts * 4;
  const std::size_t weight_row = static_cast<std::size_t>(kernel.columns) * kernel.weight_bytes;
  const int height = arguments.mask.height;
  for (int count = 1;; ++count) {
    const int mask_rows = rows_each(count, height);
    const std::size_t bytes =
        static_cast<std::size_t>(tile_memory_rows(mask_rows)) * (cell_row + sizeof(std::uint8_t*)) +
        static_cast<std::size_t>(mask_rows) * weight_row;
    if (mask_rows <= kFewestRows || bytes <= kSharedBudget)
      return {count, std::max(bytes, kernel.exchange_bytes)};
  }
}

/// The kernel for 4-byte arithmetic A.
template <class A>
CoarsenedKernel select_kernel(const LaunchArguments& arguments) {
  const int width = arguments.mask.width;
  if (arguments.storage != MaskStorage::kConstantMemory)
    return kernel_of<AnyMask<4, true>, A>(width);
  if (width > kMostNarrow) return kernel_of<ColumnBlocks, A>(width);
  const CoarsenedKernel narrow = select_narrow<A>(width);
  return segments_of(arguments, narrow).count == 1 ? narrow : kernel_of<AnyMask<4, true>, A>(width);
}

/// Rows of blocks in the first wave: these are on the device when the launch begins, and wait for
/// the launch before.
int first_wave_rows(const dim3& grid) {
  int device = 0, processors = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
    return 0;
  return kMostBlocks * processors / static_cast<int>(grid.x);
}

/// The functions of a variant whose kernels kSelect selects.
template <CoarsenedKernel (*kSelect)(const LaunchArguments&)>
struct CoarsenedVariant {
  static cudaError_t load(const LaunchArguments& arguments) {
    const CoarsenedKernel kernel = kSelect(arguments);
    return load_kernel(kernel.function, segments_of(arguments, kernel).bytes);
  }

  static cudaError_t launch(const LaunchArguments& arguments, cudaStream_t stream) {
    const CoarsenedKernel kernel = kSelect(arguments);
    const Segments segments = segments_of(arguments, kernel);
    dim3 grid = grid_of_tiles(arguments.group, kTileWidth, kTileHeight);
    grid.z = static_cast<unsigned>(arguments.group.channels);
    return launch_overlapping(kernel.function, grid, dim3(32, kTileThreads / 32), segments.bytes,
                              stream, arguments, segments.count, first_wave_rows(grid));
  }

  static constexpr Variant table() {
    return {KernelKind::kCoarsened, true, upload_mask, load, launch};
  }
};

}  // namespace
}  // namespace convolve
