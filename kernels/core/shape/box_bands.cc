// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/shape/box_bands.h"

#include <algorithm>

namespace convolve {

bool box_bands_serve(const PlaneFormat& plane) {
  if (plane.component_count != 1 || plane.sample_bytes != 1) return false;
  const Component& c = plane.components[0];
  return c.filtered && c.depth == 8 && c.shift == 0 && c.step == 1;
}

std::optional<BoxTile> choose_box_bands(const BoxWork& work, int anchor_x) {
  if (band_threads(work.width) > kBandMostThreads) return std::nullopt;
  // An interlaced field has half the rows, but its blocks may have more intervals than a frame's.
  for (const int rows : {work.height, divide_up(work.height, 2)})
    if (band_checkpoint_block_bytes(rows, kBandWarpIntervals) + kBandReserved > work.shared_bytes)
      return std::nullopt;
  BoxTile tile;
  tile.form = BoxForm::kBands;
  tile.width = std::min(work.height, std::max(1, work.processors));
  tile.height = divide_up(work.height, tile.width);
  // The border may change while a plan is in use, so that both kinds of layout must fit.
  const auto fits = [&](bool repeats, int most) {
    const BandLayout layout = band_layout(work.width, work.mask_width, anchor_x, repeats);
    return layout.pitch > 0 &&
           band_bytes(layout, work.width, work.mask_width, repeats, most, tile.height) +
                   kBandReserved <=
               work.shared_bytes;
  };
  for (const int most : {kBandMostBatch, kBandFewBatch}) {
    tile.rows = most;
    if (fits(true, most) && fits(false, most)) return tile;
  }
  return std::nullopt;
}

}  // namespace convolve
