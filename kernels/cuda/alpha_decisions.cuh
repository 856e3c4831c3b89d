// SPDX-License-Identifier: LGPL-2.1-or-later
// From the sums of alpha and of alpha times colour to the output (core/weighted_epilogue.h), and
// the kernel for outputs that these sums do not decide.
#pragma once

#include <cuda_runtime.h>

#include "kernels/core/weighted_epilogue.h"
#include "kernels/cuda/alpha_weighted.h"
#include "kernels/cuda/kernel.cuh"

namespace convolve {

constexpr int kDecidingThreads = 256;
constexpr int kDecidingWarps = kDecidingThreads / 32;
/// Of a grid that takes the undecided outputs in turn; most launches have none.
constexpr unsigned kDecidingBlocks = 1024;

/// True if an output of the launch may be left undecided: whole sums without error decide all.
inline bool may_be_undecided(const WeightedArguments& w) {
  for (int c = 0; c < w.colour.channels; ++c)
    if (!w.epilogue[c].rational || !w.epilogue[c].exact_sums) return true;
  return false;
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

/// Writes the output at (x, y) of channel `c` if its sums decide it or there is no room to leave it
/// for later. Out of line: long, and most of it seldom run.
template <class Stored>
__device__ __noinline__ void store_quotient(const WeightedArguments& w, int c, int x, int y,
                                            double s, double t) {
  const GroupArguments& group = w.colour;
  const ChannelArguments& channel = group.channel[c];
  int code = weighted_code(s, t, w.epilogue[c]);
  if (code == kUndecided) {
    if (const unsigned n = atomicAdd(w.undecided.count, 1); n < w.undecided.capacity) {
      w.undecided.outputs[n] = (static_cast<unsigned>(c) * group.height + y) * group.width + x;
      return;
    }
    code =
        exact_weighted_code(w.exact, w.epilogue[c], [&](int i, int j, int& alpha, int& difference) {
          alpha = cell_row<int, Stored>(w.alpha, w.alpha.channel[0], y - w.mask.anchor_y + i)
                      .at(x - w.mask.anchor_x + j);
          if (alpha != 0)
            difference = cell_row<int, Stored>(group, channel, y - w.mask.anchor_y + i)
                             .at(x - w.mask.anchor_x + j);
        });
  }
  store_weighted_code<Stored>(w, c, x, y, code);
}

/// The sums of all lanes of a warp, in its first lane.
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

/// Sums with twice the digits for what the launch before left undecided: a block for an output, a
/// warp for a row of the mask (a sum reduction, PMPP chapter 10).
template <class Stored>
__global__ void __launch_bounds__(kDecidingThreads)
    decide_kernel(const __grid_constant__ WeightedArguments w) {
  __shared__ double parts[kDecidingWarps][4];
  const GroupArguments& group = w.colour;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const unsigned count = min(*w.undecided.count, w.undecided.capacity);
  for (unsigned n = blockIdx.x; n < count; n += gridDim.x) {
    const unsigned output = w.undecided.outputs[n];
    const int x = static_cast<int>(output % group.width);
    const int y = static_cast<int>(output / group.width % group.height);
    const int c = static_cast<int>(output / group.width / group.height);
    ExactSums sums;
    for (int i = warp; i < w.exact.height; i += kDecidingWarps) {
      const int row = y - w.mask.anchor_y + i, column = x - w.mask.anchor_x;
      const auto alpha_row = cell_row<int, Stored>(w.alpha, w.alpha.channel[0], row);
      const auto colour_row = cell_row<int, Stored>(group, group.channel[c], row);
      for (int j = lane; j < w.exact.width; j += 32)
        if (const int alpha = alpha_row.at(column + j); alpha != 0)
          sums.add(w.exact.at(i, j), alpha, colour_row.at(column + j));
    }
    sums = warp_sum(sums);
    __syncthreads();  // The parts of the output before have been read.
    if (lane == 0) {
      parts[warp][0] = sums.s.high;
      parts[warp][1] = sums.s.low;
      parts[warp][2] = sums.t.high;
      parts[warp][3] = sums.t.low;
    }
    __syncthreads();
    if (threadIdx.x != 0) continue;
    for (int k = 1; k < kDecidingWarps; ++k)
      sums.add(ExactSums{{parts[k][0], parts[k][1]}, {parts[k][2], parts[k][3]}});
    store_weighted_code<Stored>(w, c, x, y, code_of_exact_sums(sums, w.epilogue[c]));
  }
}

}  // namespace convolve
