// SPDX-License-Identifier: LGPL-2.1-or-later
// Picture rows of samples of two bytes on their way into the registers of tensor_wide_pairs.cu.
#pragma once

#include "kernels/cuda/tensor_pair_rows.cuh"

namespace convolve {
namespace {

/// Samples of each component in a column of 16 bytes, and in a warp's columns.
template <int kComponents>
constexpr int kColumnSamples = kColumnBytes / (2 * kComponents);
template <int kComponents>
constexpr int kTileSamples = kTensorTileBytes / (2 * kComponents);

/// Parts of samples: the low bytes of a component, then its high ones, then those of the next.
template <int kComponents>
constexpr int kWideParts = 2 * kComponents;

/// Codes of two samples, wherever in them the format keeps them.
__device__ __forceinline__ unsigned decode_two(unsigned word, const SampleLayout& layout) {
  if (layout.swap) word = __byte_perm(word, 0, 0x2301);
  return word >> layout.shift & 0x00010001u * static_cast<unsigned>(layout.max_code);
}

/// Word n of part c of samples as they lie in memory.
template <int kComponents, int kWords>
__device__ __forceinline__ unsigned wide_part(const unsigned (&words)[kWords], int c, int n) {
  if constexpr (kComponents == 1) {
    return __byte_perm(words[2 * n], words[2 * n + 1], c == 0 ? 0x6420 : 0x7531);
  } else {
    // Byte c of four words.
    const unsigned both = c < 2 ? 0x5140 : 0x7362;
    return __byte_perm(__byte_perm(words[4 * n], words[4 * n + 1], both),
                       __byte_perm(words[4 * n + 2], words[4 * n + 3], both),
                       c % 2 == 0 ? 0x5410 : 0x7632);
  }
}

/// A picture row on its way into the registers of a lane.
template <int kComponents>
struct WidePiece {
  unsigned own[4];                  ///< The lane's column,
  unsigned outer[2 * kComponents];  ///< and four samples of each component beside the warp's
                                    ///< columns, if it is at their end.
};

/// What PairColumns is for samples of a byte: of each part a lane holds samples -4 .. 11 of its
/// column, or with two components -4 .. 7.
template <int kComponents>
class WideColumns {
  static constexpr int kParts = kWideParts<kComponents>;
  static constexpr int kWords = kWordsOfPart<kParts>, kOwn = kWords - 2;
  static constexpr int kOuterBytes = 8 * kComponents;

 public:
  using Load = WidePiece<kComponents>;
  template <int kGroups>
  using Words = unsigned[kParts][kGroups][kWords];

  /// The outputs start at byte x. A warp's columns are two or more.
  __device__ WideColumns(const TensorArguments& a, const TensorPlane& plane, int x)
      : plane_(plane), border_(a.border), pitch_(plane.src_pitch) {
    const int lane = threadIdx.x, t = lane % 4;
    const int own = lane / 8 + 4 * (lane / 4 % 2);
    const int last = min(kColumns, (plane.row_bytes - x) / kColumnBytes) - 1;
    const int c = min(own, last);  // Columns behind the picture load something all the same.
    const auto lane_of = [&](int column) { return 4 * (2 * (column % 4) + column / 4) + t; };
    before_ = lane_of(max(own - 1, 0));
    after_ = lane_of(min(own + 1, kColumns - 1));
    first_ = c == 0;
    final_ = c == last;
    const bool left = first_ && x == 0;
    const bool right = final_ && x + kColumnBytes * (last + 1) == plane.row_bytes;
    ghosts_ = left || right;
    int beside = first_ ? -kOuterBytes : final_ ? kColumnBytes : 0;
    if (ghosts_) {
      select_ = left ? plane.ghost_select[0] : plane.ghost_select[1];
      beside = border_ != Border::kWrap ? 0
               : left                   ? beside + plane.row_bytes
                                        : beside - plane.row_bytes;
    }
    from_ = plane.src + (x + kColumnBytes * c) + static_cast<std::int64_t>(t) * pitch_;
    beside_ = beside;
    coded_ = plane.layout.swap || plane.layout.shift != 0 || plane.layout.max_code != 0xFFFF;
  }

