// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `separable`, form separable-tensor-fused: 8-bit samples through masks of rank 1 of up to
// 65 a side, both passes on tensor cores in one launch.
//
// A warp makes a strip of 32 columns and slides down the picture: in each iteration 32 rows become
// row sums, which stay in registers as operand B of the column pass; with those of the iterations
// before they give 32 rows of outputs. Nothing but the picture passes through memory. Rows are
// copied to two stages in shared memory, of which one is filled while the other is used.
//
// Operands: A, the weights as Toeplitz matrices (separable_fragments.h), from global memory by way
// of the L1 cache; B, eight adjacent samples a lane from shared memory, then two bytes of each row
// sum.
//
// What binds (H100): no unit alone. Issue slots are busy 36 % of the time; the sums take so many
// registers that a scheduler has only four warps, which wait at the same time. So everything that
// is constant is loaded before it is needed.
#include <algorithm>

#include "kernels/core/weights/separable_digits.h"
#include "kernels/cuda/device/overlap.cuh"
#include "kernels/cuda/separable/separable_tensor.cuh"
#include "kernels/cuda/separable/separable_tensor.h"

namespace convolve {
namespace {

constexpr int kTileStages = 2;
constexpr int kResidentBlocks = 4;  ///< Blocks that a multiprocessor holds.

/// The tile of input rows that a block has in a stage.
struct FusedShape {
  int margin;  ///< Samples of the tile left of the column of the first output.
  RowTile tile;
};

__host__ __device__ __forceinline__ FusedShape fused_shape(const SeparableArguments& s) {
  const int margin = round_up(s.left, kChunk);
  const int samples = margin - s.left + kStrip * (kWarps - 1) + 32 * s.row_chunks;
  return {margin, row_tile(samples)};
}

/// Fragments of one digit for kChunks chunks. They are loaded before there is something to
/// multiply; only those of three chunks, which would fill too many registers, are loaded when they
/// are used.
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

/// The fragments of the row, for both halves of outputs and both digits.
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

/// Row sums of 32 rows and, of 32 columns, the 16 with number `half`, as sum[part][octet of rows]
/// with 16 rows a part. The sums of the higher digit, times 256, are the start of those of the
/// lower one.
template <int kRowChunks>
__device__ __forceinline__ void sum_half(const RowWeights<kRowChunks>& weights, int half,
                                         const uint2 (&samples)[kRowChunks][2][2],
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
          multiply(sum[part][rows], fragment, samples[c][part][rows], sum[part][rows]);
    }
    if (digit == 0)
#pragma unroll
      for (int i = 0; i < 16; ++i)
        sum[i / 8][i / 4 % 2][i % 4] <<= 8;
  }
}

/// Row sums of 32 rows x 32 columns. `from`: the lane's samples of the first row.
template <int kRowChunks>
__device__ __forceinline__ void sum_rows(const RowWeights<kRowChunks>& weights,
                                         const std::uint8_t* from, int pitch,
                                         int (&sum)[2][2][2][4]) {
  uint2 samples[kRowChunks][2][2];
#pragma unroll
  for (int c = 0; c < kRowChunks; ++c)
#pragma unroll
    for (int part = 0; part < 2; ++part)
#pragma unroll
      for (int rows = 0; rows < 2; ++rows)
        samples[c][part][rows] =
            *reinterpret_cast<const uint2*>(from + (16 * part + 8 * rows) * pitch + 32 * c);
#pragma unroll
  for (int half = 0; half < 2; ++half)
    sum_half(weights, half, samples, sum[half]);
}

/// Quantises row sums of 32 rows x 32 columns to 16 bits and packs their bytes as operands B.
__device__ __forceinline__ void pack_rows(const SeparableArguments& s, const int (&sum)[2][2][2][4],
                                          SumBytes (&bytes)[kOperands]) {
#pragma unroll
  for (int half = 0; half < 2; ++half)
#pragma unroll
    for (int part = 0; part < 2; ++part)
      pack_sums(s, sum[half][part], half, part, bytes);
}

/// The fragments of the column for one half of the outputs.
template <int kChunks, bool kTwoDigits>
struct ColumnWeights {
  Weights<kChunks, true> high;
  Weights<kChunks> low;

  __device__ __forceinline__ void load(const LaunchArguments& a, int half) {
    high.load(column_fragments(a), half, 0);
    if constexpr (kTwoDigits) low.load(column_fragments(a), half, 1);
  }
};

/// The column pass: stores 32 rows x 32 columns of outputs from (x, y) on. `weights`: of the first
/// half of the rows.
template <int kColumnChunks, bool kTwoDigits>
__device__ __forceinline__ void sum_columns(const LaunchArguments& a, const SumOutput& output,
                                            int start, int x, int y,
                                            ColumnWeights<kColumnChunks, kTwoDigits> weights,
                                            const SumBytes (&bytes)[kColumnChunks][kOperands]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    int sum[kOperands][4] = {};
#pragma unroll
    for (int c = 0; c < kColumnChunks; ++c)
#pragma unroll
      for (int q = 0; q < kOperands; ++q)
        multiply(sum[q], weights.high[c], bytes[c][q].high, sum[q]);
#pragma unroll
    for (int q = 0; q < kOperands; ++q)
#pragma unroll
      for (int k = 0; k < 4; ++k)
        sum[q][k] = sum[q][k] * 256 + start;
#pragma unroll
    for (int c = 0; c < kColumnChunks; ++c) {
#pragma unroll
      for (int q = 0; q < kOperands; ++q)
        multiply(sum[q], weights.high[c], bytes[c][q].low, sum[q]);
      if constexpr (kTwoDigits) {
        const uint4 fragment = weights.low[c];
#pragma unroll
        for (int q = 0; q < kOperands; ++q)
          multiply(sum[q], fragment, bytes[c][q].high, sum[q]);
      }
    }
    if (half == 0) weights.load(a, 1);
    output.store(x, y + 16 * half, sum);
  }
}

