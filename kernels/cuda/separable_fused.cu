// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `separable` on tensor cores, fused: masks of up to 65 a side, in one launch.
//
// A warp makes a strip of 32 columns, and marches down: 32 rows of the picture become row sums,
// which stay in registers as operands B of the column pass, and with those of the chunks above
// them 32 rows of outputs. Nothing but the picture passes through memory; rows come through a ring
// of stages in shared memory, while those before them are used.
//
// What binds (H100): the instructions between the products, which round row sums to bytes, and
// column sums to codes.
#include <algorithm>

#include "kernels/core/separable_digits.h"
#include "kernels/cuda/overlap.cuh"
#include "kernels/cuda/separable_tensor.cuh"
#include "kernels/cuda/separable_tensor.h"

namespace convolve {
namespace {

constexpr int kStages = 3;
constexpr int kBlocks = 4;  ///< Of a processor.

struct FusedShape {
  int margin;  ///< Samples left of the first output.
  RowTile tile;
};

__host__ __device__ __forceinline__ FusedShape fused_shape(const SeparableArguments& s) {
  const int margin = round_up(s.left, kChunk);
  const int samples = margin - s.left + kStrip * (kWarps - 1) + 32 * s.row_chunks;
  return {margin, row_tile(samples)};
}

/// Row sums of 32 rows x 32 columns; `from`: what the lane sees of the first row.
template <int kRowChunks>
__device__ __forceinline__ void sum_rows(const LaunchArguments& a, const std::uint8_t* from,
                                         int pitch, SumBytes (&bytes)[kGroups]) {
  const uint4* const fragments = row_fragments(a);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    int sum[2][2][2][4] = {};  // Part, group of eight rows, digit.
#pragma unroll
    for (int c = 0; c < kRowChunks; ++c) {
      uint2 seen[2][2];
#pragma unroll
      for (int part = 0; part < 2; ++part)
#pragma unroll
        for (int rows = 0; rows < 2; ++rows)
          seen[part][rows] =
              *reinterpret_cast<const uint2*>(from + (16 * part + 8 * rows) * pitch + 32 * c);
#pragma unroll
      for (int digit = 0; digit < 2; ++digit) {
        const uint4 weights = load_fragment(fragment_at(fragments, c, half, digit));
#pragma unroll
        for (int part = 0; part < 2; ++part)
#pragma unroll
          for (int rows = 0; rows < 2; ++rows)
            multiply(sum[part][rows][digit], weights, seen[part][rows], sum[part][rows][digit]);
      }
    }
#pragma unroll
    for (int part = 0; part < 2; ++part)
      pack_sums(a.separable, sum[part], half, part, bytes);
  }
}

/// Codes of 32 rows x 32 columns from (x, y) on.
template <int kColumnChunks, bool kTwoDigits>
__device__ __forceinline__ void sum_columns(const LaunchArguments& a, const SumOutput& output,
                                            int start, int x, int y,
                                            const SumBytes (&bytes)[kColumnChunks][kGroups]) {
  const uint4* const fragments = column_fragments(a);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    int sum[kGroups][4] = {};
    uint4 weights[kColumnChunks];
#pragma unroll
    for (int c = 0; c < kColumnChunks; ++c) {
      weights[c] = load_fragment(fragment_at(fragments, c, half, 0));
#pragma unroll
      for (int q = 0; q < kGroups; ++q)
        multiply(sum[q], weights[c], bytes[c][q].high, sum[q]);
    }
#pragma unroll
    for (int q = 0; q < kGroups; ++q)
#pragma unroll
      for (int k = 0; k < 4; ++k)
        sum[q][k] = sum[q][k] * 256 + start;
#pragma unroll
    for (int c = 0; c < kColumnChunks; ++c) {
#pragma unroll
      for (int q = 0; q < kGroups; ++q)
        multiply(sum[q], weights[c], bytes[c][q].low, sum[q]);
      if constexpr (kTwoDigits) {
        const uint4 low_weights = load_fragment(fragment_at(fragments, c, half, 1));
#pragma unroll
        for (int q = 0; q < kGroups; ++q)
          multiply(sum[q], low_weights, bytes[c][q].high, sum[q]);
      }
    }
    output.store(x, y + 16 * half, sum);
  }
}

