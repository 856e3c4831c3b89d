// SPDX-License-Identifier: LGPL-2.1-or-later
// What the parts of kernel `coarsened` agree on: the block's tile, a thread's register tile in it,
// and wide reads of shared memory.
#pragma once

#include <type_traits>

#include "kernels/cuda/tile_load.cuh"

namespace convolve {
namespace {

constexpr int kThreadsX = 8;
constexpr int kThreadsY = 16;
constexpr int kThreads = kThreadsX * kThreadsY;
constexpr int kRows = 2;  ///< Output rows of a thread: adjacent.
constexpr int kColumns =
    16;                   ///< Output columns of a thread: fours, a quarter of the tile apart, so
constexpr int kFour = 4;  ///< that 16-byte reads of neighbours hit different banks.
constexpr int kFours = kColumns / kFour;
constexpr int kTileWidth = kThreadsX * kColumns;
constexpr int kTileHeight = kThreadsY * kRows;
static_assert(kTileWidth == kCoarsenedTileWidth && kTileHeight == kCoarsenedTileHeight,
              "plans show another tile");
constexpr int kNextFour = kTileWidth / kFours;

/// Reads N values from shared memory, 16 bytes at a time if `from` is Aligned to that.
template <bool Aligned, int N, class T>
__device__ void read_row(const T* from, T (&to)[N]) {
  if constexpr (Aligned && sizeof(T) == 4 && N % 4 == 0) {
#pragma unroll
    for (int i = 0; i < N; i += 4) {
      const int4 four = *reinterpret_cast<const int4*>(from + i);
      const int word[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if constexpr (std::is_same_v<T, float>)
          to[i + j] = __int_as_float(word[j]);
        else
          to[i + j] = word[j];
      }
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i)
      to[i] = from[i];
  }
}

}  // namespace
}  // namespace convolve
