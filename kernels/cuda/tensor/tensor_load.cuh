// SPDX-License-Identifier: LGPL-2.1-or-later
// Loads picture rows, ghosts included, as operand B of kernel `tensor` takes them.
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

/// Bytes that a lane holds of a picture row: lane l has bytes 8 (l % 4) to 8 (l % 4) + 7 of the
/// window of column l / 4.
constexpr int kLaneBytes = 8;
/// Bytes of a picture row that the windows of eight columns cover in one segment.
constexpr int kSpanBytes = kTensorTileBytes - kColumnBytes + kWindowBytes;
constexpr int kSpanVectors = kSpanBytes / kLaneBytes;

/// The plane that a block of the launch filters, or a tile of it where blocks take tiles in turns.
__device__ __forceinline__ const TensorPlane& plane_of_block(const TensorArguments& a, int block) {
  int p = 0;
  while (p + 1 < a.plane_count && block >= a.plane[p + 1].first_block)
    ++p;
  return a.plane[p];
}
__device__ __forceinline__ const TensorPlane& plane_of_block(const TensorArguments& a) {
  return plane_of_block(a, static_cast<int>(blockIdx.x));
}

/// byte % plane.period, never negative, without a division.
__device__ __forceinline__ int phase_of(const TensorPlane& plane, int byte) {
  if (plane.period != 3) return byte & (plane.period - 1);
  const int remainder = byte % 3;
  return remainder < 0 ? remainder + 3 : remainder;
}

/// The number of the sample of `phase` that `byte` belongs to; negative left of the picture.
__device__ __forceinline__ int sample_of(const TensorPhase& phase, int byte) {
  const int distance = byte - phase.offset;
  if (phase.step == 3) return distance / 3;
  return distance >> (phase.step >> 1);  // A step of 1, 2 or 4.
}

/// True if rows from `data` on with this pitch begin at multiples of `bytes`, a power of two.
__device__ __forceinline__ bool aligned(const void* data, std::int64_t pitch, int bytes) {
  return (reinterpret_cast<std::uintptr_t>(data) | static_cast<std::uintptr_t>(pitch)) %
             static_cast<unsigned>(bytes) ==
         0;
}

/// Prefetches to the L2 cache what the columns of a warp, from byte x on, read in `count` rows from
/// y on.
__device__ __forceinline__ void prefetch_rows(const TensorPlane& plane, int x, int y, int count) {
  const int lane = threadIdx.x, at = x + kSectorBytes * (lane % 4);
  if (at >= plane.row_bytes) return;
  const int end = min(y + count, plane.rows);
#pragma unroll 1
  for (int row = max(y, 0) + lane / 4; row < end; row += 8)
    prefetch_l2(plane.src + row * plane.src_pitch + at);
}

