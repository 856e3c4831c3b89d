// SPDX-License-Identifier: LGPL-2.1-or-later
// First launch of separable_coarse.cu: what both grids see of the picture. Blocks have one of two
// tasks: four rows of the cross grid, or a piece of the lines of the column's grid.
//
// A spline covers four intervals between knots, so each interval is a piece of four splines: a
// thread takes an interval and makes all four sums of it, by products of two pixels (dp2a).
#pragma once

#include "kernels/cuda/device/overlap.cuh"
#include "kernels/cuda/spline/coarse_planes.cuh"

namespace convolve {
namespace {

constexpr int kLookThreads = 256;
/// Rows of the picture that a block of the cross grid takes.
constexpr int kCrossRows = 8;
/// Of a block for lines: threads beside each other, with four columns each.
constexpr int kLineThreads = 64;
constexpr int kLineGroups = kLookThreads / kLineThreads;

/// Lines that a thread makes, one after the other: three intervals more than lines are read.
__host__ __device__ constexpr int line_march(int spacing) {
  return spacing >= 16 ? 4 : 64 / spacing < 16 ? 64 / spacing : 16;
}

/// Rows that a block for lines reads, and those that it reads ahead.
__host__ __device__ constexpr int line_rows(int spacing) {
  return spacing * (kLineGroups * line_march(spacing) + kSplinePieces - 1) + 8;
}
constexpr int kMostLineRows = line_rows(kMostSpacing);
static_assert(line_rows(2) <= kMostLineRows && line_rows(8) <= kMostLineRows, "the most");

/// Adds what two pixels of four bytes, the lower or the upper, are in each piece.
template <bool kUpper>
__device__ __forceinline__ void add_pixels(unsigned (&piece)[kSplinePieces], const uint4& weights,
                                           unsigned bytes) {
  const unsigned w[kSplinePieces] = {weights.x, weights.y, weights.z, weights.w};
#pragma unroll
  for (int m = 0; m < kSplinePieces; ++m)
    piece[m] = kUpper ? __dp2a_hi(w[m], bytes, piece[m]) : __dp2a_lo(w[m], bytes, piece[m]);
}

/// One component of the picture.
class Samples {
 public:
  __device__ Samples(const GroupArguments& group, const ChannelArguments& channel)
      : group_(group),
        first_(group.src + channel.offset),
        black_(static_cast<unsigned>(channel.black)),
        words_(group.step == 1 && ((reinterpret_cast<std::uintptr_t>(first_) |
                                    static_cast<std::uintptr_t>(group.src_pitch)) &
                                   15) == 0) {}

