// SPDX-License-Identifier: LGPL-2.1-or-later
// What the kernels of separable_coarse.cu share: where their planes lie, and sums along a line of
// the grid in shared memory.
#pragma once

#include "kernels/core/base/round.h"
#include "kernels/core/weights/coarse_mask.h"
#include "kernels/cuda/device/kernel.cuh"

namespace convolve {
namespace {

/// How many values of the grid draw a line of `cells` pixels,
__host__ __device__ constexpr int drawn(const CoarseAxisArguments& axis, int cells) {
  return (cells - 1) / axis.spacing + kSplinePieces;
}
/// and how many they are sums of. The first of those looks at the pixels from first_pixel() on.
__host__ __device__ constexpr int looked(const CoarseAxisArguments& axis, int cells) {
  return drawn(axis, cells) + axis.taps - 1;
}
__host__ __device__ constexpr int first_pixel(const CoarseAxisArguments& axis) {
  return axis.spacing * (axis.first - 1);
}

/// Of a power of two.
__device__ __forceinline__ int log_of(int power) {
  return 31 - __clz(power);
}

/// A plane of floats.
struct FloatPlane {
  float* first;
  int pitch;  ///< In floats, a multiple of 32.

  __device__ float* row(int y) const { return first + static_cast<std::int64_t>(y) * pitch; }
};

/// Lines behind the last: so many meet weights of zero, and must be numbers,
constexpr int kSilentLines = 3;
/// and so many are read ahead, whatever they are.
constexpr int kSpareLines = 16;

/// The same of the grid.
constexpr int kSpareGrid = 2;

/// The planes of a component, one behind the other.
struct CoarsePlanes {
  FloatPlane lines;  ///< What the column's grid looks at, in the picture's columns; then filtered
                     ///< along the row.
  FloatPlane cross;  ///< The cross grid, turned: a row is a column of the grid, in the picture's
                     ///< rows; then what the box makes of it down the column.
  FloatPlane grid;   ///< lines convolved: what is drawn.
  std::int64_t floats = 0;
};

__host__ __device__ inline CoarsePlanes coarse_planes(const CoarseArguments& a, int width,
                                                      int height, float* memory) {
  CoarsePlanes planes;
  const int pitch = round_up(width, 32);
  planes.lines = {memory, pitch};
  std::int64_t floats = static_cast<std::int64_t>(looked(a.column, height) + kSpareLines) * pitch;
  planes.cross = {memory + floats, round_up(height, 32)};
  floats += static_cast<std::int64_t>(drawn(a.cross, width)) * planes.cross.pitch;
  planes.grid = {memory + floats, pitch};
  planes.floats = floats + static_cast<std::int64_t>(drawn(a.column, height) + kSpareGrid) * pitch;
  return planes;
}

__device__ __forceinline__ CoarsePlanes planes_of(const LaunchArguments& a) {
  char* const memory = static_cast<char*>(a.intermediate) + blockIdx.z * a.intermediate_pitch;
  return coarse_planes(a.coarse, a.group.width, a.group.height, reinterpret_cast<float*>(memory));
}

template <class Four>
__device__ __forceinline__ const Four* table(const LaunchArguments& a, int place) {
  return static_cast<const Four*>(a.mask.global) + place;
}

/// Copies `count` words of a table into shared memory; a barrier is to follow.
template <class Four>
__device__ __forceinline__ void stage(const Four* from, Four* to, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x)
    to[i] = from[i];
}

/// For i = first, first + stride, ... below `end`: put(i, get(i)), with kBatch of get() in flight.
template <int kBatch, class Get, class Put>
__device__ __forceinline__ void in_batches(int first, int end, int stride, const Get& get,
                                           const Put& put) {
#pragma unroll 1
  for (int i = first; i < end; i += kBatch * stride) {
    decltype(get(0)) got[kBatch];
#pragma unroll
    for (int b = 0; b < kBatch; ++b)
      if (i + b * stride < end) got[b] = get(i + b * stride);
#pragma unroll
    for (int b = 0; b < kBatch; ++b)
      if (i + b * stride < end) put(i + b * stride, got[b]);
  }
}

/// sum[r] = sum over k of weight k times samples[r + k]; both in shared memory, `samples` on 16
/// bytes, and readable for 4 quads + 4 values.
__device__ __forceinline__ void slide_quads(const float* samples, const float4* weights, int quads,
                                            float (&sum)[4]) {
  const float4* from = reinterpret_cast<const float4*>(samples);
  float4 low = from[0];
#pragma unroll 4
  for (int k = 0; k < quads; ++k) {
    const float4 high = from[k + 1], w = weights[k];
    const float seen[7] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z};
#pragma unroll
    for (int r = 0; r < 4; ++r)
      sum[r] = fmaf(w.w, seen[r + 3],
                    fmaf(w.z, seen[r + 2], fmaf(w.y, seen[r + 1], fmaf(w.x, seen[r], sum[r]))));
    low = high;
  }
}

/// Floats of a line of the grid in shared memory, of which slide_quads() makes `outputs` with
/// `taps` weights. Eight lines are read by as many lanes without meeting in a bank.
__host__ __device__ constexpr int grid_line(int outputs, int taps) {
  return (round_up(outputs, 4) + round_up(taps, 4) + 4 + 27) / 32 * 32 + 4;
}

/// What a lane and the three after it have seen of the splines that begin in their intervals: the
/// spline of this lane's. Good for lanes that have three after them.
template <class Number>
__device__ __forceinline__ Number whole_spline(const Number (&piece)[kSplinePieces]) {
  constexpr unsigned kAll = 0xFFFFFFFF;
  Number sum = piece[0];
#pragma unroll
  for (int m = 1; m < kSplinePieces; ++m)
    sum += __shfl_down_sync(kAll, piece[m], static_cast<unsigned>(m));
  return sum;
}

/// Splines that a warp makes of the intervals that its lanes see.
constexpr int kWarpSplines = 32 - (kSplinePieces - 1);

/// A sum of codes by spline_samples(), as their mean counted from the middle: exact but for the
/// rounding to float.
__device__ __forceinline__ float centred_mean(int sum, int spacing) {
  const int whole = spacing * spacing * spacing * spacing;
  return static_cast<float>(2 * sum - 255 * whole) * (0.5f / static_cast<float>(whole));
}

}  // namespace
}  // namespace convolve
