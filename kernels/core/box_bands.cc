// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/box_bands.h"

#include <algorithm>

namespace convolve {
namespace {

/// Bytes of a block besides those it asks for: some of its own, and a kilobyte of the system's.
constexpr std::size_t kReserved = 3 * 1024;

}  // namespace

bool box_bands_serve(const PlaneFormat& plane) {
  if (plane.component_count != 1 || plane.sample_bytes != 1) return false;
  const Component& c = plane.components[0];
  return c.filtered && c.depth == 8 && c.shift == 0 && c.step == 1;
}

std::optional<BoxTile> choose_box_bands(const BoxWork& work, int anchor_x) {
  if (band_threads(work.width) > kBandMostThreads) return std::nullopt;
  const BandLayout layout = band_layout(work.width, work.mask_width, anchor_x, work.packed);
  if (layout.pitch == 0) return std::nullopt;
  // A field has half the rows, but not always the smaller layers.
  for (const int rows : {work.height, divide_up(work.height, 2)})
    if (band_step_bytes(rows, work.packed) + kReserved > work.shared_bytes) return std::nullopt;
  BoxTile tile;
  tile.form = BoxForm::kBands;
  tile.width = std::min(work.height, std::max(1, work.processors));
  tile.height = divide_up(work.height, tile.width);
  // A block of the launch before is to find room beside a band, where that is not most of it.
  const std::size_t steps = band_step_bytes(work.height, work.packed) + kReserved;
  const std::size_t room = work.shared_bytes - (steps <= work.shared_bytes / 2 ? steps : 0);
  for (int batches = 1;; ++batches) {
    tile.rows = divide_up(tile.height, batches);
    if (tile.rows <= band_rows_at_once(work.packed, layout.pitch) &&
        band_bytes(layout.pitch, work.packed, tile.rows, tile.height, work.mask_width - 1) +
                kReserved <=
            room)
      return tile;
    if (tile.rows == 1) return std::nullopt;
  }
}

}  // namespace convolve
