// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/shape/tensor_groups.h"

#include <algorithm>

#include "kernels/core/base/round.h"

namespace convolve {
namespace {

TensorTile make_tile(const Mask& mask, const GroupWindow& window) {
  constexpr int kThreads = 32 * kTensorWarps;
  TensorTile tile;
  tile.rows = kGroupTileRows + mask.height - 1;
  tile.chunks = kTensorTileBytes / kGroupUnit - 1 + window.units;
  tile.pitch = tile.chunks * kGroupUnit;
  tile.lines = kThreads / tile.chunks;
  tile.reciprocal = reciprocal(tile.chunks);
  tile.margin = window.left;
  tile.reach = mask.width - 1 - mask.anchor_x;
  return tile;
}

}  // namespace

GroupWindow group_window(const Mask& mask) {
  GroupWindow window;
  window.left = round_up(mask.anchor_x, 8);
  const int right = mask.width - 1 - mask.anchor_x;
  window.units = divide_up(window.left + kGroupUnit + right, kGroupUnit);
  window.products =
      window.pairs() * pair_products(mask.height) + (window.odd() ? odd_products(mask.height) : 0);
  return window;
}

std::optional<TensorGroups> tensor_groups(const FrameFormat& format, const Mask& mask, int digits,
                                          std::size_t shared_bytes) {
  TensorGroups groups;
  groups.window = group_window(mask);
  groups.tile = make_tile(mask, groups.window);
  groups.digit_bytes =
      divide_up(groups.window.units, 2) * group_mask_rows(mask.height) * kGroupRowBytes;
  groups.weight_bytes = digits * groups.digit_bytes;
  if (groups.tile.lines == 0) return std::nullopt;
  for (int p = 0; p < format.plane_count; ++p) {
    const PlaneFormat& plane = format.planes[p];
    if (!has_filtered(plane)) continue;
    const std::optional<TileKind> kind = tile_kind(plane);
    if (!kind) return std::nullopt;
    groups.one_plane = groups.kinds == 0;
    groups.kinds |= 1u << *kind;
    if (*kind == kPackedKind) groups.lead = round_up(groups.window.left, kGroupUnit);
    groups.stage_bytes =
        std::max(groups.stage_bytes,
                 groups.lead + byte_planes(*kind) * groups.tile.rows * groups.tile.pitch);
  }
  if (!one_launch_serves(groups.kinds)) return std::nullopt;
  const int room = static_cast<int>(shared_bytes) - kGroupBarrierBytes - groups.weight_bytes;
  groups.stages = std::min(kMostGroupStages, room / groups.stage_bytes);
  // A stage is one producer's: barriers tell two of its phases apart, so a producer can wait for
  // the end of a tile only if the one before there was its own.
  groups.stages -= groups.stages % group_producers(groups.kinds);
  if (groups.stages < 2) return std::nullopt;
  groups.bytes = static_cast<std::size_t>(groups.stages * groups.stage_bytes + groups.weight_bytes +
                                          kGroupBarrierBytes);
  return groups;
}

}  // namespace convolve
