// SPDX-License-Identifier: LGPL-2.1-or-later
// What the launches of separable_spline.cu share: the planes of coefficients between them, and
// convolution along a line of coefficients in shared memory.
#pragma once

#include "kernels/core/base/round.h"
#include "kernels/core/weights/spline_mask.h"
#include "kernels/cuda/device/kernel.cuh"

namespace convolve {
namespace {

/// Synthesis coefficients from which a line of `cells` pixels is made.
__host__ __device__ constexpr int synthesis_count(const SplineAxisArguments& axis, int cells) {
  return (cells - 1) / axis.spacing + kSplineOrder;
}
/// Analysis coefficients whose convolution gives the synthesis coefficients of a line of `cells`
/// pixels. The first of them is an inner product with the pixels from first_pixel() on.
__host__ __device__ constexpr int analysis_count(const SplineAxisArguments& axis, int cells) {
  return synthesis_count(axis, cells) + axis.taps - 1;
}
__host__ __device__ constexpr int first_pixel(const SplineAxisArguments& axis) {
  return axis.spacing * (axis.first - 1);
}

/// Binary logarithm of a power of two.
__device__ __forceinline__ int log_of(int power) {
  return 31 - __clz(power);
}

/// A plane of floats.
struct FloatPlane {
  float* first;
  int pitch;  ///< In floats, a multiple of 32.

  __device__ float* row(int y) const { return first + static_cast<std::int64_t>(y) * pitch; }
};

/// Lines of zeros behind the last line of analysis coefficients: weights that are padded with zeros
/// to a multiple of four are multiplied with them, so they must be finite.
constexpr int kZeroLines = 3;
/// Lines behind the last that the convolution reads ahead and does not use, zeros included.
constexpr int kReadAheadLines = 16;

/// Lines behind the last synthesis coefficients that the synthesis reads ahead and does not use.
constexpr int kReadAheadCoefficients = 2;

/// The planes of one component, one behind the other.
struct SplinePlanes {
  /// Analysis coefficients of the columns, a line for each knot and a float for each pixel of the
  /// picture's width; the second launch filters each line along itself, in place.
  FloatPlane analysis;
  /// The cross term, transposed: a line for each column of its grid, a float for each row of the
  /// picture; the second launch replaces each by its box sums down the column.
  FloatPlane cross;
  /// Synthesis coefficients of the columns: `analysis`, convolved.
  FloatPlane synthesis;
  std::int64_t floats = 0;
};

__host__ __device__ inline SplinePlanes spline_planes(const SplineArguments& a, int width,
                                                      int height, float* memory) {
  SplinePlanes planes;
  const int pitch = round_up(width, 32);
  planes.analysis = {memory, pitch};
  std::int64_t floats =
      static_cast<std::int64_t>(analysis_count(a.column, height) + kReadAheadLines) * pitch;
  planes.cross = {memory + floats, round_up(height, 32)};
  floats += static_cast<std::int64_t>(synthesis_count(a.cross, width)) * planes.cross.pitch;
  planes.synthesis = {memory + floats, pitch};
  planes.floats =
      floats +
      static_cast<std::int64_t>(synthesis_count(a.column, height) + kReadAheadCoefficients) * pitch;
  return planes;
}

__device__ __forceinline__ SplinePlanes planes_of(const LaunchArguments& a) {
  char* const memory = static_cast<char*>(a.intermediate) + blockIdx.z * a.intermediate_pitch;
  return spline_planes(a.spline, a.group.width, a.group.height, reinterpret_cast<float*>(memory));
}

/// The table of weights that begins `offset` words of four numbers into the mask.
template <class Four>
__device__ __forceinline__ const Four* table(const LaunchArguments& a, int offset) {
  return static_cast<const Four*>(a.mask.global) + offset;
}

/// Copies `count` words of a table into shared memory. A barrier must follow.
template <class Four>
__device__ __forceinline__ void copy_to_shared(const Four* from, Four* to, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x)
    to[i] = from[i];
}

/// For i = first, first + stride, ... below `end`: put(i, get(i)), with kBatch calls of get() in
/// flight at once, so that their latencies overlap.
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

/// sum[r] += sum over k of weight k times samples[r + k], for r = 0 .. 3 and k = 0 .. 4 quads - 1:
/// four outputs share a sliding window of registers. Both arrays lie in shared memory; `samples`
/// begins on 16 bytes and can be read for 4 quads + 4 values.
__device__ __forceinline__ void slide_quads(const float* samples, const float4* weights, int quads,
                                            float (&sum)[4]) {
  const float4* from = reinterpret_cast<const float4*>(samples);
  float4 low = from[0];
#pragma unroll 4
  for (int k = 0; k < quads; ++k) {
    const float4 high = from[k + 1], w = weights[k];
    const float window[7] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z};
#pragma unroll
    for (int r = 0; r < 4; ++r)
      sum[r] =
          fmaf(w.w, window[r + 3],
               fmaf(w.z, window[r + 2], fmaf(w.y, window[r + 1], fmaf(w.x, window[r], sum[r]))));
    low = high;
  }
}

/// Floats of a line of coefficients in shared memory, from which slide_quads() makes `outputs`
/// values with `taps` weights. The pitch is 4 modulo 32, so that lanes that read eight such lines
/// at once find them in different banks.
__host__ __device__ constexpr int coefficient_pitch(int outputs, int taps) {
  return (round_up(outputs, 4) + round_up(taps, 4) + 4 + 27) / 32 * 32 + 4;
}

/// The inner product with the B-spline that begins in this lane's interval. A spline covers
/// kSplineOrder intervals, and each lane has the partial sums of its own interval, partial[m] for
/// the spline that began m intervals before: so the sum collects from the three lanes after this
/// one, and is valid only where these exist.
template <class Number>
__device__ __forceinline__ Number spline_sum(const Number (&partial)[kSplineOrder]) {
  constexpr unsigned kAll = 0xFFFFFFFF;
  Number sum = partial[0];
#pragma unroll
  for (int m = 1; m < kSplineOrder; ++m)
    sum += __shfl_down_sync(kAll, partial[m], static_cast<unsigned>(m));
  return sum;
}

/// Inner products that a warp completes from the intervals of its 32 lanes.
constexpr int kWarpSplines = 32 - (kSplineOrder - 1);

/// Turns a sum of codes, weighted by spline_analysis_weights(), into the weighted mean less 127.5.
/// Exact but for the final rounding to float, as the weights sum to spacing^4.
__device__ __forceinline__ float centred_mean(int sum, int spacing) {
  const int whole = spacing * spacing * spacing * spacing;
  return static_cast<float>(2 * sum - 255 * whole) * (0.5f / static_cast<float>(whole));
}

}  // namespace
}  // namespace convolve