/// Fills a patch: kRows rows of kSpanBytes in a warp's shared memory, from byte x of row y of the
/// picture on, ghosts included. Vectors of kLaneBytes inside the picture are copied whole, all in
/// flight at once; other bytes by eight lanes for each vector. If the lanes that need these bytes
/// loaded them, warps at the picture's edges would last longer than all others.
__device__ __forceinline__ void fill_patch(const TensorPlane& plane, Border border, int x, int y,
                                           std::uint8_t* patch) {
  constexpr int kRounds = (kRows * kSpanVectors + 31) / 32;
  const int lane = threadIdx.x;
  const bool vectors = aligned(plane.src, plane.src_pitch, kLaneBytes);
  const auto limit = [](int vector) { return min(max(vector, 0), kSpanVectors); };
  const int begin = vectors ? limit((kLaneBytes - 1 - x) >> 3) : 0;
  const int end = vectors ? max(begin, limit((plane.whole_bytes - x) >> 3)) : begin;
  const auto row_at = [&](int r) -> const std::uint8_t* {
    const int row = border_index(border, y + r, plane.rows);
    return row == kNoSignal ? nullptr : plane.src + row * plane.src_pitch;
  };
  uint2 vector[kRounds];
#pragma unroll
  for (int n = 0; n < kRounds; ++n) {
    const int i = lane + 32 * n, r = i / kSpanVectors, u = i % kSpanVectors;
    const std::uint8_t* row = r < kRows && u >= begin && u < end ? row_at(r) : nullptr;
    if (row != nullptr) vector[n] = __ldg(reinterpret_cast<const uint2*>(row + x + kLaneBytes * u));
  }
#pragma unroll
  for (int n = 0; n < kRounds; ++n) {
    const int i = lane + 32 * n;
    if (i < kRows * kSpanVectors) reinterpret_cast<uint2*>(patch)[i] = vector[n];
  }
  __syncwarp();
  // No output needs what only columns behind the picture read.
  const int reach =
      plane.row_bytes + kWindowBytes * plane.window.segments - plane.window.left - kColumnBytes;
  const int needed = limit((reach - x + kLaneBytes - 1) >> 3);
  const bool ghost_rows = border == Border::kZero && (y < 0 || y + kRows > plane.rows);
#pragma unroll 1
  for (int u = 0; u < needed; ++u) {
    if (u == begin && !ghost_rows) u = end;
    if (u >= needed) break;
    const int byte = x + kLaneBytes * u + lane % kLaneBytes;
    const TensorPhase& phase = plane.phase[phase_of(plane, byte)];
    const int sample = border_index(border, sample_of(phase, byte), phase.width);
#pragma unroll
    for (int r = lane / kLaneBytes; r < kRows; r += 32 / kLaneBytes) {
      const std::uint8_t* row = sample == kNoSignal ? nullptr : row_at(r);
      const bool have = row != nullptr;
      patch[r * kSpanBytes + kLaneBytes * u + lane % kLaneBytes] =
          have ? __ldg(row + phase.offset + sample * phase.step)
               : static_cast<std::uint8_t>(phase.black);
    }
  }
}

/// The windows of a warp's columns as operand B. kInside: all lie inside the picture's columns, and
/// are loaded from memory; otherwise they go through a patch of shared memory.
template <bool kInside>
class Windows {
 public:
  __device__ Windows(const TensorArguments& a, const TensorPlane& plane, int x, int y,
                     std::uint8_t* patch)
      : a_(a), plane_(plane), patch_(patch), x_(x - plane.window.left), y_(y - a.anchor_y) {
    const int lane = threadIdx.x;
    mine_ = kColumnBytes * (lane / 4) + kLaneBytes * (lane % 4);
  }

  /// Loads row `first` and the seven below it, counted from the first row that the outputs read, of
  /// which `count` are needed.
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
  /// The same where some rows are ghosts, or lie below all that is needed.
  __device__ __forceinline__ void load_clipped(const std::uint8_t* from, int y, int count, int byte,
                                               uint2 (&rows)[kRows]) const {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (r >= count) break;
      const int row = border_index(a_.border, y + r, plane_.rows);
      rows[r] = row == kNoSignal
                    ? black_vector(byte)
                    : __ldg(reinterpret_cast<const uint2*>(from + row * plane_.src_pitch));
    }
  }

  __device__ uint2 black_vector(int byte) const {
    uint2 vector = {0, 0};
#pragma unroll 1
    for (int b = 0; b < kLaneBytes; ++b) {
      const unsigned black = plane_.phase[phase_of(plane_, byte + b)].black;
      (b < 4 ? vector.x : vector.y) |= black << (8 * (b % 4));
    }
    return vector;
  }

  const TensorArguments& a_;
  const TensorPlane& plane_;
  std::uint8_t* patch_;
  int x_, y_;  ///< The first byte of the first window, and its row.
  int mine_;   ///< Bytes from the first window to what this lane loads.
};

}  // namespace
}  // namespace convolve
