// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `separable` on tensor cores, fused: masks of up to 65 a side, in one launch.
//
// A warp makes a strip of 32 columns, and marches down: 32 rows of the picture become row sums,
// which stay in registers as operands B of the column pass, and with those of the chunks above
// them 32 rows of outputs. Nothing but the picture passes through memory; rows come through two
// stages in shared memory, one of which is filled while the other is used.
//
// What binds (H100): no unit alone. Issue slots are busy 36 % of the time; what the sums take of
// registers leaves four warps to a scheduler, which wait together. So all that is constant is
// loaded before it is needed.
#include <algorithm>

#include "kernels/core/weights/separable_digits.h"
#include "kernels/cuda/device/overlap.cuh"
#include "kernels/cuda/separable/separable_tensor.cuh"
#include "kernels/cuda/separable/separable_tensor.h"

namespace convolve {
namespace {

constexpr int kStages = 2;
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

/// Fragments of one digit for kChunks chunks: loaded before there is something to multiply, or, of
/// three chunks, where they would fill too many registers, each as it is taken.
template <int kChunks, bool kAhead = kChunks <= 2>
class Weights {
 public:
  __device__ __forceinline__ void load(const uint4* fragments, int half, int digit) {
    from_ = fragment_at(fragments, 0, half, digit);
    if constexpr (kAhead) {
#pragma unroll
      for (int c = 0; c < kChunks; ++c)
        chunk_[c] = load_fragment(from_ + c * kChunkFragments);
    }
  }

  __device__ __forceinline__ uint4 operator[](int c) const {
    return kAhead ? chunk_[c] : load_fragment(from_ + c * kChunkFragments);
  }

 private:
  const uint4* from_;
  uint4 chunk_[kAhead ? kChunks : 1];
};

/// Those of the row, of both halves and digits.
template <int kChunks>
struct RowWeights {
  Weights<kChunks> of[2][2];

  __device__ __forceinline__ void load(const LaunchArguments& a) {
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int digit = 0; digit < 2; ++digit)
        of[half][digit].load(row_fragments(a), half, digit);
  }
};

/// sum[part][group of eight rows] of 32 rows x 16 columns, those with number `half`. The sums of
/// the higher digit, times 256, are where those of the lower one begin.
template <int kRowChunks>
__device__ __forceinline__ void sum_half(const RowWeights<kRowChunks>& weights, int half,
                                         const uint2 (&seen)[kRowChunks][2][2],
                                         int (&sum)[2][2][4]) {
#pragma unroll
  for (int digit = 0; digit < 2; ++digit) {
#pragma unroll
    for (int c = 0; c < kRowChunks; ++c) {
      const uint4 fragment = weights.of[half][digit][c];
#pragma unroll
      for (int part = 0; part < 2; ++part)
#pragma unroll
        for (int rows = 0; rows < 2; ++rows)
          multiply(sum[part][rows], fragment, seen[c][part][rows], sum[part][rows]);
    }
    if (digit == 0)
#pragma unroll
      for (int i = 0; i < 16; ++i)
        sum[i / 8][i / 4 % 2][i % 4] <<= 8;
  }
}

/// Row sums of 32 rows x 32 columns; `from`: what the lane sees of the first row.
template <int kRowChunks>
__device__ __forceinline__ void sum_rows(const RowWeights<kRowChunks>& weights,
                                         const std::uint8_t* from, int pitch,
                                         int (&sum)[2][2][2][4]) {
  uint2 seen[kRowChunks][2][2];
#pragma unroll
  for (int c = 0; c < kRowChunks; ++c)
#pragma unroll
    for (int part = 0; part < 2; ++part)
#pragma unroll
      for (int rows = 0; rows < 2; ++rows)
        seen[c][part][rows] =
            *reinterpret_cast<const uint2*>(from + (16 * part + 8 * rows) * pitch + 32 * c);
#pragma unroll
  for (int half = 0; half < 2; ++half)
    sum_half(weights, half, seen, sum[half]);
}

/// Their bytes.
__device__ __forceinline__ void pack_rows(const SeparableArguments& s, const int (&sum)[2][2][2][4],
                                          SumBytes (&bytes)[kGroups]) {
#pragma unroll
  for (int half = 0; half < 2; ++half)
#pragma unroll
    for (int part = 0; part < 2; ++part)
      pack_sums(s, sum[half][part], half, part, bytes);
}

/// Of a half of the column pass.
template <int kChunks, bool kTwoDigits>
struct ColumnWeights {
  Weights<kChunks, true> high;
  Weights<kChunks> low;

