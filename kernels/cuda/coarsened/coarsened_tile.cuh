// SPDX-License-Identifier: LGPL-2.1-or-later
// What the parts of kernel `coarsened` agree on: the block's tile, a thread's register tile in it,
// and wide reads of shared memory.
#pragma once

#include <type_traits>

#include "kernels/core/shape/output_tiles.h"
#include "kernels/cuda/device/tile_load.cuh"

namespace convolve {
namespace {

constexpr int kThreadsX = 8;
constexpr int kThreadsY = 16;
constexpr int kThreads = kThreadsX * kThreadsY;
constexpr int kRows = 2;      ///< Output rows of a thread,
constexpr int kColumns = 16;  ///< and columns: all adjacent.
constexpr int kFour = 4;      ///< Of them are read, and mostly stored, at once.
constexpr int kFours = kColumns / kFour;
constexpr int kTileWidth = kThreadsX * kColumns;
constexpr int kTileHeight = kThreadsY * kRows;
static_assert(kTileWidth == kCoarsenedTileWidth && kTileHeight == kCoarsenedTileHeight,
              "plans show another tile");
static_assert(kFours == kParts, "neighbours would read the same banks");

/// Where a thread's cells lie in a row of the tile, from its first column or 8 n columns further
/// on: of its quads two and two are a part from each other, as quads are dealt out to the parts.
/// Distances are in bytes, as then an address is one instruction.
template <class Cell>
struct Cells {
  static constexpr int kCellBytes = sizeof(Cell);

  const unsigned char* first;
  int part;  ///< From one part to the next.
  int hop;   ///< From the first two quads to the next two.

  /// At the thread's first column.
  static __device__ Cells of(const Cell* first, int part) {
    const int bytes = part * static_cast<int>(sizeof(Cell));
    return {reinterpret_cast<const unsigned char*>(first), bytes, 2 * bytes};
  }

  /// 8 columns on. The parts are four: from the last two the way leads back to the first two.
  __device__ Cells next() const { return {first + hop, part, kFour * kCellBytes - hop}; }

  /// A row further down.
  __device__ void step() { first += kParts * part; }

  __device__ const Cell* quad(int i) const {
    return reinterpret_cast<const Cell*>(first + i % 2 * part + i / 2 % 2 * hop) + i / 4 * kFour;
  }

  /// The cell `column` columns on from the thread's first column.
  __device__ const Cell* at(int column) const {
    return reinterpret_cast<const Cell*>(first) + cell_offset(column, part / kCellBytes);
  }
};

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
