// SPDX-License-Identifier: LGPL-2.1-or-later
// Rows of pixels of three or four bytes on their way through the shared memory of
// tensor_pixels.cu: from the picture into a warp's ring, into words of one component, and codes
// back into the picture.
#pragma once

#include "kernels/cuda/device/overlap.cuh"
#include "kernels/cuda/device/stages.cuh"
#include "kernels/cuda/tensor/pairs/tensor_pair.cuh"
#include "kernels/cuda/tensor/pixels/tensor_pixels.h"
#include "kernels/cuda/tensor/tile/tensor_tile.cuh"

namespace convolve {
namespace {

constexpr int kFiltered = 3;  ///< Components that are, whatever the bytes of a pixel.
constexpr int kStages = 4;    ///< Of eight rows each: two that a step sees, two under way.
constexpr int kPiece = 16;    ///< Bytes that a lane brings, or stores, at once.

/// Where a warp's rows and codes lie in shared memory.
template <int kParts>
struct PixelRing {
  static constexpr int kColumnBytes = 8 * kParts;
  static constexpr int kTileBytes = kColumns * kColumnBytes;
  static_assert(kTileBytes == kPixelTile * kParts, "the host places other tiles");
  static constexpr int kPieces = kTileBytes / kPiece;  ///< Of a row of codes.
  /// With a piece on either side. No two lanes that read at once meet in a bank: of three bytes
  /// for that pitch, of four as the rows of a group begin 0, 41, 20 and 61 pieces behind its own
  /// beginning.
  static constexpr int kPitch = kTileBytes + 2 * kPiece;
  static constexpr int kGroupBytes = kParts == 3 ? kGroupRows * kPitch : 80 * kPiece;
  static constexpr int kStageBytes = 2 * kGroupBytes;

  std::uint8_t rows[kStages * kStageBytes];
  std::uint8_t codes[kRows * kTileBytes];

  /// Where row r of a stage begins, from the stage's own beginning on.
  static __device__ __forceinline__ int row_offset(int r) {
    const int group = r / kGroupRows, own = r % kGroupRows;
    return group * kGroupBytes +
           (kParts == 3 ? own * kPitch : own % 2 * 41 * kPiece + own / 2 * 20 * kPiece);
  }

  /// Piece n of a row of codes. Of four bytes the pieces of a row change places, so that no two
  /// lanes meet in a bank here, either.
  __device__ __forceinline__ uint4* piece(int row, int n) {
    if constexpr (kParts == 4) n ^= n / 8 ^ row % 2 * 6;
    return reinterpret_cast<uint4*>(codes + row * kTileBytes) + n;
  }

  /// Keeps the codes of a column of a row, of words word(n).
  template <class Word>
  __device__ __forceinline__ void keep(int row, int column, const Word& word) {
    if constexpr (kParts == 3) {
      auto* const to = reinterpret_cast<uint2*>(codes + row * kTileBytes + kColumnBytes * column);
#pragma unroll
      for (int i = 0; i < kParts; ++i)
        to[i] = make_uint2(word(2 * i), word(2 * i + 1));
    } else {
#pragma unroll
      for (int i = 0; i < 2; ++i)
        *piece(row, 2 * column + i) =
            make_uint4(word(4 * i), word(4 * i + 1), word(4 * i + 2), word(4 * i + 3));
    }
  }
};

/// Copies `bytes` of 16.
__device__ __forceinline__ void copy_some_async(std::uint8_t* to, const std::uint8_t* from,
                                                int bytes) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(from), "r"(bytes)
               : "memory");
#else
  for (int b = 0; b < bytes; ++b)
    to[b] = __ldg(from + b);
#endif
}

/// A warp's picture rows on their way into its ring, stage by stage. Half a warp brings a row, so
/// that neighbouring lanes ask for neighbouring pieces: how often the L2 cache is asked counts, not
/// the bytes alone.
template <int kParts>
class PixelRows {
  using Ring = PixelRing<kParts>;
  static constexpr int kLanes = 16;  ///< To a row.
  /// Three bytes: all pieces of a row together. Four: those on either side by themselves.
  static constexpr int kLead = kParts == 3 ? kPiece : 0;

