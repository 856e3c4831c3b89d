// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/shape/box_strip.h"

#include <algorithm>

#include "kernels/core/weights/box.h"

namespace convolve {
namespace {

// Cycles (H100): of a block alone, and what its units share with those of other blocks.
constexpr double kStart = 3000;
constexpr double kBatchLatency = 2000;
constexpr double kProduct = 1.5;     ///< A product of a warp,
constexpr double kUnitCost = 30;     ///< and codes and stores of 64 x 8 outputs.
constexpr double kColumnCost = 70;   ///< A batch of 128 columns.
constexpr double kBytesACycle = 20;  ///< From the L2 cache.
constexpr int kMostBands = 128;
constexpr int kReserved = 1024;  ///< Bytes that a block takes beside its own.

/// Products for 64 outputs of eight rows: high and low bytes apart.
int unit_products(const BoxReach& reach) {
  const int whole = reach.chunks - kStripMostPartial;
  return 8 * std::min(reach.chunks, kStripMostPartial) + (whole > 0 ? 2 * whole + 2 : 0);
}

double cost_of(const BoxTile& tile, const StripLayout& layout, const BoxReach& reach,
               const BoxWork& work, int resident) {
  const int blocks = divide_up(work.width, tile.width) * divide_up(work.height, tile.height);
  const int together = std::min(resident, divide_up(blocks, work.processors));
  const double unit = kProduct * unit_products(reach) + kUnitCost;
  const double batch = std::max(kBatchLatency, together * (strip_outputs(tile.width) * unit +
                                                           strip_columns(layout) * kColumnCost));
  const double first_rows = (work.mask_height - 1.0 + kStripBatch) * strip_raw_pitch(layout.wide);
  const int batches = divide_up(std::min(tile.height, work.height), kStripBatch);
  return divide_up(blocks, work.processors * resident) *
         (kStart + together * first_rows / kBytesACycle + (batches + 1) * batch);
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
  for (int width = kStripUnit; width <= kStripMostWidth; width += kStripUnit) {
    const StripLayout layout = strip_layout(width, work.mask_width, work.mask_height, anchor_x);
    if (!strip_fits(layout) || strip_threads(width, layout) > strip_most_threads(layout.wide))
      continue;
    const int resident = std::min(
        strip_most_blocks(layout.wide),
        static_cast<int>(work.shared_bytes / static_cast<std::size_t>(layout.bytes + kReserved)));
    if (resident == 0) continue;
    for (int bands = 1; bands <= kMostBands; ++bands) {
      BoxTile tile;
      tile.form = BoxForm::kStrips;
      tile.rows = kStripBatch;
      tile.width = width;
      tile.height = round_up(divide_up(work.height, bands), kStripBatch);
      const double cost = cost_of(tile, layout, reach, work, resident);
      if (best && cost >= least) continue;
      best = tile;
      least = cost;
    }
  }
  return best;
}

}  // namespace convolve
