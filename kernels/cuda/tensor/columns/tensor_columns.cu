// SPDX-License-Identifier: LGPL-2.1-or-later
// Forms tensor-sliding and tensor-columns: convolution as matrix products on the INT8 tensor cores,
// exact in int32, for 8-bit samples of any layout that has byte phases. tensor-sliding serves masks
// up to kTensorSlidingRows rows whose window is one segment, tensor-columns any mask.
//
// Weights are one to three 8-bit digits. A warp makes tiles of 128 bytes x 8 rows. For each mask
// row a product D += A B takes as A the Toeplitz matrix of that row (tensor_fragments.h), and as B
// eight windows of a picture row, one for each column of 16 output bytes. Taps of interleaved
// components lie further apart, and are no different otherwise. Each digit costs as many products
// again, over the same sums.
//
// Lane l holds of a picture row the 8 bytes from 8 (l % 4) on of the window of column l / 4, as
// they lie in memory. The eight output rows of a warp read a picture row under eight mask rows, so
// that B, once loaded into registers, serves eight products; only what touches the border passes
// through shared memory. Of D lane l holds bytes 2 (l / 4) and 2 (l / 4) + 1 of columns 2 (l % 4)
// and 2 (l % 4) + 1.
//
// What binds (H100): a product takes 6 clocks of its tensor core, and other instructions do not
// hide behind it; below 9x9 these others bind, half of which lie between sums and stored samples.
// Hence sums that are read as floats without a conversion, codes that are clamped two at a time, a
// transposition in registers that makes whole words of them, and no block barrier.
#include <type_traits>

#include "kernels/cuda/device/overlap.cuh"
#include "kernels/cuda/device/tensor_mma.cuh"
#include "kernels/cuda/tensor/tensor_launch.cuh"
#include "kernels/cuda/tensor/tensor_store.cuh"

namespace convolve {
namespace {

/// Sets the sums before the first digit: only sums of the last digit begin with
/// DigitEpilogue::start, as those before are still multiplied by 256.
__device__ __forceinline__ void start_sums(const TensorArguments& a, const TensorPlane& plane,
                                           int x, int (&sum)[kRows][4]) {
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const int start = a.digits == 1 ? start_of(plane, x, fresh_lane(), k) : 0;
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      sum[r][k] = start;
  }
}

/// Multiplies the sums by 256 between two digits, of which `digit` is the next, and adds the start
/// before the last one.
__device__ __forceinline__ void shift_sums(const TensorArguments& a, const TensorPlane& plane,
                                           int x, int digit, int (&sum)[kRows][4]) {
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const int start = digit + 1 == a.digits ? start_of(plane, x, fresh_lane(), k) : 0;
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      sum[r][k] = sum[r][k] * 256 + start;
  }
}

/// Adds a row of the mask: output row r multiplies picture row j + r, of `rows` and the eight
/// below.
__device__ __forceinline__ void multiply_rows(int (&sum)[kRows][4], const uint4& weights, int j,
                                              const uint2 (&rows)[kRows],
                                              const uint2 (&below)[kRows]) {
#pragma unroll
  for (int r = 0; r < kRows; ++r)
    multiply(sum[r], weights, j + r < kRows ? rows[j + r] : below[j + r - kRows], sum[r]);
}

/// Rows of the tallest mask under which 8 output rows read no more than `blocks` x 8 picture rows.
CONVOLVE_HD constexpr int sliding_mask_rows(int blocks) {
  return kRows * (blocks - 1) + 1;
}
static_assert(sliding_mask_rows(3) == kTensorSlidingRows, "the planner counts on another height");