 public:
  /// The outputs start at byte x and see `count` rows from y on, a multiple of 4.
  __device__ PixelRows(const TensorArguments& a, const TensorPlane& plane, int x, int y, int count)
      : a_(a), plane_(plane), y_(y), left_(count) {
    const int lane = threadIdx.x, own = lane / kLanes;
    const int at = kPiece * (lane % kLanes) - kLead;
    const int side = lane % 2 == 0 ? -kPiece : Ring::kTileBytes;
    const auto room = [&](int from) {
      return x + from < 0 ? 0 : min(max(plane.row_bytes - x - from, 0), kPiece);
    };
    room_ = at <= Ring::kTileBytes ? room(at) : 0;
    side_room_ = kParts == 4 ? room(side) : 0;
    // Only the last piece of a row may be less than whole.
    whole_ = plane.row_bytes % kPiece == 0 || x + Ring::kTileBytes + kPiece <= plane.row_bytes;
    to_ = Ring::row_offset(own) + kPiece + at;
    side_to_ = Ring::row_offset(lane / 2 % kRows) + kPiece + side;
    at_ = x + at;
    side_at_ = x + side;
    from_ = plane.src + (y + own) * plane.src_pitch + at_;
  }

  /// Starts copying the next stage; all lanes are done with what was there.
  __device__ __forceinline__ void start(std::uint8_t* stage) {
    const std::int64_t pitch = plane_.src_pitch;
    if (left_ > 0) {
      if (whole_ && y_ >= 0 && y_ + kRows <= plane_.rows) {
        if (room_ > 0) {
#pragma unroll
          for (int r = 0; r < kRows; r += 2)
            copy_async<false>(stage + to_ + Ring::row_offset(r), from_ + r * pitch);
        }
        if constexpr (kParts == 4) {
          const int lane = threadIdx.x;
          if (lane < 2 * kRows && side_room_ > 0)
            copy_async<false>(stage + side_to_, plane_.src + (y_ + lane / 2) * pitch + side_at_);
        }
      } else {
        start_edge(stage);
      }
    }
    end_stage();
    y_ += kRows;
    left_ -= kRows;
    from_ += kRows * pitch;
  }

 private:
  /// Brings a piece of picture row y, which may be a ghost. Out of line: code that nearly all warps
  /// skip makes them wait for theirs.
  __device__ __noinline__ static void copy_edge(const TensorArguments& a, const TensorPlane& plane,
                                                int y, int at, int room, std::uint8_t* to) {
    const int row = border_index(a.border, y, plane.rows);
    const unsigned black = plane.pair_black;
    if (row == kNoSignal)
      *reinterpret_cast<uint4*>(to) = make_uint4(black, black, black, black);
    else
      copy_some_async(to, plane.src + row * plane.src_pitch + at, room);
  }

  /// A stage of which some rows are ghosts, or the last piece is not whole.
  __device__ __forceinline__ void start_edge(std::uint8_t* stage) const {
    const int lane = threadIdx.x;
#pragma unroll 1
    for (int r = 0; r < kRows; r += 2)
      if (room_ > 0)
        copy_edge(a_, plane_, y_ + r + lane / kLanes, at_, room_,
                  stage + to_ + Ring::row_offset(r));
    if (lane < 2 * kRows && side_room_ > 0)
      copy_edge(a_, plane_, y_ + lane / 2, side_at_, side_room_, stage + side_to_);
  }

  const TensorArguments& a_;
  const TensorPlane& plane_;
  int y_, left_;
  int room_, side_room_;
  int to_, side_to_, at_, side_at_;
  const std::uint8_t* from_;
  bool whole_;
};

/// The ghosts at the sides of a warp's tile, four pixels each: a lane makes one of a row of a stage
/// on either side, of the pixel that it is. Which that is it finds out once: warps at the edges
/// used to hold up the whole launch (BGR 4K 5x5 32.4 us for 26.7 on an H100).
template <int kParts>
class PixelGhosts {
  using Ring = PixelRing<kParts>;

 public:
  /// The outputs start at byte x.
  __device__ PixelGhosts(const TensorArguments& a, const TensorPlane& plane, int x)
      : a_(a), plane_(plane) {
    any_ = x == 0 || x + Ring::kTileBytes + kPiece > plane.row_bytes;
    if (!any_) return;
    const int t = threadIdx.x % 4, width = plane.row_bytes / kParts;
    if (x == 0) find(-1 - t, x, width, 0);
    if (x + Ring::kTileBytes + kPiece > plane.row_bytes) find(width + t, x, width, 1);
  }

