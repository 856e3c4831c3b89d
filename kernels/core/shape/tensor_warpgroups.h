// SPDX-License-Identifier: LGPL-2.1-or-later
// Tiles of kernel `tensor` for products of warpgroups (wgmma, compute capability 9.0): what a block
// of threads keeps in shared memory, weights included.
#pragma once

#include <cstddef>
#include <optional>

#include "kernels/core/base/host_device.h"
#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/shape/tensor_tiles.h"

namespace convolve {

/// Output rows of a tile, which is kTensorTileBytes samples wide.
inline constexpr int kWarpgroupTileRows = 64;
/// Operand A of a product has 64 rows: one for each of kWarpgroupOutputRows output rows x
/// kWarpgroupUnit adjacent samples.
inline constexpr int kWarpgroupOutputRows = 4;
inline constexpr int kWarpgroupUnit = 16;
/// Bytes of operand A that hold one row of the mask, for a pair of units and one digit.
inline constexpr int kWarpgroupMaskRowBytes = 512;
/// The most tiles in shared memory at once. With four, a processor waited for the loads of the
/// second four.
inline constexpr int kMostWarpgroupStages = 8;
/// Bytes of shared memory for the barriers of all stages and of the weights.
inline constexpr int kWarpgroupBarrierBytes = 256;

/// The window of a block of 16 adjacent outputs: units of 16 samples side by side, from `left`
/// samples before the outputs on. A product takes two units of one picture row or, where their
/// number is odd, the last unit of two rows.
struct WarpgroupWindow {
  int left = 0;      ///< Samples before the outputs, a multiple of 8.
  int units = 1;     ///< Units side by side.
  int products = 0;  ///< Products of a tile, for each digit.

  CONVOLVE_HD constexpr int unit_pairs() const { return units / 2; }
  CONVOLVE_HD constexpr bool odd() const { return units % 2 != 0; }
};
WarpgroupWindow warpgroup_window(const Mask& mask);

/// Products that four output rows take for a pair of units, one for each picture row that they
/// read.
CONVOLVE_HD constexpr int unit_pair_products(int mask_height) {
  return mask_height + kWarpgroupOutputRows - 1;
}
/// Products that four output rows take for an odd unit, of two picture rows each.
CONVOLVE_HD constexpr int odd_unit_products(int mask_height) {
  return (mask_height + kWarpgroupOutputRows) / 2;
}

/// Rows of the mask in operand A for a pair of units. Rows of zeros stand above and below, as each
/// of four output rows finds its own mask row by an offset.
CONVOLVE_HD constexpr int warpgroup_mask_rows(int mask_height) {
  return mask_height + 2 * (kWarpgroupOutputRows - 1);
}

/// Producers: warpgroups of a block that load its tiles, in turns. To deinterleave four components
/// takes as long as to filter them: with one producer packed 4:2:2 took 28.4 us for 22.1 (3x3, 4K,
/// H100).
CONVOLVE_HD constexpr int warpgroup_producers(unsigned kinds) {
  return kinds == 0b1000 || kinds == 1u << kPackedKind ? 2 : 1;
}

struct TensorWarpgroups {
  unsigned kinds = 0;     ///< As TensorTiles::kinds.
  bool one_plane = true;  ///< One plane only has a filtered component.
  WarpgroupWindow window;
  TensorTile tile;  ///< Of one component; each byte of a sample has a tile.
  /// Stages: tiles in shared memory at once, 2 .. kMostWarpgroupStages, as many for each producer.
  int stages = 0;
  /// Bytes before a tile of packed 4:2:2, for luma that is loaded with the chroma of the halo but
  /// that no output reads.
  int lead = 0;
  int stage_bytes = 0;    ///< Bytes of a stage.
  int digit_bytes = 0;    ///< Bytes of a digit of the mask.
  int weight_bytes = 0;   ///< Bytes of all digits, which lie behind the stages.
  std::size_t bytes = 0;  ///< Shared memory of a block: stages, weights and barriers.
};

/// The tiles of a frame; nothing if no kernel takes the planes of `format` in one launch, or
/// `shared_bytes` do not hold weights of so many digits and two tiles.
std::optional<TensorWarpgroups> tensor_warpgroups(const FrameFormat& format, const Mask& mask,
                                                  int digits, std::size_t shared_bytes);

}  // namespace convolve