template <int kRowChunks, int kColumnChunks, bool kTwoDigits>
__global__ void __launch_bounds__(kSeparableThreads, kResidentBlocks)
    separable_fused_kernel(const __grid_constant__ LaunchArguments a) {
  extern __shared__ __align__(16) std::uint8_t memory[];
  __shared__ __align__(16) std::uint8_t patches[kWarps][kPatchBytes];
  admit_next_launch();
  const SeparableArguments& s = a.separable;
  const ChannelArguments& channel = a.group.channel[blockIdx.z];
  const int block_x = static_cast<int>(blockIdx.x) * kStrip * kWarps;
  const int block_y = static_cast<int>(blockIdx.y) * 32 * s.iterations;
  if (!channel.filtered) {
    await_previous_launch();
    copy_component(a.group, channel, block_x, block_y, kStrip * kWarps, 32 * s.iterations);
    return;
  }
  const FusedShape shape = fused_shape(s);
  const int stage_bytes = shape.tile.bytes();
  // An iteration's outputs need its own chunk of row sums and those of the iterations before: so
  // the first kColumnChunks - 1 iterations have no outputs.
  const int iterations =
      min(s.iterations, divide_up(a.group.height - block_y, 32)) + kColumnChunks - 1;
  if (blockIdx.z == 0)
    prefetch_pixels(a.group, block_x, block_y, kStrip * kWarps, 32 * s.iterations);
  const RowFiller filler(a.group, channel, shape.tile, block_x - shape.margin, a.mask.width,
                         reinterpret_cast<std::uint16_t*>(memory + kTileStages * stage_bytes));
  const SumOutput output(a.group, channel, patches[threadIdx.y]);
  await_previous_launch();
  const int lane = threadIdx.x, strip = kStrip * static_cast<int>(threadIdx.y);
  const int lane_offset =
      lane / 4 * shape.tile.pitch + shape.margin - s.left + strip + 8 * (lane % 4);
  SumBytes bytes[kColumnChunks][kOperands];
  // The loop begins one iteration early, so that the code that fills a stage exists only once.
#pragma unroll 1
  for (int iteration = -1; iteration < iterations; ++iteration) {
    int sum[2][2][2][4] = {};
    if (iteration >= 0) {
      std::uint8_t* const stage = memory + iteration % kTileStages * stage_bytes;
      RowWeights<kRowChunks> weights;
      weights.load(a);
      wait_for_copies();
      __syncthreads();
      filler.finish(stage);
      sum_rows(weights, stage + lane_offset, shape.tile.pitch, sum);
    }
    if (iteration + 1 < iterations)
      filler.fill(block_y - a.mask.anchor_y + 32 * (iteration + 1),
                  memory + (iteration + 1) % kTileStages * stage_bytes);
    if (iteration < 0) continue;
#pragma unroll
    for (int c = 0; c + 1 < kColumnChunks; ++c)
#pragma unroll
      for (int q = 0; q < kOperands; ++q)
        bytes[c][q] = bytes[c + 1][q];
    // pack_rows() stands here twice, so that below the weights of the column are loaded before it.
    if (iteration < kColumnChunks - 1) {
      pack_rows(s, sum, bytes[kColumnChunks - 1]);
      continue;
    }
    ColumnWeights<kColumnChunks, kTwoDigits> weights;
    weights.load(a, 0);
    pack_rows(s, sum, bytes[kColumnChunks - 1]);
    sum_columns(a, output, channel.digits.start, block_x + strip,
                block_y + 32 * (iteration - kColumnChunks + 1), weights, bytes);
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
  return static_cast<std::size_t>(kTileStages * tile.bytes() + tile.table_bytes());
}

/// Iterations of a block with which the device is done soonest: with more of them fewer row sums
/// are made twice, with fewer the device is filled better.
int best_iterations(const LaunchArguments& arguments, unsigned columns) {
  const SeparableArguments& s = arguments.separable;
  const int resident = kResidentBlocks * s.processors, rows = divide_up(arguments.group.height, 32);
  int best = 1, least = 0;
  for (int iterations = 1; iterations <= std::min(rows, 32); ++iterations) {
    const int blocks =
        static_cast<int>(columns) * divide_up(rows, iterations) * arguments.group.channels;
    const int time = divide_up(blocks, resident) * (iterations + s.column_chunks - 1);
    if (iterations == 1 || time <= least) {
      best = iterations;
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
  LaunchArguments launched = arguments;
  launched.separable.iterations = best_iterations(arguments, columns);
  const int segments = divide_up(group.height, 32 * launched.separable.iterations);
  return launch_overlapping(
      select_kernel(arguments.separable),
      dim3(columns, static_cast<unsigned>(segments), static_cast<unsigned>(group.channels)),
      dim3(32, kWarps), stages_bytes(arguments.separable), stream, launched);
}

}  // namespace convolve
