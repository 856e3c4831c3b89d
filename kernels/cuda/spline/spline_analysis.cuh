// SPDX-License-Identifier: LGPL-2.1-or-later
// First launch of separable_spline.cu, the analysis: inner products of the picture with B-splines.
// A block has one of two tasks: eight rows of the cross term, or some lines of the main term.
//
// A cubic B-spline covers four intervals between knots, so each interval contributes to four
// splines: a thread loads an interval once and makes all four partial sums of it, two pixels an
// instruction (dp2a).
#pragma once

#include "kernels/cuda/device/overlap.cuh"
#include "kernels/cuda/spline/spline_planes.cuh"

namespace convolve {
namespace {

constexpr int kAnalysisThreads = 256;
/// Rows of the picture that a block of the cross term analyses, a warp each.
constexpr int kCrossRows = 8;
/// Threads of a block of the main term beside each other, with four columns each, and below each
/// other.
constexpr int kLineThreadsAcross = 64;
constexpr int kLineThreadsDown = kAnalysisThreads / kLineThreadsAcross;

/// Lines that a thread makes, one after the other, while its window of four partial sums slides
/// down the columns. Before the first line is complete it reads three intervals, so more lines a
/// thread waste less, and fewer fill the device better.
__host__ __device__ constexpr int lines_a_thread(int spacing) {
  return spacing >= 16 ? 4 : 64 / spacing < 16 ? 64 / spacing : 16;
}

/// Rows of the picture that a block of the main term reads, with those that it reads ahead and does
/// not use.
__host__ __device__ constexpr int rows_of_block(int spacing) {
  return spacing * (kLineThreadsDown * lines_a_thread(spacing) + kSplineOrder - 1) + 8;
}
constexpr int kMostBlockRows = rows_of_block(kMostSpacing);
static_assert(rows_of_block(2) <= kMostBlockRows && rows_of_block(8) <= kMostBlockRows,
              "no spacing needs more rows");

/// Adds two adjacent pixels to the partial sums of the four splines over them. `bytes` has four
/// pixels, of which the lower or the upper two count; a weight is two numbers of 16 bits.
template <bool kUpper>
__device__ __forceinline__ void add_pixels(unsigned (&partial)[kSplineOrder], const uint4& weights,
                                           unsigned bytes) {
  const unsigned w[kSplineOrder] = {weights.x, weights.y, weights.z, weights.w};
#pragma unroll
  for (int m = 0; m < kSplineOrder; ++m)
    partial[m] = kUpper ? __dp2a_hi(w[m], bytes, partial[m]) : __dp2a_lo(w[m], bytes, partial[m]);
}

/// The samples of one component of the picture.
class Samples {
 public:
  __device__ Samples(const GroupArguments& group, const ChannelArguments& channel)
      : group_(group),
        first_(group.src + channel.offset),
        black_(static_cast<unsigned>(channel.black)),
        words_(group.step == 1 && ((reinterpret_cast<std::uintptr_t>(first_) |
                                    static_cast<std::uintptr_t>(group.src_pitch)) &
                                   15) == 0) {}

  /// True if rows begin on 16 bytes and pixels are adjacent bytes.
  __device__ bool words() const { return words_; }
  __device__ const std::uint8_t* row(int y) const { return first_ + y * group_.src_pitch; }
  __device__ unsigned black() const { return black_; }
  __device__ std::uint8_t at(int x, int y) const {
    return __ldg(row(y) + static_cast<std::int64_t>(x) * group_.step);
  }

 private:
  const GroupArguments& group_;
  const std::uint8_t* first_;
  unsigned black_;
  bool words_;
};

/// Pixels x .. x + 3 of row y as a word; columns beyond `last` repeat it. Out of line, as it serves
/// only the right edge of the picture and interleaved components.
__device__ __noinline__ unsigned gather_pixels(const Samples& samples, int x, int y, int last) {
  unsigned word = 0;
#pragma unroll 1
  for (int k = 3; k >= 0; --k)
    word = word << 8 | samples.at(min(x + k, last), y);
  return word;
}

/// Reads four adjacent columns, from x on, row after row. kRows: rows that one call loads together.
template <int kRows>
class SplineColumnReader {
 public:
  /// `rows`: the row of the picture that each row to be read is, or kNoSignal.
  __device__ SplineColumnReader(const Samples& samples, int width, int x, const int* rows)
      : samples_(samples),
        whole_(samples.words() && x + 4 <= width),
        x_(x),
        last_(width - 1),
        rows_(rows) {}

