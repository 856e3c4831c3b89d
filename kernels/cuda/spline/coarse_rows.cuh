// SPDX-License-Identifier: LGPL-2.1-or-later
// Second launch of separable_coarse.cu: a block takes a line, and filters it along itself, in
// place. Lines of the column's grid meet all of the row: its grid, drawn to the picture's columns,
// and its box. Lines of the cross grid, which run down the picture, meet the column's box.
#pragma once

#include "kernels/cuda/device/overlap.cuh"
#include "kernels/cuda/spline/coarse_planes.cuh"

namespace convolve {
namespace {

constexpr int kRowThreads = 256;

/// A line in shared memory skips a bank behind every 32, so that lanes a power of two apart meet in
/// none.
__host__ __device__ constexpr int banked(int i) {
  return i + (i >> 5);
}

/// The pixels, ghosts included, that a line is filtered from: `count` of them, from `from` on, a
/// multiple of 32 and not above 0.
struct LineSpan {
  int from;
  int count;
};

/// What the box sees, and with `axis` what the grid looks at.
__host__ __device__ inline LineSpan line_span(int cells, int taps, int anchor,
                                              const CoarseAxisArguments* axis) {
  int from = -anchor, to = cells - anchor + taps - 1;
  if (axis != nullptr) {
    const int end = first_pixel(*axis) + axis->spacing * (looked(*axis, cells) + kSplinePieces - 1);
    from = from < first_pixel(*axis) ? from : first_pixel(*axis);
    to = to > end ? to : end;
  }
  from = -round_up(-from, 32);
  return {from, to - from};
}

/// Replaces value[banked(i)] by the sum of those before it, for i = 0 .. count.
__device__ void sum_before(float* value, int count) {
  __shared__ float warp_sums[kRowThreads / 32];
  constexpr unsigned kAll = 0xFFFFFFFF;
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  // An odd number each, so that lanes do not meet in a bank.
  const int each = divide_up(count + 1, kRowThreads) | 1;
  const int begin = min(static_cast<int>(threadIdx.x) * each, count);
  const int end = min(begin + each, count);
  float own = 0;
  in_batches<8>(
      begin, end, 1, [value](int i) { return value[banked(i)]; },
      [&own](int, float here) { own += here; });
  float sum = own;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const float other = __shfl_up_sync(kAll, sum, static_cast<unsigned>(d));
    if (lane >= d) sum += other;
  }
  if (lane == 31) warp_sums[warp] = sum;
  __syncthreads();
  const float left = __shfl_up_sync(kAll, sum, 1);
  float before = lane == 0 ? 0 : left;
  for (int w = 0; w < warp; ++w)
    before += warp_sums[w];
  in_batches<8>(
      begin, end, 1, [value](int i) { return value[banked(i)]; },
      [&before, value](int i, float here) {
        value[banked(i)] = before;
        before += here;
      });
  if (end == count && begin < count) value[banked(count)] = before;
  __syncthreads();
}

/// Brings a line with its ghosts; `silent`: those without signal.
__device__ __forceinline__ void bring_line(const float* from, int cells, Border border,
                                           float silent, const LineSpan& span, float* value) {
  const int thread = static_cast<int>(threadIdx.x), end = span.from + span.count;
  // Lines are as long as whole words of four; what is behind their end will be overwritten.
  in_batches<4>(
      4 * thread, cells, 4 * kRowThreads,
      [from](int x) { return __ldcg(reinterpret_cast<const float4*>(from + x)); },
      [&](int x, const float4& four) {
        float* const to = value + banked(x - span.from);
        to[0] = four.x;
        to[1] = four.y;
        to[2] = four.z;
        to[3] = four.w;
      });
  __syncthreads();
  const auto ghost = [&](int x) {
    const int cell = border_index(border, x, cells);
    return cell == kNoSignal ? silent : value[banked(cell - span.from)];
  };
  const auto put = [&](int x, float pixel) { value[banked(x - span.from)] = pixel; };
  in_batches<2>(span.from + thread, 0, kRowThreads, ghost, put);
  in_batches<2>(cells + thread, end, kRowThreads, ghost, put);
  __syncthreads();
}

__device__ __forceinline__ float box_sum(const float* before, int first, int taps) {
  return before[banked(first + taps)] - before[banked(first)];
}

/// Four columns a thread, whose phases in the grid are the same at every turn.
__device__ __forceinline__ void draw_line(const LaunchArguments& a, const float* made,
                                          const float* before, int box, float* line) {
  static_assert(4 * kRowThreads % kMostSpacing == 0, "whole intervals");
  const CoarseAxisArguments& axis = a.coarse.row;
  const int shift = log_of(axis.spacing);
  float4 draws[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    draws[i] = __ldg(table<float4>(a, axis.draws) +
                     ((4 * static_cast<int>(threadIdx.x) + i) & (axis.spacing - 1)));
  for (int x = 4 * static_cast<int>(threadIdx.x); x < a.group.width; x += 4 * kRowThreads) {
    float value[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float* const grid = made + ((x + i) >> shift);
      const float sum =
          draws[i].x * grid[0] + draws[i].y * grid[1] + draws[i].z * grid[2] + draws[i].w * grid[3];
      value[i] = fmaf(axis.step, box_sum(before, box + x + i, a.mask.width), sum);
    }
    *reinterpret_cast<float4*>(line + x) = make_float4(value[0], value[1], value[2], value[3]);
  }
}

/// Line `index` of the column's grid.
__device__ void filter_line(const LaunchArguments& a, float* line, float* memory) {
  const CoarseAxisArguments& axis = a.coarse.row;
  const GroupArguments& group = a.group;
  const LineSpan span = line_span(group.width, a.mask.width, a.mask.anchor_x, &axis);
  const int outputs = drawn(axis, group.width), count = looked(axis, group.width);
  const int pitch = grid_line(outputs, axis.taps);
  const int quads = divide_up(axis.taps, 4);
  float4* const weights = reinterpret_cast<float4*>(memory);
  float4* const looks = weights + quads;
  float* const seen = reinterpret_cast<float*>(looks + axis.spacing);
  float* const made = seen + pitch;
  float* const value = made + round_up(outputs, 4);
  const float black = static_cast<float>(group.channel[blockIdx.z].black);
  bring_line(line, group.width, group.border, black - static_cast<float>(kCoarseMiddle), span,
             value);

  const int lane = static_cast<int>(threadIdx.x % 32);
  const int first = first_pixel(axis) - span.from;
  for (int i = static_cast<int>(threadIdx.x / 32) * kWarpSplines; i < pitch;
       i += kRowThreads / 32 * kWarpSplines) {
    float piece[kSplinePieces] = {};
    if (i + lane < count + kSplinePieces - 1) {
      // An interval skips no bank.
      const float* const at = value + banked(first + axis.spacing * (i + lane));
#pragma unroll 4
      for (int k = 0; k < axis.spacing; ++k) {
        const float4 w = looks[k];
        const float pixel = at[k];
        piece[0] += w.x * pixel;
        piece[1] += w.y * pixel;
        piece[2] += w.z * pixel;
        piece[3] += w.w * pixel;
      }
    }
    const float sum = whole_spline(piece);
    if (lane < kWarpSplines && i + lane < pitch) seen[i + lane] = i + lane < count ? sum : 0;
  }
  __syncthreads();
  for (int j = 4 * static_cast<int>(threadIdx.x); j < outputs; j += 4 * kRowThreads) {
    float sum[4] = {};
    slide_quads(seen + j, weights, quads, sum);
    *reinterpret_cast<float4*>(made + j) = make_float4(sum[0], sum[1], sum[2], sum[3]);
  }
  sum_before(value, span.count);

  draw_line(a, made, value, -a.mask.anchor_x - span.from, line);
}

/// Line `index` of the cross grid.
__device__ void filter_cross(const LaunchArguments& a, float* line, float* memory) {
  const GroupArguments& group = a.group;
  const LineSpan span = line_span(group.height, a.mask.height, a.mask.anchor_y, nullptr);
  const float black = static_cast<float>(group.channel[blockIdx.z].black);
  bring_line(line, group.height, group.border,
             a.coarse.cross.sum * (black - static_cast<float>(kCoarseMiddle)), span, memory);
  sum_before(memory, span.count);
  const int box = -a.mask.anchor_y - span.from;
  for (int y = threadIdx.x; y < group.height; y += kRowThreads)
    line[y] = a.coarse.column.step * box_sum(memory, box + y, a.mask.height);
}

/// Of the shared memory of a block.
std::size_t row_floats(const LaunchArguments& a) {
  const CoarseAxisArguments& axis = a.coarse.row;
  const LineSpan line = line_span(a.group.width, a.mask.width, a.mask.anchor_x, &axis);
  const LineSpan cross = line_span(a.group.height, a.mask.height, a.mask.anchor_y, nullptr);
  const int outputs = drawn(axis, a.group.width);
  const int tables = round_up(axis.taps, 4) + 4 * axis.spacing;
  const int along =
      tables + grid_line(outputs, axis.taps) + round_up(outputs, 4) + banked(line.count + 4) + 1;
  return static_cast<std::size_t>(std::max(along, banked(cross.count + 4) + 1));
}

__global__ void __launch_bounds__(kRowThreads, 4)
    coarse_rows_kernel(const __grid_constant__ LaunchArguments a) {
  extern __shared__ __align__(16) float row_memory[];
  admit_next_launch();
  // Of filter_line(); other blocks overwrite them.
  const CoarseAxisArguments& axis = a.coarse.row;
  float4* const tables = reinterpret_cast<float4*>(row_memory);
  const int quads = divide_up(axis.taps, 4);
  stage(table<float4>(a, axis.weights), tables, quads);
  stage(table<float4>(a, axis.looks), tables + quads, axis.spacing);
  __syncthreads();
  await_previous_launch();
  if (!a.group.channel[blockIdx.z].filtered) return;
  const CoarsePlanes planes = planes_of(a);
  const int lines = looked(a.coarse.column, a.group.height), block = static_cast<int>(blockIdx.x);
  if (block < lines) {
    filter_line(a, planes.lines.row(block), row_memory);
  } else if (block < lines + kSilentLines) {
    for (int x = threadIdx.x; x < planes.lines.pitch; x += kRowThreads)
      planes.lines.row(block)[x] = 0;
  } else {
    filter_cross(a, planes.cross.row(block - lines - kSilentLines), row_memory);
  }
}

}  // namespace
}  // namespace convolve
