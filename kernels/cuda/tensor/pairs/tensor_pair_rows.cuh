// SPDX-License-Identifier: LGPL-2.1-or-later
// Loads picture rows into the registers of tensor_pairs.cu.
#pragma once

#include "kernels/cuda/tensor/tensor_row_load.cuh"

namespace convolve {
namespace {

/// What a lane loads of a picture row.
template <int kDeinterleaved, int kOuter>
struct PairLoad {
  static_assert(kDeinterleaved * kOuter <= 2, "a lane loads two words beside a column at most");
  uint4 own;  ///< Bytes 0 .. 15 of its column.
  /// What lies beside the warp's columns, for lanes at their ends.
  unsigned outer[kDeinterleaved * kOuter];
};

/// Word n of component c, of words in which kDeinterleaved components are interleaved.
template <int kDeinterleaved, int kWords>
__device__ __forceinline__ unsigned deinterleave(const unsigned (&words)[kWords], int c, int n) {
  static_assert(kDeinterleaved <= 2, "of more components a word has fewer samples");
  if constexpr (kDeinterleaved == 1) return words[n];
  return __byte_perm(words[2 * n], words[2 * n + 1], c == 0 ? 0x6420 : 0x7531);
}

/// Loads and unpacks a warp's share of operand B. Lanes hold columns and rows as PairColumn says:
/// bytes -4 .. 19 of a column, or samples -4 .. 11 of each deinterleaved component; where kOuter is
/// 2, bytes -8 .. 23.
template <int kDeinterleaved, int kOuter>
class PairColumns {
  static constexpr int kWords = kWordsOfComponent<kDeinterleaved, kOuter>,
                       kOwn = 4 / kDeinterleaved;

 public:
  using Load = PairLoad<kDeinterleaved, kOuter>;
  template <int kRowGroups>
  using Words = unsigned[kDeinterleaved][kRowGroups][kWords];

  /// The outputs start at byte x.
  __device__ PairColumns(const TensorArguments& a, const TensorPlane& plane, int x)
      : border_(a.border), rows_(plane.rows), pitch_(plane.src_pitch) {
    const PairColumn column(plane, x);
    before_ = column.before;
    after_ = column.after;
    first_ = column.first;
    final_ = column.final;
    // Beside the picture stand ghosts. They are made of the eight bytes next to them (the next four
    // of the eight bytes four further), or with Border::kWrap lie at the other end of the row.
    ghosts_ = column.left || column.right;
    int beside = first_ ? -4 * kDeinterleaved * kOuter : final_ ? kColumnBytes : 0;
    if (ghosts_) {
      select_ = column.left ? plane.ghosts.near_select[0] : plane.ghosts.near_select[1];
      if constexpr (kOuter == 2)
        far_select_ = column.left ? plane.ghosts.far_select[0] : plane.ghosts.far_select[1];
      beside = border_ != Border::kWrap ? 0
               : column.left            ? beside + plane.row_bytes
                                        : beside - plane.row_bytes;
    }
    from_ = plane.src + (x + kColumnBytes * column.own) +
            static_cast<std::int64_t>(threadIdx.x % 4) * pitch_;
    beside_ = beside;
    black_ = plane.ghosts.black;
  }

  /// Starts loading kCount row groups from picture row `top` on.
  template <int kCount>
  __device__ __forceinline__ void load(int top, Load (&loads)[kCount]) {
    load_row_groups(
        from_, pitch_, top, rows_, border_, loads,
        [&](const std::uint8_t* from, Load& load) { load_row(from, load); },
        [&](Load& load) {
          load.own = make_uint4(black_, black_, black_, black_);
#pragma unroll
          for (unsigned& outer : load.outer)
            outer = black_;
        });
  }

  /// Waits for a loaded row, and unpacks it into words[c][row_group].
  template <int kRowGroups>
  __device__ __forceinline__ void unpack(
      const Load& load, int row_group,
      unsigned (&words)[kDeinterleaved][kRowGroups][kWords]) const {
    const unsigned all[4] = {load.own.x, load.own.y, load.own.z, load.own.w};
#pragma unroll
    for (int c = 0; c < kDeinterleaved; ++c) {
      unsigned own[kOwn];
#pragma unroll
      for (int n = 0; n < kOwn; ++n)
        own[n] = deinterleave<kDeinterleaved>(all, c, n);
      unsigned outer[kOuter];
#pragma unroll
      for (int n = 0; n < kOuter; ++n)
        outer[n] = deinterleave<kDeinterleaved>(load.outer, c, n);
      if (ghosts_ && border_ != Border::kWrap) make_ghosts(own, outer);
      unsigned(&made)[kWords] = words[c][row_group];
#pragma unroll
      for (int n = 0; n < kOuter; ++n) {
        const unsigned before = __shfl_sync(~0u, own[kOwn - kOuter + n], before_);
        const unsigned after = __shfl_sync(~0u, own[n], after_);
        made[n] = first_ ? outer[n] : before;
        made[kOuter + kOwn + n] = final_ ? outer[n] : after;
      }
#pragma unroll
      for (int n = 0; n < kOwn; ++n)
        made[kOuter + n] = own[n];
    }
  }

 private:
  /// Sets outer to ghosts, in the order in which they lie beside the words of the column.
  __device__ __forceinline__ void make_ghosts(const unsigned (&own)[kOwn],
                                              unsigned (&outer)[kOuter]) const {
    const unsigned near = border_ == Border::kZero
                              ? black_
                              : __byte_perm(first_ ? own[0] : own[kOwn - 2],
                                            first_ ? own[1] : own[kOwn - 1], select_);
    outer[0] = near;
    if constexpr (kOuter == 2) {
      const bool alike = border_ == Border::kZero || border_ == Border::kReplicate;
      const unsigned far = alike ? near : __byte_perm(own[1], own[2], far_select_);
      outer[0] = first_ ? far : near;
      outer[1] = first_ ? near : far;
    }
  }

  __device__ __forceinline__ void load_row(const std::uint8_t* from, Load& load) const {
    load.own = __ldg(reinterpret_cast<const uint4*>(from));
    if constexpr (kDeinterleaved * kOuter == 1) {
      load.outer[0] = __ldg(reinterpret_cast<const unsigned*>(from + beside_));
    } else {
      const uint2 outer = __ldg(reinterpret_cast<const uint2*>(from + beside_));
      load.outer[0] = outer.x;
      load.outer[1] = outer.y;
    }
  }

  Border border_;
  int rows_;
  std::int64_t pitch_;
  const std::uint8_t*
      from_;  ///< The lane's column in its row, where the row group begins with picture row 0.
  int beside_;
  int before_, after_;  ///< Lanes of the columns left and right of its own.
  unsigned select_ = 0, far_select_ = 0, black_;
  bool first_, final_, ghosts_;
};

}  // namespace
}  // namespace convolve