  /// True if the tile has any.
  __device__ bool any() const { return any_; }

  /// Makes those of a stage whose first row is y.
  __device__ __forceinline__ void make(int y, std::uint8_t* stage) const {
    const int r = threadIdx.x / 4;
    std::uint8_t* const row = stage + Ring::row_offset(r);
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      if (to_[side] < 0) continue;
      std::uint8_t pixel[kParts];
      if (from_[side] >= 0) {
#pragma unroll
        for (int b = 0; b < kParts; ++b)
          pixel[b] = row[from_[side] + b];
      } else {
        const int own = border_index(a_.border, y + r, plane_.rows);
        const bool black = sample_[side] == kNoSignal || own == kNoSignal;
#pragma unroll
        for (int b = 0; b < kParts; ++b)
          pixel[b] = black
                         ? static_cast<std::uint8_t>(plane_.pair_black)
                         : __ldg(plane_.src + own * plane_.src_pitch + kParts * sample_[side] + b);
      }
#pragma unroll
      for (int b = 0; b < kParts; ++b)
        row[to_[side] + b] = pixel[b];
    }
  }

 private:
  /// Of ghost `pixel`.
  __device__ __forceinline__ void find(int pixel, int x, int width, int side) {
    constexpr int kEnd = Ring::kTileBytes + 2 * kPiece;
    const int to = kParts * pixel - x + kPiece;
    if (to + kParts > kEnd) return;
    to_[side] = to;
    sample_[side] = border_index(a_.border, pixel, width);
    const int from = kParts * sample_[side] - x + kPiece;
    if (sample_[side] != kNoSignal && from >= 0 && from + kParts <= kEnd) from_[side] = from;
  }

  const TensorArguments& a_;
  const TensorPlane& plane_;
  bool any_;
  int to_[2] = {-1, -1};      ///< In a row of the ring; -1: there is none.
  int from_[2] = {-1, -1};    ///< The pixel that it is, there; -1: it is elsewhere,
  int sample_[2] = {-1, -1};  ///< or nowhere.
};

/// Words n of the components of sixteen pixels of four bytes, of which the first is byte `first`.
__device__ __forceinline__ void part_four(const unsigned (&pixels)[16], int n, int first,
                                          unsigned (&words)[kFiltered]) {
  const unsigned both = 0x5140 + 0x1111 * first, last = 0x0062 + 0x0011 * first;
  const unsigned low = __byte_perm(pixels[4 * n], pixels[4 * n + 1], both);
  const unsigned high = __byte_perm(pixels[4 * n + 2], pixels[4 * n + 3], both);
  words[0] = __byte_perm(low, high, 0x5410);
  words[1] = __byte_perm(low, high, 0x7632);
  words[2] = __byte_perm(__byte_perm(pixels[4 * n], pixels[4 * n + 1], last),
                         __byte_perm(pixels[4 * n + 2], pixels[4 * n + 3], last), 0x5410);
}

/// What a lane's column sees of a group of picture rows, from `from` on: four words of each
/// component, of which the first is byte `first` of a pixel.
template <int kParts>
__device__ __forceinline__ void part_pixels(const std::uint8_t* from, int first,
                                            unsigned (&words)[kFiltered][4]) {
  Chunk<kParts> pixels;
  if constexpr (kParts == 3) {
    // Four bytes of the piece on the left are nobody's.
    unsigned all[14];
#pragma unroll
    for (int i = 0; i < 7; ++i) {
      const uint2 two = reinterpret_cast<const uint2*>(from)[i];
      all[2 * i] = two.x;
      all[2 * i + 1] = two.y;
    }
#pragma unroll
    for (int i = 0; i < 12; ++i)
      pixels.words[i] = all[1 + i];
#pragma unroll
    for (int c = 0; c < kFiltered; ++c)
#pragma unroll
      for (int n = 0; n < 4; ++n)
        words[c][n] = pixels.plane(c, n);
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      reinterpret_cast<uint4*>(pixels.words)[i] = reinterpret_cast<const uint4*>(from)[i];
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      unsigned parts[kFiltered];
      part_four(pixels.words, n, first, parts);
#pragma unroll
      for (int c = 0; c < kFiltered; ++c)
        words[c][n] = parts[c];
    }
  }
}

