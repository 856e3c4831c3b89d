// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/shape/box_strip.h"

#include <algorithm>

#include "kernels/core/weights/box.h"

namespace convolve {
namespace {

// The cost model, in cycles of an H100: latencies of a block, and what it takes of the units that
// it shares with other blocks.
constexpr double kBlockLatency = 3000;
constexpr double kBatchLatency = 2000;
constexpr double kProduct = 1.5;      ///< A matrix product of a warp.
constexpr double kWarpTileCost = 30;  ///< Quantising and storing a warp tile of eight rows.
constexpr double kColumnCost = 70;    ///< Column sums of 128 columns of a batch.
constexpr double kBytesACycle = 20;   ///< That a processor reads from the L2 cache.
constexpr int kMostRowTiles = 128;
constexpr int kReserved = 1024;  ///< Shared memory that the system takes of a block.

/// Matrix products for a warp tile of eight rows: those of high and of low bytes.
int warp_tile_products(const BoxReach& reach) {
  const int full = reach.chunks - kStripMostPartial;
  return 8 * std::min(reach.chunks, kStripMostPartial) + (full > 0 ? 2 * full + 2 : 0);
}

double cost_of(const BoxTile& tile, const StripLayout& layout, const BoxReach& reach,
               const BoxWork& work, int resident) {
  const int blocks = divide_up(work.width, tile.width) * divide_up(work.height, tile.height);
  const int together = std::min(resident, divide_up(blocks, work.processors));
  const double warp_tile = kProduct * warp_tile_products(reach) + kWarpTileCost;
  const double batch =
      std::max(kBatchLatency, together * (strip_window_warps(tile.width) * warp_tile +
                                          strip_column_warps(layout) * kColumnCost));
  const double first_rows = (work.mask_height - 1.0 + kStripBatch) * strip_raw_pitch(layout.wide);
  const int batches = divide_up(std::min(tile.height, work.height), kStripBatch);
  return divide_up(blocks, work.processors * resident) *
         (kBlockLatency + together * first_rows / kBytesACycle + (batches + 1) * batch);
}

}  // namespace

bool box_strips_serve(const PlaneFormat& plane, const Mask& mask) {
  if (plane.component_count != 1 || plane.sample_bytes != 1) return false;
  const Component& c = plane.components[0];
  return c.filtered && c.depth == 8 && c.shift == 0 && c.step == 1 && box_packed(plane, mask);
}

std::optional<BoxTile> choose_box_strip(const BoxWork& work, int anchor_x) {
  const BoxReach reach = box_reach(work.mask_width, anchor_x);
  std::optional<BoxTile> best;
  double least = 0;
  for (int width = kStripWarpTile; width <= kStripMostWidth; width += kStripWarpTile) {
    const StripLayout layout = strip_layout(width, work.mask_width, work.mask_height, anchor_x);
    if (!strip_fits(layout) || strip_threads(width, layout) > strip_most_threads(layout.wide))
      continue;
    const int resident = std::min(
        strip_most_blocks(layout.wide),
        static_cast<int>(work.shared_bytes / static_cast<std::size_t>(layout.bytes + kReserved)));
    if (resident == 0) continue;
    for (int row_tiles = 1; row_tiles <= kMostRowTiles; ++row_tiles) {
      BoxTile tile;
      tile.form = BoxForm::kStrips;
      tile.rows = kStripBatch;
      tile.width = width;
      tile.height = round_up(divide_up(work.height, row_tiles), kStripBatch);
      const double cost = cost_of(tile, layout, reach, work, resident);
      if (best && cost >= least) continue;
      best = tile;
      least = cost;
    }
  }
  return best;
}

}  // namespace convolve
