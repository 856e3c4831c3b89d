// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/shape/tensor_warpgroups.h"

#include <algorithm>

#include "kernels/core/base/round.h"

namespace convolve {
namespace {

TensorTile make_tile(const Mask& mask, const WarpgroupWindow& window) {
  constexpr int kThreads = 32 * kTensorWarps;
  TensorTile tile;
  tile.rows = kWarpgroupTileRows + mask.height - 1;
  tile.chunks = kTensorTileBytes / kWarpgroupUnit - 1 + window.units;
  tile.pitch = tile.chunks * kWarpgroupUnit;
  tile.lines = kThreads / tile.chunks;
  tile.reciprocal = reciprocal(tile.chunks);
  tile.margin = window.left;
  tile.reach = mask.width - 1 - mask.anchor_x;
  return tile;
}

}  // namespace

WarpgroupWindow warpgroup_window(const Mask& mask) {
  WarpgroupWindow window;
  window.left = round_up(mask.anchor_x, 8);
  const int right = mask.width - 1 - mask.anchor_x;
  window.units = divide_up(window.left + kWarpgroupUnit + right, kWarpgroupUnit);
  window.products = window.unit_pairs() * unit_pair_products(mask.height) +
                    (window.odd() ? odd_unit_products(mask.height) : 0);
  return window;
}

std::optional<TensorWarpgroups> tensor_warpgroups(const FrameFormat& format, const Mask& mask,
                                                  int digits, std::size_t shared_bytes) {
  TensorWarpgroups warpgroups;
  warpgroups.window = warpgroup_window(mask);
  warpgroups.tile = make_tile(mask, warpgroups.window);
  warpgroups.digit_bytes = divide_up(warpgroups.window.units, 2) *
                           warpgroup_mask_rows(mask.height) * kWarpgroupMaskRowBytes;
  warpgroups.weight_bytes = digits * warpgroups.digit_bytes;
  if (warpgroups.tile.lines == 0) return std::nullopt;
  for (int p = 0; p < format.plane_count; ++p) {
    const PlaneFormat& plane = format.planes[p];
    if (!has_filtered(plane)) continue;
    const std::optional<TileKind> kind = tile_kind(plane);
    if (!kind) return std::nullopt;
    warpgroups.one_plane = warpgroups.kinds == 0;
    warpgroups.kinds |= 1u << *kind;
    if (*kind == kPackedKind) warpgroups.lead = round_up(warpgroups.window.left, kWarpgroupUnit);
    warpgroups.stage_bytes = std::max(
        warpgroups.stage_bytes,
        warpgroups.lead + byte_planes(*kind) * warpgroups.tile.rows * warpgroups.tile.pitch);
  }
  if (!one_launch_serves(warpgroups.kinds)) return std::nullopt;
  const int room =
      static_cast<int>(shared_bytes) - kWarpgroupBarrierBytes - warpgroups.weight_bytes;
  warpgroups.stages = std::min(kMostWarpgroupStages, room / warpgroups.stage_bytes);
  // A stage belongs to one producer: a barrier tells two adjacent phases apart only, so a producer
  // can wait for the end of the tile in a stage only if it loaded the one before there, too.
  warpgroups.stages -= warpgroups.stages % warpgroup_producers(warpgroups.kinds);
  if (warpgroups.stages < 2) return std::nullopt;
  warpgroups.bytes = static_cast<std::size_t>(warpgroups.stages * warpgroups.stage_bytes +
                                              warpgroups.weight_bytes + kWarpgroupBarrierBytes);
  return warpgroups;
}

}  // namespace convolve