  /// Starts loading kCount groups of picture rows from row `top` on.
  template <int kCount>
  __device__ __forceinline__ void load(int top, WidePiece<kComponents> (&pieces)[kCount]) {
    const std::uint8_t* from = from_ + top * pitch_;
    if (top >= 0 && top + kGroupRows * kCount <= plane_.rows) {
#pragma unroll
      for (int j = 0; j < kCount; ++j, from += kGroupRows * pitch_)
        load_row(from, pieces[j]);
      return;
    }
    const int t = threadIdx.x % 4;
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      const int row = border_index(border_, top + kGroupRows * j + t, plane_.rows);
      if (row != kNoSignal) {
        load_row(from_ + (row - t) * pitch_, pieces[j]);
      } else {
#pragma unroll
        for (unsigned& word : pieces[j].own)
          word = plane_.pair_black;
#pragma unroll
        for (unsigned& word : pieces[j].outer)
          word = plane_.pair_black;
      }
    }
  }

  /// Waits for a row: words[part][group] of it.
  template <int kGroups>
  __device__ __forceinline__ void take(WidePiece<kComponents>& piece, int group,
                                       unsigned (&words)[kParts][kGroups][kWords]) const {
    const bool black = ghosts_ && border_ == Border::kZero;
#pragma unroll
    for (unsigned& word : piece.outer)
      word = black ? plane_.pair_black : word;
    if (coded_) {
#pragma unroll
      for (unsigned& word : piece.own)
        word = decode_two(word, plane_.layout);
#pragma unroll
      for (unsigned& word : piece.outer)
        word = decode_two(word, plane_.layout);
    }
    const bool copied = ghosts_ && border_ != Border::kZero && border_ != Border::kWrap;
#pragma unroll
    for (int c = 0; c < kParts; ++c) {
      unsigned own[kOwn];
#pragma unroll
      for (int n = 0; n < kOwn; ++n)
        own[n] = wide_part<kComponents>(piece.own, c, n);
      unsigned outer = wide_part<kComponents>(piece.outer, c, 0);
      const unsigned before = __shfl_sync(~0u, own[kOwn - 1], before_);
      const unsigned after = __shfl_sync(~0u, own[0], after_);
      if (copied) {
        // Of the eight samples next to it.
        const unsigned second = kOwn > 1 ? own[1] : after;
        const unsigned last_but_one = kOwn > 1 ? own[kOwn - 2] : before;
        outer =
            __byte_perm(first_ ? own[0] : last_but_one, first_ ? second : own[kOwn - 1], select_);
      }
      unsigned(&made)[kWords] = words[c][group];
      made[0] = first_ ? outer : before;
#pragma unroll
      for (int n = 0; n < kOwn; ++n)
        made[1 + n] = own[n];
      made[1 + kOwn] = final_ ? outer : after;
    }
  }

 private:
  __device__ __forceinline__ void load_row(const std::uint8_t* from,
                                           WidePiece<kComponents>& piece) const {
    const uint4 own = __ldg(reinterpret_cast<const uint4*>(from));
    piece.own[0] = own.x;
    piece.own[1] = own.y;
    piece.own[2] = own.z;
    piece.own[3] = own.w;
#pragma unroll
    for (int k = 0; k < kComponents; ++k) {
      const uint2 outer = __ldg(reinterpret_cast<const uint2*>(from + beside_) + k);
      piece.outer[2 * k] = outer.x;
      piece.outer[2 * k + 1] = outer.y;
    }
  }