  __device__ __forceinline__ void next(unsigned (&row)[kRows]) {
    if (whole_) {
#pragma unroll
      for (int r = 0; r < kRows; ++r)
        row[r] = __ldg(reinterpret_cast<const unsigned*>(samples_.row(max(rows_[r], 0)) + x_));
    } else {
#pragma unroll
      for (int r = 0; r < kRows; ++r)
        row[r] = gather_pixels(samples_, x_, max(rows_[r], 0), last_);
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      if (rows_[r] == kNoSignal) row[r] = 0x01010101u * samples_.black();
    rows_ += kRows;
  }

 private:
  const Samples& samples_;
  bool whole_;
  int x_, last_;
  const int* rows_;
};

/// Analysis coefficients of four columns, from x on, for the lines `begin` to `end` - 1. `rows`:
/// the rows of the picture from the first one on that line `begin` needs. kPairs: pairs of rows
/// that are loaded at once, while those before them are multiplied.
template <int kPairs>
__device__ void analyse_columns(const LaunchArguments& a, const Samples& samples,
                                const uint4* analysis_weights, const FloatPlane& analysis,
                                const int* rows, int x, int begin, int end) {
  const int spacing = a.spline.column.spacing;
  SplineColumnReader<2 * kPairs> reader(samples, a.group.width, x, rows);
  unsigned next[2 * kPairs];
  reader.next(next);
  // For each of the four columns the unfinished splines: sum[m] is that of the spline that began m
  // intervals before the current one.
  unsigned sum[4][kSplineOrder] = {};
#pragma unroll 1
  for (int line = begin - (kSplineOrder - 1); line < end; ++line) {
#pragma unroll 1
    for (int first = 0; first < spacing / 2; first += kPairs) {
      unsigned row[2 * kPairs];
#pragma unroll
      for (int r = 0; r < 2 * kPairs; ++r)
        row[r] = next[r];
      reader.next(next);
#pragma unroll
      for (int p = 0; p < kPairs; ++p) {
        const unsigned low = __byte_perm(row[2 * p], row[2 * p + 1], 0x5140);
        const unsigned high = __byte_perm(row[2 * p], row[2 * p + 1], 0x7362);
        const uint4 weights = analysis_weights[first + p];
        add_pixels<false>(sum[0], weights, low);
        add_pixels<true>(sum[1], weights, low);
        add_pixels<false>(sum[2], weights, high);
        add_pixels<true>(sum[3], weights, high);
      }
    }
    constexpr int kLast = kSplineOrder - 1;
    if (line >= begin) {
      float4 means;
      means.x = centred_mean(static_cast<int>(sum[0][kLast]), spacing);
      means.y = centred_mean(static_cast<int>(sum[1][kLast]), spacing);
      means.z = centred_mean(static_cast<int>(sum[2][kLast]), spacing);
      means.w = centred_mean(static_cast<int>(sum[3][kLast]), spacing);
      *reinterpret_cast<float4*>(analysis.row(line) + x) = means;
    }
#pragma unroll
    for (int column = 0; column < 4; ++column) {
#pragma unroll
      for (int m = kLast; m > 0; --m)
        sum[column][m] = sum[column][m - 1];
      sum[column][0] = 0;
    }
  }
}

/// Partial sums of one interval of a row. `pixels` begin on 4 bytes, with a spacing of 16 and more
/// on 16 bytes.
__device__ __forceinline__ void analyse_interval(const std::uint8_t* pixels,
                                                 const uint4* analysis_weights, int spacing,
                                                 unsigned (&partial)[kSplineOrder]) {
  const auto add = [&](int k, unsigned word) {
    add_pixels<false>(partial, analysis_weights[k / 2], word);
    add_pixels<true>(partial, analysis_weights[k / 2 + 1], word);
  };
  if (spacing < 16) {
    for (int k = 0; k < spacing; k += 4)
      add(k, *reinterpret_cast<const unsigned*>(pixels + k));
    return;
  }
#pragma unroll 1
  for (int k = 0; k < spacing; k += 16) {
    const uint4 words = *reinterpret_cast<const uint4*>(pixels + k);
    add(k, words.x);
    add(k + 4, words.y);
    add(k + 8, words.z);
    add(k + 12, words.w);
  }
}

/// The pixels of a row, ghost cells included, that the analysis of the cross term reads: `count` of
/// them, a multiple of 16, from column `from` on.
struct PixelSpan {
  int from;
  int count;
};

__host__ __device__ inline PixelSpan cross_span(const SplineAxisArguments& axis, int width) {
  const int first = first_pixel(axis);
  const int from = first >= 0 ? first / 16 * 16 : -round_up(-first, 16);
  const int end = first + axis.spacing * (analysis_count(axis, width) + kSplineOrder - 1);
  return {from, round_up(end - from, 16)};
}

/// A warp loads a row of the picture and makes its ghost cells. The span holds all of the row.
__device__ __forceinline__ void load_row(const Samples& samples, const GroupArguments& group,
                                         const PixelSpan& span, int y, std::uint8_t* pixels) {
  const int lane = static_cast<int>(threadIdx.x % 32), end = span.from + span.count;
  std::uint8_t* const to = pixels - span.from;
  const int whole = samples.words() ? group.width / 16 * 16 : 0;
  const std::uint8_t* const from = samples.row(y);
  in_batches<8>(
      16 * lane, whole, 16 * 32,
      [from](int x) { return __ldg(reinterpret_cast<const uint4*>(from + x)); },
      [to](int x, const uint4& pixels) { *reinterpret_cast<uint4*>(to + x) = pixels; });
  in_batches<8>(
      whole + lane, group.width, 32, [&](int x) { return samples.at(x, y); },
      [to](int x, std::uint8_t pixel) { to[x] = pixel; });
  __syncwarp();
  const auto ghost = [&](int x) {
    const int cell = border_index(group.border, x, group.width);
    return cell == kNoSignal ? static_cast<std::uint8_t>(samples.black()) : to[cell];
  };
  const auto put = [to](int x, std::uint8_t pixel) { to[x] = pixel; };
  in_batches<4>(span.from + lane, 0, 32, ghost, put);
  in_batches<4>(group.width + lane, end, 32, ghost, put);
  __syncwarp();
}

/// Cross term of kCrossRows rows from y0 on: analysis along each row, and convolution of its
/// coefficients with the weights of the row. `pixels`: cross_bytes() of shared memory.
__device__ void filter_cross_rows(const LaunchArguments& a, const Samples& samples,
                                  const uint4* analysis_weights, const FloatPlane& cross, int y0,
                                  std::uint8_t* pixels) {
  const SplineAxisArguments& axis = a.spline.cross;
  const GroupArguments& group = a.group;
  const int outputs = synthesis_count(axis, group.width), count = analysis_count(axis, group.width);
  const int pitch = coefficient_pitch(outputs, axis.taps);
  const PixelSpan span = cross_span(axis, group.width);
  float* const memory = reinterpret_cast<float*>(pixels + kCrossRows * span.count);
  const float4* const weights = reinterpret_cast<const float4*>(memory + kCrossRows * pitch);
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  static_assert(kAnalysisThreads == 32 * kCrossRows, "a warp has a row");
  load_row(samples, group, span, min(y0 + warp, group.height - 1), pixels + warp * span.count);
  const std::uint8_t* const row = pixels + warp * span.count + first_pixel(axis) - span.from;
  float* const line = memory + warp * pitch;
  for (int i = 0; i < pitch; i += kWarpSplines) {
    unsigned partial[kSplineOrder] = {};
    // Behind the last spline's last interval there are no pixels to read.
    if (i + lane < count + kSplineOrder - 1)
      analyse_interval(row + axis.spacing * (i + lane), analysis_weights, axis.spacing, partial);
    const int sum = static_cast<int>(spline_sum(partial));
    if (lane < kWarpSplines && i + lane < pitch)
      line[i + lane] = i + lane < count ? centred_mean(sum, axis.spacing) : 0;
  }
  __syncthreads();
  // The plane is transposed: so that stores are coalesced, adjacent lanes take adjacent rows.
  const float* const coefficients = memory + threadIdx.x % kCrossRows * pitch;
  const int to = y0 + static_cast<int>(threadIdx.x % kCrossRows);
  for (int j = static_cast<int>(threadIdx.x / kCrossRows) * 4; j < outputs;
       j += kAnalysisThreads / kCrossRows * 4) {
    float sum[4] = {};
    slide_quads(coefficients + j, weights, divide_up(axis.taps, 4), sum);
#pragma unroll
    for (int r = 0; r < 4; ++r)
      if (j + r < outputs) cross.row(j + r)[to] = sum[r];
  }
}

int cross_blocks(const LaunchArguments& a) {
  return divide_up(a.group.height, kCrossRows);
}

std::size_t cross_bytes(const LaunchArguments& a) {
  const SplineAxisArguments& axis = a.spline.cross;
  const int line = coefficient_pitch(synthesis_count(axis, a.group.width), axis.taps);
  return static_cast<std::size_t>(kCrossRows) *
             (static_cast<std::size_t>(cross_span(axis, a.group.width).count) +
              static_cast<std::size_t>(line) * sizeof(float)) +
         static_cast<std::size_t>(round_up(axis.taps, 4)) * sizeof(float);
}

/// Where the weights of the convolution lie in shared memory: behind the pixels and the lines of
/// coefficients.
__device__ __forceinline__ float4* cross_convolution_weights(const LaunchArguments& a,
                                                             std::uint8_t* memory) {
  const SplineAxisArguments& axis = a.spline.cross;
  const int line = coefficient_pitch(synthesis_count(axis, a.group.width), axis.taps);
  return reinterpret_cast<float4*>(memory +
                                   kCrossRows * (cross_span(axis, a.group.width).count + 4 * line));
}

__host__ __device__ int line_blocks_across(const LaunchArguments& a) {
  return divide_up(a.group.width, 4 * kLineThreadsAcross);
}

int line_blocks(const LaunchArguments& a) {
  const int lines = analysis_count(a.spline.column, a.group.height);
  return line_blocks_across(a) *
         divide_up(lines, kLineThreadsDown * lines_a_thread(a.spline.column.spacing));
}

template <int kPairs>
__global__ void __launch_bounds__(kAnalysisThreads, 4)
    spline_analysis_kernel(const __grid_constant__ LaunchArguments a, int cross_blocks) {
  extern __shared__ __align__(16) std::uint8_t analysis_memory[];
  __shared__ uint4 analysis_weights[kMostSpacing / 2];
  __shared__ int rows[kMostBlockRows];
  admit_next_launch();
  const int block = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
  const bool cross_term = block < cross_blocks;
  const SplineAxisArguments& axis = cross_term ? a.spline.cross : a.spline.column;
  const ChannelArguments& channel = a.group.channel[blockIdx.z];
  const Samples samples(a.group, channel);
  copy_to_shared(table<uint4>(a, axis.analysis_weights), analysis_weights, axis.spacing / 2);
  const int line_block = block - cross_blocks, columns = line_blocks_across(a);
  const int lines = lines_a_thread(axis.spacing), thread_row = thread / kLineThreadsAcross;
  const int block_line = lines * kLineThreadsDown * (line_block / columns);
  if (cross_term) {
    copy_to_shared(table<float4>(a, axis.weights), cross_convolution_weights(a, analysis_memory),
                   divide_up(axis.taps, 4));
    const int y = kCrossRows * block + thread;
    if (thread < kCrossRows && y < a.group.height && samples.words())
      prefetch_l2(samples.row(y), a.group.width / 16 * 16);
  } else {
    const int y = first_pixel(axis) + axis.spacing * block_line;
    for (int r = thread; r < rows_of_block(axis.spacing); r += kAnalysisThreads)
      rows[r] = border_index(a.group.border, y + r, a.group.height);
  }
  __syncthreads();
  await_previous_launch();
  if (!channel.filtered) return;
  const SplinePlanes planes = planes_of(a);
  if (cross_term) {
    filter_cross_rows(a, samples, analysis_weights, planes.cross, kCrossRows * block,
                      analysis_memory);
    return;
  }
  const int x = 4 * (line_block % columns * kLineThreadsAcross + thread % kLineThreadsAcross);
  const int begin = block_line + lines * thread_row;
  const int end = min(begin + lines, analysis_count(axis, a.group.height));
  if (x >= a.group.width || begin >= end) return;
  analyse_columns<kPairs>(a, samples, analysis_weights, planes.analysis,
                          rows + axis.spacing * lines * thread_row, x, begin, end);
}

}  // namespace
}  // namespace convolve