  /// Rows begin on 16 bytes, and pixels follow each other.
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

/// Pixels x .. x + 3 of a row that the picture has; beyond its end there may be anything. Out of
/// line: at the picture's right edge, and where bytes lie apart.
__device__ __noinline__ unsigned gathered(const Samples& samples, int x, int y, int last) {
  unsigned word = 0;
#pragma unroll 1
  for (int k = 3; k >= 0; --k)
    word = word << 8 | samples.at(min(x + k, last), y);
  return word;
}

/// Rows of four columns, from x on, one after the other. kRows: that come at once.
template <int kRows>
class ColumnReader {
 public:
  /// `rows`: which of the picture's they are.
  __device__ ColumnReader(const Samples& samples, int width, int x, const int* rows)
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
        row[r] = gathered(samples_, x_, max(rows_[r], 0), last_);
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

/// Lines from `begin` to before `end`, of four columns from x on, and `rows` of the picture.
/// kPairs: of rows that are loaded at once, while those before them are multiplied.
template <int kPairs>
__device__ void look_down(const LaunchArguments& a, const Samples& samples, const uint4* looks,
                          const FloatPlane& lines, const int* rows, int x, int begin, int end) {
  const int spacing = a.coarse.column.spacing;
  ColumnReader<2 * kPairs> reader(samples, a.group.width, x, rows);
  unsigned next[2 * kPairs];
  reader.next(next);
  // Of four columns, splines by the intervals they began before this one.
  unsigned sum[4][kSplinePieces] = {};
#pragma unroll 1
  for (int line = begin - (kSplinePieces - 1); line < end; ++line) {
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
        const uint4 weights = looks[first + p];
        add_pixels<false>(sum[0], weights, low);
        add_pixels<true>(sum[1], weights, low);
        add_pixels<false>(sum[2], weights, high);
        add_pixels<true>(sum[3], weights, high);
      }
    }
    constexpr int kLast = kSplinePieces - 1;
    if (line >= begin) {
      float4 made;
      made.x = centred_mean(static_cast<int>(sum[0][kLast]), spacing);
      made.y = centred_mean(static_cast<int>(sum[1][kLast]), spacing);
      made.z = centred_mean(static_cast<int>(sum[2][kLast]), spacing);
      made.w = centred_mean(static_cast<int>(sum[3][kLast]), spacing);
      *reinterpret_cast<float4*>(lines.row(line) + x) = made;
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

/// What an interval is in each piece; `pixels` on 16 bytes where there are so many.
__device__ __forceinline__ void look_along(const std::uint8_t* pixels, const uint4* looks,
                                           int spacing, unsigned (&piece)[kSplinePieces]) {
  const auto add = [&](int k, unsigned word) {
    add_pixels<false>(piece, looks[k / 2], word);
    add_pixels<true>(piece, looks[k / 2 + 1], word);
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

/// Pixels of a row that the cross grid looks at, ghosts included, in whole words of 16 bytes.
struct PixelSpan {
  int from;
  int count;
};

__host__ __device__ inline PixelSpan cross_span(const CoarseAxisArguments& axis, int width) {
  const int first = first_pixel(axis);
  const int from = first >= 0 ? first / 16 * 16 : -round_up(-first, 16);
  const int end = first + axis.spacing * (looked(axis, width) + kSplinePieces - 1);
  return {from, round_up(end - from, 16)};
}

/// A warp brings a row of the picture, with the ghosts beside it. The span has all of the row.
__device__ __forceinline__ void bring_row(const Samples& samples, const GroupArguments& group,
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

/// kCrossRows rows of the cross grid, convolved along the row. `memory`: cross_bytes().
__device__ void cross_rows(const LaunchArguments& a, const Samples& samples, const uint4* looks,
                           const FloatPlane& cross, int y0, std::uint8_t* pixels) {
  const CoarseAxisArguments& axis = a.coarse.cross;
  const GroupArguments& group = a.group;
  const int outputs = drawn(axis, group.width), count = looked(axis, group.width);
  const int pitch = grid_line(outputs, axis.taps);
  const PixelSpan span = cross_span(axis, group.width);
  float* const memory = reinterpret_cast<float*>(pixels + kCrossRows * span.count);
  const float4* const weights = reinterpret_cast<const float4*>(memory + kCrossRows * pitch);
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  static_assert(kLookThreads == 32 * kCrossRows, "a warp has a row");
  bring_row(samples, group, span, min(y0 + warp, group.height - 1), pixels + warp * span.count);
  const std::uint8_t* const seen = pixels + warp * span.count + first_pixel(axis) - span.from;
  float* const line = memory + warp * pitch;
  for (int i = 0; i < pitch; i += kWarpSplines) {
    unsigned piece[kSplinePieces] = {};
    // Beyond the last spline's end nothing is looked at.
    if (i + lane < count + kSplinePieces - 1)
      look_along(seen + axis.spacing * (i + lane), looks, axis.spacing, piece);
    const int sum = static_cast<int>(whole_spline(piece));
    if (lane < kWarpSplines && i + lane < pitch)
      line[i + lane] = i + lane < count ? centred_mean(sum, axis.spacing) : 0;
  }
  __syncthreads();
  // Lanes of rows beside each other write words beside each other.
  const float* const grid = memory + threadIdx.x % kCrossRows * pitch;
  const int to = y0 + static_cast<int>(threadIdx.x % kCrossRows);
  for (int j = static_cast<int>(threadIdx.x / kCrossRows) * 4; j < outputs;
       j += kLookThreads / kCrossRows * 4) {
    float sum[4] = {};
    slide_quads(grid + j, weights, divide_up(axis.taps, 4), sum);
#pragma unroll
    for (int r = 0; r < 4; ++r)
      if (j + r < outputs) cross.row(j + r)[to] = sum[r];
  }
}

int cross_blocks(const LaunchArguments& a) {
  return divide_up(a.group.height, kCrossRows);
}

std::size_t cross_bytes(const LaunchArguments& a) {
  const CoarseAxisArguments& axis = a.coarse.cross;
  const int line = grid_line(drawn(axis, a.group.width), axis.taps);
  return static_cast<std::size_t>(kCrossRows) *
             (static_cast<std::size_t>(cross_span(axis, a.group.width).count) +
              static_cast<std::size_t>(line) * sizeof(float)) +
         static_cast<std::size_t>(round_up(axis.taps, 4)) * sizeof(float);
}

/// Where the weights lie behind the rows.
__device__ __forceinline__ float4* cross_weights(const LaunchArguments& a, std::uint8_t* memory) {
  const CoarseAxisArguments& axis = a.coarse.cross;
  const int line = grid_line(drawn(axis, a.group.width), axis.taps);
  return reinterpret_cast<float4*>(memory +
                                   kCrossRows * (cross_span(axis, a.group.width).count + 4 * line));
}

__host__ __device__ int line_columns(const LaunchArguments& a) {
  return divide_up(a.group.width, 4 * kLineThreads);
}

int line_blocks(const LaunchArguments& a) {
  const int lines = looked(a.coarse.column, a.group.height);
  return line_columns(a) * divide_up(lines, kLineGroups * line_march(a.coarse.column.spacing));
}

template <int kPairs>
__global__ void __launch_bounds__(kLookThreads, 4)
    coarse_look_kernel(const __grid_constant__ LaunchArguments a, int cross_blocks) {
  extern __shared__ __align__(16) std::uint8_t look_memory[];
  __shared__ uint4 looks[kMostSpacing / 2];
  __shared__ int rows[kMostLineRows];
  admit_next_launch();
  const int block = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
  const bool crosses = block < cross_blocks;
  const CoarseAxisArguments& axis = crosses ? a.coarse.cross : a.coarse.column;
  const ChannelArguments& channel = a.group.channel[blockIdx.z];
  const Samples samples(a.group, channel);
  stage(table<uint4>(a, axis.looks), looks, axis.spacing / 2);
  const int piece = block - cross_blocks, columns = line_columns(a);
  const int march = line_march(axis.spacing), group = thread / kLineThreads;
  const int block_line = march * kLineGroups * (piece / columns);
  if (crosses) {
    stage(table<float4>(a, axis.weights), cross_weights(a, look_memory), divide_up(axis.taps, 4));
    const int y = kCrossRows * block + thread;
    if (thread < kCrossRows && y < a.group.height && samples.words())
      fetch_ahead(samples.row(y), a.group.width / 16 * 16);
  } else {
    const int y = first_pixel(axis) + axis.spacing * block_line;
    for (int r = thread; r < line_rows(axis.spacing); r += kLookThreads)
      rows[r] = border_index(a.group.border, y + r, a.group.height);
  }
  __syncthreads();
  await_previous_launch();
  if (!channel.filtered) return;
  const CoarsePlanes planes = planes_of(a);
  if (crosses) {
    cross_rows(a, samples, looks, planes.cross, kCrossRows * block, look_memory);
    return;
  }
  const int x = 4 * (piece % columns * kLineThreads + thread % kLineThreads);
  const int begin = block_line + march * group;
  const int end = min(begin + march, looked(axis, a.group.height));
  if (x >= a.group.width || begin >= end) return;
  look_down<kPairs>(a, samples, looks, planes.lines, rows + axis.spacing * march * group, x, begin,
                    end);
}

}  // namespace
}  // namespace convolve
