// SPDX-License-Identifier: LGPL-2.1-or-later
// Components weighted by alpha: for each output the sum of alpha below the mask, the sum of alpha
// times colour, and their quotient (core/weights/alpha_weighting.h).
//
// One pass loads tiles with halo cells into shared memory (PMPP Fig. 7.11 in two dimensions), a
// cell being a pair: A and A (c - o). The mask is split into tiles of 16 x 16 weights, so that the
// tile of cells stays small however large the mask is; tiles of the mask below which nothing is
// opaque are skipped. Two passes, for masks of rank 1, keep the row sums in planes of global
// memory. A thread slides a window of cells in registers and makes four outputs below each other
// (or, along rows, beside each other), so that one read of a cell serves four multiply-adds.
//
// Operands: weights as float or double in global memory, copied to shared memory in one pass; cells
// are made from both planes as they are loaded.
//
// What binds: multiply-adds, two for each tap, in double where float is not proven to decide. The
// few outputs whose sums do not decide are made again exactly (store_quotient).
#include "kernels/cuda/alpha/alpha_weighted.h"

#include "kernels/cuda/device/kernel.cuh"

namespace convolve {
namespace {

constexpr int kWeightedRun = 4;  ///< Adjacent outputs of a thread, on the axis of the sum.
constexpr int kWidth = 32;       ///< Outputs of a tile side by side: a warp has a row.
constexpr int kTileLines = 8;
constexpr int kHeight = kTileLines * kWeightedRun;
constexpr int kMaskTile = 16;  ///< Weights of a tile of the mask, along each axis.
constexpr int kWeightedThreads = kWidth * kTileLines;

template <class Real>
struct Pair {
  Real alpha = 0;
  Real product = 0;
};

__device__ inline void add(float& sum, float weight, float value) {
  sum = fmaf(weight, value, sum);
}
__device__ inline void add(double& sum, double weight, double value) {
  sum = fma(weight, value, sum);
}
template <class Real>
__device__ inline void add(Pair<Real>& sum, Real weight, const Pair<Real>& value) {
  add(sum.alpha, weight, value.alpha);
  add(sum.product, weight, value.product);
}

/// sum[i] += sum over k of weight(k) * read(i + k), i = 0 .. kWeightedRun - 1.
template <class Value, class Weight, class Read>
__device__ inline void slide(int taps, Weight&& weight, Read&& read, Value (&sum)[kWeightedRun]) {
  Value window[kWeightedRun];
#pragma unroll
  for (int i = 0; i < kWeightedRun - 1; ++i)
    window[i + 1] = read(i);
#pragma unroll 2
  for (int k = 0; k < taps; ++k) {
#pragma unroll
    for (int i = 0; i < kWeightedRun - 1; ++i)
      window[i] = window[i + 1];
    window[kWeightedRun - 1] = read(k + kWeightedRun - 1);
    const auto w = weight(k);
#pragma unroll
    for (int i = 0; i < kWeightedRun; ++i)
      add(sum[i], w, window[i]);
  }
}

/// Row y of a plane of row sums: alpha's plane is the first, then comes one for each channel. Row
/// by row all planes lie behind each other.
template <class Real>
__device__ inline Real* intermediate_row(const WeightedArguments& w, int plane, int y) {
  return reinterpret_cast<Real*>(static_cast<char*>(w.intermediate) + y * w.intermediate_pitch) +
         static_cast<std::int64_t>(plane) * w.colour.width;
}

/// The code of the output at (x, y) of channel `c`, or kKeepSample, where the sums in double do not
/// decide. Where the row sums are exact it is made of these, so that for a mask of millions of
/// weights, which would take a thread seconds, it takes milliseconds.
template <class Stored>
__device__ int decide_exactly(const WeightedArguments& w, int c, int x, int y) {
  const GroupArguments& group = w.colour;
  const WeightedEpilogue& e = w.epilogue[c];
  const int top = y - w.mask.anchor_y, left = x - w.mask.anchor_x;
  if (e.exact_rows)
    return code_of_rows(w.exact, e, [&](int i, double& alpha_sum, double& product_sum) {
      const int row = border_index(group.border, top + i, group.height);
      if (row == kNoSignal) return;
      alpha_sum = intermediate_row<double>(w, 0, row)[x];
      product_sum = intermediate_row<double>(w, c + 1, row)[x];
    });
  return exact_weighted_code(w.exact, e, [&](int i, int j, int& alpha, int& difference) {
    alpha = cell_row<int, Stored>(w.alpha, w.alpha.channel[0], top + i).at(left + j);
    if (alpha != 0)
      difference = cell_row<int, Stored>(group, group.channel[c], top + i).at(left + j);
  });
}

/// Stores the output at (x, y) of channel `c`, exactly if need be. Out of line, as it is long and
/// most of it rarely runs.
template <class Stored>
__device__ __noinline__ void store_quotient(const WeightedArguments& w, int c, int x, int y,
                                            double s, double t) {
  const GroupArguments& group = w.colour;
  const ChannelArguments& channel = group.channel[c];
  int code = weighted_code(s, t, w.epilogue[c]);
  if (code == kUndecided) code = decide_exactly<Stored>(w, c, x, y);
  if (code == kKeepSample)
    code = decode_sample(load_stored<Stored>(group, channel, x, y), channel.layout);
  store_stored(group, channel, x, y, encode_sample<Stored>(code, channel.layout));
}

/// One pass over all taps. blockIdx.z is the channel.
template <class Real, class Stored>
__global__ void __launch_bounds__(kWeightedThreads)
    one_pass_kernel(const __grid_constant__ WeightedArguments w) {
  __shared__ Pair<Real> cells[kHeight + kMaskTile - 1][kWidth + kMaskTile - 1];
  __shared__ Real weights[kMaskTile][kMaskTile];
  const GroupArguments& group = w.colour;
  const MaskArguments& mask = w.mask;
  const int c = static_cast<int>(blockIdx.z);
  const int tx = static_cast<int>(threadIdx.x), ty = static_cast<int>(threadIdx.y);
  const int x0 = static_cast<int>(blockIdx.x) * kWidth, y0 = static_cast<int>(blockIdx.y) * kHeight;
  const auto* all_weights = static_cast<const Real*>(mask.global);

  Pair<Real> sum[kWeightedRun];
  for (int i0 = 0; i0 < mask.height; i0 += kMaskTile)
    for (int j0 = 0; j0 < mask.width; j0 += kMaskTile) {
      const int taps_y = min(kMaskTile, mask.height - i0), taps_x = min(kMaskTile, mask.width - j0);
      const int rows = kHeight + taps_y - 1, columns = kWidth + taps_x - 1;
      __syncthreads();  // Every warp has read the mask tile before this one.
      bool opaque = false;
      for (int r = ty; r < rows; r += kTileLines) {
        const int y = y0 - mask.anchor_y + i0 + r, x = x0 - mask.anchor_x + j0;
        const auto alpha_row = cell_row<int, Stored>(w.alpha, w.alpha.channel[0], y);
        const auto colour_row = cell_row<int, Stored>(group, group.channel[c], y);
        for (int column = tx; column < columns; column += kWidth) {
          const int alpha = alpha_row.at(x + column);
          Pair<Real> cell;
          if (alpha != 0) {
            opaque = true;
            cell.alpha = static_cast<Real>(alpha);
            cell.product = cell.alpha * static_cast<Real>(colour_row.at(x + column));
          }
          cells[r][column] = cell;
        }
      }
      for (int k = ty * kWidth + tx; k < taps_x * taps_y; k += kWeightedThreads)
        weights[k / taps_x][k % taps_x] =
            all_weights[static_cast<std::int64_t>(i0 + k / taps_x) * mask.width + j0 + k % taps_x];
      if (!__syncthreads_or(opaque)) continue;
      for (int j = 0; j < taps_x; ++j)
        slide(
            taps_y, [&](int k) { return weights[k][j]; },
            [&](int k) { return cells[ty * kWeightedRun + k][tx + j]; }, sum);
    }

  const int x = x0 + tx;
  if (x >= group.width) return;
#pragma unroll
  for (int i = 0; i < kWeightedRun; ++i)
    if (const int y = y0 + ty * kWeightedRun + i; y < group.height)
      store_quotient<Stored>(w, c, x, y, static_cast<double>(sum[i].alpha),
                             static_cast<double>(sum[i].product));
}

/// First pass. blockIdx.z is the plane.
template <class Real, class Stored>
__global__ void __launch_bounds__(kWeightedThreads)
    row_kernel(const __grid_constant__ WeightedArguments w) {
  const GroupArguments& group = w.colour;
  const int plane = static_cast<int>(blockIdx.z);
  const int y = static_cast<int>(blockIdx.y);
  const int x = static_cast<int>(blockIdx.x * kWeightedThreads + threadIdx.x) * kWeightedRun;
  if (x >= group.width) return;
  const auto* weights = static_cast<const Real*>(w.mask.global);
  const int start = x - w.mask.anchor_x;
  const auto alpha_row = cell_row<int, Stored>(w.alpha, w.alpha.channel[0], y);
  Real sum[kWeightedRun] = {};
  const auto weight = [weights](int k) { return weights[k]; };
  if (plane == 0) {
    slide(
        w.mask.width, weight, [&](int k) { return static_cast<Real>(alpha_row.at(start + k)); },
        sum);
  } else {
    const auto colour_row = cell_row<int, Stored>(group, group.channel[plane - 1], y);
    slide(
        w.mask.width, weight,
        [&](int k) {
          return static_cast<Real>(alpha_row.at(start + k)) *
                 static_cast<Real>(colour_row.at(start + k));
        },
        sum);
  }
  Real* to = intermediate_row<Real>(w, plane, y);
#pragma unroll
  for (int i = 0; i < kWeightedRun; ++i)
    if (x + i < group.width) to[x + i] = sum[i];
}

/// Second pass. blockIdx.z is the channel. The row sums of a ghost row are those of the row that it
/// repeats.
template <class Real, class Stored>
__global__ void __launch_bounds__(kWeightedThreads)
    column_kernel(const __grid_constant__ WeightedArguments w) {
  const GroupArguments& group = w.colour;
  const int c = static_cast<int>(blockIdx.z);
  const int x = static_cast<int>(blockIdx.x * kWeightedThreads + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y) * kWeightedRun;
  if (x >= group.width) return;
  const auto* weights = static_cast<const Real*>(w.mask.global) + w.mask.width;
  const int start = y - w.mask.anchor_y;
  Pair<Real> sum[kWeightedRun];
  slide(
      w.mask.height, [weights](int k) { return weights[k]; },
      [&](int k) {
        const int from = border_index(group.border, start + k, group.height);
        Pair<Real> cell;
        if (from != kNoSignal) {
          cell.alpha = intermediate_row<Real>(w, 0, from)[x];
          cell.product = intermediate_row<Real>(w, c + 1, from)[x];
        }
        return cell;
      },
      sum);
#pragma unroll
  for (int i = 0; i < kWeightedRun; ++i)
    if (y + i < group.height)
      store_quotient<Stored>(w, c, x, y + i, static_cast<double>(sum[i].alpha),
                             static_cast<double>(sum[i].product));
}

using WeightedKernel = void (*)(WeightedArguments);

struct WeightedKernels {
  WeightedKernel one_pass;
  WeightedKernel row;
  WeightedKernel column;
};

template <class Real, class Stored>
constexpr WeightedKernels kKernelsOf = {one_pass_kernel<Real, Stored>, row_kernel<Real, Stored>,
                                        column_kernel<Real, Stored>};

WeightedKernels select(const WeightedArguments& arguments) {
  const bool bytes = arguments.colour.sample_bytes == 1;
  if (arguments.accumulator == Accumulator::kFloat32)
    return bytes ? kKernelsOf<float, std::uint8_t> : kKernelsOf<float, std::uint16_t>;
  return bytes ? kKernelsOf<double, std::uint8_t> : kKernelsOf<double, std::uint16_t>;
}

cudaError_t launch(WeightedKernel kernel, dim3 grid, int planes, dim3 block,
                   WeightedArguments arguments, cudaStream_t stream) {
  grid.z = static_cast<unsigned>(planes);
  void* parameters[] = {&arguments};
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, parameters, 0,
                          stream);
}

}  // namespace

cudaError_t load_alpha_weighted(const WeightedArguments& arguments) {
  const WeightedKernels kernels = select(arguments);
  if (!arguments.two_passes) return load_kernel(kernels.one_pass, 0);
  const cudaError_t error = load_kernel(kernels.row, 0);
  return error == cudaSuccess ? load_kernel(kernels.column, 0) : error;
}

cudaError_t launch_alpha_weighted(const WeightedArguments& arguments, cudaStream_t stream) {
  const GroupArguments& group = arguments.colour;
  const WeightedKernels kernels = select(arguments);
  if (!arguments.two_passes)
    return launch(kernels.one_pass, grid_of_tiles(group, kWidth, kHeight), group.channels,
                  dim3(kWidth, kTileLines), arguments, stream);
  const cudaError_t error =
      launch(kernels.row, grid_of_tiles(group, kWeightedThreads * kWeightedRun, 1),
             group.channels + 1, dim3(kWeightedThreads), arguments, stream);
  if (error != cudaSuccess) return error;
  return launch(kernels.column, grid_of_tiles(group, kWeightedThreads, kWeightedRun),
                group.channels, dim3(kWeightedThreads), arguments, stream);
}

}  // namespace convolve
