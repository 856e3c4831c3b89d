// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `separable`, form separable-tensor-two-pass: 8-bit samples through a mask of rank 1 of any
// length, on tensor cores in two launches. separable_digits.h says what is computed and bounds its
// error.
//
// In both passes operand A is a Toeplitz matrix of weights (separable_fragments.h), and operand B
// is a chunk of 32 samples or row sums: a product makes 16 outputs in eight lines, and 64 outputs
// need (63 + taps) / 32 chunks. Between the passes lie row sums of 16 bits in the layout of the
// column pass's operand B: the two bytes of each accumulator of 16 rows are words of it, so that
// nothing is transposed. The plane of row sums has ghost rows, too: these are a few more rows for
// the row pass, and leave the column pass without borders.
//
// What binds (H100): products, 6 clocks of a tensor core each. A warp keeps 64 outputs x 32 lines
// in registers, so that each byte that it loads enters 16 products.
#include "kernels/cuda/separable/separable_tensor.h"

#include <algorithm>

#include "kernels/cuda/device/overlap.cuh"
#include "kernels/cuda/separable/separable_tensor.cuh"

namespace convolve {
namespace {

constexpr int kSpan = 64;  ///< Outputs of a warp along the axis of a pass.

/// The plane between the passes: SumBytes indexed by strip of columns, chunk of rows, operand and
/// lane.
struct SumPlane {
  SumBytes* first;
  int chunks;

  __device__ SumBytes* at(int strip, int chunk) const {
    return first + ((static_cast<std::int64_t>(strip) * chunks + chunk) * kOperands) * 32;
  }
};

__host__ __device__ constexpr int plane_chunks(int height, int column_chunks) {
  return kSpan / 32 * divide_up(height, kSpan) + column_chunks;
}

__device__ __forceinline__ SumPlane sum_plane(const LaunchArguments& a) {
  return {reinterpret_cast<SumBytes*>(static_cast<char*>(a.intermediate) +
                                      blockIdx.z * a.intermediate_pitch),
          plane_chunks(a.group.height, a.separable.column_chunks)};
}

/// The tile of input rows of one task of a block, which is to make row sums of 32 rows x 256
/// columns.
struct RowShape {
  int margin;  ///< Samples of the tile left of the column of the first output.
  RowTile tile;

  __host__ __device__ int stage_bytes() const { return tile.bytes() + tile.table_bytes(); }
};

__host__ __device__ __forceinline__ RowShape row_shape(const SeparableArguments& s) {
  const int margin = round_up(s.left, kChunk);
  const int samples = margin - s.left + kSpan * (kWarps - 1) + 32 * (s.row_chunks + 1);
  return {margin, row_tile(samples)};
}

template <int kDigits>
__device__ __forceinline__ void load_chunk(const uint4* fragments, uint4 (&weights)[2][kDigits]) {
#pragma unroll
  for (int half = 0; half < 2; ++half)
#pragma unroll
    for (int digit = 0; digit < kDigits; ++digit)
      weights[half][digit] = load_fragment(fragment_at(fragments, 0, half, digit));
}

template <int kDigits>
__device__ __forceinline__ void copy_chunk(uint4 (&to)[2][kDigits],
                                           const uint4 (&from)[2][kDigits]) {
#pragma unroll
  for (int half = 0; half < 2; ++half)
#pragma unroll
    for (int digit = 0; digit < kDigits; ++digit)
      to[half][digit] = from[half][digit];
}

/// Row sums of 32 rows x 64 columns, two strips. `at`: the lane's samples of the first row; `to`:
/// where the first strip goes, the second `apart` behind it.
__device__ __forceinline__ void sum_rows(const LaunchArguments& a, const std::uint8_t* at,
                                         int pitch, SumBytes* to, std::int64_t apart) {
  const SeparableArguments& s = a.separable;
  const uint4* fragments = row_fragments(a);
  int sum[2][2][4][2][4] = {};  // Strip, half, octet of rows, digit.
  // The second strip is 32 columns to the right, so it multiplies a chunk with the weights that the
  // first strip has used for the chunk before. The weights of the next chunk are loaded ahead.
  // Three iterations are unrolled, as then no weights are moved between registers.
  uint4 before[2][2] = {}, next[2][2];
  load_chunk(fragments, next);
#pragma unroll 3
  for (int c = 0; c <= s.row_chunks; ++c, at += 32) {
    uint4 weights[2][2];
    copy_chunk(weights, next);
    fragments += kChunkFragments;
    load_chunk(fragments, next);
#pragma unroll
    for (int rows = 0; rows < 4; ++rows) {
      const uint2 samples = *reinterpret_cast<const uint2*>(at + 8 * rows * pitch);
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int digit = 0; digit < 2; ++digit) {
          multiply(sum[1][half][rows][digit], before[half][digit], samples,
                   sum[1][half][rows][digit]);
          multiply(sum[0][half][rows][digit], weights[half][digit], samples,
                   sum[0][half][rows][digit]);
        }
    }
    copy_chunk(before, weights);
  }
#pragma unroll
  for (int strip = 0; strip < 2; ++strip, to += apart) {
    SumBytes bytes[kOperands];
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        int rows[2][4];
#pragma unroll
        for (int i = 0; i < 2; ++i)
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            const auto& digits = sum[strip][half][2 * part + i];
            rows[i][k] = digits[0][k] * 256 + digits[1][k];
          }
        pack_sums(s, rows, half, part, bytes);
      }
#pragma unroll
    for (int q = 0; q < kOperands; ++q)
      *reinterpret_cast<uint4*>(to + 32 * q) =
          make_uint4(bytes[q].high.x, bytes[q].high.y, bytes[q].low.x, bytes[q].low.y);
  }
}

