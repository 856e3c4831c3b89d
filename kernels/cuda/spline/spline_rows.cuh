// SPDX-License-Identifier: LGPL-2.1-or-later
// Second launch of separable_spline.cu: a block takes one line of coefficients and filters it along
// itself, in place. Lines of the main term, which run along the picture's rows, are filtered by the
// whole factor of the row: analysis, convolution and synthesis, plus the box. Lines of the cross
// term, which run down the picture, are filtered by the box of the column.
//
// A line stays in shared memory throughout. The box is a difference of prefix sums, so its cost
// does not grow with the mask.
#pragma once

#include "kernels/cuda/device/overlap.cuh"
#include "kernels/cuda/spline/spline_planes.cuh"

namespace convolve {
namespace {

constexpr int kRowThreads = 256;

/// Index of element i of a line in shared memory that leaves one word free after every 32, so that
/// lanes whose elements are a power of two apart read different banks.
__host__ __device__ constexpr int bank_padded(int i) {
  return i + (i >> 5);
}

/// The elements, ghost cells included, that a line is filtered from: `count` of them from index
/// `from` on, which is a multiple of 32 and not above 0.
struct LineSpan {
  int from;
  int count;
};

/// The span that the box needs and, with `axis`, also the analysis.
__host__ __device__ inline LineSpan line_span(int cells, int taps, int anchor,
                                              const SplineAxisArguments* axis) {
  int from = -anchor, to = cells - anchor + taps - 1;
  if (axis != nullptr) {
    const int end =
        first_pixel(*axis) + axis->spacing * (analysis_count(*axis, cells) + kSplineOrder - 1);
    from = from < first_pixel(*axis) ? from : first_pixel(*axis);
    to = to > end ? to : end;
  }
  from = -round_up(-from, 32);
  return {from, to - from};
}

/// Replaces value[bank_padded(i)] by the sum of all elements before i, for i = 0 .. count: an
/// exclusive scan by the whole block.
__device__ void exclusive_scan(float* value, int count) {
  __shared__ float warp_sums[kRowThreads / 32];
  constexpr unsigned kAll = 0xFFFFFFFF;
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  // An odd number of elements for each thread, so that the lanes of a warp read different banks.
  const int each = divide_up(count + 1, kRowThreads) | 1;
  const int begin = min(static_cast<int>(threadIdx.x) * each, count);
  const int end = min(begin + each, count);
  float own = 0;
  in_batches<8>(
      begin, end, 1, [value](int i) { return value[bank_padded(i)]; },
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
      begin, end, 1, [value](int i) { return value[bank_padded(i)]; },
      [&before, value](int i, float here) {
        value[bank_padded(i)] = before;
        before += here;
      });
  if (end == count && begin < count) value[bank_padded(count)] = before;
  __syncthreads();
}

/// Loads a line into shared memory and makes its ghost cells. `no_signal`: the value of a ghost
/// cell without signal (Border::kZero).
__device__ __forceinline__ void load_line(const float* from, int cells, Border border,
                                          float no_signal, const LineSpan& span, float* value) {
  const int thread = static_cast<int>(threadIdx.x), end = span.from + span.count;
  // The pitch of a line is a multiple of four floats; what this reads behind the end of the line
  // is overwritten by ghost cells.
  in_batches<4>(
      4 * thread, cells, 4 * kRowThreads,
      [from](int x) { return __ldcg(reinterpret_cast<const float4*>(from + x)); },
      [&](int x, const float4& four) {
        float* const to = value + bank_padded(x - span.from);
        to[0] = four.x;
        to[1] = four.y;
        to[2] = four.z;
        to[3] = four.w;
      });
  __syncthreads();
  const auto ghost = [&](int x) {
    const int cell = border_index(border, x, cells);
    return cell == kNoSignal ? no_signal : value[bank_padded(cell - span.from)];
  };
  const auto put = [&](int x, float pixel) { value[bank_padded(x - span.from)] = pixel; };
  in_batches<2>(span.from + thread, 0, kRowThreads, ghost, put);
  in_batches<2>(cells + thread, end, kRowThreads, ghost, put);
  __syncthreads();
}

/// Sum of `taps` elements from index `first` on; `prefix`: the result of exclusive_scan().
__device__ __forceinline__ float box_sum(const float* prefix, int first, int taps) {
  return prefix[bank_padded(first + taps)] - prefix[bank_padded(first)];
}

/// Writes the filtered line: the synthesis from `synthesis`, plus the box. A thread makes four
/// adjacent columns at a time, whose phases within an interval are the same in every iteration, so
/// that it loads their weights once.
__device__ __forceinline__ void synthesise_line(const LaunchArguments& a, const float* synthesis,
                                                const float* prefix, int box, float* line) {
  static_assert(4 * kRowThreads % kMostSpacing == 0, "whole intervals");
  const SplineAxisArguments& axis = a.spline.row;
  const int shift = log_of(axis.spacing);
  float4 weights[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    weights[i] = __ldg(table<float4>(a, axis.synthesis_weights) +
                       ((4 * static_cast<int>(threadIdx.x) + i) & (axis.spacing - 1)));
  for (int x = 4 * static_cast<int>(threadIdx.x); x < a.group.width; x += 4 * kRowThreads) {
    float value[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float* const coefficient = synthesis + ((x + i) >> shift);
      const float sum = weights[i].x * coefficient[0] + weights[i].y * coefficient[1] +
                        weights[i].z * coefficient[2] + weights[i].w * coefficient[3];
      value[i] = fmaf(axis.box_weight, box_sum(prefix, box + x + i, a.mask.width), sum);
    }
    *reinterpret_cast<float4*>(line + x) = make_float4(value[0], value[1], value[2], value[3]);
  }
}

/// Filters a line of the main term by the row's factor. `memory`: row_floats() of shared memory,
/// with the tables in front.
__device__ void filter_line(const LaunchArguments& a, float* line, float* memory) {
  const SplineAxisArguments& axis = a.spline.row;
  const GroupArguments& group = a.group;
  const LineSpan span = line_span(group.width, a.mask.width, a.mask.anchor_x, &axis);
  const int outputs = synthesis_count(axis, group.width), count = analysis_count(axis, group.width);
  const int pitch = coefficient_pitch(outputs, axis.taps);
  const int quads = divide_up(axis.taps, 4);
  float4* const weights = reinterpret_cast<float4*>(memory);
  float4* const analysis_weights = weights + quads;
  float* const analysis = reinterpret_cast<float*>(analysis_weights + axis.spacing);
  float* const synthesis = analysis + pitch;
  float* const value = synthesis + round_up(outputs, 4);
  const float black = static_cast<float>(group.channel[blockIdx.z].black);
  load_line(line, group.width, group.border, black - static_cast<float>(kMidCode), span, value);

  const int lane = static_cast<int>(threadIdx.x % 32);
  const int first = first_pixel(axis) - span.from;
  for (int i = static_cast<int>(threadIdx.x / 32) * kWarpSplines; i < pitch;
       i += kRowThreads / 32 * kWarpSplines) {
    float partial[kSplineOrder] = {};
    if (i + lane < count + kSplineOrder - 1) {
      // An interval begins on a multiple of its length, which divides 32, so no free word lies
      // inside it.
      const float* const at = value + bank_padded(first + axis.spacing * (i + lane));
#pragma unroll 4
      for (int k = 0; k < axis.spacing; ++k) {
        const float4 w = analysis_weights[k];
        const float pixel = at[k];
        partial[0] += w.x * pixel;
        partial[1] += w.y * pixel;
        partial[2] += w.z * pixel;
        partial[3] += w.w * pixel;
      }
    }
    const float sum = spline_sum(partial);
    if (lane < kWarpSplines && i + lane < pitch) analysis[i + lane] = i + lane < count ? sum : 0;
  }
  __syncthreads();
  for (int j = 4 * static_cast<int>(threadIdx.x); j < outputs; j += 4 * kRowThreads) {
    float sum[4] = {};
    slide_quads(analysis + j, weights, quads, sum);
    *reinterpret_cast<float4*>(synthesis + j) = make_float4(sum[0], sum[1], sum[2], sum[3]);
  }
  exclusive_scan(value, span.count);

  synthesise_line(a, synthesis, value, -a.mask.anchor_x - span.from, line);
}

/// Filters a line of the cross term by the box of the column.
__device__ void filter_cross_line(const LaunchArguments& a, float* line, float* memory) {
  const GroupArguments& group = a.group;
  const LineSpan span = line_span(group.height, a.mask.height, a.mask.anchor_y, nullptr);
  const float black = static_cast<float>(group.channel[blockIdx.z].black);
  load_line(line, group.height, group.border,
            a.spline.cross.sum * (black - static_cast<float>(kMidCode)), span, memory);
  exclusive_scan(memory, span.count);
  const int box = -a.mask.anchor_y - span.from;
  for (int y = threadIdx.x; y < group.height; y += kRowThreads)
    line[y] = a.spline.column.box_weight * box_sum(memory, box + y, a.mask.height);
}

/// Floats of shared memory that a block takes.
std::size_t row_floats(const LaunchArguments& a) {
  const SplineAxisArguments& axis = a.spline.row;
  const LineSpan line = line_span(a.group.width, a.mask.width, a.mask.anchor_x, &axis);
  const LineSpan cross = line_span(a.group.height, a.mask.height, a.mask.anchor_y, nullptr);
  const int outputs = synthesis_count(axis, a.group.width);
  const int tables = round_up(axis.taps, 4) + 4 * axis.spacing;
  const int along = tables + coefficient_pitch(outputs, axis.taps) + round_up(outputs, 4) +
                    bank_padded(line.count + 4) + 1;
  return static_cast<std::size_t>(std::max(along, bank_padded(cross.count + 4) + 1));
}

__global__ void __launch_bounds__(kRowThreads, 4)
    spline_rows_kernel(const __grid_constant__ LaunchArguments a) {
  extern __shared__ __align__(16) float row_memory[];
  admit_next_launch();
  // The tables that filter_line() reads. Only blocks of the main term use them: in other blocks the
  // line overwrites them.
  const SplineAxisArguments& axis = a.spline.row;
  float4* const tables = reinterpret_cast<float4*>(row_memory);
  const int quads = divide_up(axis.taps, 4);
  copy_to_shared(table<float4>(a, axis.weights), tables, quads);
  copy_to_shared(table<float4>(a, axis.analysis_weights), tables + quads, axis.spacing);
  __syncthreads();
  await_previous_launch();
  if (!a.group.channel[blockIdx.z].filtered) return;
  const SplinePlanes planes = planes_of(a);
  const int lines = analysis_count(a.spline.column, a.group.height),
            block = static_cast<int>(blockIdx.x);
  if (block < lines) {
    filter_line(a, planes.analysis.row(block), row_memory);
  } else if (block < lines + kZeroLines) {
    for (int x = threadIdx.x; x < planes.analysis.pitch; x += kRowThreads)
      planes.analysis.row(block)[x] = 0;
  } else {
    filter_cross_line(a, planes.cross.row(block - lines - kZeroLines), row_memory);
  }
}

}  // namespace
}  // namespace convolve
