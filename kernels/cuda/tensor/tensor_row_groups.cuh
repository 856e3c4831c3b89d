// SPDX-License-Identifier: LGPL-2.1-or-later
// The sliding window of tensor_pairs.cu, tensor_octets.cu and tensor_packed.cu: where each
// warp begins, and how it slides down its tile column. A warp keeps the row groups that eight
// output rows read in registers. From step to step it drops the upper kNewRowGroups and adds as
// many below, so that every picture row is loaded once; the rows of the next step are in flight
// while this step is multiplied.
#pragma once

#include "kernels/cuda/device/overlap.cuh"
#include "kernels/cuda/tensor/pairs/tensor_pair.cuh"

namespace convolve {
namespace {

/// Where the outputs of a warp begin in its plane. Blocks of the edges come first, as their loads
/// take longer; their warps take one step each.
struct WarpOrigin {
  bool inner;
  int x, y;

  __device__ __forceinline__ WarpOrigin(const TensorArguments& a, const TensorPlane& plane) {
    int block = static_cast<int>(blockIdx.x) - plane.first_block;
    inner = block >= plane.edge_blocks;
    if (inner) block -= plane.edge_blocks;
    const int tile_columns = inner ? plane.grid.inner_tile_columns
                                   : plane.grid.tile_columns - plane.grid.inner_tile_columns;
    const unsigned item = static_cast<unsigned>(block * kWarps) + threadIdx.y;
    const int row =
        static_cast<int>(tile_columns == 1 ? item
                                           : __umulhi(item, inner ? plane.grid.inner_reciprocal
                                                                  : plane.grid.edge_reciprocal));
    const int n = static_cast<int>(item) - row * tile_columns;
    y = row * kRows * (inner ? a.launch.steps : 1);
    x = kTensorTileBytes * (inner ? plane.grid.first_inner_tile_column + n
                            : n < plane.grid.first_inner_tile_column
                                ? n
                                : n + plane.grid.inner_tile_columns);
  }
};

/// Drops the upper kNewRowGroups row groups of each component, and moves the others up.
template <int kDeinterleaved, int kRowGroups, int kWords>
__device__ __forceinline__ void drop_row_groups(
    unsigned (&words)[kDeinterleaved][kRowGroups][kWords]) {
#pragma unroll
  for (int c = 0; c < kDeinterleaved; ++c)
#pragma unroll
    for (int s = 0; s + kNewRowGroups < kRowGroups; ++s)
#pragma unroll
      for (int w = 0; w < kWords; ++w)
        words[c][s][w] = words[c][s + kNewRowGroups][w];
}

/// Filters up to TensorLaunch::steps tiles of 128 bytes x 8 rows below each other. `columns`
/// loads rows and unpacks them into words of row groups, `filter` makes samples of these words, and
/// its Output stores them.
template <class Columns, class Filter>
__device__ __forceinline__ void slide_down(const TensorArguments& a, const TensorPlane& plane,
                                           Columns& columns, const Filter& filter,
                                           WarpOrigin origin) {
  constexpr int kRowGroups = Filter::kRowGroups;
  using Output = typename Filter::Output;
  int steps = a.launch.steps, y = origin.y;
  await_previous_launch();
  typename Columns::template Words<kRowGroups> words;
  {
    typename Columns::Load loads[kRowGroups];
    columns.load(y - a.anchor_y, loads);
#pragma unroll
    for (int s = 0; s < kRowGroups; ++s)
      columns.unpack(loads[s], s, words);
  }
  Output output(plane, origin.x, y);
#pragma unroll 1
  for (;;) {
    y += kRows;
    const bool more = --steps > 0 && y < plane.rows;
    typename Columns::Load loads[kNewRowGroups];
    if (more) columns.load(y - a.anchor_y + kRowGroupRows * (kRowGroups - kNewRowGroups), loads);
    typename Output::Made made;
    filter.apply(words, made);
    output.store(made);
    if (!more) return;
    output.next();
    drop_row_groups(words);
#pragma unroll
    for (int s = 0; s < kNewRowGroups; ++s)
      columns.unpack(loads[s], kRowGroups - kNewRowGroups + s, words);
  }
}

}  // namespace
}  // namespace convolve
