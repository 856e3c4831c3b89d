// SPDX-License-Identifier: LGPL-2.1-or-later
// Third and fourth launch of separable_spline.cu: the convolution of the analysis coefficients down
// the columns, and the synthesis of the picture from the coefficients of the main and the cross
// term.
#pragma once

#include "kernels/cuda/device/overlap.cuh"
#include "kernels/cuda/spline/spline_planes.cuh"

namespace convolve {
namespace {

/// Threads of a block of the convolution beside each other, with two columns each, and below each
/// other, where most of what one reads the others find in the L1 cache.
constexpr int kConvolutionAcross = 32, kConvolutionDown = 4;
constexpr int kConvolutionThreads = kConvolutionAcross * kConvolutionDown;
constexpr int kConvolutionRun = 8;  ///< Adjacent outputs of a thread, down the column.

__device__ __forceinline__ void add_product(float2& sum, float weight, const float2& value) {
  sum.x = fmaf(weight, value.x, sum.x);
  sum.y = fmaf(weight, value.y, sum.y);
}

/// The convolution down the columns: a window of registers slides down two columns, four lines at a
/// time, and the next four lines are in flight while the current ones are multiplied.
__global__ void __launch_bounds__(kConvolutionThreads)
    spline_convolution_kernel(const __grid_constant__ LaunchArguments a) {
  extern __shared__ __align__(16) float4 convolution_weights[];
  const SplineAxisArguments& axis = a.spline.column;
  const int quads = divide_up(axis.taps, 4);
  admit_next_launch();
  copy_to_shared(table<float4>(a, axis.weights), convolution_weights, quads);
  __syncthreads();
  await_previous_launch();
  const int x =
      2 * static_cast<int>(blockIdx.x * kConvolutionAcross + threadIdx.x % kConvolutionAcross);
  const int first =
      static_cast<int>(blockIdx.y * kConvolutionDown + threadIdx.x / kConvolutionAcross) *
      kConvolutionRun;
  const int outputs = synthesis_count(axis, a.group.height);
  if (!a.group.channel[blockIdx.z].filtered || x >= a.group.width || first >= outputs) return;
  const SplinePlanes planes = planes_of(a);
  const float* from = planes.analysis.row(first) + x;
  const int pitch = planes.analysis.pitch;
  const auto next_line = [&from, pitch] {
    const float2 two = *reinterpret_cast<const float2*>(from);
    from += pitch;
    return two;
  };
  float2 window[kConvolutionRun + 3], next[4], sum[kConvolutionRun] = {};
#pragma unroll
  for (int i = 0; i < kConvolutionRun - 1; ++i)
    window[i] = next_line();
#pragma unroll
  for (int i = 0; i < 4; ++i)
    next[i] = next_line();
#pragma unroll 3
  for (int k = 0; k < quads; ++k) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      window[kConvolutionRun - 1 + i] = next[i];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      next[i] = next_line();
    const float4 w = convolution_weights[k];
#pragma unroll
    for (int r = 0; r < kConvolutionRun; ++r) {
      add_product(sum[r], w.x, window[r]);
      add_product(sum[r], w.y, window[r + 1]);
      add_product(sum[r], w.z, window[r + 2]);
      add_product(sum[r], w.w, window[r + 3]);
    }
#pragma unroll
    for (int i = 0; i < kConvolutionRun - 1; ++i)
      window[i] = window[i + 4];
  }
#pragma unroll
  for (int r = 0; r < kConvolutionRun; ++r)
    if (first + r < outputs)
      *reinterpret_cast<float2*>(planes.synthesis.row(first + r) + x) = sum[r];
}

constexpr int kSynthesisAcross = 32,
              kSynthesisDown = 8;  ///< Threads of a block, four columns each.
constexpr int kSynthesisThreads = kSynthesisAcross * kSynthesisDown;

/// Size of the tile of the cross term that a block of the synthesis loads: its columns of the grid
/// as lines, and its rows of the picture in words of four.
__host__ __device__ constexpr int cross_tile_lines(int cross_spacing) {
  return 4 * kSynthesisAcross / cross_spacing + kSplineOrder - 1;
}
__host__ __device__ constexpr int cross_tile_words(int rows) {
  return rows * kSynthesisDown / 4;
}

/// Rounds and clamps four values whose magnitudes are known to fit 16 bits: so they are clamped in
/// 16 bits, two at once. A byte for each.
__device__ __forceinline__ unsigned quantise_four(const float (&value)[4],
                                                  const EpilogueOf<float>& e) {
  int v[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    v[i] = __float_as_int(__fadd_rn(e.base + e.scale * value[i], 12582912.0f));
  const unsigned low = __vimin_s16x2_relu(__byte_perm(v[0], v[1], 0x5410), 0x00FF00FF);
  const unsigned high = __vimin_s16x2_relu(__byte_perm(v[2], v[3], 0x5410), 0x00FF00FF);
  return __byte_perm(low, high, 0x6420);
}

/// Stores the first `columns` of four codes, `stride` bytes apart.
__device__ __noinline__ void store_strided(std::uint8_t* to, unsigned codes, int columns,
                                           int stride) {
#pragma unroll 1
  for (int i = 0; i < columns; ++i, to += stride, codes >>= 8)
    *to = static_cast<std::uint8_t>(codes);
}

/// Synthesis down four adjacent columns, interval after interval. The line of coefficients that the
/// next interval needs is in flight while the current interval is made.
class ColumnSynthesis {
 public:
  __device__ ColumnSynthesis(const FloatPlane& coefficients, int x, int line)
      : from_(coefficients.row(line) + x), pitch_(coefficients.pitch) {
#pragma unroll
    for (int m = 1; m < kSplineOrder; ++m)
      line_[m] = next_line();
    ahead_ = next_line();
  }

  __device__ __forceinline__ void next_interval() {
#pragma unroll
    for (int m = 0; m + 1 < kSplineOrder; ++m)
      line_[m] = line_[m + 1];
    line_[kSplineOrder - 1] = ahead_;
    ahead_ = next_line();
  }

  __device__ __forceinline__ void synthesise(const float4& w, float (&value)[4]) const {
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
  float4 line_[kSplineOrder];
  float4 ahead_;
};

/// Adds the cross term of one row to the values of four columns. `weights`: of the synthesis along
/// the row; a .. d: the coefficients, which the four columns share.
__device__ __forceinline__ void add_cross_term(const float4 (&weights)[4], float a, float b,
                                               float c, float d, float (&value)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i)
    value[i] = fmaf(weights[i].x, a,
                    fmaf(weights[i].y, b, fmaf(weights[i].z, c, fmaf(weights[i].w, d, value[i]))));
}

/// Loads the tile of the cross term: `words_down` words of four rows from row `block_y` on, of the
/// lines from `first_line` on. A barrier must follow.
__device__ __forceinline__ void load_cross_tile(const LaunchArguments& a, const FloatPlane& plane,
                                                int first_line, int block_y, int words_down,
                                                float4* cross_tile) {
  const SplineAxisArguments& cross = a.spline.cross;
  const int last_line = synthesis_count(cross, a.group.width) - 1;
  for (int i = static_cast<int>(threadIdx.x); i < cross_tile_lines(cross.spacing) * words_down;
       i += kSynthesisThreads) {
    // The rows of a line behind the picture, up to the next multiple of 32, are never used.
    const int y = block_y + 4 * (i % words_down);
    if (y < a.group.height)
      cross_tile[i] = __ldcg(reinterpret_cast<const float4*>(
          plane.row(min(first_line + i / words_down, last_line)) + y));
  }
}

/// Makes the picture. `rows`: rows that a thread makes, a multiple of the intervals. kFine: the
/// column's knots are two rows apart, else at least four.
template <bool kFine>
__global__ void __launch_bounds__(kSynthesisThreads, 3)
    spline_synthesis_kernel(const __grid_constant__ LaunchArguments a, int rows) {
  extern __shared__ __align__(16) float4 cross_tile[];
  __shared__ float4 column_weights[kMostSpacing], cross_weights[kMostSpacing];
  const GroupArguments& group = a.group;
  const SplineAxisArguments &column = a.spline.column, &cross = a.spline.cross;
  const ChannelArguments& channel = group.channel[blockIdx.z];
  admit_next_launch();
  copy_to_shared(table<float4>(a, column.synthesis_weights), column_weights, column.spacing);
  copy_to_shared(table<float4>(a, cross.synthesis_weights), cross_weights, cross.spacing);
  __syncthreads();
  await_previous_launch();
  const int thread = static_cast<int>(threadIdx.x);
  const int block_x = 4 * kSynthesisAcross * static_cast<int>(blockIdx.x);
  const int block_y = rows * kSynthesisDown * static_cast<int>(blockIdx.y);
  const int x = block_x + 4 * (thread % kSynthesisAcross),
            y0 = block_y + rows * (thread / kSynthesisAcross);
  const int end = min(y0 + rows, group.height), columns = min(4, group.width - x);
  const bool inside = columns > 0 && y0 < end;
  if (!channel.filtered) {
    for (int y = y0; y < end; ++y)
      for (int i = x; i < x + columns; ++i)
        copy_sample<std::uint8_t>(group, channel, i, y);
    return;
  }
  const SplinePlanes planes = planes_of(a);
  ColumnSynthesis column_synthesis(planes.synthesis, inside ? x : 0,
                                   inside ? y0 >> log_of(column.spacing) : 0);
  const int words_down = cross_tile_words(rows);
  const int first_line = block_x >> log_of(cross.spacing);
  load_cross_tile(a, planes.cross, first_line, block_y, words_down, cross_tile);
  __syncthreads();
  if (!inside) return;
  // Knots of the cross term are at least four columns apart, so the four columns of a thread lie in
  // one interval and share its four coefficients.
  const float4* cross_values =
      cross_tile + ((x >> log_of(cross.spacing)) - first_line) * words_down + (y0 - block_y) / 4;
  float4 weights[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    weights[i] = cross_weights[(x + i) & (cross.spacing - 1)];
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
    float4 cross_value[kSplineOrder];
#pragma unroll
    for (int m = 0; m < kSplineOrder; ++m)
      cross_value[m] = cross_values[m * words_down];
    ++cross_values;
    const int phase = y & (column.spacing - 1);
    if (phase == 0) column_synthesis.next_interval();
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      if (kFine && r == 2) column_synthesis.next_interval();
      const auto of_row = [r](const float4& four) {
        return r == 0 ? four.x : r == 1 ? four.y : r == 2 ? four.z : four.w;
      };
      float value[4];
      column_synthesis.synthesise(column_weights[kFine ? r % 2 : phase + r], value);
      add_cross_term(weights, of_row(cross_value[0]), of_row(cross_value[1]),
                     of_row(cross_value[2]), of_row(cross_value[3]), value);
      const unsigned codes = quantise_four(value, epilogue);
      if (y + r < end) {
        if (words)
          *reinterpret_cast<unsigned*>(to) = codes;
        else
          store_strided(to, codes, columns, step);
      }
      to += group.dst_pitch;
    }
  }
}

}  // namespace
}  // namespace convolve
