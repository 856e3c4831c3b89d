// SPDX-License-Identifier: LGPL-2.1-or-later
// How the warps of tensor_pairs.cu, tensor_octets.cu and tensor_packed_pairs.cu go: where each
// begins, and how it marches down.
#pragma once

#include "kernels/cuda/device/overlap.cuh"
#include "kernels/cuda/tensor/pairs/tensor_pair.cuh"

namespace convolve {
namespace {

/// The plane of this block's tiles.
__device__ __forceinline__ const TensorPlane& plane_of_block(const TensorArguments& a) {
  int p = 0;
  while (p + 1 < a.plane_count && static_cast<int>(blockIdx.x) >= a.plane[p + 1].first_block)
    ++p;
  return a.plane[p];
}

/// Where a warp's outputs start in its plane. Blocks of columns at the picture's edges, whose warps
/// take one step each, come first.
struct WarpOrigin {
  bool inner;
  int x, y;

  __device__ __forceinline__ WarpOrigin(const TensorArguments& a, const TensorPlane& plane) {
    int block = static_cast<int>(blockIdx.x) - plane.first_block;
    inner = block >= plane.edge_blocks;
    if (inner) block -= plane.edge_blocks;
    const int tile_columns =
        inner ? plane.inner_tile_columns : plane.tile_columns - plane.inner_tile_columns;
    const unsigned item = static_cast<unsigned>(block * kWarps) + threadIdx.y;
    const int row = static_cast<int>(
        tile_columns == 1 ? item
                          : __umulhi(item, inner ? plane.inner_reciprocal : plane.edge_reciprocal));
    const int n = static_cast<int>(item) - row * tile_columns;
    y = row * kRows * (inner ? a.steps : 1);
    x = kTensorTileBytes * (inner                               ? plane.first_inner_tile_column + n
                            : n < plane.first_inner_tile_column ? n
                                                                : n + plane.inner_tile_columns);
  }
};

/// Drops the first groups of each part.
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

/// What slide_down() takes of warps that never lie at the picture's edge.
struct NoEdge {
  template <class Words>
  __device__ __forceinline__ bool unpack(Words&) const {
    return false;
  }
  template <class Output, class Made>
  __device__ __forceinline__ bool store(const Output&, const Made&) const {
    return false;
  }
};

/// TensorArguments::steps times 128 bytes x 8 rows, one below the other. Columns load rows and make
/// words of them, the filter codes of these, which its Output stores. A warp at the picture's edge
/// takes one step, whose words and stores are the edge's: so the products, most of a kernel's code,
/// are there once.
template <class Columns, class Filter, class Edge = NoEdge>
__device__ __forceinline__ void slide_down(const TensorArguments& a, const TensorPlane& plane,
                                           Columns& columns, const Filter& filter,
                                           WarpOrigin origin, const Edge& edge = {}) {
  constexpr int kRowGroups = Filter::kRowGroups;
  using Output = typename Filter::Output;
  int steps = a.steps, y = origin.y;
  await_previous_launch();
  typename Columns::template Words<kRowGroups> words;
  if (edge.unpack(words)) {
    steps = 1;
  } else {
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
    if (!edge.store(output, made)) output.store(made);
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
