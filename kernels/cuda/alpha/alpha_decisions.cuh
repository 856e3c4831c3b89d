// SPDX-License-Identifier: LGPL-2.1-or-later
// From the sums of alpha and of alpha times colour to the output (core/weighted_epilogue.h), and
// the kernel for outputs that these sums do not decide.
#pragma once

#include <cuda_runtime.h>

#include "kernels/core/weights/weighted_epilogue.h"
#include "kernels/cuda/alpha/alpha_weighted.h"
#include "kernels/cuda/device/kernel.cuh"

namespace convolve {

constexpr int kDecidingThreads = 256;
constexpr int kDecidingWarps = kDecidingThreads / 32;
/// Blocks of the grid, which take undecided outputs in turn: few, as most launches leave none.
constexpr unsigned kDecidingBlocks = 1024;

/// True if an output of the launch may be left undecided: whole sums without error decide all.
inline bool may_be_undecided(const WeightedArguments& w) {
  for (int c = 0; c < w.colour.channels; ++c)
    if (!w.epilogue[c].rational || !w.epilogue[c].exact_sums) return true;
  return false;
}

/// The planes of row sums: alpha's first, then one for each channel, beside each other in a row.
template <class Real>
__device__ inline Real* intermediate_row(const WeightedArguments& w, int plane, int y) {
  return reinterpret_cast<Real*>(static_cast<char*>(w.intermediate) + y * w.intermediate_pitch) +
         static_cast<std::int64_t>(plane) * w.colour.width;
}

/// Writes `code`, which may be kKeepSample, as the output at (x, y) of channel `c`.
template <class Stored>
__device__ void store_weighted_code(const WeightedArguments& w, int c, int x, int y, int code) {
  const GroupArguments& group = w.colour;
  const ChannelArguments& channel = group.channel[c];
  if (code == kKeepSample)
    code = decode_sample(load_stored<Stored>(group, channel, x, y), channel.layout);
  store_stored(group, channel, x, y, encode_sample<Stored>(code, channel.layout));
}

/// The row sums below weight row `i` of the output at (x, y) of channel `c`; zeros beside the
/// picture.
__device__ inline void read_row_sums(const WeightedArguments& w, int c, int x, int y, int i,
                                     double& alpha_sum, double& product_sum) {
  const int row = border_index(w.colour.border, y - w.mask.anchor_y + i, w.colour.height);
  if (row == kNoSignal) return;
  alpha_sum = intermediate_row<double>(w, 0, row)[x];
  product_sum = intermediate_row<double>(w, c + 1, row)[x];
}

/// The code of the output at (x, y) of channel `c` by better sums, made by one thread.
template <class Stored>
__device__ int decide_alone(const WeightedArguments& w, int c, int x, int y) {
  const GroupArguments& group = w.colour;
  const WeightedEpilogue& e = w.epilogue[c];
  if (e.exact_rows)
    return code_of_rows(w.exact, e, [&](int i, double& alpha_sum, double& product_sum) {
      read_row_sums(w, c, x, y, i, alpha_sum, product_sum);
    });
  return exact_weighted_code(w.exact, e, [&](int i, int j, int& alpha, int& difference) {
    const int row = y - w.mask.anchor_y + i, column = x - w.mask.anchor_x + j;
    alpha = cell_row<int, Stored>(w.alpha, w.alpha.channel[0], row).at(column);
    if (alpha != 0) difference = cell_row<int, Stored>(group, group.channel[c], row).at(column);
  });
}

/// Writes the output at (x, y) of channel `c` if its sums decide it or there is no room to leave it
/// for later. Out of line: long, and most of it seldom run.
template <class Stored>
__device__ __noinline__ void store_quotient(const WeightedArguments& w, int c, int x, int y,
                                            double s, double t) {
  const GroupArguments& group = w.colour;
  int code = weighted_code(s, t, w.epilogue[c]);
  if (code == kUndecided) {
    if (const unsigned n = atomicAdd(w.undecided.count, 1); n < w.undecided.capacity) {
      w.undecided.outputs[n] = (static_cast<unsigned>(c) * group.height + y) * group.width + x;
      return;
    }
    code = decide_alone<Stored>(w, c, x, y);
  }
  store_weighted_code<Stored>(w, c, x, y, code);
}

/// Sums of a warp's lanes, in its first lane.
__device__ inline ExactSums warp_sum(ExactSums sums) {
  for (int step = 16; step > 0; step /= 2) {
    ExactSums other;
    other.s.high = __shfl_down_sync(~0u, sums.s.high, step);
    other.s.low = __shfl_down_sync(~0u, sums.s.low, step);
    other.t.high = __shfl_down_sync(~0u, sums.t.high, step);
    other.t.low = __shfl_down_sync(~0u, sums.t.low, step);
    sums.add(other);
  }
  return sums;
}
__device__ inline Int128 warp_sum(Int128 sum) {
  for (int step = 16; step > 0; step /= 2) {
    const auto low = __shfl_down_sync(~0u, static_cast<unsigned long long>(sum), step);
    const auto high = __shfl_down_sync(~0u, static_cast<long long>(sum >> 64), step);
    sum += static_cast<Int128>(high) * (Int128{1} << 64) + low;
  }
  return sum;
}
__device__ inline WholeSums warp_sum(const WholeSums& sums) {
  return {warp_sum(sums.s), warp_sum(sums.t)};
}

/// A warp's share of the sums of the output at (x, y) of channel `c`, in its first lane: rows of
/// the mask, a tap a lane.
template <class Stored>
__device__ ExactSums share_of_taps(const WeightedArguments& w, int c, int x, int y) {
  const GroupArguments& group = w.colour;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  ExactSums sums;
  for (int i = warp; i < w.exact.height; i += kDecidingWarps) {
    const int row = y - w.mask.anchor_y + i, column = x - w.mask.anchor_x;
    const auto alpha_row = cell_row<int, Stored>(w.alpha, w.alpha.channel[0], row);
    const auto colour_row = cell_row<int, Stored>(group, group.channel[c], row);
    for (int j = lane; j < w.exact.width; j += 32)
      if (const int alpha = alpha_row.at(column + j); alpha != 0)
        sums.add(w.exact.at(i, j), alpha, colour_row.at(column + j));
  }
  return warp_sum(sums);
}

/// The same where row sums are exact: a row a lane.
__device__ inline WholeSums share_of_rows(const WeightedArguments& w, int c, int x, int y) {
  WholeSums sums;
  for (int i = static_cast<int>(threadIdx.x); i < w.exact.height; i += kDecidingThreads) {
    double alpha_sum = 0, product_sum = 0;
    read_row_sums(w, c, x, y, i, alpha_sum, product_sum);
    sums.add(w.exact.column[i], alpha_sum, product_sum);
  }
  return warp_sum(sums);
}

/// The sum of the warps' shares, in the first thread. `parts`: shared memory for a share of each.
template <class Sums, class Add>
__device__ Sums block_sum(Sums share, Sums* parts, Add&& add) {
  __syncthreads();  // The parts of the output before have been read.
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = share;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int k = 1; k < kDecidingWarps; ++k)
      add(share, parts[k]);
  return share;
}

