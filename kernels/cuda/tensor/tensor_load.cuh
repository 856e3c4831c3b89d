// SPDX-License-Identifier: LGPL-2.1-or-later
// Picture rows on their way into the operands of kernel `tensor`, ghosts included.
#pragma once

#include "kernels/core/base/border.h"
#include "kernels/core/shape/tensor_windows.h"
#include "kernels/cuda/device/kernel.cuh"
#include "kernels/cuda/device/overlap.cuh"
#include "kernels/cuda/tensor/tensor.h"

namespace convolve {
namespace {

constexpr int kRows = 8;  ///< Output rows of a warp, and picture rows loaded together.
constexpr int kWarps = kTensorWarps;
static_assert(kWarps * kRows == kTensorTileRows, "the planner speaks of another tile");
constexpr int kColumns = kTensorTileBytes / kColumnBytes;
static_assert(kColumns == 8, "operand B has eight columns");

/// What a lane holds of a picture row: 8 bytes of the window of column lane / 4.
constexpr int kPieceBytes = 8;
/// Bytes of a picture row that the eight windows of one segment cover.
constexpr int kSpanBytes = kTensorTileBytes - kColumnBytes + kWindowBytes;
constexpr int kSpanPieces = kSpanBytes / kPieceBytes;

/// byte % plane.period, without a division: never negative.
__device__ __forceinline__ int phase_of(const TensorPlane& plane, int byte) {
  if (plane.period != 3) return byte & (plane.period - 1);
  const int remainder = byte % 3;
  return remainder < 0 ? remainder + 3 : remainder;
}

/// The sample that `byte`, one of `phase`, is in its component: any number.
__device__ __forceinline__ int sample_of(const TensorPhase& phase, int byte) {
  const int distance = byte - phase.offset;
  if (phase.step == 3) return distance / 3;
  return distance >> (phase.step >> 1);  // A step of 1, 2 or 4.
}

__device__ __forceinline__ bool aligned(const void* data, std::int64_t pitch, int bytes) {
  return (reinterpret_cast<std::uintptr_t>(data) | static_cast<std::uintptr_t>(pitch)) %
             static_cast<unsigned>(bytes) ==
         0;
}

/// Has the L2 cache fetch what a warp's columns, from byte x on, see in `count` rows from y on.
__device__ __forceinline__ void fetch_rows(const TensorPlane& plane, int x, int y, int count) {
  const int lane = threadIdx.x, at = x + kSectorBytes * (lane % 4);
  if (at >= plane.row_bytes) return;
  const int end = min(y + count, plane.rows);
#pragma unroll 1
  for (int row = max(y, 0) + lane / 4; row < end; row += 8)
    prefetch_l2(plane.src + row * plane.src_pitch + at);
}

/// Fills a patch, kRows rows of kSpanBytes, from byte x of row y of the picture on, ghosts
/// included. Whole pieces inside the picture go as such, all in flight at once; other bytes with
/// eight lanes to a piece. Left to the lanes that need them, they would make the warps at the
/// picture's edges last longer than all others.
__device__ __forceinline__ void fill_patch(const TensorPlane& plane, Border border, int x, int y,
                                           std::uint8_t* patch) {
  constexpr int kTurns = (kRows * kSpanPieces + 31) / 32;
  const int lane = threadIdx.x;
  const bool pieces = aligned(plane.src, plane.src_pitch, kPieceBytes);
  const auto limit = [](int piece) { return min(max(piece, 0), kSpanPieces); };
  const int begin = pieces ? limit((kPieceBytes - 1 - x) >> 3) : 0;
  const int end = pieces ? max(begin, limit((plane.whole_bytes - x) >> 3)) : begin;
  const auto row_at = [&](int r) -> const std::uint8_t* {
    const int row = border_index(border, y + r, plane.rows);
    return row == kNoSignal ? nullptr : plane.src + row * plane.src_pitch;
  };
  uint2 piece[kTurns];
#pragma unroll
  for (int n = 0; n < kTurns; ++n) {
    const int i = lane + 32 * n, r = i / kSpanPieces, u = i % kSpanPieces;
    const std::uint8_t* row = r < kRows && u >= begin && u < end ? row_at(r) : nullptr;
    if (row != nullptr) piece[n] = __ldg(reinterpret_cast<const uint2*>(row + x + kPieceBytes * u));
  }
#pragma unroll
  for (int n = 0; n < kTurns; ++n) {
    const int i = lane + 32 * n;
    if (i < kRows * kSpanPieces) reinterpret_cast<uint2*>(patch)[i] = piece[n];
  }
  __syncwarp();
  // Columns that begin behind the picture are nobody's: what only they see may be anything.
  const int reach = plane.row_bytes + kWindowBytes * plane.segments - plane.left - kColumnBytes;
  const int needed = limit((reach - x + kPieceBytes - 1) >> 3);
  const bool ghost_rows = border == Border::kZero && (y < 0 || y + kRows > plane.rows);
#pragma unroll 1
  for (int u = 0; u < needed; ++u) {
    if (u == begin && !ghost_rows) u = end;
    if (u >= needed) break;
    const int byte = x + kPieceBytes * u + lane % kPieceBytes;
    const TensorPhase& phase = plane.phase[phase_of(plane, byte)];
    const int sample = border_index(border, sample_of(phase, byte), phase.width);
#pragma unroll
    for (int r = lane / kPieceBytes; r < kRows; r += 32 / kPieceBytes) {
      const std::uint8_t* row = sample == kNoSignal ? nullptr : row_at(r);
      const bool have = row != nullptr;
      patch[r * kSpanBytes + kPieceBytes * u + lane % kPieceBytes] =
          have ? __ldg(row + phase.offset + sample * phase.step)
               : static_cast<std::uint8_t>(phase.black);
    }
  }
}

/// Picture rows as operand B: from memory where kInside, all windows inside the picture's columns,
/// otherwise through a patch of shared memory.
template <bool kInside>
class Windows {
 public:
  __device__ Windows(const TensorArguments& a, const TensorPlane& plane, int x, int y,
                     std::uint8_t* patch)
      : a_(a), plane_(plane), patch_(patch), x_(x - plane.left), y_(y - a.anchor_y) {
    const int lane = threadIdx.x;
    mine_ = kColumnBytes * (lane / 4) + kPieceBytes * (lane % 4);
  }