/// Has the L2 cache fetch a tile's part of `count` rows from y on.
template <int kParts>
__device__ __forceinline__ void fetch_pixels(const TensorPlane& plane, int x, int y, int count) {
  const int lane = threadIdx.x, at = x + kSectorBytes * (lane % 8);
  if (lane % 8 >= PixelRing<kParts>::kTileBytes / kSectorBytes || at >= plane.row_bytes) return;
  const int end = min(y + count, plane.rows);
#pragma unroll 1
  for (int row = max(y, 0) + lane / 8; row < end; row += 4)
    prefetch_l2(plane.src + row * plane.src_pitch + at);
}

/// Stores the first bytes of a piece. Out of line, as above.
__device__ __noinline__ void store_some(std::uint8_t* to, int bytes, uint4 piece) {
  const unsigned words[4] = {piece.x, piece.y, piece.z, piece.w};
#pragma unroll
  for (int b = 0; b < kPiece; ++b)
    if (b < bytes) to[b] = static_cast<std::uint8_t>(words[b / 4] >> (8 * (b % 4)));
}

/// A warp's codes on their way out of its ring, half a warp to a row.
template <int kParts>
class PixelOutput {
  using Ring = PixelRing<kParts>;
  static constexpr int kLanes = 16, kTurns = kRows / 2;

 public:
  /// The outputs start at byte x of row y.
  __device__ PixelOutput(const TensorArguments& a, const TensorPlane& plane, Ring& ring, int x,
                         int y)
      : plane_(plane), kept_(plane.kept), row_(y + threadIdx.x / kLanes) {
    // Lanes beyond the last piece do as its own does, and store nothing.
    const int mine = threadIdx.x % kLanes, own = threadIdx.x / kLanes;
    const int piece = min(mine, Ring::kPieces - 1);
    room_ = mine == piece ? plane.row_bytes - x - kPiece * piece : 0;
    whole_ = x + Ring::kTileBytes <= plane.row_bytes;
    to_ = plane.dst + row_ * plane.dst_pitch + x + kPiece * piece;
    codes_ = ring.piece(own, piece);
    if constexpr (kParts == 4) {
#pragma unroll
      for (int i = 0; i < kTurns; ++i) {
        const int r = a.anchor_y + 2 * i + own;
        far_ |= (r >= kRows) << i;
        source_[i] = Ring::row_offset(r % kRows) + kPiece * (1 + piece);
      }
    }
  }

  /// Stores what lies there, of a step that saw the stages `near` and `far`.
  __device__ __forceinline__ void store(const Ring& ring, int near, int far) {
    uint4 pieces[kTurns];
#pragma unroll
    for (int i = 0; i < kTurns; ++i) {
      pieces[i] = codes_[2 * i * Ring::kPieces];
      if constexpr (kParts == 4) {
        const uint4 own = *reinterpret_cast<const uint4*>(
            ring.rows + ((far_ >> i & 1) != 0 ? far : near) + source_[i]);
        pieces[i].x = (pieces[i].x & ~kept_) | (own.x & kept_);
        pieces[i].y = (pieces[i].y & ~kept_) | (own.y & kept_);
        pieces[i].z = (pieces[i].z & ~kept_) | (own.z & kept_);
        pieces[i].w = (pieces[i].w & ~kept_) | (own.w & kept_);
      }
    }
    const std::int64_t pitch = plane_.dst_pitch;
#pragma unroll
    for (int i = 0; i < kTurns; ++i) {
      if (room_ > 0 && row_ + 2 * i < plane_.rows) {
        if (whole_)
          *reinterpret_cast<uint4*>(to_ + 2 * i * pitch) = pieces[i];
        else
          store_some(to_ + 2 * i * pitch, room_, pieces[i]);
      }
    }
    row_ += kRows;
    to_ += kRows * pitch;
  }

 private:
  const TensorPlane& plane_;
  unsigned kept_;
  int row_, room_;
  bool whole_;
  std::uint8_t* to_;
  const uint4* codes_;
  int source_[kTurns] = {};
  unsigned far_ = 0;
};

}  // namespace
}  // namespace convolve