  const TensorPlane& plane_;
  Border border_;
  std::int64_t pitch_;
  const std::uint8_t* from_;  ///< The lane's column in its row of a group that starts at row 0.
  int beside_;
  int before_, after_;  ///< Lanes of the columns beside the lane's.
  unsigned select_ = 0;
  bool first_, final_, ghosts_, coded_;
};

/// Rows of a warp's outputs at the picture's edge, ghosts included: part c of row r lies at
/// kPartBytes (kParts r + c), from four samples before the outputs on.
template <int kComponents>
constexpr int kPartBytes = kTileSamples<kComponents> + 8;
constexpr int kWidePatchRows = kPairSteps[1] * kGroupRows;
constexpr int kWidePatchBytes = kWidePatchRows * 4 * kPartBytes<2>;
static_assert(kWidePatchRows * 2 * kPartBytes<1> <= kWidePatchBytes, "one component takes less");

/// Fills such a patch, from byte x of row `top` of the picture on. Out of line: code that nearly
/// all warps skip makes them wait for theirs.
template <int kComponents>
__device__ __noinline__ void fill_wide_patch(const TensorArguments& a, const TensorPlane& plane,
                                             int x, int top, std::uint8_t* patch) {
  constexpr int kParts = kWideParts<kComponents>, kBytes = kPartBytes<kComponents>;
  const int width = plane.row_bytes / kParts, first = x / kParts - 4;
#pragma unroll 1
  for (int i = threadIdx.x; i < kBytes * kComponents; i += 32) {
    const int n = i / kComponents, k = i % kComponents;
    // What only outputs behind the picture see is nobody's.
    if (first + n >= width + 8) break;
    const int sample = border_index(a.border, first + n, width);
#pragma unroll 8
    for (int r = 0; r < kWidePatchRows; ++r) {
      const int row = border_index(a.border, top + r, plane.rows);
      int code = plane.phase[k].black;
      if (sample != kNoSignal && row != kNoSignal)
        code = decode_sample(
            __ldg(reinterpret_cast<const std::uint16_t*>(plane.src + row * plane.src_pitch) +
                  sample * kComponents + k),
            plane.layout);
      std::uint8_t* const to = patch + kBytes * (kParts * r + 2 * k) + n;
      to[0] = static_cast<std::uint8_t>(code);
      to[kBytes] = static_cast<std::uint8_t>(code >> 8);
    }
  }
  __syncwarp();
}

/// words[part][group] of a warp's lanes, from a patch.
template <int kComponents, int kGroups, int kParts, int kWords>
__device__ __forceinline__ void take_wide_patch(const std::uint8_t* patch,
                                                unsigned (&words)[kParts][kGroups][kWords]) {
  const int lane = threadIdx.x, column = lane / 8 + 4 * (lane / 4 % 2);
  constexpr int kBytes = kPartBytes<kComponents>;
  const std::uint8_t* const from =
      patch + kBytes * kParts * (lane % 4) + kColumnSamples<kComponents> * column;
#pragma unroll
  for (int c = 0; c < kParts; ++c)
#pragma unroll
    for (int j = 0; j < kGroups; ++j)
#pragma unroll
      for (int n = 0; n < kWords; ++n)
        words[c][j][n] =
            reinterpret_cast<const unsigned*>(from + kBytes * (kParts * kGroupRows * j + c))[n];
}

/// Stores sixteen bytes at byte x of a row, as far as they are the picture's.
__device__ __noinline__ void store_wide_edge(const TensorPlane& plane, int x, int row,
                                             uint4 sixteen) {
  const unsigned words[4] = {sixteen.x, sixteen.y, sixteen.z, sixteen.w};
  std::uint8_t* const to = plane.dst + row * plane.dst_pitch;
#pragma unroll
  for (int i = 0; i < 8; ++i)
    if (x + 2 * i < plane.row_bytes)
      *reinterpret_cast<std::uint16_t*>(to + x + 2 * i) =
          static_cast<std::uint16_t>(words[i / 2] >> (16 * (i % 2)));
}

}  // namespace
}  // namespace convolve