/// Filters with a sliding window, for masks of at most sliding_mask_rows(kBlocks) rows and one
/// segment: all picture rows that 8 output rows read are in registers. From step to step the warp
/// goes down 8 rows, and loads each picture row once, while it quantises the sums of the step
/// before. kInside: an inner tile column. kPlain: TensorStores::plain.
template <Quantiser kQuantiser, bool kInside, bool kPlain, int kBlocks>
__device__ __forceinline__ void slide_down(const TensorArguments& a, const TensorPlane& plane,
                                           int x, int y, int steps, std::uint8_t* patch) {
  const Windows<kInside> windows(a, plane, x, y, patch);
  uint2 block[kBlocks][kRows];
#pragma unroll
  for (int b = 0; b < kBlocks; ++b)
    windows.load(0, kRows * b, kRows, block[b]);
  const uint4* const fragments = plane.fragments + threadIdx.x;
  // Filters a step, whose block b of rows is block[(kFirst + b) % kBlocks]; true if there is
  // another step.
  const auto make_step = [&](int step, auto first_block) {
    constexpr int kFirst = decltype(first_block)::value;
    const uint4* fragment = fragments;
    uint4 next = __ldg(fragment);
    const auto advance = [&] {
      const uint4 weights = next;
      fragment += 32;
      next = __ldg(fragment);
      return weights;
    };
    int sum[kRows][4], start[4];
#pragma unroll
    for (int k = 0; k < 4; ++k)
      start[k] = a.digits > 1 ? 0
                 : kPlain     ? plane.phase[0].start
                              : start_of(plane, x, fresh_lane(), k);
    const uint4 first = advance();
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      multiply(sum[r], first, block[kFirst][r], start);
    const auto add_rows = [&](int from) {
#pragma unroll
      for (int j = 0; j < sliding_mask_rows(kBlocks); ++j) {
        if (j < from) continue;
        if (j == a.mask_height) break;
        const int b = j / kRows;
        multiply_rows(sum, advance(), j % kRows, block[(kFirst + b) % kBlocks],
                      block[(kFirst + b + 1) % kBlocks]);
      }
    };
    add_rows(1);
#pragma unroll 1
    for (int digit = 1; digit < a.digits; ++digit) {
      shift_sums(a, plane, x, digit, sum);
      add_rows(0);
    }
    const int top = y + kRows * step;
    const bool more = kInside && step + 1 < steps && top + kRows < plane.rows;
    if (more) windows.load(0, kRows * (step + kBlocks), kRows, block[kFirst]);
    if constexpr (kPlain)
      store_plain_rows<kQuantiser>(plane, x, top, sum);
    else
      store_rows<kQuantiser>(plane, x, top, sum);
    return more;
  };
  if constexpr (!kInside) {
    make_step(0, std::integral_constant<int, 0>{});
  } else if constexpr (kBlocks == 2) {
    // The step is written out twice, so that the blocks change roles and no row moves from register
    // to register: 14.1 us for 15.0 at 9x9.
#pragma unroll 1
    for (int step = 0;; step += 2) {
      if (!make_step(step, std::integral_constant<int, 0>{})) return;
      if (!make_step(step + 1, std::integral_constant<int, 1>{})) return;
    }
  } else {
#pragma unroll 1
    for (int step = 0; make_step(step, std::integral_constant<int, 0>{}); ++step) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const uint2 loaded = block[0][r];
#pragma unroll
        for (int b = 0; b + 1 < kBlocks; ++b)
          block[b][r] = block[b + 1][r];
        block[kBlocks - 1][r] = loaded;
      }
    }
  }
}

/// Filters 8 rows of outputs under any mask, in as many passes over the picture as the mask has
/// segments times digits.
template <Quantiser kQuantiser, bool kInside>
__device__ __forceinline__ void filter_in_passes(const TensorArguments& a, const TensorPlane& plane,
                                                 int x, int y, std::uint8_t* patch) {
  const Windows<kInside> windows(a, plane, x, y, patch);
  const int needed = kRows - 1 + a.mask_height;
  const uint4* fragment = plane.fragments + fresh_lane();
  uint4 next = __ldg(fragment);
  int sum[kRows][4];
  start_sums(a, plane, x, sum);
#pragma unroll 1
  for (int digit = 0;;) {
#pragma unroll 1
    for (int segment = 0; segment < plane.window.segments; ++segment) {
      uint2 rows[kRows], below[kRows];
      windows.load(segment, 0, kRows, rows);
      if (needed > kRows) windows.load(segment, kRows, needed - kRows, below);
      int left = a.mask_height;
#pragma unroll 1
      for (int first = 2 * kRows;; first += kRows) {
#pragma unroll
        for (int j = 0; j < kRows; ++j) {
          const uint4 weights = next;
          fragment += 32;
          next = __ldg(fragment);
          multiply_rows(sum, weights, j, rows, below);
          if (--left == 0) goto done;
        }
#pragma unroll
        for (int r = 0; r < kRows; ++r)
          rows[r] = below[r];
        if (left > 1) windows.load(segment, first, needed - first, below);
      }
    done:;
    }
    if (++digit == a.digits) break;
    shift_sums(a, plane, x, digit, sum);
  }
  if (kInside && plane.stores.plain)
    store_plain_rows<kQuantiser>(plane, x, y, sum);
  else
    store_rows<kQuantiser>(plane, x, y, sum);
}

