// SPDX-License-Identifier: LGPL-2.1-or-later
// Tiles of kernel `tensor` for wide masks and wide samples: a block of threads copies a part of the
// picture with its halo into shared memory, where each component, and each byte of a sample, is a
// plane of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"

namespace convolve {

/// Outputs of one block: four warps with tiles of 128 bytes x 8 rows each.
inline constexpr int kTensorTileBytes = 128;
inline constexpr int kTensorTileRows = 32;
inline constexpr int kTensorWarps = 4;

/// Samples that a product takes for a column, in all picture rows of its window.
inline constexpr int kTileWindowSamples = 32;

/// The windows of a pair of adjacent outputs x and x + 1 in eight rows: window_rows picture rows of
/// kTileWindowSamples / window_rows samples, the first from x - left + shift on. Windows lie below
/// each other until they cover the eight rows' taps, and side by side in segments where the mask is
/// wide.
struct TileWindow {
  int window_rows = 1;   ///< Picture rows of a window: 2, or 1.
  int windows_down = 0;  ///< Windows below each other.
  int segments = 1;      ///< Windows side by side.
  int left = 0;          ///< Samples from the first window to the output, a multiple of 8.
  int shift = 0;         ///< Samples that windows begin later, 0 or 1: it may save a segment.
};
TileWindow tile_window(const Mask& mask);

/// The shape of a tile in shared memory. Its outputs are 32 rows, 256 samples wide where a plane
/// has one component and 128 elsewhere.
struct TensorTile {
  int rows = 0;                  ///< Rows, halo included.
  int chunks = 0;                ///< Chunks of 16 samples in a row.
  int pitch = 0;                 ///< Bytes from row to row.
  int lines = 0;                 ///< Rows that the threads of a block load at once, a chunk each.
  std::uint32_t reciprocal = 0;  ///< 2^32 / chunks, rounded up.
  int margin = 0;                ///< Samples left of the first output: a multiple of 16.
  int reach = 0;                 ///< Samples right of an output that the mask reaches.
};

/// What a plane's samples are: 0 .. 3 for 1 .. 4 components of one byte, 4 and 5 for 1 and 2
/// components of two bytes, and kPackedKind for packed 4:2:2 of bytes.
using TileKind = int;
inline constexpr int kTileKinds = 7;
inline constexpr TileKind kPackedKind = 6;

/// The kind of `plane`; nothing if its components do not lie side by side in samples of one size
/// and depth (packed 4:2:2 excepted), or are more than there is a kind for.
std::optional<TileKind> tile_kind(const PlaneFormat& plane);

/// Planes of bytes in a tile. Luma of packed 4:2:2 has twice the samples of chroma and counts as
/// two.
constexpr int byte_planes(TileKind kind) {
  return kind == kPackedKind ? 4 : kind < 4 ? kind + 1 : 2 * (kind - 3);
}

/// True if one launch serves a frame whose planes are of these kinds, a bit for each kind.
bool one_launch_serves(unsigned kinds);

struct TensorTiles {
  unsigned kinds = 0;  ///< A bit for each TileKind among the planes with a filtered component.
  TileWindow window;
  TensorTile tile[2];     ///< Of planes with one component, and of planes with several.
  std::size_t bytes = 0;  ///< Shared memory of a block.
};

/// The tiles of a frame; nothing if a plane has no kind, or no kernel takes all planes in one
/// launch.
std::optional<TensorTiles> tensor_tiles(const FrameFormat& format, const Mask& mask);

}  // namespace convolve