/// Better sums for what the launch before left undecided: a block for an output (a sum reduction,
/// PMPP chapter 10).
template <class Stored>
__global__ void __launch_bounds__(kDecidingThreads)
    decide_kernel(const __grid_constant__ WeightedArguments w) {
  __shared__ __align__(16) unsigned char parts[kDecidingWarps * sizeof(ExactSums)];
  static_assert(sizeof(WholeSums) == sizeof(ExactSums));
  const GroupArguments& group = w.colour;
  const unsigned count = min(*w.undecided.count, w.undecided.capacity);
  for (unsigned n = blockIdx.x; n < count; n += gridDim.x) {
    const unsigned output = w.undecided.outputs[n];
    const int x = static_cast<int>(output % group.width);
    const int y = static_cast<int>(output / group.width % group.height);
    const int c = static_cast<int>(output / group.width / group.height);
    int code;
    if (w.epilogue[c].exact_rows) {
      const WholeSums sums =
          block_sum(share_of_rows(w, c, x, y), reinterpret_cast<WholeSums*>(parts),
                    [](WholeSums& sum, const WholeSums& other) {
                      sum.s += other.s;
                      sum.t += other.t;
                    });
      code = code_of_whole_sums(sums, w.epilogue[c]);
    } else {
      const ExactSums sums =
          block_sum(share_of_taps<Stored>(w, c, x, y), reinterpret_cast<ExactSums*>(parts),
                    [](ExactSums& sum, const ExactSums& other) { sum.add(other); });
      code = code_of_exact_sums(sums, w.epilogue[c]);
    }
    if (threadIdx.x == 0) store_weighted_code<Stored>(w, c, x, y, code);
  }
}

}  // namespace convolve
