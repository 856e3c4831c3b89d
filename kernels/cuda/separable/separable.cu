// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `separable` on the CUDA cores, forms separable-fused, separable-two-pass and
// separable-one-pass: a mask of rank 1 as two 1D convolutions (PMPP 7.2-7.5 in 1D), first along the
// rows, then down the columns: W + H multiply-adds an output instead of W x H.
//
// Fused, while input tile and halo fit shared memory: a block keeps the row sums of its tile and of
// the halo rows there, so that nothing but the picture passes through global memory. Otherwise
// there are two launches with a plane of row sums between them. Each thread slides a window of
// registers along the axis of the pass and makes kPassRun adjacent outputs, so that one read serves
// kPassRun multiply-adds. A mask of one row or column whose weights need several digits (kWide)
// takes a single pass.
//
// Operands: fused, cells and row sums lie in shared memory in rows of an odd pitch, since the lanes
// of the row pass read 32 different rows. The row's weights, then the column's, lie in constant or
// global memory.
//
// What binds: multiply-adds, and in two launches the row sums, which go out to memory and come
// back. 8-bit samples within proven bounds go to tensor cores instead: separable_fused.cu and
// separable_tensor.cu.
#include <type_traits>

#include "kernels/cuda/device/bank.cuh"

namespace convolve {
namespace {

constexpr int kPassThreads = 256;
constexpr int kPassRun = 8;  ///< Adjacent outputs of a thread, on the axis of the pass.

/// sum[i] = sum over k of weights[k] * read(i + k), i = 0 .. kPassRun - 1.
template <class A, class Read, class Value>
__device__ void slide(const typename A::Weight* weights, int taps, Read&& read,
                      Value (&sum)[kPassRun]) {
  decltype(read(0)) window[kPassRun];
#pragma unroll
  for (int i = 0; i < kPassRun - 1; ++i)
    window[i + 1] = read(i);
#pragma unroll 4
  for (int k = 0; k < taps; ++k) {
#pragma unroll
    for (int i = 0; i < kPassRun - 1; ++i)
      window[i] = window[i + 1];
    window[kPassRun - 1] = read(k + kPassRun - 1);
    const auto weight = weights[k];
#pragma unroll
    for (int i = 0; i < kPassRun; ++i)
      sum[i] += weight * window[i];
  }
}

/// The next odd number: with this as pitch, 32 threads on 32 rows read 32 different banks.
__host__ __device__ constexpr int odd(int n) {
  return n | 1;
}

/// Copies a tile of a component that is not filtered.
template <class A, class Stored>
__device__ void copy_tile(const GroupArguments& group, const ChannelArguments& channel, int x0,
                          int y0, int width, int height) {
  for (int i = threadIdx.x; i < width * height; i += kPassThreads) {
    const int x = x0 + i % width, y = y0 + i / width;
    if (x < group.width && y < group.height) copy_sample<Stored>(group, channel, x, y);
  }
}

/// Both passes on one tile of one channel.
template <class A, class Stored, class Storage>
__global__ void __launch_bounds__(kPassThreads)
    fused_kernel(const __grid_constant__ LaunchArguments arguments) {
  using Cell = typename A::Cell;
  using Sum = typename A::Sum;
  const GroupArguments& group = arguments.group;
  const MaskArguments& mask = arguments.mask;
  const ChannelArguments& channel = group.channel[blockIdx.z];
  const int width = arguments.tile_width, height = arguments.tile_height;
  const int x0 = blockIdx.x * width, y0 = blockIdx.y * height;
  if (!channel.filtered) {
    copy_tile<A, Stored>(group, channel, x0, y0, width, height);
    return;
  }

  const int columns = width + mask.width - 1, rows = height + mask.height - 1;
  const int cell_pitch = odd(columns), sum_pitch = odd(width);
  // The wider type first: it needs the alignment.
  Sum* sums = shared_cells<Sum>();
  Cell* cells = reinterpret_cast<Cell*>(sums + rows * sum_pitch);
  for (int r = threadIdx.x / 32; r < rows; r += kPassThreads / 32) {
    const auto row = cell_row<Cell, Stored>(group, channel, y0 - mask.anchor_y + r);
    Cell* to = cells + r * cell_pitch;
    if (row.covers(x0 - mask.anchor_x, columns)) {
      for (int c = threadIdx.x % 32; c < columns; c += 32)
        to[c] = row.inner(x0 - mask.anchor_x + c);
    } else {
#pragma unroll 1
      for (int c = threadIdx.x % 32; c < columns; c += 32)
        to[c] = row.at(x0 - mask.anchor_x + c);
    }
  }
  __syncthreads();

  const auto* row_weights = Storage::template weights<typename A::Weight>(mask);
  for (int i = threadIdx.x; i < rows * (width / kPassRun); i += kPassThreads) {
    const int r = i % rows, x = i / rows * kPassRun;
    const Cell* from = cells + r * cell_pitch + x;
    Sum sum[kPassRun] = {};
    slide<A>(
        row_weights, mask.width, [from](int k) { return from[k]; }, sum);
#pragma unroll
    for (int j = 0; j < kPassRun; ++j)
      sums[r * sum_pitch + x + j] = sum[j];
  }
  __syncthreads();

  const auto* column_weights = row_weights + mask.width;
  for (int i = threadIdx.x; i < width * (height / kPassRun); i += kPassThreads) {
    const int x = i % width, y = i / width * kPassRun;
    const Sum* from = sums + y * sum_pitch + x;
    Sum sum[kPassRun] = {};
    slide<A>(
        column_weights, mask.height, [=](int k) { return from[k * sum_pitch]; }, sum);
    if (x0 + x >= group.width) continue;
#pragma unroll
    for (int j = 0; j < kPassRun; ++j)
      if (y0 + y + j < group.height)
        store_sum<A, Stored>(group, channel, x0 + x, y0 + y + j, sum[j]);
  }
}

/// Row y of the plane of row sums of one channel. Row by row the sums of all channels lie behind
/// each other, group.width for each.
template <class Sum>
__device__ Sum* intermediate_row(const LaunchArguments& arguments, int channel, int y) {
  return reinterpret_cast<Sum*>(static_cast<char*>(arguments.intermediate) +
                                y * arguments.intermediate_pitch) +
         static_cast<std::int64_t>(channel) * arguments.group.width;
}

/// First pass: kPassRun adjacent row sums a thread, cells through the L1 cache.
template <class A, class Stored, class Storage>
__global__ void __launch_bounds__(kPassThreads)
    row_kernel(const __grid_constant__ LaunchArguments arguments) {
  using Cell = typename A::Cell;
  const GroupArguments& group = arguments.group;
  const MaskArguments& mask = arguments.mask;
  const ChannelArguments& channel = group.channel[blockIdx.z];
  const int y = blockIdx.y;
  const int x = static_cast<int>(blockIdx.x * kPassThreads + threadIdx.x) * kPassRun;
  if (!channel.filtered || x >= group.width) return;
  typename A::Sum sum[kPassRun] = {};
  const int start = x - mask.anchor_x;
  const auto row = cell_row<Cell, Stored>(group, channel, y);
  slide<A>(
      Storage::template weights<typename A::Weight>(mask), mask.width,
      [&](int k) { return row.at(start + k); }, sum);
  typename A::Sum* to = intermediate_row<typename A::Sum>(arguments, blockIdx.z, y);
#pragma unroll
  for (int j = 0; j < kPassRun; ++j)
    if (x + j < group.width) to[x + j] = sum[j];
}

/// Second pass: a thread makes kPassRun outputs below each other. The row sums of a ghost row are
/// those of the row that it repeats, or 0 without signal, as a border acts on each axis separately.
template <class A, class Stored, class Storage>
__global__ void __launch_bounds__(kPassThreads)
    column_kernel(const __grid_constant__ LaunchArguments arguments) {
  using Sum = typename A::Sum;
  const GroupArguments& group = arguments.group;
  const MaskArguments& mask = arguments.mask;
  const ChannelArguments& channel = group.channel[blockIdx.z];
  const int x = static_cast<int>(blockIdx.x * kPassThreads + threadIdx.x);
  const int y = blockIdx.y * kPassRun;
  if (x >= group.width) return;
  if (!channel.filtered) {
    for (int j = 0; j < kPassRun && y + j < group.height; ++j)
      copy_sample<Stored>(group, channel, x, y + j);
    return;
  }
  Sum sum[kPassRun] = {};
  const int start = y - mask.anchor_y;
  slide<A>(
      Storage::template weights<typename A::Weight>(mask) + mask.width, mask.height,
      [&](int k) {
        const int from = border_index(group.border, start + k, group.height);
        return from == kNoSignal ? Sum(0) : intermediate_row<Sum>(arguments, blockIdx.z, from)[x];
      },
      sum);
#pragma unroll
  for (int j = 0; j < kPassRun; ++j)
    if (y + j < group.height) store_sum<A, Stored>(group, channel, x, y + j, sum[j]);
}

/// The only pass of a one-dimensional mask whose weights need several digits: a thread makes one
/// output. Of the two loops one has a single iteration.
template <class A, class Stored, class Storage>
__global__ void __launch_bounds__(kPassThreads)
    single_kernel(const __grid_constant__ LaunchArguments arguments) {
  using Cell = typename A::Cell;
  const GroupArguments& group = arguments.group;
  const MaskArguments& mask = arguments.mask;
  const ChannelArguments& channel = group.channel[blockIdx.z];
  const int x = static_cast<int>(blockIdx.x * kPassThreads + threadIdx.x);
  const int y = blockIdx.y;
  if (x >= group.width) return;
  if (!channel.filtered) {
    copy_sample<Stored>(group, channel, x, y);
    return;
  }
  const auto* weight = Storage::template weights<typename A::Weight>(mask);
  typename A::Sum sum = {};
  for (int i = 0; i < mask.height; ++i) {
    const auto row = cell_row<Cell, Stored>(group, channel, y - mask.anchor_y + i);
    for (int j = 0; j < mask.width; ++j)
      A::mac(sum, *weight++, row.at(x - mask.anchor_x + j));
  }
  store_sum<A, Stored>(group, channel, x, y, sum);
}

/// The kernels of an arithmetic: both passes fused, both passes as launches, or a single pass.
struct PassKernels {
  Kernel fused = nullptr;
  Kernel row = nullptr;
  Kernel column = nullptr;
  Kernel single = nullptr;
};

PassKernels select_kernels(const LaunchArguments& arguments) {
  return select_types_and_storage(
      arguments, [](auto arithmetic, auto stored, auto storage) -> PassKernels {
        using A = decltype(arithmetic);
        using Stored = decltype(stored);
        using Storage = decltype(storage);
        if constexpr (std::is_arithmetic_v<typename A::Sum>)
          return {fused_kernel<A, Stored, Storage>, row_kernel<A, Stored, Storage>,
                  column_kernel<A, Stored, Storage>, nullptr};
        else
          return {nullptr, nullptr, nullptr, single_kernel<A, Stored, Storage>};
      });
}

bool is_fused(const LaunchArguments& arguments) {
  return arguments.form == Form::kSeparableFused;
}

std::size_t fused_bytes(const LaunchArguments& arguments) {
  const std::size_t rows =
      static_cast<std::size_t>(arguments.tile_height) + arguments.mask.height - 1;
  // Sums have the size of weights in every arithmetic with two passes.
  return rows * (odd(arguments.tile_width + arguments.mask.width - 1) * 4 +
                 odd(arguments.tile_width) * weight_bytes(arguments.accumulator));
}

cudaError_t load(const LaunchArguments& arguments) {
  const PassKernels kernels = select_kernels(arguments);
  if (kernels.single != nullptr) return load_kernel(kernels.single, 0);
  if (is_fused(arguments)) return load_kernel(kernels.fused, fused_bytes(arguments));
  const cudaError_t error = load_kernel(kernels.row, 0);
  return error == cudaSuccess ? load_kernel(kernels.column, 0) : error;
}

cudaError_t launch(const LaunchArguments& arguments, cudaStream_t stream) {
  const GroupArguments& group = arguments.group;
  const PassKernels kernels = select_kernels(arguments);
  const auto with_channels = [&group](dim3 grid) {
    grid.z = static_cast<unsigned>(group.channels);
    return grid;
  };
  if (kernels.single != nullptr)
    return launch_kernel(kernels.single, with_channels(grid_of_tiles(group, kPassThreads, 1)),
                         dim3(kPassThreads), 0, arguments, stream);
  if (is_fused(arguments)) {
    const dim3 grid = grid_of_tiles(group, arguments.tile_width, arguments.tile_height);
    return launch_kernel(kernels.fused, with_channels(grid), dim3(kPassThreads),
                         fused_bytes(arguments), arguments, stream);
  }
  const cudaError_t error =
      launch_kernel(kernels.row, with_channels(grid_of_tiles(group, kPassThreads * kPassRun, 1)),
                    dim3(kPassThreads), 0, arguments, stream);
  if (error != cudaSuccess) return error;
  return launch_kernel(kernels.column, with_channels(grid_of_tiles(group, kPassThreads, kPassRun)),
                       dim3(kPassThreads), 0, arguments, stream);
}

}  // namespace

const Variant kSeparableVariant = {KernelKind::kSeparable, true, upload_mask, load, launch};

}  // namespace convolve
