// SPDX-License-Identifier: LGPL-2.1-or-later
// Third and fourth launch of separable_coarse.cu: the column's grid convolved, and the picture
// drawn from it and from the cross grid.
#pragma once

#include "kernels/cuda/device/overlap.cuh"
#include "kernels/cuda/spline/coarse_planes.cuh"

namespace convolve {
namespace {

/// Threads of a block beside each other, with two columns each, and below each other, where they
/// share most of what they read in the L1 cache.
constexpr int kDownAcross = 32, kDownGroups = 4;
constexpr int kDownThreads = kDownAcross * kDownGroups;
constexpr int kDownRun = 8;  ///< Values of the grid that a thread makes below each other.

__device__ __forceinline__ void add_product(float2& sum, float weight, const float2& value) {
  sum.x = fmaf(weight, value.x, sum.x);
  sum.y = fmaf(weight, value.y, sum.y);
}

__global__ void __launch_bounds__(kDownThreads)
    coarse_down_kernel(const __grid_constant__ LaunchArguments a) {
  extern __shared__ __align__(16) float4 down_weights[];
  const CoarseAxisArguments& axis = a.coarse.column;
  const int quads = divide_up(axis.taps, 4);
  admit_next_launch();
  stage(table<float4>(a, axis.weights), down_weights, quads);
  __syncthreads();
  await_previous_launch();
  const int x = 2 * static_cast<int>(blockIdx.x * kDownAcross + threadIdx.x % kDownAcross);
  const int first =
      static_cast<int>(blockIdx.y * kDownGroups + threadIdx.x / kDownAcross) * kDownRun;
  const int outputs = drawn(axis, a.group.height);
  if (!a.group.channel[blockIdx.z].filtered || x >= a.group.width || first >= outputs) return;
  const CoarsePlanes planes = planes_of(a);
  const float* from = planes.lines.row(first) + x;
  const int pitch = planes.lines.pitch;
  const auto line = [&from, pitch] {
    const float2 two = *reinterpret_cast<const float2*>(from);
    from += pitch;
    return two;
  };
  float2 seen[kDownRun + 3], next[4], sum[kDownRun] = {};
#pragma unroll
  for (int i = 0; i < kDownRun - 1; ++i)
    seen[i] = line();
#pragma unroll
  for (int i = 0; i < 4; ++i)
    next[i] = line();
#pragma unroll 3
  for (int k = 0; k < quads; ++k) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      seen[kDownRun - 1 + i] = next[i];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      next[i] = line();
    const float4 w = down_weights[k];
#pragma unroll
    for (int r = 0; r < kDownRun; ++r) {
      add_product(sum[r], w.x, seen[r]);
      add_product(sum[r], w.y, seen[r + 1]);
      add_product(sum[r], w.z, seen[r + 2]);
      add_product(sum[r], w.w, seen[r + 3]);
    }
#pragma unroll
    for (int i = 0; i < kDownRun - 1; ++i)
      seen[i] = seen[i + 4];
  }
#pragma unroll
  for (int r = 0; r < kDownRun; ++r)
    if (first + r < outputs) *reinterpret_cast<float2*>(planes.grid.row(first + r) + x) = sum[r];
}

constexpr int kDrawAcross = 32, kDrawDown = 8;  ///< Threads of a block, with four columns each.
constexpr int kDrawThreads = kDrawAcross * kDrawDown;

/// What a block's columns see of the cross grid, in words of four rows.
__host__ __device__ constexpr int beside_lines(int cross_spacing) {
  return 4 * kDrawAcross / cross_spacing + kSplinePieces - 1;
}
__host__ __device__ constexpr int beside_words(int rows) {
  return rows * kDrawDown / 4;
}

/// Codes of four values that are known to fit 16 bits: clamped as such, two at once.
__device__ __forceinline__ unsigned four_codes(const float (&value)[4],
                                               const EpilogueOf<float>& e) {
  int v[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    v[i] = __float_as_int(__fadd_rn(e.base + e.scale * value[i], 12582912.0f));
  const unsigned low = __vimin_s16x2_relu(__byte_perm(v[0], v[1], 0x5410), 0x00FF00FF);
  const unsigned high = __vimin_s16x2_relu(__byte_perm(v[2], v[3], 0x5410), 0x00FF00FF);
  return __byte_perm(low, high, 0x6420);
}

/// The first `columns` of four codes, `step` bytes apart.
__device__ __noinline__ void store_apart(std::uint8_t* to, unsigned codes, int columns, int step) {
#pragma unroll 1
  for (int i = 0; i < columns; ++i, to += step, codes >>= 8)
    *to = static_cast<std::uint8_t>(codes);
}

/// What the column's grid makes of four columns of the picture, interval after interval. The line
/// that the next interval needs comes while this one is drawn.
class DrawnColumns {
 public:
  __device__ DrawnColumns(const FloatPlane& grid, int x, int line)
      : from_(grid.row(line) + x), pitch_(grid.pitch) {
#pragma unroll
    for (int m = 1; m < kSplinePieces; ++m)
      line_[m] = next_line();
    ahead_ = next_line();
  }

  __device__ __forceinline__ void next_interval() {
#pragma unroll
    for (int m = 0; m + 1 < kSplinePieces; ++m)
      line_[m] = line_[m + 1];
    line_[kSplinePieces - 1] = ahead_;
    ahead_ = next_line();
  }

  __device__ __forceinline__ void draw(const float4& w, float (&value)[4]) const {
    const float4* const v = line_;
    value[0] = w.x * v[0].x + w.y * v[1].x + w.z * v[2].x + w.w * v[3].x;
    value[1] = w.x * v[0].y + w.y * v[1].y + w.z * v[2].y + w.w * v[3].y;
    value[2] = w.x * v[0].z + w.y * v[1].z + w.z * v[2].z + w.w * v[3].z;
    value[3] = w.x * v[0].w + w.y * v[1].w + w.z * v[2].w + w.w * v[3].w;
  }

 private:
  __device__ __forceinline__ float4 next_line() {
    const float4 line = __ldcg(reinterpret_cast<const float4*>(from_));
    from_ += pitch_;
    return line;
  }

  const float* from_;
  int pitch_;
  float4 line_[kSplinePieces];
  float4 ahead_;
};

/// Adds what the cross grid has for four columns in one row.
__device__ __forceinline__ void add_cross(const float4 (&draws)[4], float a, float b, float c,
                                          float d, float (&value)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i)
    value[i] = fmaf(draws[i].x, a,
                    fmaf(draws[i].y, b, fmaf(draws[i].z, c, fmaf(draws[i].w, d, value[i]))));
}

/// `rows`: that a thread draws, of whole intervals. kFine: the column's grid has intervals of two
/// rows, else of at least four.
template <bool kFine>
__global__ void __launch_bounds__(kDrawThreads, 3)
    coarse_draw_kernel(const __grid_constant__ LaunchArguments a, int rows) {
  extern __shared__ __align__(16) float4 beside[];
  __shared__ float4 down_draws[kMostSpacing], across_draws[kMostSpacing];
  const GroupArguments& group = a.group;
  const CoarseAxisArguments &column = a.coarse.column, &cross = a.coarse.cross;
  const ChannelArguments& channel = group.channel[blockIdx.z];
  admit_next_launch();
  stage(table<float4>(a, column.draws), down_draws, column.spacing);
  stage(table<float4>(a, cross.draws), across_draws, cross.spacing);
  __syncthreads();
  await_previous_launch();
  const int thread = static_cast<int>(threadIdx.x);
  const int block_x = 4 * kDrawAcross * static_cast<int>(blockIdx.x);
  const int block_y = rows * kDrawDown * static_cast<int>(blockIdx.y);
  const int x = block_x + 4 * (thread % kDrawAcross), y0 = block_y + rows * (thread / kDrawAcross);
  const int end = min(y0 + rows, group.height), columns = min(4, group.width - x);
  const bool inside = columns > 0 && y0 < end;
  if (!channel.filtered) {
    for (int y = y0; y < end; ++y)
      for (int i = x; i < x + columns; ++i)
        copy_sample<std::uint8_t>(group, channel, i, y);
    return;
  }
  const CoarsePlanes planes = planes_of(a);
  DrawnColumns drawn_columns(planes.grid, inside ? x : 0,
                             inside ? y0 >> log_of(column.spacing) : 0);
  const int words_down = beside_words(rows);
  const int first_line = block_x >> log_of(cross.spacing);
  const int last_line = drawn(cross, group.width) - 1;
  for (int i = thread; i < beside_lines(cross.spacing) * words_down; i += kDrawThreads) {
    // Below the picture a line goes on to the next 32 rows, and is not read.
    const int y = block_y + 4 * (i % words_down);
    if (y < group.height)
      beside[i] = __ldcg(reinterpret_cast<const float4*>(
          planes.cross.row(min(first_line + i / words_down, last_line)) + y));
  }
  __syncthreads();
  if (!inside) return;
  // The cross grid has intervals of at least four columns, so that four of its values do.
  const float4* side_at =
      beside + ((x >> log_of(cross.spacing)) - first_line) * words_down + (y0 - block_y) / 4;
  float4 across[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    across[i] = across_draws[(x + i) & (cross.spacing - 1)];
  const EpilogueOf<float> epilogue = channel.epilogue.narrow;
  std::uint8_t* to =
      group.dst + channel.offset + y0 * group.dst_pitch + static_cast<std::int64_t>(x) * group.step;
  const int step = group.step;
  const bool words =
      columns == 4 && step == 1 &&
      ((reinterpret_cast<std::uintptr_t>(to) | static_cast<std::uintptr_t>(group.dst_pitch)) & 3) ==
          0;
#pragma unroll 1
  for (int y = y0; y < end; y += 4) {
    float4 side[kSplinePieces];
#pragma unroll
    for (int m = 0; m < kSplinePieces; ++m)
      side[m] = side_at[m * words_down];
    ++side_at;
    const int phase = y & (column.spacing - 1);
    if (phase == 0) drawn_columns.next_interval();
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      if (kFine && r == 2) drawn_columns.next_interval();
      const auto of_row = [r](const float4& four) {
        return r == 0 ? four.x : r == 1 ? four.y : r == 2 ? four.z : four.w;
      };
      float value[4];
      drawn_columns.draw(down_draws[kFine ? r % 2 : phase + r], value);
      add_cross(across, of_row(side[0]), of_row(side[1]), of_row(side[2]), of_row(side[3]), value);
      const unsigned codes = four_codes(value, epilogue);
      if (y + r < end) {
        if (words)
          *reinterpret_cast<unsigned*>(to) = codes;
        else
          store_apart(to, codes, columns, step);
      }
      to += group.dst_pitch;
    }
  }
}

}  // namespace
}  // namespace convolve