  __device__ __forceinline__ void load(const LaunchArguments& a, int half) {
    high.load(column_fragments(a), half, 0);
    if constexpr (kTwoDigits) low.load(column_fragments(a), half, 1);
  }
};

/// Codes of 32 rows x 32 columns from (x, y) on. `weights`: those of the first half.
template <int kColumnChunks, bool kTwoDigits>
__device__ __forceinline__ void sum_columns(const LaunchArguments& a, const SumOutput& output,
                                            int start, int x, int y,
                                            ColumnWeights<kColumnChunks, kTwoDigits> weights,
                                            const SumBytes (&bytes)[kColumnChunks][kGroups]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    int sum[kGroups][4] = {};
#pragma unroll
    for (int c = 0; c < kColumnChunks; ++c)
#pragma unroll
      for (int q = 0; q < kGroups; ++q)
        multiply(sum[q], weights.high[c], bytes[c][q].high, sum[q]);
#pragma unroll
    for (int q = 0; q < kGroups; ++q)
#pragma unroll
      for (int k = 0; k < 4; ++k)
        sum[q][k] = sum[q][k] * 256 + start;
#pragma unroll
    for (int c = 0; c < kColumnChunks; ++c) {
#pragma unroll
      for (int q = 0; q < kGroups; ++q)
        multiply(sum[q], weights.high[c], bytes[c][q].low, sum[q]);
      if constexpr (kTwoDigits) {
        const uint4 fragment = weights.low[c];
#pragma unroll
        for (int q = 0; q < kGroups; ++q)
          multiply(sum[q], fragment, bytes[c][q].high, sum[q]);
      }
    }
    if (half == 0) weights.load(a, 1);
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
  const int block_x = static_cast<int>(blockIdx.x) * kStrip * kWarps;
  const int block_y = static_cast<int>(blockIdx.y) * 32 * s.steps;
  if (!channel.filtered) {
    await_previous_launch();
    copy_component(a.group, channel, block_x, block_y, kStrip * kWarps, 32 * s.steps);
    return;
  }
  const FusedShape shape = fused_shape(s);
  const int stage_bytes = shape.tile.bytes();
  // Outputs of a step see its chunk of rows and those above.
  const int steps = min(s.steps, divide_up(a.group.height - block_y, 32)) + kColumnChunks - 1;
  if (blockIdx.z == 0) fetch_pixels_ahead(a.group, block_x, block_y, kStrip * kWarps, 32 * s.steps);
  const RowFiller filler(a.group, channel, shape.tile, block_x - shape.margin, a.mask.width,
                         reinterpret_cast<std::uint16_t*>(memory + kStages * stage_bytes));
  const SumOutput output(a.group, channel, patches[threadIdx.y]);
  await_previous_launch();
  const int lane = threadIdx.x, strip = kStrip * static_cast<int>(threadIdx.y);
  const int own = lane / 4 * shape.tile.pitch + shape.margin - s.left + strip + 8 * (lane % 4);
  SumBytes bytes[kColumnChunks][kGroups];
  // The loop begins a step early, so that the code that fills a stage is there once.
#pragma unroll 1
  for (int step = -1; step < steps; ++step) {
    int sum[2][2][2][4] = {};
    if (step >= 0) {
      std::uint8_t* const stage = memory + step % kStages * stage_bytes;
      RowWeights<kRowChunks> weights;
      weights.load(a);
      wait_for_copies();
      __syncthreads();
      filler.finish(stage);
      sum_rows(weights, stage + own, shape.tile.pitch, sum);
    }
    if (step + 1 < steps)
      filler.fill(block_y - a.mask.anchor_y + 32 * (step + 1),
                  memory + (step + 1) % kStages * stage_bytes);
    if (step < 0) continue;
#pragma unroll
    for (int c = 0; c + 1 < kColumnChunks; ++c)
#pragma unroll
      for (int q = 0; q < kGroups; ++q)
        bytes[c][q] = bytes[c + 1][q];
    // Said twice, as the weights of the column are to come while rows are packed.
    if (step < kColumnChunks - 1) {
      pack_rows(s, sum, bytes[kColumnChunks - 1]);
      continue;
    }
    ColumnWeights<kColumnChunks, kTwoDigits> weights;
    weights.load(a, 0);
    pack_rows(s, sum, bytes[kColumnChunks - 1]);
    sum_columns(a, output, channel.digits.start, block_x + strip,
                block_y + 32 * (step - kColumnChunks + 1), weights, bytes);
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