/// The row pass. Blocks take equal shares of the tasks, which follow each other down the picture;
/// where shared memory has room for two stages, the rows of the next task are copied while those of
/// the current one are used.
__global__ void __launch_bounds__(kSeparableThreads, 2)
    sum_rows_kernel(const __grid_constant__ LaunchArguments a) {
  extern __shared__ __align__(16) std::uint8_t memory[];
  const SeparableArguments& s = a.separable;
  const ChannelArguments& channel = a.group.channel[blockIdx.z];
  admit_next_launch();
  if (!channel.filtered) {
    // Every launch must wait for the one before (overlap.cuh), even if no channel is filtered.
    await_previous_launch();
    return;
  }
  const RowShape shape = row_shape(s);
  const int down = divide_up(a.group.height + a.mask.height - 1, 32);
  const int tasks = down * divide_up(a.group.width, kSpan * kWarps);
  const auto share = [&](unsigned block) {
    return static_cast<int>(static_cast<std::int64_t>(tasks) * block / gridDim.x);
  };
  const int first = share(blockIdx.x), end = share(blockIdx.x + 1);
  // Prefetches the rows of the first two tasks.
  if (blockIdx.z == 0)
    prefetch_pixels(a.group, first / down * kSpan * kWarps,
                    max(32 * (first % down) - a.mask.anchor_y, 0), kSpan * kWarps, 64);
  await_previous_launch();
  const auto stage_of = [&](int task) {
    return memory + (task - first) % s.stages * shape.stage_bytes();
  };
  const auto begin_task = [&](int task) {
    std::uint8_t* const stage = stage_of(task);
    const int x = task / down * kSpan * kWarps - shape.margin;
    const RowFiller filler(a.group, channel, shape.tile, x, a.mask.width,
                           reinterpret_cast<std::uint16_t*>(stage + shape.tile.bytes()));
    filler.fill(32 * (task % down) - a.mask.anchor_y, stage);
    return filler;
  };
  const int lane = threadIdx.x, warp = threadIdx.y;
  const int lane_offset =
      lane / 4 * shape.tile.pitch + shape.margin - s.left + kSpan * warp + 8 * (lane % 4);
  const SumPlane plane = sum_plane(a);
  if (first == end) return;
  RowFiller filler = begin_task(first);
  end_stage();
#pragma unroll 1
  for (int task = first; task < end; ++task) {
    RowFiller next_filler = filler;
    if (s.stages > 1 && task + 1 < end) next_filler = begin_task(task + 1);
    end_stage();
    wait_for_stages<1>();
    __syncthreads();
    std::uint8_t* const stage = stage_of(task);
    filler.finish(stage);
    const int x = task / down * kSpan * kWarps + kSpan * warp;
    if (x < a.group.width)
      sum_rows(a, stage + lane_offset, shape.tile.pitch, plane.at(x / kStrip, task % down) + lane,
               plane.at(1, 0) - plane.at(0, 0));
    __syncthreads();
    if (s.stages == 1 && task + 1 < end) {
      next_filler = begin_task(task + 1);
      end_stage();
    }
    filler = next_filler;
  }
}