/// Where the outputs of a warp begin. Blocks of the edges come first, as their loads take longer;
/// their warps take one step each.
struct ColumnOrigin {
  bool inside;
  int tile_column;
  int y;
};

__device__ __forceinline__ ColumnOrigin column_origin(const TensorPlane& plane, int block,
                                                      int steps) {
  const bool inside = block >= plane.edge_blocks;
  if (inside) block -= plane.edge_blocks;
  const int tile_columns = inside ? plane.grid.inner_tile_columns
                                  : plane.grid.tile_columns - plane.grid.inner_tile_columns;
  const std::uint32_t reciprocal =
      inside ? plane.grid.inner_reciprocal : plane.grid.edge_reciprocal;
  const int row = tile_columns == 1
                      ? block
                      : static_cast<int>(__umulhi(static_cast<unsigned>(block), reciprocal));
  const int n = block - row * tile_columns;
  const int rows = inside ? steps * kRows : kRows;
  const int tile_column = inside ? plane.grid.first_inner_tile_column + n
                          : n < plane.grid.first_inner_tile_column
                              ? n
                              : n + plane.grid.inner_tile_columns;
  return {inside, tile_column, (row * kWarps + static_cast<int>(threadIdx.y)) * rows};
}

/// kBlocks: blocks of 8 picture rows that slide_down() keeps; 0 for any mask.
template <Quantiser kQuantiser, int kBlocks>
__global__ void __launch_bounds__(32 * kWarps, kBlocks == 2 ? 5 : 4)
    tensor_kernel(const __grid_constant__ TensorArguments a) {
  __shared__ __align__(16) std::uint8_t patches[kWarps][kRows * kSpanBytes];
  admit_next_launch();
  const TensorPlane& plane = plane_of_block(a);
  const ColumnOrigin origin =
      column_origin(plane, static_cast<int>(blockIdx.x) - plane.first_block, a.launch.steps);
  const int x = origin.tile_column * kTensorTileBytes;
  if (origin.y >= plane.rows) return;
  await_previous_launch();
  std::uint8_t* patch = patches[threadIdx.y];
  if constexpr (kBlocks > 0) {
    if (!origin.inside)
      slide_down<kQuantiser, false, false, kBlocks>(a, plane, x, origin.y, 1, patch);
    else if (plane.stores.plain)
      slide_down<kQuantiser, true, true, kBlocks>(a, plane, x, origin.y, a.launch.steps, patch);
    else
      slide_down<kQuantiser, true, false, kBlocks>(a, plane, x, origin.y, a.launch.steps, patch);
  } else {
    if (origin.inside)
      filter_in_passes<kQuantiser, true>(a, plane, x, origin.y, patch);
    else
      filter_in_passes<kQuantiser, false>(a, plane, x, origin.y, patch);
  }
}

TensorKernel select_kernel(const TensorArguments& a, Quantiser quantiser) {
  return with_quantiser(quantiser, [&](auto of) -> TensorKernel {
    constexpr Quantiser kQuantiser = decltype(of)::value;
    return a.launch.sliding_blocks == 2   ? tensor_kernel<kQuantiser, 2>
           : a.launch.sliding_blocks == 3 ? tensor_kernel<kQuantiser, 3>
                                          : tensor_kernel<kQuantiser, 0>;
  });
}

}  // namespace

int tensor_sliding_blocks(int mask_height) {
  return mask_height > sliding_mask_rows(2) ? 3 : 2;
}

const TensorLauncher kTensorColumnsLauncher = kLauncherOf<select_kernel>;

}  // namespace convolve
