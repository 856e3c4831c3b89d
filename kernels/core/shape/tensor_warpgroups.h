// SPDX-License-Identifier: LGPL-2.1-or-later
// Tiles of the CUDA kernel tensor for the products of warpgroups, of compute capability 9.0: what a
// block of threads keeps in shared memory, weights included.
#pragma once

#include <cstddef>
#include <optional>

#include "kernels/core/base/host_device.h"
#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/shape/tensor_tiles.h"

namespace convolve {

/// Rows of outputs of a tile, which is kTensorTileBytes samples wide.
inline constexpr int kWarpgroupTileRows = 64;
/// Rows of outputs that one group of a product makes, each in blocks of kWarpgroupUnit samples.
inline constexpr int kWarpgroupOutputRows = 4;
inline constexpr int kWarpgroupUnit = 16;
/// Bytes of a row of the mask as operand A has it, for a pair of units and one digit.
inline constexpr int kWarpgroupMaskRowBytes = 512;
/// Tiles in memory at once. With four, a processor waited for the loads of the second four.
inline constexpr int kMostWarpgroupStages = 8;
/// Room for the barriers of all of them, and of the weights.
inline constexpr int kWarpgroupBarrierBytes = 256;

/// Units of 16 samples side by side, from x - left on, in which the outputs x .. x + 15 see all
/// their taps. A product takes two units of one picture row, or, of the last one where their number
/// is odd, two rows.
struct WarpgroupWindow {
  int left = 0;      ///< A multiple of 8.
  int units = 1;     ///< Side by side.
  int products = 0;  ///< That a tile takes, a digit.

  CONVOLVE_HD constexpr int unit_pairs() const { return units / 2; }
  CONVOLVE_HD constexpr bool odd() const { return units % 2 != 0; }
};
WarpgroupWindow warpgroup_window(const Mask& mask);

/// Products of a pair of units, and of an odd one, that four output rows take.
CONVOLVE_HD constexpr int unit_pair_products(int mask_height) {
  return mask_height + kWarpgroupOutputRows - 1;
}
CONVOLVE_HD constexpr int odd_unit_products(int mask_height) {
  return (mask_height + kWarpgroupOutputRows) / 2;
}

/// Rows of the mask that operand A holds for a pair of units, ghosts above and below included.
CONVOLVE_HD constexpr int warpgroup_mask_rows(int mask_height) {
  return mask_height + 2 * (kWarpgroupOutputRows - 1);
}

/// Warpgroups of a block that bring its tiles, in turns. Parting four components takes as long as
/// filtering them, and with one to bring it packed 4:2:2 took 28.4 us for 22.1 (3x3, 4K, H100).
CONVOLVE_HD constexpr int warpgroup_producers(unsigned kinds) {
  return kinds == 0b1000 || kinds == 1u << kPackedKind ? 2 : 1;
}

struct TensorWarpgroups {
  unsigned kinds = 0;     ///< As of TensorTiles.
  bool one_plane = true;  ///< There is one that has a filtered component.
  WarpgroupWindow window;
  TensorTile tile;      ///< Of a component; each byte of a sample has one.
  int stages = 0;       ///< Tiles in memory at once, 2 .. kMostWarpgroupStages, as many a producer.
  int lead = 0;         ///< Bytes before a tile, for luma of packed 4:2:2 that nobody sees.
  int stage_bytes = 0;  ///< Of memory that each takes,
  int digit_bytes = 0;  ///< and a digit of the mask,
  int weight_bytes = 0;   ///< of which all lie behind them.
  std::size_t bytes = 0;  ///< All of it.
};

/// Nothing if no kernel serves the planes of `format` in one launch, or `shared_bytes` are too few
/// for weights of so many digits and two tiles.
std::optional<TensorWarpgroups> tensor_warpgroups(const FrameFormat& format, const Mask& mask,
                                                  int digits, std::size_t shared_bytes);

}  // namespace convolve