__device__ __forceinline__ SumBytes load_bytes(const SumBytes* from) {
  const uint4 four = __ldg(reinterpret_cast<const uint4*>(from));
  return {{four.x, four.y}, {four.z, four.w}};
}

/// Warps of a block of the column pass: they lie below each other and share in the L1 cache what
/// they load. With twice as many the last blocks of a 4K picture would run alone.
constexpr int kColumnWarps = 2;

/// The column pass: a warp makes 64 rows x 32 columns.
template <bool kTwoDigits>
__global__ void __launch_bounds__(32 * kColumnWarps, 4)
    sum_columns_kernel(const __grid_constant__ LaunchArguments a) {
  constexpr int kDigits = kTwoDigits ? 2 : 1;
  __shared__ __align__(16) std::uint8_t patches[kColumnWarps][kPatchBytes];
  const SeparableArguments& s = a.separable;
  const ChannelArguments& channel = a.group.channel[blockIdx.z];
  admit_next_launch();
  await_previous_launch();
  const int lane = threadIdx.x, strip = static_cast<int>(blockIdx.x);
  const int block_y = static_cast<int>(blockIdx.y) * kSpan * kColumnWarps;
  if (!channel.filtered) {
    copy_component(a.group, channel, kStrip * strip, block_y, kStrip, kSpan * kColumnWarps);
    return;
  }
  const int y = block_y + kSpan * static_cast<int>(threadIdx.y);
  if (y >= a.group.height) return;
  const SumOutput output(a.group, channel, patches[threadIdx.y]);
  // The chunks from there on that the row pass has written. What lies behind them meets weights of
  // zero, or belongs to rows below the picture.
  const int valid_chunks = divide_up(a.group.height + a.mask.height - 1, 32) - y / 32;
  const SumBytes* from = sum_plane(a).at(strip, y / 32) + lane;
  SumBytes next[kOperands];
#pragma unroll
  for (int q = 0; q < kOperands; ++q)
    next[q] = load_bytes(from + 32 * q);
  const uint4* fragments = column_fragments(a);
  int upper[2][2][kOperands][4] = {}, lower[2][2][kOperands][4] = {};  // Chunk, half, operand.
  uint4 before[2][kDigits] = {}, next_weights[2][kDigits];
  load_chunk(fragments, next_weights);
#pragma unroll 6
  for (int c = 0; c <= s.column_chunks; ++c) {
    SumBytes operand[kOperands];
    uint4 weights[2][kDigits];
    copy_chunk(weights, next_weights);
    fragments += kChunkFragments;
    load_chunk(fragments, next_weights);
    if (c + 1 < valid_chunks) from += kOperands * 32;
#pragma unroll
    for (int q = 0; q < kOperands; ++q) {
      operand[q] = next[q];
      next[q] = load_bytes(from + 32 * q);
    }
    // Successive products add to different sums, so that none waits for the one before.
    const auto add = [&](int rows, const uint4(&by)[2][kDigits]) {
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int q = 0; q < kOperands; ++q)
          multiply(upper[rows][half][q], by[half][0], operand[q].high, upper[rows][half][q]);
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int q = 0; q < kOperands; ++q)
          multiply(lower[rows][half][q], by[half][0], operand[q].low, lower[rows][half][q]);
      if constexpr (kTwoDigits) {
#pragma unroll
        for (int half = 0; half < 2; ++half)
#pragma unroll
          for (int q = 0; q < kOperands; ++q)
            multiply(lower[rows][half][q], by[half][1], operand[q].high, lower[rows][half][q]);
      }
    };
    add(1, before);
    add(0, weights);
    copy_chunk(before, weights);
  }
