// SPDX-License-Identifier: LGPL-2.1-or-later
// Loads picture rows of packed 4:2:2 into the registers of tensor_packed.cu.
#pragma once

#include "kernels/cuda/tensor/packed/tensor_packed_samples.cuh"
#include "kernels/cuda/tensor/tensor_row_groups.cuh"
#include "kernels/cuda/tensor/tensor_row_load.cuh"

namespace convolve {
namespace {

/// What a lane loads of a picture row: its own column, and the one beside the warp's columns if its
/// own is at their end.
struct PackedLoad {
  uint4 own, outer;
};

/// Words that a lane holds in kRowGroups row groups: samples -4 .. 11 of luma around the eight of
/// its column, and -4 .. 7 of each chroma around its four.
template <int kRowGroups>
struct PackedWords {
  unsigned luma[1][kRowGroups][4];
  unsigned chroma[2][kRowGroups][3];
};

template <int kRowGroups>
__device__ __forceinline__ void drop_row_groups(PackedWords<kRowGroups>& words) {
  drop_row_groups(words.luma);
  drop_row_groups(words.chroma);
}

/// Loads and unpacks a warp's share of operand B. Lanes hold columns and rows as PairColumn says.
class PackedColumns {
 public:
  using Load = PackedLoad;
  template <int kRowGroups>
  using Words = PackedWords<kRowGroups>;

  /// The outputs start at byte x.
  __device__ PackedColumns(const TensorArguments& a, const TensorPlane& plane, int x)
      : border_(a.border),
        rows_(plane.rows),
        pitch_(plane.src_pitch),
        luma_first_(luma_first(plane)) {
    const PairColumn column(plane, x);
    before_ = column.before;
    after_ = column.after;
    first_ = column.first;
    final_ = column.final;
    const bool wrap = border_ == Border::kWrap;
    ghosts_ = (column.left || column.right) && !wrap;
    luma_select_ = plane.ghosts.near_select[column.left ? 0 : 1];
    chroma_select_ = plane.ghosts.chroma_select[column.left ? 0 : 1];
    beside_ = first_ ? -kColumnBytes : kColumnBytes;
    if (wrap && column.left) beside_ += plane.row_bytes;
    if (wrap && column.right) beside_ -= plane.row_bytes;
    loads_outer_ = (first_ || final_) && !ghosts_;
    from_ = plane.src + (x + kColumnBytes * column.own) +
            static_cast<std::int64_t>(threadIdx.x % 4) * pitch_;
    luma_black_ = packed_black(plane, 0);
    chroma_black_ = packed_black(plane, 2);
  }

  /// Starts loading kCount row groups from picture row `top` on.
  template <int kCount>
  __device__ __forceinline__ void load(int top, PackedLoad (&loads)[kCount]) {
    load_row_groups(
        from_, pitch_, top, rows_, border_, loads,
        [&](const std::uint8_t* from, PackedLoad& load) { load_row(from, load); },
        [&](PackedLoad& load) {
          const uint2 luma = {luma_black_, luma_black_};
          load.own = packed_bytes(luma, chroma_black_, chroma_black_, luma_first_);
          load.outer = load.own;
        });
  }

  /// Waits for a loaded row, and unpacks it into the words of `row_group`.
  template <int kRowGroups>
  __device__ __forceinline__ void unpack(const PackedLoad& load, int row_group,
                                         PackedWords<kRowGroups>& words) const {
    const PackedSamples own(load.own, luma_first_);
    const PackedSamples outer(load.outer, luma_first_);
    unsigned luma = first_ ? outer.luma.y : outer.luma.x;
    const bool black = border_ == Border::kZero;
    if (ghosts_) luma = black ? luma_black_ : __byte_perm(own.luma.x, own.luma.y, luma_select_);
    const unsigned before = __shfl_sync(~0u, own.luma.y, before_);
    const unsigned after = __shfl_sync(~0u, own.luma.x, after_);
    unsigned(&made)[4] = words.luma[0][row_group];
    made[0] = first_ ? luma : before;
    made[1] = own.luma.x;
    made[2] = own.luma.y;
    made[3] = final_ ? luma : after;
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const unsigned left = __shfl_sync(~0u, own.chroma[c], before_);
      const unsigned right = __shfl_sync(~0u, own.chroma[c], after_);
      unsigned chroma = outer.chroma[c];
      if (ghosts_)
        chroma = black ? chroma_black_
                       : __byte_perm(first_ ? own.chroma[c] : left, first_ ? right : own.chroma[c],
                                     chroma_select_);
      words.chroma[c][row_group][0] = first_ ? chroma : left;
      words.chroma[c][row_group][1] = own.chroma[c];
      words.chroma[c][row_group][2] = final_ ? chroma : right;
    }
  }

 private:
  __device__ __forceinline__ void load_row(const std::uint8_t* from, PackedLoad& load) const {
    load.own = __ldg(reinterpret_cast<const uint4*>(from));
    if (loads_outer_) load.outer = __ldg(reinterpret_cast<const uint4*>(from + beside_));
  }

  Border border_;
  int rows_;
  std::int64_t pitch_;
  const std::uint8_t*
      from_;  ///< The lane's column in its row, where the row group begins with picture row 0.
  int beside_;
  int before_, after_;  ///< Lanes of the columns left and right of its own.
  unsigned luma_select_, chroma_select_, luma_black_, chroma_black_;
  bool luma_first_, first_, final_, ghosts_, loads_outer_;
};

}  // namespace
}  // namespace convolve
