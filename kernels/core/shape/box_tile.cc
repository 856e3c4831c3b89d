// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/shape/box_tile.h"

#include <algorithm>
#include "kernels/core/base/round.h"

namespace convolve {
namespace {

// The cost model of kernel box in runs. It is within 9 per cent of 34 measurements on an H100:
// GRAY8, 3840x2160, masks from 3x3 to 255x255, tiles 480 to 3840 wide and 12 to 144 high, batches
// of 4, 8 and 16 rows. (28 of them were taken, at 3x3, before ghosts copied the sums of the columns
// that they repeat.)

// Instructions of a warp for a batch, counted in the machine code (SASS).
constexpr double kRunCost = 170;        ///< Columns of 128 panels,
constexpr double kExchangeCost = 250;   ///< and the same with the exchange between runs.
constexpr double kScanCost = 130;       ///< Prefix sums of 64 panels.
constexpr double kOutputCost = 85;      ///< 256 outputs.
constexpr double kInitialRowCost = 12;  ///< Adding up a row above the first output.

// Cycles, fitted to the measurements.
constexpr double kBatchLatency = 2000;  ///< Memory and barriers.
constexpr double kSerial = 4;           ///< An instruction where a processor has one block,
constexpr double kShared = 0.5;         ///< and where many warps share its issue slots.
constexpr double kOverlap = 0.4;        ///< Of the shorter time, what the longer one does not hide.

/// Warps that a processor has registers for.
constexpr int kMostWarps = 32;
constexpr int kMostBlocks = 8;
constexpr int kMostStrips = 64;

/// Blocks of `tile` that a processor runs at the same time; 0 if none fits.
int resident_blocks(const BoxTile& tile, const BoxWork& work) {
  const std::size_t bytes =
      box_layout(box_panels(tile.width, work.mask_width), tile.rows, work.packed).bytes;
  return std::min(kMostWarps / tile.rows, static_cast<int>(work.shared_bytes / bytes));
}

/// Estimated cycles until the last block is done.
double cost_of(const BoxTile& tile, const BoxWork& work, int resident) {
  const int panels = box_panels(tile.width, work.mask_width);
  const int runs = tile.rows / kBoxRun;
  const int sets = divide_up(panels, kBoxRunThreads);
  const double batches = divide_up(std::min(tile.height, work.height), tile.rows);
  const double batch = sets * (runs == 1 ? kRunCost : kExchangeCost) +
                       divide_up(panels, kBoxRunThreads / 2) * kScanCost +
                       divide_up(tile.width, 256) * kOutputCost;
  const double initial = sets * divide_up(work.mask_height - 1, runs) * kInitialRowCost;
  const int tiles =
      divide_up(work.width, tile.width) * divide_up(work.height, tile.height) * work.channels;
  const int blocks = divide_up(tiles, work.processors);
  const double alone = divide_up(blocks, resident) *
                       (batches * (kBatchLatency + kSerial * batch) + kSerial * initial);
  const double together = blocks * tile.rows * (batches * batch + initial) * kShared;
  return std::max(alone, together) + kOverlap * std::min(alone, together);
}

}  // namespace

std::optional<BoxTile> choose_box_tile(const BoxWork& work) {
  std::optional<BoxTile> best;
  double best_cost = 0;
  for (int rows = kBoxRun; rows <= kBoxMostRows; rows *= 2)
    for (int strips = 1; strips <= kMostStrips; ++strips) {
      BoxTile tile;
      tile.rows = rows;
      tile.width = round_up(divide_up(work.width, strips), kBoxPanel);
      const int resident = resident_blocks(tile, work);
      if (resident == 0) continue;
      for (int blocks = 1; blocks <= kMostBlocks; ++blocks) {
        const int row_tiles = std::max(1, work.processors * blocks / (strips * work.channels));
        tile.height = round_up(divide_up(work.height, row_tiles), rows);
        const double cost = cost_of(tile, work, resident);
        if (best && cost >= best_cost) continue;
        best = tile;
        best_cost = cost;
      }
    }
  return best;
}

}  // namespace convolve