template <int kRowChunks, int kColumnChunks, bool kTwoDigits>
__global__ void __launch_bounds__(kSeparableThreads, kBlocks)
    separable_fused_kernel(const __grid_constant__ LaunchArguments a) {
  extern __shared__ __align__(16) std::uint8_t memory[];
  __shared__ __align__(16) std::uint8_t patches[kWarps][kPatchBytes];
  admit_next_launch();
  const SeparableArguments& s = a.separable;
  const ChannelArguments& channel = a.group.channel[blockIdx.z];
  await_previous_launch();
  const int block_x = static_cast<int>(blockIdx.x) * kStrip * kWarps;
  const int block_y = static_cast<int>(blockIdx.y) * 32 * s.steps;
  if (!channel.filtered) {
    copy_component(a.group, channel, block_x, block_y, kStrip * kWarps, 32 * s.steps);
    return;
  }
  const FusedShape shape = fused_shape(s);
  const int stage_bytes = shape.tile.bytes();
  const RowFiller filler(a.group, channel, shape.tile, block_x - shape.margin, a.mask.width,
                         reinterpret_cast<std::uint16_t*>(memory + kStages * stage_bytes));
  const SumOutput output(a.group, channel, patches[threadIdx.y]);
  // Outputs of a step see its chunk of rows and those above.
  const int steps = min(s.steps, divide_up(a.group.height - block_y, 32)) + kColumnChunks - 1;
  const auto fill = [&](int step) {
    if (step < steps)
      filler.fill(block_y - a.mask.anchor_y + 32 * step, memory + step % kStages * stage_bytes);
    end_stage();
  };
#pragma unroll 1
  for (int step = 0; step < kStages - 1; ++step)
    fill(step);

  const int lane = threadIdx.x, strip = kStrip * static_cast<int>(threadIdx.y);
  const std::uint8_t* const own =
      memory + lane / 4 * shape.tile.pitch + shape.margin - s.left + strip + 8 * (lane % 4);
  SumBytes bytes[kColumnChunks][kGroups];
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    wait_for_stages<kStages - 2>();
    __syncthreads();
    filler.finish(memory + step % kStages * stage_bytes);
    fill(step + kStages - 1);
#pragma unroll
    for (int c = 0; c + 1 < kColumnChunks; ++c)
#pragma unroll
      for (int q = 0; q < kGroups; ++q)
        bytes[c][q] = bytes[c + 1][q];
    sum_rows<kRowChunks>(a, own + step % kStages * stage_bytes, shape.tile.pitch,
                         bytes[kColumnChunks - 1]);
    if (step >= kColumnChunks - 1)
      sum_columns<kColumnChunks, kTwoDigits>(a, output, channel.digits.start, block_x + strip,
                                             block_y + 32 * (step - kColumnChunks + 1), bytes);
  }
}

template <int kRowChunks, int kColumnChunks>
Kernel select_digits(const SeparableArguments& s) {
  return s.column_digits == 2 ? separable_fused_kernel<kRowChunks, kColumnChunks, true>
                              : separable_fused_kernel<kRowChunks, kColumnChunks, false>;
}

template <int kRowChunks>
Kernel select_columns(const SeparableArguments& s) {
  return s.column_chunks == 1   ? select_digits<kRowChunks, 1>(s)
         : s.column_chunks == 2 ? select_digits<kRowChunks, 2>(s)
                                : select_digits<kRowChunks, kMostFusedChunks>(s);
}

Kernel select_kernel(const SeparableArguments& s) {
  return s.row_chunks == 1   ? select_columns<1>(s)
         : s.row_chunks == 2 ? select_columns<2>(s)
                             : select_columns<kMostFusedChunks>(s);
}

std::size_t stages_bytes(const SeparableArguments& s) {
  const RowTile tile = fused_shape(s).tile;
  return static_cast<std::size_t>(kStages * tile.bytes() + tile.table_bytes());
}

/// Steps of a block with which the device is done soonest: more of them make fewer row sums twice,
/// fewer of them fill the device better.
int best_steps(const LaunchArguments& arguments, unsigned columns) {
  const SeparableArguments& s = arguments.separable;
  const int resident = kBlocks * s.processors, rows = divide_up(arguments.group.height, 32);
  int best = 1, least = 0;
  for (int steps = 1; steps <= std::min(rows, 32); ++steps) {
    const int blocks =
        static_cast<int>(columns) * divide_up(rows, steps) * arguments.group.channels;
    const int time = divide_up(blocks, resident) * (steps + s.column_chunks - 1);
    if (steps == 1 || time <= least) {
      best = steps;
      least = time;
    }
  }
  return best;
}

}  // namespace

cudaError_t load_separable_fused(const LaunchArguments& arguments) {
  return load_kernel(select_kernel(arguments.separable), stages_bytes(arguments.separable));
}

cudaError_t launch_separable_fused(const LaunchArguments& arguments, cudaStream_t stream) {
  const GroupArguments& group = arguments.group;
  const unsigned columns = static_cast<unsigned>(divide_up(group.width, kStrip * kWarps));
  LaunchArguments placed = arguments;
  placed.separable.steps = best_steps(arguments, columns);
  const int segments = divide_up(group.height, 32 * placed.separable.steps);
  return launch_overlapping(
      select_kernel(arguments.separable),
      dim3(columns, static_cast<unsigned>(segments), static_cast<unsigned>(group.channels)),
      dim3(32, kWarps), stages_bytes(arguments.separable), stream, placed);
}

}  // namespace convolve
