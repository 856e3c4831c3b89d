// SPDX-License-Identifier: LGPL-2.1-or-later
// Tiles of the CUDA kernel tensor for wide masks and wide samples: how a block of threads sees a
// picture whose interleaved components, and the bytes of whose samples, lie apart in shared memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"

namespace convolve {

/// Outputs of one block of the CUDA kernel tensor: four warps with 128 x 8 each.
inline constexpr int kTensorTileBytes = 128;
inline constexpr int kTensorTileRows = 32;
inline constexpr int kTensorWarps = 4;

/// Samples of a product's windows in all picture rows of a group.
inline constexpr int kTileWindowSamples = 32;

/// Groups of picture rows, of which the outputs x and x + 1 of eight rows see windows of
/// kTileWindowSamples / window_rows samples side by side, the first from x - left + shift on.
struct TileWindow {
  int window_rows = 1;   ///< 2, or 1.
  int windows_down = 0;  ///< Groups that eight output rows see.
  int segments = 1;      ///< Windows.
  int left = 0;          ///< A multiple of 8.
  int shift = 0;         ///< 0 or 1.
};
TileWindow tile_window(const Mask& mask);

/// A tile: 32 rows of outputs, 256 wide where a plane has one component, else 128.
struct TensorTile {
  int rows = 0;                  ///< Halo included.
  int chunks = 0;                ///< Of 16 samples in a row,
  int pitch = 0;                 ///< which take this many bytes.
  int lines = 0;                 ///< Rows that a block's threads bring at once, a chunk each.
  std::uint32_t reciprocal = 0;  ///< 2^32 / chunks, rounded up.
  int margin = 0;                ///< Samples left of the first output: a multiple of 16.
  int reach = 0;                 ///< Samples right of an output that the mask sees.
};

/// What a plane's samples are: 0 .. 3 for 1 .. 4 components of a byte, 4 and 5 for 1 and 2 of two,
/// and packed 4:2:2 of bytes, whose luma is as much as two components.
using TileKind = int;
inline constexpr int kTileKinds = 7;
inline constexpr TileKind kPackedKind = 6;

/// Nothing if the components of `plane` do not lie side by side in samples of one size and depth,
/// and are not packed 4:2:2, or are more than there is a kind for.
std::optional<TileKind> tile_kind(const PlaneFormat& plane);

/// Planes of bytes that a tile has.
constexpr int byte_planes(TileKind kind) {
  return kind == kPackedKind ? 4 : kind < 4 ? kind + 1 : 2 * (kind - 3);
}

/// True if there is a kernel for planes of these kinds, a bit for each, together.
bool one_launch_serves(unsigned kinds);

struct TensorTiles {
  unsigned kinds = 0;  ///< A bit for each TileKind of the planes with a filtered component.
  TileWindow window;
  TensorTile tile[2];     ///< Of planes with one component, and with several.
  std::size_t bytes = 0;  ///< Of shared memory that a block takes.
};

/// Nothing if a plane has no kind, or there is no kernel for all of them in one launch.
std::optional<TensorTiles> tensor_tiles(const FrameFormat& format, const Mask& mask);

}  // namespace convolve
