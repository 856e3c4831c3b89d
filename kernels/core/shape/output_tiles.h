// SPDX-License-Identifier: LGPL-2.1-or-later
// Outputs of a block of the kernels that sum products one by one.
#pragma once

namespace convolve {

/// Output tile of tiled-input on one axis: min(tile width, 33 - K) for blocks of 32 x 32 threads
/// that load one cell each; 0 or less if K does not fit.
constexpr int tiled_input_tile(int tile_width, int k) {
  return tile_width < 33 - k ? tile_width : 33 - k;
}

/// Outputs of one block of the CUDA kernel coarsened: 8 x 16 threads with 16 x 2 outputs each. Half
/// the height took 71.4 us for 70.3 at 9x9 (4K, H100).
inline constexpr int kCoarsenedTileWidth = 128;
inline constexpr int kCoarsenedTileHeight = 32;

}  // namespace convolve
