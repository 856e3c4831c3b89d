// SPDX-License-Identifier: LGPL-2.1-or-later
// What the parts of kernel `coarsened` share: the tile of a block, the register tile of a thread,
// and wide reads of shared memory.
#pragma once

#include <type_traits>

#include "kernels/core/shape/output_tiles.h"
#include "kernels/cuda/device/tile_load.cuh"

namespace convolve {
namespace {

constexpr int kThreadsX = 8;
constexpr int kThreadsY = 16;
constexpr int kTileThreads = kThreadsX * kThreadsY;
constexpr int kThreadRows = 2;      ///< Adjacent output rows of a thread.
constexpr int kThreadColumns = 16;  ///< Adjacent output columns of a thread.
constexpr int kQuad = 4;            ///< Columns that are read, and mostly stored, at once.
constexpr int kQuads = kThreadColumns / kQuad;  ///< Quads of a row of a thread.
constexpr int kTileWidth = kThreadsX * kThreadColumns;
constexpr int kTileHeight = kThreadsY * kThreadRows;
static_assert(kTileWidth == kCoarsenedTileWidth && kTileHeight == kCoarsenedTileHeight,
              "plans show another tile");
static_assert(kQuads == kParts, "neighbours would read the same banks");

/// The cells of a thread in a row of the tile, from its first column or 8 n columns further on.
/// Successive quads lie in different parts of the row: quad 1 is one part behind quad 0, quads 2
/// and 3 are `pair_stride` behind quads 0 and 1. Distances are in bytes, so that an address takes
/// one instruction.
template <class Cell>
struct Cells {
  static constexpr int kCellBytes = sizeof(Cell);

  const unsigned char* first;
  int part;         ///< From one part to the next.
  int pair_stride;  ///< From the first two quads to the next two.

  /// At the thread's first column.
  static __device__ Cells of(const Cell* first, int part) {
    const int bytes = part * static_cast<int>(sizeof(Cell));
    return {reinterpret_cast<const unsigned char*>(first), bytes, 2 * bytes};
  }

  /// 8 columns further on. There are four parts: behind the last two follow the first two again.
  __device__ Cells next_columns() const {
    return {first + pair_stride, part, kQuad * kCellBytes - pair_stride};
  }

  /// To the next row.
  __device__ void next_row() { first += kParts * part; }

  __device__ const Cell* quad(int i) const {
    return reinterpret_cast<const Cell*>(first + i % 2 * part + i / 2 % 2 * pair_stride) +
           i / 4 * kQuad;
  }

  /// The cell `column` columns on from the thread's first column.
  __device__ const Cell* at(int column) const {
    return reinterpret_cast<const Cell*>(first) + cell_offset(column, part / kCellBytes);
  }
};

/// Reads N values from shared memory, 16 bytes at a time if `from` is Aligned to 16 bytes.
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