  /// Rows `first` and the seven below it, of which `count` are needed.
  __device__ __forceinline__ void load(int segment, int first, int count,
                                       uint2 (&rows)[kRows]) const {
    const int x = x_ + kWindowBytes * segment, y = y_ + first;
    if constexpr (kInside) {
      const std::uint8_t* from = plane_.src + (x + mine_);
      if (y >= 0 && y + kRows <= plane_.rows) {
        from += y * plane_.src_pitch;
#pragma unroll
        for (int r = 0; r < kRows; ++r, from += plane_.src_pitch)
          rows[r] = __ldg(reinterpret_cast<const uint2*>(from));
      } else {
        load_clipped(from, y, count, x + mine_, rows);
      }
    } else {
      fill_patch(plane_, a_.border, x, y, patch_);
      __syncwarp();
#pragma unroll
      for (int r = 0; r < kRows; ++r)
        rows[r] = *reinterpret_cast<const uint2*>(patch_ + r * kSpanBytes + mine_);
      __syncwarp();
    }
  }

 private:
  /// Some of the rows are ghosts, or below all that is needed.
  __device__ __forceinline__ void load_clipped(const std::uint8_t* from, int y, int count, int byte,
                                               uint2 (&rows)[kRows]) const {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (r >= count) break;
      const int row = border_index(a_.border, y + r, plane_.rows);
      rows[r] = row == kNoSignal
                    ? black_piece(byte)
                    : __ldg(reinterpret_cast<const uint2*>(from + row * plane_.src_pitch));
    }
  }

  __device__ uint2 black_piece(int byte) const {
    uint2 piece = {0, 0};
#pragma unroll 1
    for (int b = 0; b < kPieceBytes; ++b) {
      const unsigned black = plane_.phase[phase_of(plane_, byte + b)].black;
      (b < 4 ? piece.x : piece.y) |= black << (8 * (b % 4));
    }
    return piece;
  }

  const TensorArguments& a_;
  const TensorPlane& plane_;
  std::uint8_t* patch_;
  int x_, y_;  ///< The first byte of the first window.
  int mine_;   ///< Bytes from there to this lane's.
};

}  // namespace
}  // namespace convolve
