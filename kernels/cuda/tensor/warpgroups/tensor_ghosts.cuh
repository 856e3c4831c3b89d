// SPDX-License-Identifier: LGPL-2.1-or-later
// Tiles in shared memory whose ghosts at the sides are made of samples of the same tile
// (TensorPlane::ghosts_in_tile): producers load none of these ghosts, and so wait for no single
// bytes. Consumers make them when the tile has come.
#pragma once

#include "kernels/cuda/tensor/tile/tensor_tile.cuh"

namespace convolve {
namespace {

/// What fill_inner() does with a tile at the edge of the picture.
template <int kComponents, int kBytes>
__device__ __forceinline__ void fill_edge(const TensorArguments& a, const TensorPlane& plane,
                                          const TensorTile& tile, HaloOrigin at, std::uint8_t* to,
                                          int line) {
  constexpr int kPlanes = kComponents * kBytes;
  const int width = plane.row_bytes / kPlanes, plane_bytes = tile.rows * tile.pitch;
  // Chunks are loaded in halves, as the picture may end between them.
  const auto half_at = [&](int half) { return min(max(at.x + half, 0), width - kHalf) * kPlanes; };
  const std::uint8_t* const first = plane.src + half_at(0);
  const std::uint8_t* const second = plane.src + half_at(kHalf);
  const auto row_of = [&](int r) { return border_index(a.border, at.y + r, plane.rows); };
  // Several rows at a time, so that their loads are in flight together.
  constexpr int kBatch = kPlanes == 1 ? 1 : fill_batch(kPlanes);
#pragma unroll 1
  for (int r = line; r < tile.rows; r += kBatch * tile.lines) {
    Chunk<kPlanes == 1 ? 2 : kPlanes> samples[kBatch];
    if constexpr (kPlanes > 1) {
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        const int row = max(row_of(min(r + i * tile.lines, tile.rows - 1)), 0);
        samples[i].load_halves(first + row * plane.src_pitch, second + row * plane.src_pitch);
      }
    }
#pragma unroll
    for (int i = 0; i < kBatch; ++i, to += tile.lines * tile.pitch) {
      if (r + i * tile.lines >= tile.rows) break;
      const int row = row_of(r + i * tile.lines);
      if (row == kNoSignal) {
#pragma unroll
        for (int k = 0; k < kPlanes; ++k) {
          const unsigned black = 0x01010101u * black_byte<kBytes>(plane, k);
          *reinterpret_cast<uint4*>(to + k * plane_bytes) = make_uint4(black, black, black, black);
        }
      } else if constexpr (kPlanes == 1) {
        copy_8_async(to, first + row * plane.src_pitch);
        copy_8_async(to + kHalf, second + row * plane.src_pitch);
      } else {
        if constexpr (kBytes == 2) samples[i].decode(plane.layout);
        store_chunk(samples[i], plane_bytes, to);
      }
    }
  }
}

/// Fills a tile but for the ghosts at its sides; what is loaded in their place lies inside the
/// picture. Four warps take part, of which the caller is thread number `thread`. `at.x` is a
/// multiple of 8.
template <int kComponents, int kBytes>
__device__ __forceinline__ void fill_inner(const TensorArguments& a, const TensorPlane& plane,
                                           const TensorTile& tile, HaloOrigin at,
                                           std::uint8_t* memory, int thread) {
  constexpr int kPlanes = kComponents * kBytes;
  const int line = static_cast<int>(__umulhi(static_cast<unsigned>(thread), tile.reciprocal));
  if (line >= tile.lines) return;
  const int column = kChunk * (thread - line * tile.chunks);
  const bool inside = at.y >= 0 && at.y + tile.rows <= plane.rows && at.x >= 0 &&
                      (at.x + kChunk * tile.chunks) * kPlanes <= plane.row_bytes;
  std::uint8_t* const to = memory + line * tile.pitch + column;
  if (inside)
    fill_inside<kComponents, kBytes, true>(
        plane, tile, plane.src + (at.y + line) * plane.src_pitch + (at.x + column) * kPlanes, line,
        to);
  else
    fill_edge<kComponents, kBytes>(a, plane, tile, {at.x + column, at.y}, to, line);
}

/// Makes the ghosts at the sides of a tile whose samples have come, where it has any.
template <int kComponents, int kBytes>
__device__ __forceinline__ void make_ghosts(const TensorArguments& a, const TensorPlane& plane,
                                            const TensorTile& tile, int x, std::uint8_t* memory,
                                            int thread) {
  constexpr int kPlanes = kComponents * kBytes, kLines = 32 * kWarps / kChunk;
  const int width = plane.row_bytes / kPlanes, plane_bytes = tile.rows * tile.pitch;
  // No output inside the picture reads further columns.
  const int last = min(kChunk * tile.chunks, width - x + tile.reach);
#pragma unroll 1
  for (int column = thread % kChunk; column < last; column += kChunk) {
    if (x + column >= 0 && x + column < width) continue;
    const int from = border_index(a.border, x + column, width);
#pragma unroll
    for (int k = 0; k < kPlanes; ++k) {
      std::uint8_t* const samples = memory + k * plane_bytes;
      const auto black = static_cast<std::uint8_t>(black_byte<kBytes>(plane, k));
#pragma unroll 4
      for (int r = thread / kChunk; r < tile.rows; r += kLines)
        samples[r * tile.pitch + column] =
            from == kNoSignal ? black : samples[r * tile.pitch + from - x];
    }
  }
}

}  // namespace
}  // namespace convolve