#pragma unroll
  for (int rows = 0; rows < 2; ++rows)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int q = 0; q < kOperands; ++q)
#pragma unroll
        for (int k = 0; k < 4; ++k)
          lower[rows][half][q][k] += upper[rows][half][q][k] * 256 + channel.digits.start;
      output.store(kStrip * strip, y + 32 * rows + 16 * half, lower[rows][half]);
    }
}

/// Blocks of the row pass that a multiprocessor holds.
constexpr int kRowBlocks = 2;

/// Stages of a block: two if shared memory has room for two in each of kRowBlocks blocks.
int row_stages(const LaunchArguments& arguments) {
  constexpr int kRoom = 112 * 1024;
  const int two = 2 * row_shape(arguments.separable).stage_bytes();
  return two <= std::min(kRoom, arguments.separable.shared_bytes) ? 2 : 1;
}

std::size_t row_bytes(const LaunchArguments& arguments) {
  return static_cast<std::size_t>(row_stages(arguments) *
                                  row_shape(arguments.separable).stage_bytes());
}

unsigned row_blocks(const LaunchArguments& arguments) {
  const GroupArguments& group = arguments.group;
  const int tasks = divide_up(group.width, kSpan * kWarps) *
                    divide_up(group.height + arguments.mask.height - 1, 32);
  const int resident = kRowBlocks * arguments.separable.processors / group.channels;
  return static_cast<unsigned>(std::max(1, std::min(tasks, resident)));
}

Kernel column_kernel(const LaunchArguments& arguments) {
  return arguments.separable.column_digits == 2 ? sum_columns_kernel<true>
                                                : sum_columns_kernel<false>;
}

cudaError_t load(const LaunchArguments& arguments) {
  if (arguments.form == Form::kSeparableTensorFused) return load_separable_fused(arguments);
  const cudaError_t error = load_kernel(sum_rows_kernel, row_bytes(arguments));
  return error == cudaSuccess ? load_kernel(column_kernel(arguments), 0) : error;
}

cudaError_t launch(const LaunchArguments& arguments, cudaStream_t stream) {
  if (arguments.form == Form::kSeparableTensorFused)
    return launch_separable_fused(arguments, stream);
  const GroupArguments& group = arguments.group;
  const auto blocks = [](int n, int each) { return static_cast<unsigned>(divide_up(n, each)); };
  const unsigned channels = static_cast<unsigned>(group.channels);
  LaunchArguments launched = arguments;
  launched.intermediate_pitch = static_cast<std::int64_t>(
      separable_tensor_bytes(group.width, group.height, arguments.separable.column_chunks));
  launched.separable.stages = row_stages(arguments);
  const cudaError_t error =
      launch_overlapping(sum_rows_kernel, dim3(row_blocks(arguments), 1, channels),
                         dim3(32, kWarps), row_bytes(arguments), stream, launched);
  if (error != cudaSuccess) return error;
  return launch_overlapping(
      column_kernel(arguments),
      dim3(blocks(group.width, kStrip), blocks(group.height, kSpan * kColumnWarps), channels),
      dim3(32, kColumnWarps), 0, stream, launched);
}

}  // namespace

std::size_t separable_tensor_bytes(int width, int height, int column_chunks) {
  const std::size_t strips = static_cast<std::size_t>(kSpan / kStrip) * divide_up(width, kSpan);
  return strips * plane_chunks(height, column_chunks) * kOperands * 32 * sizeof(SumBytes);
}

const Variant kSeparableTensorVariant = {KernelKind::kSeparable, false, nullptr, load, launch};

}  // namespace convolve
